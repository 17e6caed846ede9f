"""Databases of any size: counting part by part on disk writes the same file as counting in memory."""

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
from hsd_viz.drafting.index.count import Pruning, divide
from hsd_viz.drafting.index.format import Index
from hsd_viz.drafting.index.select import Candidates, Header, Level, find_cut, write_index

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


@settings(deadline=None, max_examples=120)
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


blocks = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0.25, 1.0, 1.0 + 2**-52, 3.5, 1e9]), st.integers(1, 4), st.integers(1, 7)),
        min_size=1,
        max_size=30,
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=150)
@given(blocks, st.integers(0, 2000))
def test_the_best_keys_that_fit_are_found_without_sorting(tmp_path_factory, found, max_bytes):
    candidates = Candidates(tmp_path_factory.mktemp("cut"))
    for block in found:
        gains, lengths, numbers = (np.array(column) for column in zip(*block, strict=True))
        firsts = np.concatenate(([0], np.cumsum(numbers)))
        zeros = np.zeros(firsts[-1], dtype=np.int64)
        candidates.add(
            [Level(np.zeros(len(block), np.uint32), lengths, zeros[: len(block)], firsts, zeros, zeros, gains)]
        )
    gains, lengths, sizes = (np.concatenate(column) for column in zip(*candidates.weights(2), strict=True))
    order = np.lexsort((lengths, -gains))
    expected = np.zeros(len(gains), dtype=bool)
    expected[order[np.cumsum(sizes[order]) <= max_bytes]] = True
    cut = find_cut(candidates, max_bytes, 2)
    assert np.concatenate([cut.kept(*block) for block in candidates.weights(2)]).tolist() == expected.tolist()


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 12))
def test_parts_are_small_or_of_one_token(frequencies, most):
    frequencies = np.array(frequencies, dtype=np.int64)
    part_of, sizes = divide(frequencies, most)
    assert sizes.tolist() == np.bincount(part_of, frequencies, minlength=len(sizes)).astype(int).tolist()[: len(sizes)]
    for part, size in enumerate(sizes):
        assert size <= most or (frequencies[part_of == part] > 0).sum() == 1


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


def test_memory_is_bounded_by_a_part(tmp_path):
    def peak(documents):
        tracemalloc.start()
        rng = np.random.default_rng(1)
        lots = ((rng.zipf(1.3, 20_000) % 500).astype(np.uint16) for _ in range(documents))
        pruning = Pruning(least=4, max_bytes=200_000)
        stream_arrays(lots, tmp_path / "x", pruning)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    def stream_arrays(lots, path, pruning):
        def feed(writer):
            for document in lots:
                writer.add(document)
                writer.end()
            return {}

        build_database(feed, path, kind="statistics", vocabulary_size=500, pruning=pruning, part_tokens=20_000, **FACTS)

    one, eight = peak(5), peak(40)
    assert eight < 2 * one, (one, eight)


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
