"""Compare single decisions of the compiled loop with the reference, also at exact thresholds."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys

import numpy as np
import pytest

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.rejection_sampling import judge
from hsd_viz.decoding.sampling import Draws, UniformNumbers, distribution, draw
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.native import build
from hsd_viz.trace.tables import RULES

VOCAB = 70


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    try:
        compiler = build.find_compiler()
    except Exception as error:
        pytest.skip(f"no C++ compiler: {error}")
    path = tmp_path_factory.mktemp("decide") / "decide.so"
    flags = [*(flag for flag in build.FLAGS if flag != "-O3"), "-shared"]
    source = build.Path(__file__).with_name("decide.cpp")
    subprocess.run(
        [*compiler, *flags, "-fvisibility=default", f"-I{build.SOURCES}", str(source), "-o", path],
        check=True,
    )
    compiled = ctypes.CDLL(str(path))
    compiled.decide_number.restype = ctypes.c_double
    return compiled


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def halves(choose: random.Random) -> np.ndarray:
    """Return logits whose probabilities are powers of two, so that sums meet thresholds exactly."""
    row = np.full(VOCAB, -np.inf)
    left = choose.sample(range(VOCAB), choose.choice([1, 2, 3, 5]))
    for depth, token in enumerate(left, 1):
        row[token] = -min(depth, len(left) - 1) * np.log(2)
    return row


def rows(choose: random.Random, n: int) -> np.ndarray:
    if choose.random() < 0.5:
        return np.stack([halves(choose) for _ in range(n)])
    return np.random.default_rng(choose.randrange(2**32)).normal(size=(n, VOCAB)) * 2


def number(choose: random.Random) -> float:
    """Return a number that is a possible threshold of halves in every second case."""
    return choose.randrange(16) / 16 if choose.random() < 0.5 else choose.random()


def test_a_draw_at_a_border_takes_the_next_token(library):
    choose = random.Random(0)
    for _ in range(600):
        weights = np.array(
            [choose.choice([0, 0, 1, 2, 4]) for _ in range(choose.choice([5, 70, 600]))], float
        )
        weights[choose.randrange(len(weights))] = 1
        # Any whole number may be the mark, the sum of a block among them.
        for r in (choose.randrange(int(weights.sum())) / weights.sum(), choose.random(), 0.0):
            got = library.decide_draw(pointer(weights), len(weights), ctypes.c_double(r))
            assert got == draw(weights, r)
            assert weights[got] > 0


def test_a_distribution_is_that_of_the_reference_at_every_border(library):
    choose = random.Random(1)
    for seed in range(400):
        logits = rows(choose, 1)[0]
        shares = np.sort(distribution(logits, Sampling(temperature=1.0)))[::-1].cumsum()
        top_p = choose.choice([1.0, 0.9, 0.5, 0.25, min(1.0, float(shares[choose.randrange(4)]))])
        # Also where a probability is exactly at the border of min-p.
        near = np.sort(distribution(logits, Sampling(temperature=1.0)))[::-1]
        ratio = float(near[choose.randrange(4)] / near[0])
        sampling = Sampling(
            temperature=choose.choice([1.0, 0.7, 2.0]),
            top_k=choose.choice([0, 1, 3, 40]),
            top_p=top_p,
            min_p=choose.choice([0.0, 0.05, 0.5, 1.0, ratio]),
            seed=seed,
        )
        p = np.empty(VOCAB)
        spare = np.empty(VOCAB + 64)
        numbers = (
            ctypes.c_double(sampling.temperature),
            sampling.top_k,
            ctypes.c_double(sampling.top_p),
            ctypes.c_double(sampling.min_p),
        )
        library.decide_distribute(pointer(logits), VOCAB, *numbers, pointer(p), pointer(spare))
        assert np.array_equal(p, distribution(logits, sampling)), sampling


def test_a_helper_that_is_short_of_memory_fails_the_call_and_not_the_process(library):
    code = f"import ctypes; raise SystemExit(ctypes.CDLL({library._name!r}).decide_failure())"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 1


def test_numbers_are_those_of_the_reference(library):
    for seed in (0, 1, 2**63, 2**64 - 1):
        draws = Draws(seed)
        for position in (0, 1, 77, 2**40):
            assert library.decide_number(
                ctypes.c_uint64(seed), ctypes.c_int64(position)
            ) == draws.at(position)


def random_draft(choose: random.Random, scores: np.ndarray, sampling: Sampling) -> Draft:
    """Return a tree of point masses, many of which are likely, or a sampled chain with its rows."""
    n = len(scores) - 1

    def likely(row):
        return int(choose.choice(np.argsort(scores[row])[-3:]))

    if sampling.greedy or choose.random() < 0.5:
        tree: DraftTree = DraftTree()
        while len(tree) < n:
            parent = choose.randrange(-1, len(tree))
            siblings = set()
            for k, other in enumerate(tree.parents):
                if other == parent:
                    siblings.add(tree.tokens[k])
            token = choose.choice([likely(parent + 1), choose.randrange(VOCAB)])
            if token not in siblings:
                tree.add(token, parent, "context")
        return Draft(tree, [[0]] * n)
    # Often the verifier's rows at another temperature, so that joint ratios rise above 1 and fall
    # again.
    near = scores[:n] if choose.random() < 0.5 or not n else rows(choose, n)
    q = distribution(near, Sampling(temperature=2.0)) if n else np.empty((0, VOCAB))
    tokens = [int(choose.choices(range(VOCAB), row)[0]) for row in q]
    return Draft(DraftTree.chain(tokens, "m"), [[0]] * n, q)


def test_verdicts_are_those_of_the_reference(library):
    """Compare accepted, drawn, examined and recorded values on random trees, chains and rules."""
    choose = random.Random(2)
    seen = set()
    for _ in range(3000):
        sampling = Sampling(
            temperature=choose.choice([0.0, 1.0, 1.0, 0.7]),
            top_k=choose.choice([0, 0, 5]),
            top_p=choose.choice([1.0, 0.75]),
            min_p=choose.choice([0.0, 0.0, 0.3]),
            rule=choose.choice(RULES),
        )
        n = choose.choice([0, 1, 2, 3, 6])
        scores = rows(choose, n + 1)
        draft = random_draft(choose, scores, sampling)
        r = [number(choose) for _ in range(n + 1)]
        u = [number(choose) for _ in range(n + 1)]
        expected = judge(
            scores,
            draft,
            sampling,
            None if sampling.greedy else UniformNumbers(r, u),
            RecordOptions(details=5),
        )
        verdict = np.zeros(4 + n, np.int32)
        numbers = np.empty((4, n))
        details = np.zeros(3)
        tree = [np.array(column, np.int32) for column in (draft.tree.tokens, draft.tree.parents)]
        q = None if draft.rows is None else pointer(draft.rows)
        drawn = np.array(r), np.array(u)
        library.decide(
            *(
                VOCAB,
                ctypes.c_double(sampling.temperature),
                sampling.top_k,
                ctypes.c_double(sampling.top_p),
                ctypes.c_double(sampling.min_p),
                n,
            ),
            *(
                *map(pointer, tree),
                q,
                RULES.index(sampling.rule),
                *map(pointer, drawn),
                pointer(scores),
            ),
            *map(pointer, (verdict, numbers, details)),
        )
        decided = [
            len(expected.accepted),
            expected.token,
            expected.row,
            expected.examined,
            *expected.accepted,
        ]
        assert verdict[: len(decided)].tolist() == decided
        h = expected.h or [None] * n
        for got, want in zip(
            numbers.tolist(), (expected.p, expected.q, expected.u, h), strict=True
        ):
            assert [None if np.isnan(x) else x for x in got] == want
        residual = expected.correction.residual_sum if expected.correction else 0
        assert details == pytest.approx([*expected.details[-1][:2], residual], rel=1e-12, abs=1e-12)
        seen.add(
            (draft.rows is not None, expected.rule, expected.examined > len(expected.accepted))
        )
    assert len(seen) == 2 + 2 * len(RULES)
