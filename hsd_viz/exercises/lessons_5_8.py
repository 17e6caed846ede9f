"""The exercises of lessons 5 to 8, compared with recordings, brute force and the latency law."""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from hsd_viz.drafting.context import ContextDatabase, spell
from hsd_viz.exercises import data
from hsd_viz.exercises.check import Case, Refused, at_most, exercise, show
from hsd_viz.intervals import estimate, ratio, resample
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.vectorised import predict
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
    for name, ids, prompt in (*((f"{ids}", ids, 0) for ids in short), *data.texts()):
        database = ContextDatabase(longest=8)
        database.extend(ids[:prompt])
        for end in range(max(prompt, 1), len(ids) + 1):
            database.extend(ids[len(database.text) : end])
            match = database.lookup(spell(ids[max(0, end - 8) : end]))
            want = None if match is None else (match[0], max(place for _, _, place in match[2]))
            asked = f"lookup(ids, longest=8), ids: the first {end} tokens of '{name}'"
            yield Case(asked, answer(ids[:end], 8), want)


@exercise(
    "5.2",
    "replay a text without a model",
    "A round accepts the longest common start of the draft and of the rest of the text, and adds one token.",
    "The last round may have nothing left to add: it still counts.",
)
def _replay(answer: Any) -> Iterator[Case]:
    # The first draft is accepted, which it need not be in a recorded text.
    for name, ids, prompt in (("[1, 2] * 6", [1, 2] * 6, 3), *data.texts()):
        for n in (0, 1, 4):
            draft = _copying(n)
            place, rounds = prompt, 0
            while place < len(ids):
                proposed, rest = draft(ids[:place]), ids[place:]
                agreed = max(k for k in range(len(proposed) + 1) if proposed[:k] == rest[:k])
                place, rounds = place + agreed + 1, rounds + 1
            asked = f"rounds of '{name}' with {n} copied tokens"
            why = f"{asked} makes no progress: every round must emit the target's own token"
            yield Case(asked, answer(ids[:prompt], ids[prompt:], at_most(10 * len(ids), draft, why)), rounds)


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


@exercise(
    "6.1",
    "the expected length of a draft tree",
    "A node is accepted if every node on the way from the text is: multiply along the branch.",
    "The expected number of accepted tokens is the sum over nodes; the target adds one.",
)
def _tree_length(answer: Any) -> Iterator[Case]:
    for parents, chances in small_trees():
        want = _length(parents, chances, range(len(parents)))
        yield Case(f"expected_length({parents}, {show(chances)})", answer(list(parents), list(chances)), want)


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
            nodes = sorted(answer(list(parents), list(chances), budget))
            known = len(set(nodes)) == len(nodes) == budget and set(nodes) <= set(range(len(parents)))
            if not known or not all(parents[n] in (-1, *nodes) for n in nodes):
                raise Refused(
                    f"{asked} returned {nodes}: expected as many different nodes as the budget, each with its parent"
                )
            options = (c for c in combinations(range(len(parents)), budget) if all(parents[n] in (-1, *c) for n in c))
            want = max(_length(parents, chances, c) for c in options)
            yield Case(f"expected length of {asked}", _length(parents, chances, nodes), want)


# --- lesson 7 ---------------------------------------------------------------------------------------------------------


@exercise(
    "7.1",
    "tokens per round",
    "Token k of the draft is accepted with probability alpha to the power k.",
    "Add them up for k = 0 (the target's own token) to gamma. The quotient form divides by 0 at alpha = 1.",
)
def _gain(answer: Any) -> Iterator[Case]:
    for alpha, gamma in product([Fraction(n, 5) for n in range(6)], range(9)):
        yield Case(f"G(alpha={alpha}, gamma={gamma})", answer(alpha, gamma), sum(alpha**k for k in range(gamma + 1)))


def one_draft(alpha: float, gamma: int, draft: float, target: float) -> float:
    """Return the law's ms per token of one draft model with flat costs (``gamma`` from 1)."""
    costs = {"draft": LevelCost((draft,)), "target": LevelCost((target,))}
    measured = Calibration(("draft", "target"), costs, {("draft", "target"): Edge(tail=alpha)})
    return predict(f"draft:{gamma} > target", measured).ms_per_token


@exercise(
    "7.2",
    "milliseconds per token of one draft model",
    "A round: gamma passes of the draft model and one of the target. It gains G(alpha, gamma) tokens.",
)
def _ms_per_token(answer: Any) -> Iterator[Case]:
    for alpha, gamma, draft in product((0.0, 0.35, 0.7, 0.95), (1, 2, 4, 9), (0.0, 0.2, 3.0)):
        asked = f"ms_per_token(alpha={alpha}, gamma={gamma}, draft={draft}, target=2.0)"
        yield Case(asked, answer(alpha, gamma, draft, 2.0), one_draft(alpha, gamma, draft, 2.0))


@exercise(
    "7.3",
    "the best lookahead",
    "Compare all lookaheads; 0 is plain decoding and costs one pass of the target per token.",
)
def _best_lookahead(answer: Any) -> Iterator[Case]:
    # No two lookaheads are equally fast here, and the last case is limited by 32.
    for alpha, cost in (*product((0.1, 0.3, 0.5, 0.7, 0.9), (0.02, 0.12, 0.25, 0.6)), (0.99, 0.001)):
        times = [1.0, *(one_draft(alpha, gamma, cost, 1.0) for gamma in range(1, 33))]
        yield Case(f"best_lookahead(alpha={alpha}, c={cost})", answer(alpha, cost), int(np.argmin(times)))


# --- lesson 8 ---------------------------------------------------------------------------------------------------------


@exercise(
    "8.1",
    "the share of repeated text",
    "Keep a set of the 8-grams seen so far; a token counts if the 8-gram that it ends is in the set.",
    "The first seven tokens end no 8-gram, but they count in the denominator.",
)
def _repetition(answer: Any) -> Iterator[Case]:
    for name, ids, prompt in data.texts():
        for end in (prompt, prompt + 7, prompt + 40, len(ids)):
            output = ids[prompt:end]
            asked = f"repetition_share of {len(output)} tokens of '{name}'"
            yield Case(asked, answer(list(output)), repetition_share(output))
    yield Case("repetition_share([1] * 16)", answer([1] * 16), 0.5)


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
        got = answer(baseline.copy(), seconds.copy(), weights.copy())
        yield Case(f"speedup of {units} prompts, seed {seed}", got, (want.value, want.low, want.high))
