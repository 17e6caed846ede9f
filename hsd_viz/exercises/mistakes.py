"""Known mistakes in the exercises, by the exercise and the name that :func:`~hsd_viz.exercises.check` gives them:
each is a wrong answer, and an answer that equals it in all cases made that mistake.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from hsd_viz.audit.faults import FAULTS
from hsd_viz.exercises import hunt
from hsd_viz.exercises.check import MISTAKES
from hsd_viz.exercises.puzzles import climb


def _sorted_out(p: Sequence[Any], q: Sequence[Any]) -> list[Any]:
    return [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]


def _agreed(draft: list[int], own: list[int]) -> int:
    """Return the length of the longest common start."""
    return max(k for k in range(len(draft) + 1) if draft[:k] == own[:k])


def _own_at(shift: int, bonus: bool = True) -> Callable[[list[int], list[int]], Any]:
    def verify(draft: list[int], own: list[int]) -> Any:
        kept = _agreed(draft, own)
        added = [own[max(0, kept + shift)]] if bonus or kept < len(draft) else []
        return kept, draft[:kept] + added

    return verify


def _matches_anywhere(draft: list[int], own: list[int]) -> Any:
    same = [a for a, b in zip(draft, own, strict=False) if a == b]
    return len(same), [*same, own[len(same)]]


def _line(curve: dict[int, float]) -> tuple[float, float]:
    slope, constant = np.polyfit(list(curve), list(curve.values()), 1)
    return float(constant), float(slope)


def _search(lengths: Callable[[int], Sequence[int]], latest: bool, whole: bool = False) -> Callable[..., Any]:
    """Return a suffix search that tries keys of these lengths; ``whole``: also at the end of the text itself."""

    def lookup(ids: Sequence[int], longest: int) -> Any:
        for length in lengths(min(longest, len(ids) - (not whole))):
            key, last = ids[len(ids) - length :], len(ids) - length + whole
            for start in reversed(range(last)) if latest else range(last):
                if ids[start : start + length] == key:
                    return length, start + length
        return None

    return lookup


def _products(parents: Sequence[int], chances: Sequence[Fraction]) -> list[Fraction]:
    found: list[Fraction] = []
    for parent, chance in zip(parents, chances, strict=True):
        found.append(chance * (found[parent] if parent >= 0 else 1))
    return found


def _gain(alpha: Any, gamma: int) -> Any:
    return sum(alpha**k for k in range(gamma + 1))


def _repeated(ids: Sequence[int]) -> int:
    return max(0, len(ids) - 7) - len({tuple(ids[end - 8 : end]) for end in range(8, len(ids) + 1)})


def _running(ratios: Sequence[Fraction]) -> list[Fraction]:
    return [prod(ratios[: k + 1], start=Fraction(1)) for k in range(len(ratios))]


def _time(alpha: float, gamma: int, draft: float, target: float) -> float:
    return (gamma * draft + target) / _gain(alpha, gamma)


MISTAKES |= {
    "1.1": {
        "a and b are exchanged: the result is (slope, constant)": lambda curve: _line(curve)[::-1],
        "a is the cost of one token; it already contains one b": lambda curve: (curve[1], _line(curve)[1]),
    },
    "1.2": {
        "a pass over k tokens is not free beyond the first: it costs a + b k": lambda a, b, k: Fraction(k),
        "the quotient is upside down: a speed-up divides the baseline's time": lambda a, b, k: (
            (a + b * k) / (k * (a + b))
        ),
    },
    "2.1": {
        "agreement after the first difference counts: those tokens were drafted for another text": _matches_anywhere,
        "the row of the wrong place: after k accepted tokens the target's token is own[k]": _own_at(-1),
        "the bonus token is missing: after a fully accepted draft the target's last token is emitted, too": _own_at(
            0, False
        ),
        "the round emits no token of the target": lambda d, o: (_agreed(d, o), d[: _agreed(d, o)]),
        "the rejected draft token is emitted, not the target's": lambda d, o: (
            _agreed(d, o),
            d[: _agreed(d, o) + 1] if _agreed(d, o) < len(d) else [*d, o[-1]],
        ),
    },
    "3.1": {
        "q is missing: a token that is drafted too often must be accepted less often": lambda u, p, q: u < p,
        "u * q = p is accepted: the test is strict, or a token with p = 0 could pass": lambda u, p, q: u * q <= p,
        "a token is accepted only if p is at least q": lambda u, p, q: p >= q,
        "every token is accepted": lambda u, p, q: True,
        "p and q are exchanged": lambda u, p, q: u * p < q,
    },
    "3.2": {
        FAULTS[1]: lambda p, q: p,
        "the correction is drawn from the draft's row": lambda p, q: q,
        "the correction is drawn from |p - q|: where q is larger nothing is missing": hunt.apart,
        "the correction is drawn from |p - q|, which is not divided by its sum either": lambda p, q: (
            [abs(a - b) for a, b in zip(p, q, strict=True)] if p != q else p
        ),
        "max(0, p - q) is not divided by its sum": lambda p, q: _sorted_out(p, q) if p != q else p,
        "the max with 0 is missing: a probability is negative": lambda p, q: [a - b for a, b in zip(p, q, strict=True)],
        "the correction is the most probable token of the residual": lambda p, q: hunt.most_probable(
            hunt.residual(p, q)
        ),
    },
    "3.3": {
        "this is the probability that both models draw the same token": lambda p, q: sum(
            a * b for a, b in zip(p, q, strict=True)
        ),
        "|p - q| counts the difference twice: use half of its sum": lambda p, q: (
            1 - sum(abs(a - b) for a, b in zip(p, q, strict=True))
        ),
        "min is missing: p / q can exceed 1": lambda p, q: sum(a for a, b in zip(p, q, strict=True) if b),
    },
    "3.4": {
        "the cap is missing: the joint ratio exceeds 1": _running,
        "the joint ratio is cut at 1, not divided by its cap: what a token exceeds is lost for later ones": (
            lambda ratios: [min(Fraction(1), r) for r in _running(ratios)]
        ),
        "each ratio is cut at 1 before the product: that is token verification": lambda ratios: _running(
            [min(Fraction(1), r) for r in ratios]
        ),
    },
    "4.2": {
        "the observed counts are in the denominator": lambda c, p: sum(
            (a - sum(c) * b) ** 2 / a for a, b in zip(c, p, strict=True) if a
        ),
        "counts are compared with probabilities: multiply them by the number of samples": lambda c, p: sum(
            (a - b) ** 2 / b for a, b in zip(c, p, strict=True)
        ),
        "outcomes that were never observed are left out": lambda c, p: sum(
            (a - sum(c) * b) ** 2 / (sum(c) * b) for a, b in zip(c, p, strict=True) if a
        ),
    },
    "5.1": {
        "the first occurrence counts, not the latest": _search(lambda n: range(n, 0, -1), latest=False),
        "only the last token is the key, and its first occurrence counts": _search(
            lambda n: range(min(n, 1), 0, -1), False
        ),
        "short keys come first": _search(lambda n: range(1, n + 1), latest=True),
        "the end of the text finds itself: nothing follows it": _search(lambda n: range(n, 0, -1), True, whole=True),
    },
    "6.1": {
        "a node counts alone: it is reached only if every node before it is accepted": lambda parents, chances: (
            1 + sum(chances)
        ),
        "the target's own token is missing": lambda parents, chances: sum(_products(parents, chances)),
    },
    "6.2": {
        "nodes are chosen by their own probability, not by that of the way to them": lambda parents, chances, budget: (
            sorted(range(len(parents)), key=lambda n: -chances[n])[:budget]
        ),
        "the first nodes are taken, not the most probable ones": lambda parents, chances, budget: range(budget),
    },
    "7.1": {
        "the target's own token is missing: the sum begins at k = 0": lambda a, n: _gain(a, n) - 1,
        "the last token of the draft is missing: the sum ends at k = gamma": lambda a, n: _gain(a, n - 1),
        "all tokens are accepted with alpha: token k needs all before it": lambda a, n: 1 + n * a,
        "the quotient divides by 0 at alpha = 1: use the sum, or treat that case": lambda a, n: (
            (1 - a ** (n + 1)) / (1 - a)
        ),
    },
    "7.2": {
        "the target's pass is missing": lambda a, n, d, t: n * d / _gain(a, n),
        "the cost of a round is not divided by its tokens": lambda a, n, d, t: n * d + t,
        "the draft model is charged for one pass, not for gamma": lambda a, n, d, t: (d + t) / _gain(a, n),
        "the bonus token is missing in the tokens of a round": lambda a, n, d, t: (n * d + t) / _gain(a, n - 1),
    },
    "7.3": {
        "plain decoding, gamma = 0, is not compared": lambda a, c: min(range(1, 33), key=lambda n: _time(a, n, c, 1)),
        "most tokens per round, without their cost": lambda a, c: 32,
    },
    "7.4": {
        "the target's pass is priced as one token: it reads gamma + 1": lambda a, n, d, curve: (
            curve[1] / _time(a, n, d, curve[1])
        ),
        "the pass reads gamma + 1 tokens, not gamma": lambda a, n, d, curve: curve[1] / _time(a, n, d, curve[n]),
        "this is the time per token, not the speed-up": lambda a, n, d, curve: _time(a, n, d, curve[n + 1]),
    },
    "8.1": {
        "the first seven tokens are left out of the denominator": lambda ids: _repeated(ids) / max(1, len(ids) - 7),
        "repeated tokens are counted, not repeated 8-grams": lambda ids: 1 - len(set(ids)) / len(ids) if ids else 0,
    },
    "8.2": {
        "the mean of ratios is not the ratio of sums: short prompts would count as much as long ones": lambda b, s, w: (
            (ratios := w @ (b / s) / len(b))[0],
            *np.quantile(ratios[1:], [0.025, 0.975]),
        ),
        "the quotient is upside down: a speed-up divides the baseline's time": lambda b, s, w: (
            (ratios := (w @ s) / (w @ b))[0],
            *np.quantile(ratios[1:], [0.025, 0.975]),
        ),
    },
    "P1": {"the draft model's opinion does not count: the target's token is the text": lambda drafted, own: True},
    "P2": {
        "the round emits no token of the target": lambda drafted, accepted: accepted,
        "the bonus token is missing: a fully accepted draft, too, is followed by a token of the target": lambda n, k: (
            k + (k < n)
        ),
    },
    "P3": {
        "the row of the wrong place: row i is the distribution after token i, so it judges token i + 1": lambda n, k: (
            n + k
        ),
        "the rows of the text come first: the place in the draft is not the row": lambda n, k: k,
    },
    "P4": {
        "min is missing: p / q can exceed 1": lambda p, q: p / q,
        "p and q are exchanged": lambda p, q: min(Fraction(1), q / p) if p else Fraction(1),
        "q is missing: a token that is drafted too often must be accepted less often": lambda p, q: p,
    },
    "P5": {
        "this is what acceptance emits, not what it leaves over": lambda p, q: [
            min(a, b) for a, b in zip(p, q, strict=True)
        ],
        FAULTS[1]: lambda p, q: p,
        "the max with 0 is missing: a probability is negative": lambda p, q: [a - b for a, b in zip(p, q, strict=True)],
    },
    "P6": {
        FAULTS[6]: lambda p, token: min(Fraction(1), p[token] * len(p)),
        "only the most probable token is accepted: that is greedy decoding": lambda p, token: Fraction(
            p[token] == max(p)
        ),
    },
    "P7": {
        FAULTS[5]: lambda q, power, token: q[token],
        "the powers are not divided by their sum": lambda q, power, token: q[token] ** power,
    },
    "P8": {
        FAULTS[4]: lambda rounds, least: least,
        "all rounds are counted: it stops as soon as there are enough": lambda rounds, least: sum(rounds),
    },
    "P9": {
        "all tokens are accepted with alpha: token k needs all before it": lambda a, k: a if k else Fraction(1),
        "probabilities of independent steps are multiplied, not added": lambda a, k: a * k,
    },
    "P10": {
        "each ratio is cut at 1 before the product: that is token verification": lambda ratios: _running(
            [min(Fraction(1), r) for r in ratios]
        )[-1],
        "the product is cut at 1 only at the end: what a token exceeds is lost for later ones": lambda ratios: min(
            Fraction(1), _running(ratios)[-1]
        ),
    },
    "P11": {
        "at equality nothing is won": lambda a, c: a >= c,
        "a draft can pay below one half: compare the gain with its cost": lambda a, c: a > Fraction(1, 2),
    },
    "P12": {
        FAULTS[3]: climb(handed=0),
        FAULTS[2]: climb(handed=2),
        FAULTS[1]: climb(correct=lambda p, q: p),
        "medium's token is emitted: the target does not verify it": lambda small, medium, large, choose: choose(medium),
    },
}
