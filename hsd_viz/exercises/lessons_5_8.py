"""The exercises of lessons 5 to 8, compared with recordings, brute force and the latency law."""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from hsd_viz.drafting.context import ContextDatabase, spell
from hsd_viz.exercises import data
from hsd_viz.exercises.check import Case, Refused, at_most, exercise, formula, show
from hsd_viz.intervals import estimate, ratio, resample
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import predict
from hsd_viz.trace.metrics import repetition_share

# --- lesson 5 ---------------------------------------------------------------------------------------------------------


@exercise(
    "5.1",
    "find the longest earlier suffix",
    "Try keys from the longest to a single token; the first that occurs earlier is the answer.",
    "The earlier occurrence must have a token after it, so it cannot be the end of the text itself.",
    "Search from the end: the latest occurrence counts.",
)
def _lookup(answer: Any) -> Iterator[Case]:
    short = ([*text] for size in range(1, 8) for text in product((1, 2), repeat=size))
    for trace, ids, prompt in (*((None, ids, 0) for ids in short), *data.texts()):
        database = ContextDatabase(longest=8)
        database.extend(ids[:prompt])
        for end in range(max(prompt, 1), len(ids) + 1):
            database.extend(ids[len(database.text) : end])
            match = database.lookup(spell(ids[max(0, end - 8) : end]))
            want = None if match is None else (match[0], max(place for _, _, place in match[2]))
            asked, say = f"lookup({ids[:end]}, longest=8)", show
            if trace is not None:
                last = "".join(trace.pieces[i] for i in ids[max(0, end - 12) : end])
                asked = (
                    f"lookup(ids, longest=8), ids: the first {end} tokens of '{trace.stack}', which end with {last!r}"
                )
                say = lambda v, ids=ids, end=end, trace=trace: _match(v, ids[:end], trace.pieces)
            yield Case(asked, lambda ids=ids, end=end: answer(ids[:end], 8), want, say)


def _match(value: Any, ids: Sequence[int], pieces: dict[int, str]) -> str:
    """Return the key that ends the text, and what follows the match."""
    try:
        length, place = value
        key, then = ("".join(pieces[i] for i in part) for part in (ids[len(ids) - length :], ids[place : place + 4]))
        return f"{show(value)}: the key {key!r}, and at {place} {then!r}"
    except (TypeError, ValueError, KeyError):
        return show(value)


@exercise(
    "5.2",
    "replay a text without a model",
    "A round accepts the longest common start of the draft and of the rest of the text, and adds one token.",
    "The last round may have nothing left to add: it still counts.",
)
def _replay(answer: Any) -> Iterator[Case]:
    # The first draft is accepted, which it need not be in a recorded text.
    recorded = [(trace.stack, ids, prompt) for trace, ids, prompt in data.texts()]
    for name, ids, prompt in [("[1, 2] * 6", [1, 2] * 6, 3), *recorded]:
        for n in (0, 1, 4):
            draft = _copying(n)
            place, rounds = prompt, 0
            while place < len(ids):
                proposed, rest = draft(ids[:place]), ids[place:]
                agreed = max(k for k in range(len(proposed) + 1) if proposed[:k] == rest[:k])
                place, rounds = place + agreed + 1, rounds + 1
            asked = f"rounds of '{name}' with {n} copied tokens"
            why = f"{asked} makes no progress: every round must emit the target's own token"
            counted = at_most(10 * len(ids), draft, why)
            yield Case(asked, lambda a=ids[:prompt], b=ids[prompt:], draft=counted: answer(a, b, draft), rounds)


def _copying(n: int) -> Callable[[Sequence[int]], list[int]]:
    """Return a drafter that copies the ``n`` tokens after the latest earlier occurrence of the last token."""

    def draft(ids: Sequence[int]) -> list[int]:
        places = [i for i in range(len(ids) - 1) if ids[i] == ids[-1]]
        return list(ids[places[-1] + 1 :][:n]) if places else []

    return draft


# --- lesson 6 ---------------------------------------------------------------------------------------------------------


def small_trees() -> Iterator[tuple[list[int], list[Fraction]]]:
    """Yield draft trees as parents (-1: the text) and the probability of each node once its parent is accepted."""
    # A child can be as probable as its parent.
    yield [-1, 0, -1], [Fraction(1, 2), Fraction(1), Fraction(1, 4)]
    numbers = random.Random(0)
    for size in (1, 2, 4, 6, 8):
        for _ in range(6):
            parents = [numbers.randrange(-1, node) for node in range(size)]
            weights = [numbers.randint(1, 6) for _ in parents]
            # Siblings exclude each other: their probabilities sum to less than 1.
            sums = {at: sum(w for w, p in zip(weights, parents, strict=True) if p == at) + 2 for at in parents}
            yield parents, [Fraction(w, sums[p]) for w, p in zip(weights, parents, strict=True)]


def _length(parents: Sequence[int], chances: Sequence[Fraction], nodes: Sequence[int]) -> Fraction:
    reached: dict[int, Fraction] = {-1: Fraction(1)}
    for node in sorted(nodes):
        reached[node] = reached[parents[node]] * chances[node]
    return sum(reached.values(), Fraction(0))


@formula(
    "6.1",
    "the expected length of a draft tree",
    list(small_trees()),
    "A node is accepted if every node on the way from the text is: multiply along the branch.",
    "The expected number of accepted tokens is the sum over nodes; the target adds one.",
)
def expected_length(parents: Sequence[int], chances: Sequence[Fraction]) -> Fraction:
    return _length(parents, chances, range(len(parents)))


