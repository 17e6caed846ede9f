"""Databases of any size: counting on disk, in parts."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.format import Index

FACTS = {"vocabulary_hash": "v", "longest": 4}


def test_a_budget_keeps_the_better_part(tmp_path):
    rng = np.random.default_rng(0)
    texts = [(rng.zipf(1.4, 3000) % 300).astype(np.uint32) for _ in range(20)]
    facts = {**FACTS, "vocabulary_size": 300, "kind": "statistics", "part_tokens": 5_000}
    build_database(texts, tmp_path / "whole", **facts, pruning=Pruning(least=2, max_bytes=10**8))
    build_database(texts, tmp_path / "half", **facts, pruning=Pruning(least=2, max_bytes=60_000))
    whole, half = Index(tmp_path / "whole"), Index(tmp_path / "half")
    assert half.size < 75_000 < whole.size
    hits = {
        index: sum(index.lookup(spell(t[i - 4 : i]))[2][0][0] == t[i] for t in texts for i in range(4, 500))
        for index in (whole, half)
    }
    assert hits[whole] > hits[half] > 0.5 * hits[whole]


def test_memory_is_that_of_the_keys_not_of_the_corpus(tmp_path):
    """A corpus eight times as long with the same keys needs hardly more memory."""

    def peak(documents):
        def feed(writer):
            for k in range(documents):
                writer.add(np.random.default_rng(k % 5).integers(0, 12, 5_000).astype(np.uint16))
                writer.end()
            return {}

        tracemalloc.start()
        pruning = Pruning(least=4, max_bytes=200_000)
        facts = FACTS | {"longest": 3}
        path = tmp_path / "x"
        build_database(feed, path, kind="statistics", vocabulary_size=12, pruning=pruning, part_tokens=5_000, **facts)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    few, many = peak(5), peak(40)
    assert many < 1.5 * few, (few, many)


def test_an_interrupted_build_leaves_nothing(tmp_path):
    (tmp_path / "x.hsdb").write_bytes(b"the one before")

    def feed(writer):
        writer.add([1, 2, 3])
        raise KeyboardInterrupt

    options = {**FACTS, "vocabulary_size": 6, "kind": "statistics", "pruning": Pruning()}
    with pytest.raises(KeyboardInterrupt):
        build_database(feed, tmp_path / "x.hsdb", **options)
    with pytest.raises(ValueError, match="no tokens"):
        build_database(lambda writer: {}, tmp_path / "x.hsdb", **options)
    with pytest.raises(ValueError, match="token 6 is outside"):
        build_database(lambda writer: writer.add([6]), tmp_path / "x.hsdb", **options)
    assert [p.name for p in Path(tmp_path).iterdir()] == ["x.hsdb"] and (
        tmp_path / "x.hsdb"
    ).read_bytes() == b"the one before"
    assert os.listdir(tmp_path) == ["x.hsdb"]
