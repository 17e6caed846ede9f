"""The exercises of lessons and puzzles that are one formula: number, name, arguments, and the expected value."""

import random
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product
from operator import mul

from hsd_viz.exercises.check import formula
from hsd_viz.exercises.data import laws
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import predict

Tree = tuple[list[int], list[Fraction]]
ONE = Fraction(1)
EIGHTHS = [Fraction(n, 8) for n in range(9)]
PAIRS = list(product(laws(), repeat=2))
#: Rows of three tokens, with ties and zeros.
THREE = [[Fraction(n, 4) for n in row] for row in ((2, 1, 1), (1, 3, 0), (0, 2, 2), (1, 1, 2))]
#: Ratios p / q of the tokens of drafts.
RATIOS = [list(map(Fraction, row)) for n in range(4) for row in product(("1/4", "2/3", "1", "3"), repeat=n)]
CURVES = [{k: 2.0 + slope * k for k in range(1, 17)} for slope in (0.0, 0.15, 2.0)]


def small_trees() -> Iterator[Tree]:
    """Yield draft trees as parents (-1: the text) and the probability of each node once its parent is accepted."""
    # A child can be as probable as its parent.
    yield [-1, 0, -1], [Fraction(1, 2), ONE, Fraction(1, 4)]
    numbers = random.Random(0)
    for size in (1, 2, 4, 6, 8):
        for _ in range(6):
            parents = [numbers.randrange(-1, node) for node in range(size)]
            weights = [numbers.randint(1, 6) for _ in parents]
            # Siblings exclude each other: their probabilities sum to less than 1.
            sums = {at: sum(w for w, p in zip(weights, parents, strict=True) if p == at) + 2 for at in parents}
            yield parents, [Fraction(w, sums[p]) for w, p in zip(weights, parents, strict=True)]


def expected_length(
    parents: Sequence[int], chances: Sequence[Fraction], nodes: Iterable[int] | None = None
) -> Fraction:
    """Return the expected tokens of a round with these nodes (default: all) of a draft tree."""
    reached = {-1: ONE}
    for node in range(len(parents)) if nodes is None else sorted(nodes):
        reached[node] = reached[parents[node]] * chances[node]
    return sum(reached.values(), Fraction(0))


def one_draft(alpha: float, gamma: int, draft: float, target: Sequence[float]) -> float:
    """Return the law's ms per token of one draft model, or without one; ``target[k - 1]`` is the cost of a pass over k
    tokens, the last one also of wider passes.
    """
    if gamma == 0:
        return target[0]
    costs = {"draft": LevelCost((draft,)), "target": LevelCost(tuple(target))}
    measured = Calibration(("draft", "target"), costs, {("draft", "target"): Edge(tail=alpha)})
    return predict(f"draft:{gamma} > target", measured).ms_per_token


def _chi_square(counts: Sequence[int], p: Sequence[Fraction]) -> Fraction:
    return sum(((c - sum(counts) * a) ** 2 / (sum(counts) * a) for c, a in zip(counts, p, strict=True)), Fraction(0))


def _capped(ratios: Sequence[Fraction]) -> list[Fraction]:
    products = list(accumulate(ratios, mul))
    return [r / max(cap, 1) for r, cap in zip(products, accumulate(products, max), strict=True)]


_COSTS = product((ONE, Fraction(5, 2)), (Fraction(0), Fraction(1, 8), Fraction(2)), range(1, 9))
formula("1.2", "ceiling", _COSTS, lambda a, b, k: k * (a + b) / (a + b * k))
formula("3.3", "acceptance", PAIRS, lambda p, q: sum(min(a, b) for a, b in zip(p, q, strict=True)))
formula("3.4", "capped_ratios", [(row,) for row in RATIOS], lambda ratios: _capped(ratios))
_COUNTS = ([*counts] for counts in product((0, 3, 8), repeat=3) if sum(counts))
formula("4.2", "chi_square", product(_COUNTS, filter(all, laws())), lambda counts, p: _chi_square(counts, p))
formula("6.1", "expected_length", small_trees(), lambda parents, chances: expected_length(parents, chances))
_ALPHAS = [Fraction(n, 5) for n in range(6)]
formula("7.1", "G", product(_ALPHAS, range(9)), lambda alpha, gamma: sum(alpha**k for k in range(gamma + 1)))
_TIMES = product((0.0, 0.35, 0.7, 0.95), (1, 2, 4, 9), (0.0, 0.2, 3.0), (2.0,))
formula("7.2", "ms_per_token", _TIMES, lambda alpha, gamma, draft, target: one_draft(alpha, gamma, draft, [target]))
formula(
    "7.3",
    "best_lookahead",
    # No two lookaheads are equally fast here, and the last case is limited by 32.
    [*product((0.1, 0.3, 0.5, 0.7, 0.9), (0.02, 0.12, 0.25, 0.6)), (0.99, 0.001)],
    lambda alpha, c: min(range(33), key=lambda gamma: one_draft(alpha, gamma, c, [1.0])),
)
formula(
    "7.4",
    "speedup",
    product((0.0, 0.4, 0.8), (1, 3, 8), (0.3,), CURVES),
    lambda alpha, gamma, draft, curve: curve[1] / one_draft(alpha, gamma, draft, [curve[k] for k in sorted(curve)]),
)
formula("P1", "accepted", product(range(3), range(3)), lambda drafted, own: drafted == own)
formula("P2", "emitted", [(n, k) for n in range(6) for k in range(n + 1)], lambda drafted, accepted: accepted + 1)
formula("P3", "row_of", product(range(1, 6), range(5)), lambda text, place: text - 1 + place)
formula("P4", "chance", product(EIGHTHS, EIGHTHS[1:]), lambda p, q: min(ONE, p / q))
formula("P5", "missing", PAIRS, lambda p, q: [a - min(a, b) for a, b in zip(p, q, strict=True)])
formula("P6", "chance_of_copy", product(THREE, range(3)), lambda p, token: p[token])
_DRAWN = product(THREE, (1, 2, 3), range(3))
formula("P7", "q_of_test", _DRAWN, lambda q, power, token: q[token] ** power / sum(v**power for v in q))
_ROUNDS = [(rounds, least) for n in range(1, 5) for rounds in product((1, 2, 4), repeat=n) for least in (1, 3, 5)]
_ENOUGH = [(rounds, least) for rounds, least in _ROUNDS if sum(rounds) >= least]
formula("P8", "collected", _ENOUGH, lambda rounds, least: next(n for n in accumulate(rounds) if n >= least))
formula("P9", "survival", product(_ALPHAS, range(6)), lambda alpha, k: alpha**k)
formula("P10", "block_weight", [(row,) for row in RATIOS if row], lambda ratios: _capped(ratios)[-1])
formula("P11", "pays", product(EIGHTHS, EIGHTHS), lambda alpha, c: alpha > c)