@exercise(
    "6.2",
    "the best tree of a budget",
    "A child is at most as probable as its parent: take parents first among equals, and the best nodes form a tree.",
    "Grow the tree one node at a time from a queue of candidates, most probable first.",
)
def _best_tree(answer: Any) -> Iterator[Case]:
    for parents, chances in small_trees():
        for budget in range(1, len(parents) + 1):
            asked = f"best_tree({parents}, {show(chances)}, budget={budget})"
            options = (c for c in combinations(range(len(parents)), budget) if _is_tree(parents, c))
            want = max(_length(parents, chances, c) for c in options)
            got = lambda p=parents, c=chances, b=budget, asked=asked: _length(
                p, c, _checked(p, sorted(answer(list(p), list(c), b)), b, asked)
            )
            yield Case(f"expected length of {asked}", got, want)


def _is_tree(parents: Sequence[int], nodes: Sequence[int]) -> bool:
    return all(parents[n] in (-1, *nodes) for n in nodes)


def _checked(parents: Sequence[int], nodes: Sequence[int], budget: int, asked: str) -> Sequence[int]:
    known = len(set(nodes)) == len(nodes) == budget and set(nodes) <= set(range(len(parents)))
    if not known or not _is_tree(parents, nodes):
        raise Refused(f"{asked} returned {nodes}: expected as many different nodes as the budget, each with its parent")
    return nodes


# --- lesson 7 ---------------------------------------------------------------------------------------------------------


@formula(
    "7.1",
    "tokens per round",
    list(product([Fraction(n, 5) for n in range(6)], range(9))),
    "Token k of the draft is accepted with probability alpha to the power k.",
    "Add them up for k = 0 (the target's own token) to gamma. The quotient form divides by 0 at alpha = 1.",
)
def G(alpha: Fraction, gamma: int) -> Fraction:
    return sum((alpha**k for k in range(gamma + 1)), Fraction(0))


def one_draft(alpha: float, gamma: int, draft: float, target: Sequence[float]) -> float:
    """Return the law's ms per token of one draft model (``gamma`` from 1); ``target[k - 1]`` is the cost of a pass over
    k tokens, the last one also of wider passes.
    """
    costs = {"draft": LevelCost((draft,)), "target": LevelCost(tuple(target))}
    measured = Calibration(("draft", "target"), costs, {("draft", "target"): Edge(tail=alpha)})
    return predict(f"draft:{gamma} > target", measured).ms_per_token


@formula(
    "7.2",
    "milliseconds per token of one draft model",
    list(product((0.0, 0.35, 0.7, 0.95), (1, 2, 4, 9), (0.0, 0.2, 3.0), (2.0,))),
    "A round: gamma passes of the draft model and one of the target. It gains G(alpha, gamma) tokens.",
)
def ms_per_token(alpha: float, gamma: int, draft: float, target: float) -> float:
    return one_draft(alpha, gamma, draft, [target])


@formula(
    "7.3",
    "the best lookahead",
    # No two lookaheads are equally fast here, and the last case is limited by 32.
    [*product((0.1, 0.3, 0.5, 0.7, 0.9), (0.02, 0.12, 0.25, 0.6)), (0.99, 0.001)],
    "Compare all lookaheads; 0 is plain decoding and costs one pass of the target per token.",
)
def best_lookahead(alpha: float, c: float) -> int:
    return int(np.argmin([1.0, *(one_draft(alpha, gamma, c, [1.0]) for gamma in range(1, 33))]))


@formula(
    "7.4",
    "the speed-up with a cost curve",
    [
        (alpha, gamma, 0.3, {k: 2.0 + slope * k for k in range(1, 17)})
        for alpha, gamma, slope in product((0.0, 0.4, 0.8), (1, 3, 8), (0.0, 0.15, 2.0))
    ],
    "The target's pass of a round reads gamma + 1 tokens: the draft and the last token of the text.",
    "Plain decoding costs curve[1] per token.",
)
def speedup(alpha: float, gamma: int, draft: float, curve: dict[int, float]) -> float:
    return curve[1] / one_draft(alpha, gamma, draft, [curve[k] for k in sorted(curve)])


# --- lesson 8 ---------------------------------------------------------------------------------------------------------


@exercise(
    "8.1",
    "the share of repeated text",
    "Keep a set of the 8-grams seen so far; a token counts if the 8-gram that it ends is in the set.",
    "The first seven tokens end no 8-gram, but they count in the denominator.",
)
def _repetition(answer: Any) -> Iterator[Case]:
    for trace, ids, prompt in data.texts():
        for end in (prompt, prompt + 7, prompt + 40, len(ids)):
            output = ids[prompt:end]
            asked = f"repetition_share of {len(output)} tokens of '{trace.stack}'"
            yield Case(asked, lambda output=output: answer(list(output)), repetition_share(output))
    yield Case("repetition_share([1] * 16)", lambda: answer([1] * 16), 0.5)


@exercise(
    "8.2",
    "a speed-up with an interval",
    "Resample prompts, and take the same prompts for both stacks: weights @ seconds are the sums of every resample.",
    "The speed-up is sum of baseline seconds over sum of seconds; row 0 of the weights is the sample itself.",
    "The interval: the quantiles 0.025 and 0.975 of the resampled speed-ups, without row 0.",
)
def _speedup(answer: Any) -> Iterator[Case]:
    for seed, units in product(range(3), (2, 6, 12)):
        numbers = np.random.default_rng(seed)
        baseline = numbers.uniform(1, 3, units)
        seconds = baseline / numbers.uniform(0.8, 2.5, units)
        weights = resample(units, seed)
        want = estimate(ratio(weights @ baseline, weights @ seconds), units)
        got = lambda b=baseline, s=seconds, w=weights: answer(b.copy(), s.copy(), w.copy())
        yield Case(f"speedup of {units} prompts, seed {seed}", got, (want.value, want.low, want.high))
