"""The exercises of lessons 1 to 4, compared with recordings and exact enumeration."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.check import Case, Refused, at_most, exercise, show

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
        a, b = answer(dict(curve))
        yield Case(f"a, b of {model}, {runtime}", (a, b), (float(intercept), float(slope)))


@exercise(
    "1.2",
    "the largest possible speed-up",
    "k tokens for the price of one pass over k tokens, compared with k passes over one token.",
)
def _ceiling(answer: Any) -> Iterator[Case]:
    for a, b, k in product((Fraction(1), Fraction(5, 2)), (Fraction(0), Fraction(1, 8), Fraction(2)), range(1, 9)):
        yield Case(f"ceiling(a={a}, b={b}, k={k})", answer(a, b, k), k * (a + b) / (a + b * k))


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
        asked = f"round {r.id} of '{r.name}', greedy_verify({r.draft}, {own})"
        yield Case(asked, answer(list(r.draft), list(own)), (r.accepted, [*r.draft[: r.accepted], own[r.accepted]]))
    for n in range(4):
        for draft, own in product(product((0, 1), repeat=n), product((0, 1), repeat=n + 1)):
            kept = max(k for k in range(n + 1) if draft[:k] == own[:k])
            asked = f"greedy_verify({list(draft)}, {list(own)})"
            yield Case(asked, answer(list(draft), list(own)), (kept, [*draft[:kept], own[kept]]))


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
    yield Case(asked, answer(*counted, [seed], length, lookahead), plain[1:])
    yield Case(f"calls of target in {asked}", len(calls), _rounds_needed(plain, guess, lookahead))


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
        yield Case(f"accept(u={t.u!r}, p={t.p!r}, q={t.q!r})", answer(t.u, t.p, t.q), t.accepted)
    eighths = [Fraction(n, 8) for n in range(9)]
    for u, p, q in product(eighths[:-1], eighths, eighths[1:]):
        # Of all u on this grid, P(accept) must be met exactly: the test is strict.
        yield Case(f"accept(u={u}, p={p}, q={q})", answer(u, p, q), min(Fraction(1), p / q) > u)


@exercise(
    "3.2",
    "the residual",
    "After a rejection, draw from what the draft model proposes too rarely: the part of p above q.",
    "Divide by its sum. If p and q are equal nothing is ever rejected: return p.",
)
def _residual(answer: Any) -> Iterator[Case]:
    for p, q in product(data.laws(), repeat=2):
        rest = answer(list(p), list(q))
        accepted = [min(a, b) for a, b in zip(p, q, strict=True)]
        missing = 1 - sum(accepted)
        output = [a + missing * r for a, r in zip(accepted, rest, strict=True)]
        yield Case(f"output law of p={show(p)}, q={show(q)} with residual {show([*rest])}", output, p)
        yield Case(f"sum of residual({show(p)}, {show(q)})", sum(rest), 1)
        if p == q:
            yield Case(f"residual({show(p)}, {show(q)})", rest, p)


@exercise(
    "3.3",
    "the probability of acceptance",
    "A token t is drafted with q[t] and then accepted with min(1, p[t] / q[t]): sum over t.",
)
def _acceptance(answer: Any) -> Iterator[Case]:
    for p, q in product(data.laws(), repeat=2):
        accepted = sum(b * min(Fraction(1), a / b) for a, b in zip(p, q, strict=True) if b)
        yield Case(f"acceptance({show(p)}, {show(q)})", answer(list(p), list(q)), accepted)


# --- lesson 4 ---------------------------------------------------------------------------------------------------------


@exercise(
    "4.1",
    "a test that finds every mutant",
    "Compare law(decode, ...) with plain_law(...): equality of distributions, not of one sample.",
    "Some mistakes need two drafted tokens and a token after the round: lookahead 2, length 3.",
    "In models whose residual has a single token, wrong corrections can be right by chance.",
    success=f"{len(hunt.WRONG)} mutants killed, {len(hunt.RIGHT)} right decoders accepted",
)
def _hunt(answer: Any) -> Iterator[Case]:
    found = hunt.score(answer)
    alarms = found.false_alarms
    if len(alarms) == len(hunt.RIGHT) and len(set(alarms.values())) == 1:
        raise Refused(f"the test rejects every right decoder: {next(iter(alarms.values()))}")
    yield Case("right decoders that the test rejects", [f"{name} ({why})" for name, why in alarms.items()], [])
    yield Case("mutants that survive the test", list(found.survived), [])


@exercise(
    "4.2",
    "the chi-square statistic",
    "Expected count = number of samples times probability.",
    "Sum (observed - expected)² / expected over all outcomes, also those never observed.",
)
def _chi_square(answer: Any) -> Iterator[Case]:
    for p in data.laws():
        if all(p):
            for counts in product((0, 3, 8), repeat=len(p)):
                if n := sum(counts):
                    want = sum((c - n * a) ** 2 / (n * a) for c, a in zip(counts, p, strict=True))
                    yield Case(f"chi_square({list(counts)}, {show(p)})", answer(list(counts), list(p)), want)
