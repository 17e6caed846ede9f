"""The inputs on which an answer must equal the solution: recordings, and all small cases of a
kind.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.check import ExerciseCase, Submission, call, exercise, show
from hsd_viz.results.bootstrap import resample


def parts(*numerators: int, of: int) -> list[Fraction]:
    """Return fractions of one denominator."""
    return [Fraction(n, of) for n in numerators]


def sequences(values: Sequence[Any], sizes: Iterable[int]) -> list[tuple[Any, ...]]:
    """Return all sequences of these values of these sizes, the shortest first."""
    listed: list[tuple[Any, ...]] = []
    for size in sizes:
        listed += product(values, repeat=size)
    return listed


def _laws() -> list[list[Fraction]]:
    """Return all distributions over three tokens in quarters."""
    laws = []
    for row in product(range(5), repeat=3):
        if sum(row) == 4:
            laws.append(parts(*row, of=4))
    return laws


def _ratios() -> list[tuple[list[Fraction]]]:
    """Return the ratios p / q of the tokens of drafts of up to three tokens."""
    values = [Fraction(1, 4), Fraction(2, 3), Fraction(1), Fraction(3)]
    return [(list(row),) for row in sequences(values, range(4))]


def _cost_curve(slope: float) -> dict[int, float]:
    """Return the cost of a pass by its number of tokens."""
    return {k: 2.0 + slope * k for k in range(1, 17)}


ONE = Fraction(1)
EIGHTHS = parts(*range(9), of=8)
ALPHAS = parts(*range(6), of=5)
LAWS = _laws()
#: Distributions with ties and zeros.
THREE = [
    parts(2, 1, 1, of=4),
    parts(1, 3, 0, of=4),
    parts(0, 2, 2, of=4),
    parts(1, 1, 2, of=4),
]
PAIRS = list(product(LAWS, repeat=2))
RATIOS = _ratios()
CURVES = [_cost_curve(0.0), _cost_curve(0.15), _cost_curve(2.0)]


# Lesson 1: one pass, many tokens.


@exercise("1.1")
def _fit() -> Iterator[ExerciseCase]:
    for model, runtime in product(("nano", "small", "target"), ("native", "eager")):
        yield ExerciseCase(f"a, b of {model}, {runtime}", call(data.cost_curve(model, runtime)))
    yield ExerciseCase("a, b of smollm2", call(data.cost_curve("smollm2")))


exercise("1.2")(
    lambda: product((ONE, Fraction(5, 2)), (Fraction(0), Fraction(1, 8), Fraction(2)), range(1, 9))
)

# Lesson 2: draft, verify, accept.


@exercise("2.1")
def _greedy_verify() -> Iterator[ExerciseCase | Sequence[Any]]:
    for r in data.greedy_rounds():
        # After the first difference the target's tokens are unknown and must not matter: they agree
        # with the draft.
        own = (r.own + r.draft[len(r.own) :] + r.draft[-1:])[: len(r.draft) + 1]
        asked = (
            f"round {r.id} of '{r.trace.stack}', draft {r.words(r.draft)}, "
            f"the target's own tokens {r.words(own)}"
        )
        yield ExerciseCase(
            asked,
            call(r.draft, own),
            lambda v, r=r: f"{show(v[0])} accepted and {r.words(v[1])} emitted",
        )
    for n in range(4):
        yield from product(
            map(list, product((0, 1), repeat=n)), map(list, product((0, 1), repeat=n + 1))
        )


@exercise("2.2")
def _speculative() -> Iterator[ExerciseCase]:
    for seed, lookahead, length in product(range(6), (1, 2, 4), (1, 5, 12)):
        asked = f"decode(target, drafter, prompt=[{seed}], length={length}, lookahead={lookahead})"
        yield ExerciseCase(
            f"(text, calls of target) of {asked}", partial(_decoded, seed, length, lookahead)
        )


def _decoded(seed: int, length: int, lookahead: int, answer: Submission) -> tuple[Any, int]:
    """Return the text of an answer with a target and a drafter over seven tokens, and the passes
    of the target.
    """
    passes = []

    def after(token: int) -> int:
        return (3 * token + seed) % 7

    def target(text: Sequence[int], draft: Sequence[int]) -> list[int]:
        passes.append(draft)
        return [after(token) for token in [text[-1], *draft]]

    def drafter(text: Sequence[int], n: int) -> list[int]:
        tokens = [text[-1]]
        for _ in range(n):
            # Every third token is followed by a wrong guess.
            tokens.append((after(tokens[-1]) + (tokens[-1] % 3 == 0)) % 7)
        return tokens[1:]

    return answer(target, drafter, [seed], length, lookahead), len(passes)


# Lesson 3: why sampling stays exact.


@exercise("3.1")
def _accept() -> Iterator[ExerciseCase | Sequence[Any]]:
    for name, d in data.acceptance_tests():
        asked = (
            f"{d.text!r} in round {d.round} of {name!r}, "
            f"accept(u={show(d.u)}, p={show(d.p)}, q={show(d.q)})"
        )
        yield ExerciseCase(asked, call(d.u, d.p, d.q), expected=d.verdict == "accepted")
    # On this grid u * q = p occurs: the test is strict.
    yield from product(EIGHTHS[:-1], EIGHTHS, EIGHTHS[1:])


# Equal rows come last: as a first counter-example they would hide what is wrong with all others.
exercise("3.2")(lambda: sorted(PAIRS, key=lambda rows: rows[0] == rows[1]))
exercise("3.3")(lambda: PAIRS)
exercise("3.4")(lambda: RATIOS)

# Lesson 4: lossy-bug hunt.


@exercise("4.1")
def _hunt() -> Iterator[ExerciseCase]:
    for name, decode in hunt.RIGHT.items():
        yield ExerciseCase(
            f"the right decoder '{name}'",
            lambda test, d=decode: hunt.rejected(test, d),
            _verdict_and_why,
            "",
        )
    for n, decode in enumerate(hunt.mutants, 1):
        yield ExerciseCase(
            f"mutant {n}", lambda test, d=decode: bool(hunt.rejected(test, d)), _verdict, True
        )


def _verdict_and_why(why: str) -> str:
    return f"rejected ({why})" if why else "accepted"


def _verdict(is_rejected: bool) -> str:
    return "rejected" if is_rejected else "accepted"


exercise("4.2")(
    lambda: product(map(list, filter(any, product((0, 3, 8), repeat=3))), filter(all, LAWS))
)

# Lesson 5: databases.


@exercise("5.1")
def _lookup() -> Iterator[ExerciseCase | Sequence[Any]]:
    for small in sequences((1, 2), range(1, 8)):
        yield list(small), 8
    for trace, ids, prompt in data.texts():
        for end in range(prompt, len(ids) + 1):
            text = [trace.pieces[i] for i in ids[:end]]
            where = (
                f"the first {end} tokens of '{trace.stack}', which end with {''.join(text[-12:])!r}"
            )
            say = partial(_match_in, text)
            yield ExerciseCase(f"lookup(ids, longest=8), ids: {where}", call(ids[:end], 8), say)


def _match_in(text: list[str], match: tuple[int, int]) -> str:
    """Return a match of :func:`lookup` with the text that follows it."""
    start = match[1]
    follows = "".join(text[start : start + 4])
    return f"{show(match)}, after which {follows!r} follows"


@exercise("5.2")
def _replay() -> Iterator[ExerciseCase]:
    # The first draft is accepted, which it need not be in a recorded text.
    recorded = [(trace.stack, ids, prompt) for trace, ids, prompt in data.texts()]
    for (name, ids, prompt), n in product([("[1, 2] * 6", [1, 2] * 6, 3), *recorded], (0, 1, 4)):
        copied = partial(_copied, n)
        got = partial(_rounds_of, ids[:prompt], ids[prompt:], copied)
        yield ExerciseCase(f"rounds of '{name}' with {n} copied tokens", got)


def _copied(n: int, text: Sequence[int]) -> list[int]:
    """Return the ``n`` tokens after the latest earlier occurrence of the last token."""
    for place in reversed(range(len(text) - 1)):
        if text[place] == text[-1]:
            return list(text[place + 1 :][:n])
    return []


def _rounds_of(prompt: Any, output: Any, copied: Any, answer: Submission) -> Any:
    return answer(prompt, output, copied)


# Lesson 6: trees and budgets.


def small_trees() -> Iterator[tuple[list[int], list[Fraction]]]:
    """Yield draft trees as parents (-1: the text) and the probability of each node once its parent
    is accepted. Each budget has one best tree.
    """
    # A child can be as probable as its parent.
    yield [-1, 0, -1], [Fraction(1, 2), ONE, Fraction(1, 4)]
    numbers = random.Random(0)
    for size in (1, 2, 4, 6, 8) * 6:
        parents = [numbers.randrange(-1, node) for node in range(size)]
        # Products of primes differ. Siblings exclude each other: their probabilities sum to less
        # than 1.
        yield (
            parents,
            [
                Fraction(prime, 128)
                for prime in numbers.sample((3, 7, 11, 13, 17, 19, 23, 29), size)
            ],
        )


exercise("6.1")(small_trees)


@exercise("6.2")
def _best_tree() -> Iterator[ExerciseCase]:
    for parents, chances in small_trees():
        for budget in range(1, len(parents) + 1):
            asked = f"best_tree({parents}, {show(chances)}, budget={budget})"
            own = call(parents, chances, budget)
            yield ExerciseCase(asked, lambda answer, own=own: sorted(own(answer)))


# Lesson 7: the latency law. Lookaheads 0 and 1 are equally fast where alpha = c; the last best one
# is limited by 32.

exercise("7.1")(lambda: product(ALPHAS, range(9)))
exercise("7.2")(lambda: product((0.0, 0.35, 0.7, 0.95), (1, 2, 4, 9), (0.0, 0.2, 3.0), (2.0,)))
exercise("7.3")(
    lambda: [
        *product((0.1, 0.3, 0.5, 0.7, 0.9), (0.02, 0.12, 0.25, 0.6)),
        (0.99, 0.001),
        (0.5, 0.5),
        (0.25, 0.25),
    ]
)
exercise("7.4")(lambda: product((0.0, 0.4, 0.8), (1, 3, 8), (0.3,), CURVES))

# Lesson 8: measure honestly.


@exercise("8.1")
def _repetition() -> Iterator[ExerciseCase | Sequence[Any]]:
    for trace, ids, start in data.texts():
        for n in (0, 7, 40, len(ids)):
            output = ids[start : start + n]
            asked = f"repetition_share of {len(output)} tokens of '{trace.stack}'"
            yield ExerciseCase(asked, call(output))
    yield ([1] * 16,)


@exercise("8.2")
def _speedup() -> Iterator[ExerciseCase]:
    for seed, units in product(range(3), (2, 6, 12)):
        numbers = np.random.default_rng(seed)
        baseline = numbers.uniform(1, 3, units)
        seconds = baseline / numbers.uniform(0.8, 2.5, units)
        weights = resample(units, seed)
        yield ExerciseCase(
            f"speedup of {units} prompts, seed {seed}", call(baseline, seconds, weights)
        )
