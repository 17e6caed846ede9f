import json
import struct
import tracemalloc
import zlib
from collections import Counter, defaultdict
from functools import partial
from itertools import chain

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hsd_viz.drafting.context_database import ContextDatabase
from hsd_viz.drafting.index import corpus
from hsd_viz.drafting.index.build import build_database, describe
from hsd_viz.drafting.index.corpus import find_texts, read_documents, read_pieces
from hsd_viz.drafting.index.count import PART_TOKENS, Pruning, select_keys
from hsd_viz.drafting.index.format import DatabaseError, KeyTable, marks
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.shared import SharedDatabases, vocabulary_hash
from hsd_viz.drafting.tree import spell
from tests.rows import column

EVERYTHING = Pruning(least=1, least_continuation=1, least_share=0.0, most=7, max_bytes=10**8)


def mark(key):
    """Return the 32-bit hash of a key."""
    return zlib.crc32(struct.pack(f"<{len(key)}I", *key))


def brute(documents, longest, per_document=False):
    """Return the count of each token that follows each key, by scanning."""
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


def in_pieces(texts, length=7):
    for text in texts:
        yield [text[k : k + length] for k in range(0, len(text), length)]


def counted(
    texts,
    path,
    *,
    vocabulary_size,
    longest,
    pruning,
    per_document=False,
    part_tokens=PART_TOKENS,
):
    """Build an index in parts, check that no other file is left, and return the index."""
    build_database(
        in_pieces(texts),
        path,
        kind="model" if per_document else "statistics",
        vocabulary_size=vocabulary_size,
        vocabulary_hash="v",
        longest=longest,
        pruning=pruning,
        part_tokens=part_tokens,
    )
    assert list(path.parent.iterdir()) == [path]
    return Index(path)


@settings(deadline=None, max_examples=60)
@given(documents, st.booleans(), st.sampled_from([6, 70_000]), st.sampled_from([1, 3, 17, 1000]))
def test_every_count_is_exact(tmp_path_factory, texts, per_document, vocabulary_size, part_tokens):
    assume(any(texts))
    path = tmp_path_factory.mktemp("index") / "x.hsdb"
    # Keys whose first continuation is no likelier than the shorter key says have no gain and are
    # dropped: see below.
    index = counted(
        texts,
        path,
        per_document=per_document,
        vocabulary_size=vocabulary_size,
        longest=4,
        pruning=EVERYTHING,
        part_tokens=part_tokens,
    )
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
            assert (
                best / sum(truth[key].values()) <= shorter[follower] / sum(shorter.values()) + 1e-12
            )
    unseen = (5, 5, 5, 5)
    if unseen[-1:] not in truth:
        assert index.lookup(spell(unseen)) is None


def test_ids_that_are_no_characters(tmp_path):
    # 0xD800 to 0xDFFF are surrogates: numbers of no character, but tokens like any other.
    texts = [np.array([0xD800, 0xDC00, 5, 0xDFFF, 0xD800, 0xDC00, 5, 65_535, 0x10FFFF] * 3)]
    index = counted(
        texts, tmp_path / "x.hsdb", vocabulary_size=0x110000, longest=3, pruning=EVERYTHING
    )
    context = ContextDatabase()
    context.extend(texts[0])
    for database in (index, context):
        _, total, continuations = database.lookup(spell([0xD800, 0xDC00]))
        assert total >= 3
        assert [t for t, _, _ in continuations] == [5]
        _, _, continuations = database.lookup(spell([5, 65_535]))
        assert [t for t, _, _ in continuations] == [0x10FFFF]


@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=8))
def test_both_hashes_agree(tokens):
    assert marks(np.array([tokens, tokens[::-1]]).T).tolist() == [mark(tokens), mark(tokens[::-1])]


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
            for i in range(len(key)):
                assert mark(key[i:]) in kept, f"{key} is held, a suffix of it is not"
            assert sum(followers.values()) >= 3
    assert held == len(kept)


