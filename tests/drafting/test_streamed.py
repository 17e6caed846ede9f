"""Databases of any size: counting on disk, in parts of any size, writes the file of a count with dictionaries."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import count

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.format import Header, Index, write_index

FACTS = {"vocabulary_hash": "v", "longest": 4}


def stream(documents, path, **options):
    def feed(writer):
        for document in documents:
            for start in range(0, len(document), 7):
                writer.add(document[start : start + 7])
            writer.end()
        return {}

    build_database(feed, path, **options)


documents = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=40), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(documents, st.booleans(), st.sampled_from([1, 3, 17, 1000]), st.sampled_from([6, 70_000]), st.integers(1, 3))
def test_the_file_is_that_of_counting_in_memory(tmp_path_factory, texts, model, part_tokens, vocabulary_size, least):
    folder = tmp_path_factory.mktemp("streamed")
    pruning = Pruning(least=least, least_continuation=1, least_share=0.1, most=3, max_bytes=10**8)
    facts = {"vocabulary_size": vocabulary_size, "vocabulary_hash": "v", "kind": "model" if model else "statistics"}
    table = count(texts, vocabulary_size=vocabulary_size, longest=4, pruning=pruning, per_document=model)
    meta = {"outputs" if model else "documents": len(texts), "tokens": sum(map(len, texts))}
    write_index(folder / "memory", table, Header(**facts, meta=meta))
    stream(texts, folder / "disk", **facts, longest=4, pruning=pruning, part_tokens=part_tokens)
    assert (folder / "disk").read_bytes() == (folder / "memory").read_bytes()
    assert {p.name for p in folder.iterdir()} == {"memory", "disk"}, "nothing else is left"


def test_a_budget_keeps_the_better_part(tmp_path):
    rng = np.random.default_rng(0)
    texts = [(rng.zipf(1.4, 3000) % 300).astype(np.uint32) for _ in range(20)]
    facts = {**FACTS, "vocabulary_size": 300, "kind": "statistics", "part_tokens": 5_000}
    stream(texts, tmp_path / "whole", **facts, pruning=Pruning(least=2, max_bytes=10**8))
    stream(texts, tmp_path / "half", **facts, pruning=Pruning(least=2, max_bytes=60_000))
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
