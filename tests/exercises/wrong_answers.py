"""Wrong answers as learners write them: by number of the exercise, each with its own code, not
an edit of the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from hsd_viz.exercises import hunt


def pairs(p, q):
    return zip(p, q, strict=True)


def rest(p, q):
    return [max(a - b, 0) for a, b in pairs(p, q)]


def gained(alpha, gamma):
    return sum(alpha**k for k in range(gamma + 1))


def line(curve):
    """Return the constant and the slope of the least-squares line."""
    slope, constant = np.polyfit(list(curve), list(curve.values()), 1)
    return constant, slope


def through_the_ends(curve):
    slope = (curve[max(curve)] - curve[min(curve)]) / (max(curve) - min(curve))
    return curve[min(curve)] - slope * min(curve), slope


def prefix(draft, own):
    return next((k for k, token in enumerate(draft) if token != own[k]), len(draft))


def without_own_token(draft, own):
    accepted = prefix(draft, own)
    return accepted, draft[:accepted]


def ends_with_the_drafts_token(draft, own):
    accepted = prefix(draft, own)
    return accepted, (draft + own[-1:])[: accepted + 1]


def ends_a_row_too_early(draft, own):
    accepted = prefix(draft, own)
    return accepted, [*draft[:accepted], own[max(0, accepted - 1)]]


def decoding(own_tokens=False, whole=False, uncut=False):
    """Return a decoder with one mistake."""

    def decode(target, drafter, prompt, length, lookahead):
        text = list(prompt)
        while len(text) - len(prompt) < length:
            missing = length - (len(text) - len(prompt))
            draft = drafter(text, lookahead if uncut else min(lookahead, missing - 1))
            own = target(text, draft)
            text += own if own_tokens else own[: prefix(draft, own) + 1]
        return text if whole else text[len(prompt) :]

    return decode


def one_hot(row):
    return [int(k == row.index(max(row))) for k in range(len(row))]


def likeliest_of_the_rest(p, q):
    return one_hot(rest(p, q) if sum(rest(p, q)) else p)


def distance(p, q):
    return sum(abs(a - b) for a, b in pairs(p, q)) / 2


def greedy_test(decode):
    target, draft = hunt.toy_models(greedy=True)
    return hunt.law(decode, target, draft, 3, 2) == hunt.plain_law(target, 3)


def short_test(decode):
    target, draft = hunt.toy_models()
    return hunt.law(decode, target, draft, 2, 1) == hunt.plain_law(target, 2)


def squares(counts, p, over_counts=False):
    """Return the sum of squares of the values that were observed, over what was expected of them,
    or over what was counted.
    """
    total = 0
    for count, share in pairs(counts, p):
        expected = sum(counts) * share
        if count:
            total += (count - expected) ** 2 / (count if over_counts else expected)
    return total


def smaller(p, q):
    return [min(a, b) for a, b in pairs(p, q)]


def capped_at_one(ratios):
    return [min(Fraction(1), ratio) for ratio in ratios]


def normalized(row, otherwise):
    """Return a row in shares, or another one if it is empty."""
    total = sum(row)
    return [value / total for value in row] if total else otherwise


def looked_up(first=False, shortest=False, shift=0, itself=False):
    """Return a look-up with one mistake."""

    def lookup(ids, longest):
        lengths = range(1, min(longest, len(ids)) + 1)
        for length in lengths if shortest else reversed(lengths):
            key = ids[-length:]
            places = range(len(ids) - length + itself)
            for start in places if first else reversed(places):
                if ids[start : start + length] == key:
                    return length, start + length + shift
        return None

    return lookup


def replayed(count_empty=True, own=1):
    """Return a replay with one mistake."""

    def rounds(prompt, output, draft):
        place = 0
        counted = 0
        while place < len(output):
            proposed = draft(prompt + output[:place])
            left = output[place:]
            agreed = 0
            while agreed < min(len(proposed), len(left)) and proposed[agreed] == left[agreed]:
                agreed += 1
            place += max(1, agreed + own)
            counted += 1 if count_empty else agreed > 0
        return counted

    return rounds


def reached(parents, chances):
    chances_reached = []
    for parent, chance in pairs(parents, chances):
        chances_reached.append(chance * (chances_reached[parent] if parent >= 0 else 1))
    return chances_reached


def ratios(baseline, seconds, weights):
    return (weights @ baseline) / (weights @ seconds)


def interval(values, low=0.025, high=0.975):
    return tuple(np.quantile(values[1:], [low, high]))


def kept(q, least):
    return [b if b >= least else 0 for b in q]


def dropping(after_drop, after_reject=rest):
    """Return the law of dropping where the two kinds of own tokens follow other rows."""

    def law(p, q, least):
        stays = kept(q, least)
        rejected = sum(stays) - sum(smaller(p, stays))
        own = normalized(after_reject(p, q), p)
        late = normalized(after_drop(p, q), p)
        dropped = 1 - sum(stays)
        emitted = []
        for a, b, r, d in zip(p, stays, own, late, strict=True):
            emitted.append(min(a, b) + rejected * r + dropped * d)
        return emitted

    return law


def dropping_alone(p, q, least):
    """Return the law of dropping where nothing is emitted in the place of a dropped token."""
    law = dropping(lambda p, q: p)(p, q, least)
    dropped = 1 - sum(kept(q, least))
    return [value - dropped * share for value, share in pairs(law, p)]


def proposing(keep=True, stop=True, last_only=False, likeliest=False):
    """Return a drafter with one mistake."""

    def propose(row, choose, most, least):
        tokens = []
        product = Fraction(1)
        while len(tokens) < most:
            q = row(tokens)
            token = q.index(max(q)) if likeliest else choose(q)
            product = q[token] if last_only else product * q[token]
            if stop and product < least:
                return [*tokens, token] if keep else tokens
            tokens.append(token)
        return tokens

    return propose


def cost_of_stops(bonus=1, cut=True, paid=None, width=None):
    """Return a time per token with one mistake; ``paid`` and ``width`` take the lengths
    (stopped, full).
    """
    paid = paid or (lambda n, full: n)
    width = width or (lambda n, full: n + 1)

    def ms(drafts, least, draft, curve):
        time = 0
        tokens = 0
        for chances, accepted in drafts:
            products = list(accumulate(chances, mul))
            full = len(products)
            n = next((k for k, p in enumerate(products, 1) if p < least), full)
            time += paid(n, full) * draft + curve[width(n, full)]
            tokens += (min(accepted, n) if cut else accepted) + bonus
        return time / tokens

    return ms


Answer = Callable[..., object]
WRONG: list[tuple[str, str, Answer]] = [
    ("1.1", "slope first", lambda curve: line(curve)[::-1]),
    ("1.1", "through the ends", through_the_ends),
    ("1.1", "one token as constant", lambda curve: (curve[1], line(curve)[1])),
    ("1.2", "free", lambda a, b, k: k),
    ("1.2", "upside down", lambda a, b, k: (a + b * k) / (k * (a + b))),
    ("2.1", "all accepted", lambda draft, own: (len(draft), own)),
    ("2.1", "no own token", without_own_token),
    ("2.1", "the draft's token", ends_with_the_drafts_token),
    ("2.1", "row too early", ends_a_row_too_early),
    ("2.2", "prompt too", decoding(whole=True)),
    ("2.2", "all own tokens", decoding(own_tokens=True)),
    ("2.2", "too long", decoding(uncut=True)),
    ("3.1", "q missing", lambda u, p, q: u < p),
    ("3.1", "upside down", lambda u, p, q: u < q / p if p else True),
    ("3.1", "not strict", lambda u, p, q: q * u <= p),
    ("3.1", "only p >= q", lambda u, p, q: q <= p),
    ("3.1", "always", lambda u, p, q: True),
    ("3.1", "exchanged", lambda u, p, q: u < q / p if p else q > 0),
    ("3.2", "from p", lambda p, q: p),
    ("3.2", "from q", lambda p, q: q),
    ("3.2", "not scaled", lambda p, q: rest(p, q) if sum(rest(p, q)) else p),
    ("3.2", "negative", lambda p, q: [a - b for a, b in pairs(p, q)] if p != q else p),
    ("3.2", "likeliest", likeliest_of_the_rest),
    ("3.3", "distance", distance),
    ("3.3", "product", lambda p, q: sum(map(mul, p, q))),
    ("3.3", "counted twice", lambda p, q: 1 - 2 * distance(p, q)),
    ("3.4", "each alone", capped_at_one),
    ("3.4", "no cap", lambda r: list(accumulate(r, mul))),
    ("3.4", "cut at the end", lambda r: capped_at_one(accumulate(r, mul))),
    ("3.4", "cut before", lambda r: list(accumulate(capped_at_one(r), mul))),
    ("4.1", "greedy", greedy_test),
    ("4.1", "too short", short_test),
    ("4.2", "observed below", lambda counts, p: squares(counts, p, over_counts=True)),
    ("4.2", "probabilities", lambda c, p: sum((n - a) ** 2 / a for n, a in pairs(c, p))),
    ("4.2", "never observed", squares),
    ("5.1", "first place", looked_up(first=True)),
    ("5.1", "shortest key", looked_up(shortest=True)),
    ("5.1", "last token of the key", looked_up(shift=-1)),
    ("5.1", "finds itself", looked_up(itself=True)),
    ("5.2", "plain passes", lambda prompt, output, draft: len(output)),
    ("5.2", "only with a draft", replayed(count_empty=False)),
    ("5.2", "no own token", replayed(own=0)),
    ("6.1", "alone", lambda parents, chances: 1 + sum(chances)),
    ("6.1", "no own token", lambda parents, chances: sum(reached(parents, chances))),
    ("6.2", "the first", lambda parents, chances, budget: list(range(budget))),
    (
        "6.2",
        "by own probability",
        lambda parents, chances, n: sorted(range(len(parents)), key=lambda k: -chances[k])[:n],
    ),
    ("7.1", "linear", lambda alpha, gamma: 1 + alpha * gamma),
    ("7.1", "from one", lambda alpha, gamma: gained(alpha, gamma) - 1),
    ("7.1", "one too few", lambda alpha, gamma: gained(alpha, gamma - 1)),
    ("7.1", "quotient", lambda a, n: (1 - a ** (n + 1)) / (1 - a)),
    ("7.2", "linear", lambda a, n, draft, target: (n * draft + target) / (1 + a * n)),
    ("7.2", "no target", lambda a, n, draft, target: n * draft / gained(a, n)),
    ("7.2", "per round", lambda a, n, draft, target: n * draft + target),
    ("7.2", "one pass", lambda a, n, draft, target: (draft + target) / gained(a, n)),
    ("7.3", "the longest", lambda alpha, c: 32),
    (
        "7.3",
        "never plain",
        lambda a, c: min(range(1, 33), key=lambda n: (n * c + 1) / gained(a, n)),
    ),
    ("7.3", "likelier than not", lambda a, c: max(n for n in range(33) if 2 * a**n >= 1)),
    ("7.4", "one token", lambda a, n, d, curve: curve[1] * gained(a, n) / (n * d + curve[1])),
    ("7.4", "too narrow", lambda a, n, d, curve: curve[1] * gained(a, n) / (n * d + curve[n])),
    ("7.4", "a time", lambda a, n, d, curve: (n * d + curve[n + 1]) / gained(a, n)),
    (
        "7.4",
        "upside down",
        lambda a, n, d, curve: (n * d + curve[n + 1]) / gained(a, n) / curve[1],
    ),
    ("8.1", "distinct tokens", lambda ids: 1 - len(set(ids)) / len(ids) if ids else 0),
    (
        "8.2",
        "mean of resamples",
        lambda b, s, w: (ratios(b, s, w).mean(), *interval(ratios(b, s, w))),
    ),
    (
        "8.2",
        "mean of ratios",
        lambda b, s, w: ((b / s).mean(), *interval(ratios(b, s, w))),
    ),
    (
        "8.2",
        "90 %",
        lambda b, s, w: (ratios(b, s, w)[0], *interval(ratios(b, s, w), 0.05, 0.95)),
    ),
    (
        "8.2",
        "upside down",
        lambda b, s, w: (ratios(s, b, w)[0], *interval(ratios(s, b, w))),
    ),
    ("9.1", "exact all the same", lambda p, q, least: p),
    ("9.1", "residual after a drop", dropping(rest)),
    ("9.1", "p after a rejection", dropping(lambda p, q: p, lambda p, q: p)),
    ("9.1", "nothing after a drop", dropping_alone),
    ("9.2", "dropped", proposing(keep=False)),
    ("9.2", "never stops", proposing(stop=False)),
    ("9.2", "the last probability", proposing(last_only=True)),
    ("9.2", "the likeliest", proposing(likeliest=True)),
    ("9.3", "no own token", cost_of_stops(bonus=0)),
    ("9.3", "not cut", cost_of_stops(cut=False)),
    ("9.3", "full drafts paid", cost_of_stops(paid=lambda n, full: full)),
    ("9.3", "one pass", cost_of_stops(paid=lambda n, full: 1)),
    ("9.3", "width 1", cost_of_stops(width=lambda n, full: 1)),
    ("9.3", "width n", cost_of_stops(width=lambda n, full: n)),
    ("9.3", "full width", cost_of_stops(width=lambda n, full: full + 1)),
    ("9.4", "the largest", lambda drafts, found, draft, curve: max(found)),
    ("L1", "no own token", lambda rates: sum(rates)),
    ("L1", "multiplied", lambda r: sum(prod(r[:k]) for k in range(len(r) + 1))),
    ("P2", "no own token", lambda drafted, accepted: accepted),
    ("P4", "no min", lambda p, q: p / q),
    ("P5", "what is emitted", smaller),
    ("P9", "added", lambda alpha, k: alpha * k),
    ("P11", "at equality", lambda alpha, c: alpha >= c),
]
