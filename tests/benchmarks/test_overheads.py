"""What the Python around the forwards costs, tracked: ``pytest tests/benchmarks --benchmark-enable`` measures and holds
the ceilings.

The everyday run calls everything once and measures nothing. Ceilings are ratios within one run, to a matrix product of
known size, and lie at 1.8 times what was measured when they were set: a regression by two fails, a slower machine does
not. What is compared is the fastest of many, which other work on the machine disturbs least.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from free import VOCABULARY, Workshop

from hsd_viz.decoding.sampling import Sampling, describe, distribution
from hsd_viz.decoding.verify import Draft, Numbers, Record, judge
from hsd_viz.drafting import make_drafter
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.stack import parse

#: Rounds of one stack at one temperature, with its ceiling: Python and recording of a round over one matrix product.
ROUNDS = [
    ("target", 0.0, 0.13),
    ("target", 1.0, 0.22),
    ("db > target", 0.0, 0.66),
    ("db > target", 1.0, 1.07),
    ("nano:4 > target", 0.0, 0.46),
    ("nano:4 > target", 1.0, 1.2),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def shop():
    return Workshop()


@pytest.fixture(scope="module")
def matmul() -> float:
    """Seconds of one product of two 256 x 256 matrices in float32 (33.6 MFLOP), one thread: the unit of the
    ceilings.
    """
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    best = float("inf")
    for _ in range(200):
        began = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - began)
    return best


def hold(benchmark, ratio: float, ceiling: float) -> None:
    """Note the ratio beside the timings; fail above the ceiling."""
    benchmark.extra_info |= {"ratio": ratio, "ceiling": ceiling}
    assert ratio < ceiling


def hold_fastest(benchmark, unit: float, ceiling: float, per: int = 1) -> None:
    """The same for the fastest call of a benchmark, shared by ``per`` rounds, over ``unit``; nothing where it was not
    measured.
    """
    if benchmark.stats is not None:
        hold(benchmark, benchmark.stats.stats.min / per / unit, ceiling)


def fastest_rounds(shop, stack: str, temperature: float, times: int, record: bool = True) -> float:
    """Seconds of a mean round: each round of the decode, which is always the same, as fast as it ever was."""
    runs = [shop.rounds(shop.loop(stack, temperature), record) for _ in range(times)]
    assert len({len(run) for run in runs}) == 1
    return sum(map(min, zip(*runs, strict=True))) / len(runs[0]) / 1e9


@pytest.mark.parametrize(("stack", "temperature", "ceiling"), ROUNDS)
def test_one_round(benchmark, shop, matmul, stack, temperature, ceiling):
    benchmark.pedantic(shop.rounds, setup=lambda: ((shop.loop(stack, temperature),), {}), rounds=5, warmup_rounds=1)
    if benchmark.enabled:
        hold(benchmark, fastest_rounds(shop, stack, temperature, 25) / matmul, ceiling)


@pytest.mark.parametrize(("stack", "ceiling"), [("target", 0.08), ("db > target", 0.24)])
def test_what_recording_adds_to_a_round(benchmark, shop, matmul, stack, ceiling):
    """Probabilities, entropies and top-5 lists, by numpy: the native runtime finds them in its forward."""
    benchmark.pedantic(shop.rounds, setup=lambda: ((shop.loop(stack), True), {}), rounds=5, warmup_rounds=1)
    if benchmark.enabled:
        on, off = (fastest_rounds(shop, stack, 0.0, 25, record) for record in (True, False))
        hold(benchmark, (on - off) / matmul, ceiling)


@pytest.mark.parametrize(("stack", "ceiling"), [("target", 0.05), ("db > target", 0.17)])
def test_rows_made_later(benchmark, shop, matmul, stack, ceiling):
    """The rows of a trace, a round's share."""
    late = []

    def decode(loop):
        rounds = len(shop.rounds(loop))
        late.append(shop.late / rounds / 1e9)

    benchmark.pedantic(decode, setup=lambda: ((shop.loop(stack),), {}), rounds=5, warmup_rounds=1)
    if benchmark.enabled:
        for _ in range(20):
            decode(shop.loop(stack))
        hold(benchmark, min(late) / matmul, ceiling)


def test_drafting_of_all_databases(benchmark, shop, matmul):
    """Look-up and update of one round, as the loop asks for them."""
    loop = shop.loop("db > target")
    kept = [len(verified.tokens) for verified in loop.rounds()]

    def draft(drafter):
        text, place = list(shop.prompt), 0
        for n in kept:
            drafter.draft(text, 16).within(64)
            tokens = shop.written[place : place + n]
            text += tokens
            place += n
            drafter.extend(tokens)

    def fresh():
        drafter = make_drafter(parse("db > target").bottom, databases=shop.shared, eos=0)
        drafter.start(shop.prompt)
        return (drafter,), {}

    benchmark.pedantic(draft, setup=fresh, rounds=30, warmup_rounds=1)
    hold_fastest(benchmark, matmul, 0.19, len(kept))


def tree() -> DraftTree:
    out = DraftTree()
    for token, parent in ((5, -1), (9, 0), (7, 0), (3, 1), (8, -1), (2, 3)):
        out.add(token, parent, "context", 3, 2, 0.5, 17)
    return out


def scores(rows: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, VOCABULARY), np.float32) * 3


def test_acceptance_greedy(benchmark, matmul):
    logits, drafted = scores(7), tree()
    logits[[0, 1, 2], [5, 9, 3]] += 50
    verdict = benchmark(lambda: judge(logits, Draft(drafted), Sampling(), None, Record()))
    assert verdict.accepted == [0, 1, 3]
    hold_fastest(benchmark, matmul, 0.02)


def test_acceptance_of_a_sampled_chain(benchmark, matmul):
    sampling = Sampling(1.0)
    logits, q = scores(5), distribution(scores(4), sampling)
    draft = Draft(DraftTree.chain(q.argmax(-1).tolist(), "nano"), rows=q)
    verdict = benchmark(lambda: judge(logits, draft, sampling, Numbers([0.5] * 5, [0.5] * 4), Record()))
    assert verdict.accepted == [0, 1, 2, 3]
    hold_fastest(benchmark, matmul, 0.2)


def test_acceptance_of_a_sampled_tree(benchmark, matmul):
    logits, drafted = scores(7), tree()
    logits[[0, 1, 2], [5, 9, 3]] += 50
    numbers = Numbers([0.5] * 5)
    verdict = benchmark(lambda: judge(logits, Draft(drafted), Sampling(1.0), numbers, Record(rows=True)))
    assert verdict.accepted[:3] == [0, 1, 3] and len(verdict.rows) == len(verdict.accepted) + 1
    hold_fastest(benchmark, matmul, 0.31)


def test_details_of_four_rows(benchmark, matmul):
    logits = scores(4)
    found = benchmark(lambda: [describe(row, token, 5) for token, row in enumerate(logits)])
    assert len(found) == 4
    hold_fastest(benchmark, matmul, 0.19)


def test_a_draft_tree_from_hand_to_hand(benchmark, matmul):
    def handle():
        out = tree()
        out.within(8)
        kept = out.path([0, 1, 3])
        kept.append(out.path([4]))
        return kept.depths()

    assert benchmark(handle) == [1, 2, 3, 4]
    hold_fastest(benchmark, matmul, 0.031)
