import json
import struct
import zlib
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hsd_viz.drafting.context import ContextDatabase, spell
from hsd_viz.drafting.index.build import build_database, describe
from hsd_viz.drafting.index.count import Level, Pruning, select_keys
from hsd_viz.drafting.index.format import DatabaseError, Index, marks, pack_counts
from hsd_viz.drafting.make import SharedDatabases, vocabulary_hash
from training.databases import split_documents

EVERYTHING = Pruning(least=1, least_continuation=1, least_share=0.0, most=7, max_bytes=10**8)


def mark(key):
    """The 32-bit hash of one key."""
    return zlib.crc32(struct.pack(f"<{len(key)}I", *key))


def brute(documents, longest, per_document=False):
    """For every key, how often each token followed it."""
    table = defaultdict(Counter)
    for d in documents:
        seen = set()
        for i in range(1, len(d)):
            for n in range(1, min(longest, i) + 1):
                pair = (tuple(d[i - n : i]), d[i])
                if not (per_document and pair in seen):
                    table[pair[0]][pair[1]] += 1
                seen.add(pair)
    return table


documents = st.lists(st.lists(st.integers(0, 5), max_size=30), min_size=1, max_size=6)


def counted(texts, path, *, per_document=False, **options):
    """Return the index of a build in pieces, next to which nothing is left."""

    def feed(writer):
        for text in texts:
            for start in range(0, len(text), 7):
                writer.add(text[start : start + 7])
            writer.end()
        return {}

    build_database(feed, path, kind="model" if per_document else "statistics", vocabulary_hash="v", **options)
    assert list(path.parent.iterdir()) == [path]
    return Index(path)


@settings(deadline=None, max_examples=60)
@given(documents, st.booleans(), st.sampled_from([6, 70_000]), st.sampled_from([1, 3, 17, 1000]))
def test_every_count_is_exact(tmp_path_factory, texts, per_document, vocabulary_size, part_tokens):
    assume(any(texts))
    path = tmp_path_factory.mktemp("index") / "x.hsdb"
    options = {"vocabulary_size": vocabulary_size, "longest": 4, "pruning": EVERYTHING, "part_tokens": part_tokens}
    # Keys whose first continuation is no likelier than the shorter key says have no gain and are dropped: see below.
    index = counted(texts, path, per_document=per_document, **options)
    truth = brute(texts, 4, per_document)
    for key in truth:
        match = index.lookup(spell(key))
        assert match is not None, "one-token keys always gain"
        key_length, total, continuations = match
        known = truth[key[len(key) - key_length :]]
        assert total == sum(known.values())
        assert {t: c for t, c, _ in continuations} == dict(known)
        counts = [c for _, c, _ in continuations]
        assert counts == sorted(counts, reverse=True)
        # What was dropped between the key found and this one would have said nothing new.
        if key_length < len(key):
            best = truth[key].most_common(1)[0][1]
            follower = min(t for t, c in truth[key].items() if c == best)
            shorter = truth[key[1:]]
            assert best / sum(truth[key].values()) <= shorter[follower] / sum(shorter.values()) + 1e-12
    unseen = (5, 5, 5, 5)
    if unseen[-1:] not in truth:
        assert index.lookup(spell(unseen)) is None


def test_ids_that_are_no_characters(tmp_path):
    # 0xD800 to 0xDFFF are surrogates: numbers of no character, but tokens like any other.
    texts = [np.array([0xD800, 0xDC00, 5, 0xDFFF, 0xD800, 0xDC00, 5, 65_535, 0x10FFFF] * 3)]
    index = counted(texts, tmp_path / "x.hsdb", vocabulary_size=0x110000, longest=3, pruning=EVERYTHING)
    context = ContextDatabase()
    context.extend(texts[0])
    for database in (index, context):
        _, total, continuations = database.lookup(spell([0xD800, 0xDC00]))
        assert total >= 3 and [t for t, _, _ in continuations] == [5]
        _, _, continuations = database.lookup(spell([5, 65_535]))
        assert [t for t, _, _ in continuations] == [0x10FFFF]


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=8))
def test_both_hashes_agree(tokens):
    assert marks(np.array([tokens, tokens[::-1]])).tolist() == [mark(tokens), mark(tokens[::-1])]


def test_pruning_keeps_what_gains_most_and_every_suffix_of_it(tmp_path):
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 12, 400).astype(np.uint16) for _ in range(20)]
    pruning = Pruning(least=3, max_bytes=4_000)
    index = counted(texts, tmp_path / "x.hsdb", vocabulary_size=12, longest=4, pruning=pruning)
    kept = set(index.marks)
    assert 3_000 < 10 * len(kept) + 2 * len(index.values) <= 4_000
    held = 0
    for key, followers in brute([t.tolist() for t in texts], 4).items():
        if mark(key) in kept:
            held += 1
            assert all(mark(key[i:]) in kept for i in range(len(key))), f"{key} is held, a suffix of it is not"
            assert sum(followers.values()) >= 3
    assert held == len(kept)