VOCABULARY = {f"t{i}": i for i in range(50)}


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    texts = [rng.integers(0, 50, 300) for _ in range(30)]
    for kind in ("statistics", "model"):
        build_database(
            ([t] for t in texts),
            tmp_path / f"{kind}.hsdb",
            kind=kind,
            meta={"decoding": "greedy"},
            vocabulary_size=50,
            vocabulary_hash=vocabulary_hash(VOCABULARY),
        )
    return tmp_path


def test_databases_of_these_models_alone_are_opened(folder):
    shared = SharedDatabases.open(folder, VOCABULARY)
    assert set(shared.present) == {"model", "statistics"}
    assert set(shared.absent) == {"fivegrams"}
    assert shared.present["statistics"].lookup(chr(3)) is not None
    other = SharedDatabases.open(folder, {**VOCABULARY, "t0": 1, "t1": 0})
    assert not other.present
    assert "another tokenizer" in other.absent["model"]
    assert vocabulary_hash(dict(reversed(VOCABULARY.items()))) == vocabulary_hash(VOCABULARY)
    (folder / "model.hsdb").rename(folder / "statistics.hsdb")
    moved = SharedDatabases.open(folder, VOCABULARY)
    assert not moved.present
    assert "does not exist" in moved.absent["model"]
    assert "contains a model database" in moved.absent["statistics"]


def test_any_changed_byte_is_refused(folder):
    path = folder / "model.hsdb"
    good = path.read_bytes()
    rng = np.random.default_rng(2)
    cut = [good[:n] for n in (0, 5, 23, 24, 100, -1, -500)]
    for place in [*range(24), *rng.integers(24, len(good), 60).tolist(), len(good) - 1]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        cut.append(bad)
    other = json.dumps({"no": "database"} | {str(i): i for i in range(20)}).encode()
    for content in (*cut, good + b"\0", other):
        path.write_bytes(content)
        with pytest.raises(DatabaseError) as error:
            Index(path)
        assert "model.hsdb" in str(error.value)
        assert "\n" not in str(error.value)
    path.write_bytes(good)
    Index(path)
    path.unlink()
    with pytest.raises(DatabaseError, match="cannot be read"):
        Index(path)


def test_describe(folder):
    facts = describe(folder / "model.hsdb", most=3)
    assert facts["kind"] == "model"
    assert facts["bytes"] == (folder / "model.hsdb").stat().st_size
    assert facts["keys"] == sum(facts["keys_by_length"].values()) > 0
    assert facts["vocabulary_hash"] == vocabulary_hash(VOCABULARY)
    assert facts["meta"] == {"outputs": 30, "tokens": 9000, "decoding": "greedy"}
    counts = column(facts["most_used"], "count")
    assert len(counts) == 3
    assert counts == sorted(counts, reverse=True)
    for row in facts["most_used"]:
        assert 0 < row["count"] <= row["total"]
    json.dumps(facts)


def test_the_cut_includes_its_limit():
    """Two keys at the limit, which fill the size exactly, are kept; a third key and a key without a
    gain are not.
    """
    gains = np.array([3.0, 2.0, 2.0, 2.0, 0.0])
    some = np.arange(5)
    table = KeyTable(
        some.astype(np.uint32), np.ones(5, int), some, np.ones(5, int), gains, some, some
    )
    assert select_keys([table], 3 * 16, 100).totals.tolist() == [0, 1, 2]
    assert select_keys([table], 3 * 16 - 1, 100).totals.tolist() == [0, 1]
    assert select_keys([table], 10**6, 100).totals.tolist() == [0, 1, 2, 3]


