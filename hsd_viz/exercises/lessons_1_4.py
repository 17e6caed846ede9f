"""The exercises of lessons 1 to 4, compared with recordings and exact enumeration."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.check import Case, Refused, at_most, exercise, formula, show

# --- lesson 1 ---------------------------------------------------------------------------------------------------------


@exercise(
    "1.1",
    "fit c(k) = a + b k",
    "Minimize the sum of squared differences: two equations in two unknowns, or numpy.polyfit.",
    "b is the covariance of k and c over the variance of k; a follows from the means.",
)
def _fit(answer: Any) -> Iterator[Case]:
    for model, runtime in product(("nano", "small", "target"), ("native", "eager")):
        curve = data.cost_curve(model, runtime)
        slope, intercept = np.polyfit(list(curve), list(curve.values()), 1)
        want = (float(intercept), float(slope))
        yield Case(f"a, b of {model}, {runtime}", lambda curve=curve: tuple(answer(dict(curve))), want)


@formula(
    "1.2",
    "the largest possible speed-up",
    list(product((Fraction(1), Fraction(5, 2)), (Fraction(0), Fraction(1, 8), Fraction(2)), range(1, 9))),
    "k tokens for the price of one pass over k tokens, compared with k passes over one token.",
)
def ceiling(a: Fraction, b: Fraction, k: int) -> Fraction:
    return k * (a + b) / (a + b * k)


# --- lesson 2 ---------------------------------------------------------------------------------------------------------


@exercise(
    "2.1",
    "verify a draft with greedy decoding",
    "Compare from the left and stop at the first difference: what follows was proposed for another text.",
    "The target always adds one token of its own: own[k] after k accepted tokens.",
)
def _greedy_verify(answer: Any) -> Iterator[Case]:
    for r in data.greedy_rounds():
        # After the first difference the target's tokens are unknown and must not matter: they agree with the draft.
        own = (r.own + r.draft[len(r.own) :] + r.draft[-1:])[: len(r.draft) + 1]
        texts = f"draft {r.words(r.draft)}, the target's own tokens {r.words(own)}"
        want = (r.accepted, [*r.draft[: r.accepted], own[r.accepted]])
        got = lambda r=r, own=own: answer(list(r.draft), list(own))
        yield Case(f"round {r.id} of '{r.name}', {texts}", got, want, lambda v, r=r: _accepted(v, r.words))
    for n in range(4):
        for draft, own in product(product((0, 1), repeat=n), product((0, 1), repeat=n + 1)):
            kept = max(k for k in range(n + 1) if draft[:k] == own[:k])
            asked = f"greedy_verify({list(draft)}, {list(own)})"
            got = lambda draft=draft, own=own: answer(list(draft), list(own))
            yield Case(asked, got, (kept, [*draft[:kept], own[kept]]))


def _accepted(value: Any, words: Callable[[Sequence[int]], str]) -> str:
    try:
        count, tokens = value
        return f"{show(count)} accepted and {words(tokens)} emitted"
    except (TypeError, ValueError, KeyError):
        return show(value)


@exercise(
    "2.2",
    "greedy decoding with drafts",
    "A round: draft, one call of target, verify, extend the text. Repeat while tokens are missing.",
    "A round can emit more tokens than are missing: cut the text to the requested length.",
    "Draft at most what can still be used: one token fewer than are missing.",
)
def _speculative(answer: Any) -> Iterator[Case]:
    for seed, lookahead, length in product(range(6), (1, 2, 4), (1, 5, 12)):
        yield from _decoding(answer, seed, lookahead, length)


def _decoding(answer: Any, seed: int, lookahead: int, length: int) -> Iterator[Case]:
    asked = f"decode(target, drafter, prompt=[{seed}], length={length}, lookahead={lookahead})"
    calls: list[int] = []

    def successor(token: int) -> int:
        return (3 * token + seed) % 7

    def guess(token: int) -> int:
        return (successor(token) + (token % 3 == 0)) % 7

    def target(text: Sequence[int], draft: Sequence[int]) -> list[int]:
        if len(draft) > lookahead:
            raise Refused(f"{asked}: the target was given a draft of {len(draft)} tokens")
        calls.append(len(draft))
        return [successor(t) for t in [text[-1], *draft]]

    def drafter(text: Sequence[int], n: int) -> list[int]:
        return _chain(guess, text[-1], n)[1:]

    plain = _chain(successor, seed, length)
    why = f"{asked} makes no progress: every round must emit the target's own token"
    counted = [at_most(10 * length, function, why) for function in (target, drafter)]
    yield Case(asked, lambda: answer(*counted, [seed], length, lookahead), plain[1:])
    yield Case(f"calls of target in {asked}", lambda: len(calls), _rounds_needed(plain, guess, lookahead))


def _chain(successor: Callable[[int], int], token: int, n: int) -> list[int]:
    """Return a token and the ``n`` after it."""
    chain = [token]
    for _ in range(n):
        chain.append(successor(chain[-1]))
    return chain


def _rounds_needed(plain: Sequence[int], guess: Callable[[int], int], lookahead: int) -> int:
    """Return the rounds in which a chain drafter produces a known text."""
    place, rounds = 0, 0
    while place < len(plain) - 1:
        agreed = 0
        while agreed < lookahead and place + agreed + 1 < len(plain):
            if guess(plain[place + agreed]) != plain[place + agreed + 1]:
                break
            agreed += 1
        place, rounds = place + agreed + 1, rounds + 1
    return rounds


# --- lesson 3 ---------------------------------------------------------------------------------------------------------


@exercise(
    "3.1",
    "accept a sampled draft token",
    "P(accept) must be min(1, p / q), and u is uniform on [0, 1).",
    "u < p / q without a division: q may be small.",
)
def _accept(answer: Any) -> Iterator[Case]:
    for t in data.acceptance_tests():
        asked = f"{t.text!r} in round {t.round} of '{t.name}', accept(u={t.u!r}, p={t.p!r}, q={t.q!r})"
        yield Case(asked, lambda t=t: answer(t.u, t.p, t.q), t.accepted)
    eighths = [Fraction(n, 8) for n in range(9)]
    for u, p, q in product(eighths[:-1], eighths, eighths[1:]):
        # Of all u on this grid, P(accept) must be met exactly: the test is strict.
        want = min(Fraction(1), p / q) > u
        yield Case(f"accept(u={u}, p={p}, q={q})", lambda u=u, p=p, q=q: answer(u, p, q), want)


PAIRS = list(product(data.laws(), repeat=2))


@exercise(
    "3.2",
    "the residual",
    "After a rejection, draw from what the draft model proposes too rarely: the part of p above q.",
    "Divide by its sum. If p and q are equal nothing is ever rejected: return p.",
)
def _residual(answer: Any) -> Iterator[Case]:
    for p, q in PAIRS:
        accepted = [min(a, b) for a, b in zip(p, q, strict=True)]
        own = lambda p=p, q=q: [*answer(list(p), list(q))]
        output = lambda own=own, kept=accepted: [a + (1 - sum(kept)) * r for a, r in zip(kept, own(), strict=True)]
        asked = f"residual({show(p)}, {show(q)})"
        yield Case(f"output law with {asked}", output, p)
        yield Case(f"sum of {asked}", lambda own=own: sum(own()), 1)
        if p == q:
            yield Case(asked, own, p)


@formula(
    "3.3",
    "the probability of acceptance",
    PAIRS,
    "A token t is drafted with q[t] and then accepted with min(1, p[t] / q[t]): sum over t.",
)
def acceptance(p: list[Fraction], q: list[Fraction]) -> Fraction:
    return sum((b * min(Fraction(1), a / b) for a, b in zip(p, q, strict=True) if b), Fraction(0))


#: Ratios p / q of the tokens of drafts.
RATIOS = [list(map(Fraction, row)) for n in range(4) for row in product(("1/4", "2/3", "1", "3"), repeat=n)]


@formula(
    "3.4",
    "the capped ratio of the branch rule",
    [(row,) for row in RATIOS],
    "Multiply the ratios along the draft, and keep the largest product so far, from 1.",
    "w = product / largest product so far, at every token. Only what follows a token can lower its w.",
)
def capped_ratios(ratios: list[Fraction]) -> list[Fraction]:
    product_, largest, found = Fraction(1), Fraction(1), []
    for ratio in ratios:
        product_ *= ratio
        largest = max(largest, product_)
        found.append(product_ / largest)
    return found


# --- lesson 4 ---------------------------------------------------------------------------------------------------------


@exercise(
    "4.1",
    "a test that finds every mutant",
    "Compare law(decode, ...) with plain_law(...): equality of distributions, not of one sample.",
    "Some mistakes need two drafted tokens and a token after the round: lookahead 2, length 3.",
    "In models whose residual has a single token, wrong corrections can be right by chance.",
    seconds=60,
    success=f"{len(hunt.WRONG)} mutants killed, {len(hunt.RIGHT)} right decoders accepted",
)
def _hunt(answer: Any) -> Iterator[Case]:
    found: list[hunt.Score] = []

    def false_alarms() -> list[str]:
        found.append(hunt.score(answer))
        alarms = found[0].false_alarms
        if len(alarms) == len(hunt.RIGHT) and len(set(alarms.values())) == 1:
            raise Refused(f"the test rejects every right decoder: {next(iter(alarms.values()))}")
        return [f"{name} ({why})" for name, why in alarms.items()]

    yield Case("right decoders that the test rejects", false_alarms, [])
    yield Case("mutants that survive the test", lambda: list(found[0].survived), [])


@formula(
    "4.2",
    "the chi-square statistic",
    [([*counts], p) for p in data.laws() if all(p) for counts in product((0, 3, 8), repeat=len(p)) if sum(counts)],
    "Expected count = number of samples times probability.",
    "Sum (observed - expected)² / expected over all outcomes, also those never observed.",
)
def chi_square(counts: list[int], p: list[Fraction]) -> Fraction:
    n = sum(counts)
    return sum(((c - n * a) ** 2 / (n * a) for c, a in zip(counts, p, strict=True)), Fraction(0))