def test_large_counts_are_close():
    counts = np.array([0, 1, 32767, 32768, 100_000, 8_000_000, 10**9])
    packed = pack_counts(counts, wide=False).astype(int)
    back = np.where(packed < 32768, packed, (packed - 32768) << 8)
    assert back[:4].tolist() == [0, 1, 32767, 32768]
    assert np.all(np.abs(back[:6] - counts[:6]) <= 0.008 * counts[:6])
    assert back[6] == 8_388_352


def test_documents_begin_and_end_with_the_end_of_text():
    parts = split_documents(np.array([0, 5, 6, 0, 7]), 0)
    assert [p.tolist() for p in parts] == [[0, 5, 6, 0], [0, 7]]
    assert [p.tolist() for p in split_documents(np.array([4, 0, 7]), 0)] == [[4, 0], [0, 7]]


VOCABULARY = {f"t{i}": i for i in range(50)}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 50, 300) for _ in range(30)]
    facts = {"vocabulary_size": 50, "vocabulary_hash": vocabulary_hash(VOCABULARY)}
    build_database(texts, tmp_path / "statistics.hsdb", kind="statistics", pruning=Pruning(least=2), **facts)
    build_database(
        [t.tolist() for t in texts], tmp_path / "model.hsdb", kind="model", meta={"decoding": "greedy"}, **facts
    )
    return tmp_path


def test_shared_databases_open(folder):
    shared = SharedDatabases.open(folder, VOCABULARY)
    assert set(shared.found) == {"model", "statistics"} and set(shared.absent) == {"fivegrams"}
    assert shared.found["statistics"].lookup(chr(3)) is not None
    assert not list(folder.glob("*.new"))


def test_another_tokenizer_is_refused(folder):
    shared = SharedDatabases.open(folder, {**VOCABULARY, "t0": 1, "t1": 0})
    assert not shared.found
    assert "another tokenizer" in shared.why_absent("model")
    assert vocabulary_hash(dict(reversed(VOCABULARY.items()))) == vocabulary_hash(VOCABULARY)


def test_a_file_under_the_wrong_name_is_refused(folder):
    (folder / "model.hsdb").rename(folder / "statistics.hsdb")
    shared = SharedDatabases.open(folder, VOCABULARY)
    assert not shared.found
    assert "contains a model database" in shared.absent["statistics"]
    assert "does not exist" in shared.absent["model"]


def test_any_changed_byte_is_refused(folder):
    path = folder / "model.hsdb"
    good = path.read_bytes()
    rng = np.random.default_rng(2)
    places = [*range(24), *rng.integers(24, len(good), 60).tolist(), len(good) - 1]
    for place in places:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        with pytest.raises(DatabaseError) as error:
            Index(path)
        assert "model.hsdb" in str(error.value) and "\n" not in str(error.value)
    path.write_bytes(good)
    Index(path)


@pytest.mark.parametrize("length", [0, 5, 23, 24, 100, -1, -500])
def test_a_truncated_file_is_refused(folder, length):
    path = folder / "model.hsdb"
    good = path.read_bytes()
    path.write_bytes(good[:length])
    with pytest.raises(DatabaseError):
        Index(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(DatabaseError):
        Index(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.hsdb"
    with pytest.raises(DatabaseError, match="cannot be read"):
        Index(path)
    path.write_text(json.dumps({"no": "database"} | {str(i): i for i in range(20)}))
    with pytest.raises(DatabaseError, match="is not a database file"):
        Index(path)


def test_describe(folder):
    facts = describe(folder / "model.hsdb", most=3)
    assert facts["kind"] == "model"
    assert facts["bytes"] == (folder / "model.hsdb").stat().st_size
    assert facts["keys"] == sum(facts["keys_by_length"].values()) > 0
    assert facts["vocabulary_hash"] == vocabulary_hash(VOCABULARY)
    assert facts["meta"] == {"outputs": 30, "tokens": 9000, "decoding": "greedy"}
    counts = [row["count"] for row in facts["most_used"]]
    assert len(counts) == 3 and counts == sorted(counts, reverse=True)
    assert all(0 < row["count"] <= row["total"] for row in facts["most_used"])
    json.dumps(facts)


def test_the_cut_includes_its_limit():
    """Two keys at the limit that fill the room to the last byte are kept, a third is not; nor is one without a gain."""
    gains = np.array([3.0, 2.0, 2.0, 2.0, 0.0])
    some = np.arange(5)
    level = Level(some.astype(np.uint32), np.ones(5, int), some, np.arange(6), some, some, some, gains)
    assert select_keys([level], 3 * 16, 100).totals.tolist() == [0, 1, 2]
    assert select_keys([level], 3 * 16 - 1, 100).totals.tolist() == [0, 1]
    assert select_keys([level], 10**6, 100).totals.tolist() == [0, 1, 2, 3]