def test_parts_change_nothing_and_memory_is_that_of_a_part(tmp_path):
    """Counting a corpus eight times as long in parts needs hardly more memory and yields the same
    file.
    """

    def build(documents, part_tokens):
        texts = (
            np.random.default_rng(k).zipf(1.3, 5_000).astype(np.uint16) % 300
            for k in range(documents)
        )
        tracemalloc.start()
        build_database(
            in_pieces(texts, 1000),
            tmp_path / "x",
            longest=3,
            pruning=Pruning(least=4, max_bytes=30_000),
            vocabulary_size=300,
            vocabulary_hash="v",
            kind="statistics",
            part_tokens=part_tokens,
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (tmp_path / "x").read_bytes(), most

    whole, most = build(40, 10**9)
    parts, less = build(40, 20_000)
    assert parts == whole
    assert less < 0.5 * most
    assert less < 4 * build(5, 20_000)[1], "the most frequent token has a third of the places"


def test_an_interrupted_build_leaves_nothing(tmp_path):
    path = tmp_path / "x.hsdb"
    path.write_bytes(b"the one before")

    def interrupted():
        yield [[1, 2, 3]]
        raise KeyboardInterrupt

    build = partial(build_database, vocabulary_hash="v", vocabulary_size=6, kind="statistics")
    with pytest.raises(KeyboardInterrupt):
        build(interrupted(), path)
    with pytest.raises(ValueError, match="no tokens"):
        build([], path)
    with pytest.raises(ValueError, match="token 6 is outside"):
        build([[[6]]], path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"the one before"


def encode(text):
    return [ord(c) + 1 for c in text]


def documents_of(paths):
    documents = read_documents(find_texts(paths)[0], encode, eos=0)
    return [list(chain(*pieces)) for pieces in documents]


@pytest.mark.parametrize("piece", [1, 2, 5, 1000])
def test_pieces_make_up_the_text(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(corpus, "PIECE", piece)
    path = tmp_path / "a.txt"
    text = "one\ntwo ü\n\n漢字 in a line without an end\nthree"
    path.write_bytes("\ufeffone\r\ntwo ü\r\n\r\n漢字 in a line without an end\rthree".encode())
    assert "".join(read_pieces(path)) == text
    assert documents_of([path]) == [[0, *encode(text), 0]]
    (tmp_path / "empty").touch()
    pieces = next(read_documents([tmp_path / "empty"], encode, eos=0))
    assert list(chain(*pieces)) == []


def test_files_and_folders_are_found_in_order(tmp_path):
    for name in ("b.txt", "a/z.py", "a/y.md", ".git/config", "a/.hidden", "c.bin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a" / "again").symlink_to(tmp_path / "b.txt")
    texts, passed_over = find_texts([tmp_path / "c.bin", tmp_path])
    assert [file.relative_to(tmp_path).as_posix() for file in texts] == [
        "c.bin",
        "b.txt",
        "a/y.md",
        "a/z.py",
    ]
    assert passed_over == 0
    with pytest.raises(ValueError, match="there is no file or folder"):
        find_texts([tmp_path / "nothing"])
    with pytest.raises(ValueError, match="there is no file to read"):
        find_texts([tmp_path / "empty"])


def test_files_that_are_not_text_are_skipped_unless_named(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "PIECE", 8)
    (tmp_path / "a.txt").write_text("good one\n")
    # The harm comes late: what was read before it must not be in the corpus.
    (tmp_path / "b.bin").write_bytes(b"fine so far\n" * 9 + b"\xff\xfe")
    (tmp_path / "c.bin").write_bytes(b"fine so far\n" * 9 + b"\0")
    (tmp_path / "d.txt").write_text("good too\n")
    assert find_texts([tmp_path]) == ([tmp_path / "a.txt", tmp_path / "d.txt"], 2)
    assert documents_of([tmp_path]) == [[0, *encode(t), 0] for t in ("good one\n", "good too\n")]
    for name in ("b.bin", "c.bin"):
        with pytest.raises(ValueError, match=f"cannot read '.*{name}' as UTF-8 text"):
            find_texts([tmp_path / name])
