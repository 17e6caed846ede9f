"""Test that damaged databases are refused with a one-line message, or harmless.

A harmless database answers each look-up soon, raises no error, and returns only tokens of the
vocabulary.
"""

import time
import zlib

import numpy as np
import pytest

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.index.build import build_database, build_fivegrams
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.format import DatabaseError
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.shared import vocabulary_hash
from hsd_viz.drafting.tree import spell
from hsd_viz.stack import parse

SIZE = 60
VOCABULARY = {f"t{i}": i for i in range(SIZE)}
STACKS = ("db", "db[statistics]", "db[model,statistics]", "retrieval", "ngram-cache", "hd")


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    return [(rng.zipf(1.3, 300) % SIZE).astype(np.uint16) for _ in range(12)]


@pytest.fixture(scope="module")
def whole(texts, tmp_path_factory):
    """Return valid databases: statistics, model, 5-grams, and large-vocabulary statistics."""
    folder = tmp_path_factory.mktemp("good")
    hashed = vocabulary_hash(VOCABULARY)
    sequences = [text.tolist() for text in texts]
    build_fivegrams(sequences, folder / "fivegrams", vocabulary_size=SIZE, vocabulary_hash=hashed)
    for name, kind, size in (
        ("statistics", "statistics", SIZE),
        ("model", "model", SIZE),
        ("wide", "statistics", 70_000),
    ):
        build_database(
            ([text] for text in texts),
            folder / name,
            kind=kind,
            pruning=Pruning(least=2),
            vocabulary_size=size,
            vocabulary_hash=hashed,
        )
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def body_of(good: bytes) -> int:
    """Return the offset of the tensors in a file."""
    return 8 + int.from_bytes(good[:8], "little")


def damaged(good: bytes, rng: np.random.Generator) -> bytes:
    """Return a copy of a file that is damaged in one of several ways."""
    kind = int(rng.integers(4))
    if kind == 0:
        return good[: int(rng.integers(40))] + rng.bytes(int(rng.integers(0, 3000)))
    if kind == 1:
        return good[: int(rng.integers(len(good)))]
    bad = bytearray(good)
    if kind == 2:
        bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
    else:
        start = int(rng.integers(len(bad)))
        value = int(rng.integers(256))
        bad[start : start + 3000] = bytes([value]) * len(bad[start : start + 3000])
    return bytes(bad)


def harm_arrays(good: bytes, rng: np.random.Generator) -> bytes:
    """Return a file with damaged arrays, which only the checks of arrays can notice."""
    begin = body_of(good)
    bad = bytearray(good)
    for place in rng.integers(begin, len(bad), size=int(rng.choice([1, 3, 30, 3000]))):
        bad[place] = (
            int(rng.integers(256)) if rng.random() < 0.5 else bad[place] ^ 1 << int(rng.integers(8))
        )
    return bytes(bad)


def ask(index, rng, number):
    """Look up existing keys and arbitrary tokens, and check that every answer is valid."""
    for _ in range(number):
        top = SIZE if rng.random() < 0.8 else 0x110000
        tail = spell(rng.integers(0, top, size=int(rng.integers(0, 12))).tolist())
        match = index.lookup(tail)
        if match is not None:
            length, total, continuations = match
            assert 1 <= length <= min(len(tail), index.longest)
            assert total >= 1
            assert continuations
            assert all(
                0 <= token < index.header["vocabulary_size"] and 0 < count <= total
                for token, count, _ in continuations
            )


def decode(shared, rng, texts):
    """Draft in a run that sometimes follows the drafts, and check that every token is in the
    vocabulary.
    """
    for name in STACKS:
        try:
            drafter = make_drafter(
                parse(f"{name} > target").bottom, databases=shared, eos=0, costs=0.02
            )
        except ValueError as error:
            assert "\n" not in str(error)
            continue
        text = texts[int(rng.integers(len(texts)))][: int(rng.integers(1, 20))].tolist()
        drafter.start(text)
        for _ in range(4):
            tree = drafter.draft(text, int(rng.integers(0, 24)))
            for token in tree.tokens:
                assert 0 <= token < SIZE
            for k, parent in enumerate(tree.parents):
                assert parent < k
            new = [*tree.tokens[:1], int(rng.integers(SIZE))]
            drafter.extend(new)
            text = text + new


def test_damage_is_refused_or_harmless(whole, texts, tmp_path):
    """Half of the cases damage any part of a file that is read entirely; the others damage only
    arrays of a file that is read in part.
    """
    cases = 400
    folder = tmp_path
    rng = np.random.default_rng(1)
    refused = misled = 0
    slowest = 0.0
    for case in range(cases):
        started = time.process_time()
        name = ("statistics", "model", "fivegrams", "wide")[int(rng.integers(4))]
        good = whole[name]
        path = folder / f"{name if name != 'wide' else 'statistics'}.hsdb"
        if case % 2:
            path.write_bytes(bad := damaged(good, rng))
            verify = rng.random() < 0.5
            try:
                index = Index(path, vocabulary_hash(VOCABULARY), verify=verify)
            except DatabaseError as error:
                assert path.name in str(error)
                assert "\n" not in str(error)
                refused += 1
            else:
                assert not verify or bad == good, "a file that was read whole is as it was written"
                ask(index, rng, 20)
            shared = SharedDatabases.open(folder, VOCABULARY)
            assert shared.present.keys() | shared.absent.keys() == {
                "model",
                "statistics",
                "fivegrams",
            }
        else:
            path.write_bytes(harm_arrays(good, rng))
            index = Index(path, vocabulary_hash(VOCABULARY), vocabulary_size=SIZE, verify=False)
            ask(index, rng, 40)
            decode(SharedDatabases({index.header["kind"]: index}), rng, texts)
            misled += 1
        path.unlink(missing_ok=True)
        slowest = max(slowest, time.process_time() - started)
    assert refused > 0.3 * cases
    assert misled == cases - cases // 2
    assert slowest < 5.0


def test_impossible_rows_are_not_returned(whole, tmp_path):
    """Each file passes its checksum and all checks of rows except one."""
    path = tmp_path / "statistics.hsdb"
    good = whole["statistics"]
    path.write_bytes(good)
    index = Index(path)
    first = next(t for t in range(SIZE) if index.lookup(chr(t)))
    total, continuations = index.lookup(chr(first))[1:]
    starts = body_of(good)
    marks = starts + index.starts.nbytes
    places = marks + index.marks.nbytes
    values = places + index.places.nbytes
    wanted = zlib.crc32(first.to_bytes(4, "little"))
    row = np.flatnonzero(np.frombuffer(good, "<u4", len(index.marks), marks) == wanted)[0]
    place = int(np.frombuffer(good, "<u4", 1, places + 4 * row)[0])
    at = values + 2 * (place >> 3)
    bucket = wanted >> (32 - index.header["bits"])
    changes = {
        "a token outside": (at + 2, (SIZE + 5).to_bytes(2, "little"), continuations[1:]),
        "a count of none": (at + 4, bytes(2), continuations[1:]),
        "a count above the total": (at + 4, (total + 1).to_bytes(2, "little"), continuations[1:]),
        "a total of none": (at, bytes(2), None),
        "a row beyond the values": (places + 4 * row, b"\xff\xff\xff\xff", None),
        "a row of nothing": (places + 4 * row, (place & ~7).to_bytes(4, "little"), None),
        "a bucket that begins beyond the keys": (starts + 4 * bucket, b"\xff\xff\xff\xff", None),
        "a bucket that never ends": (starts + 4 * bucket + 4, b"\xff\xff\xff\xff", continuations),
    }
    for what, (where, new, expected) in changes.items():
        path.write_bytes(good[:where] + new + good[where + len(new) :])
        match = Index(path, verify=False).lookup(chr(first))
        assert (match[2] if match else None) == (expected or None), what


def test_models_that_know_fewer_tokens_are_given_none_beyond(whole, tmp_path):
    (tmp_path / "statistics.hsdb").write_bytes(whole["statistics"])
    shared = SharedDatabases.open(tmp_path, VOCABULARY, size=5)
    given = []
    for token in range(SIZE):
        match = shared.present["statistics"].lookup(chr(token))
        if match:
            given += [continuation[0] for continuation in match[2]]
    assert given
    assert max(given) < 5


def test_a_named_folder_without_usable_databases_is_refused(whole, tmp_path):
    with pytest.raises(DatabaseError, match="there are no databases in"):
        SharedDatabases.open(tmp_path, VOCABULARY, strict=True)
    (tmp_path / "model.hsdb").write_bytes(whole["model"])
    assert set(SharedDatabases.open(tmp_path, VOCABULARY, strict=True).present) == {"model"}
    with pytest.raises(DatabaseError, match="another tokenizer"):
        SharedDatabases.open(tmp_path, {**VOCABULARY, "t0": 1, "t1": 0}, strict=True)
    (tmp_path / "statistics.hsdb").write_bytes(whole["statistics"][:-1])
    with pytest.raises(DatabaseError, match="statistics"):
        SharedDatabases.open(tmp_path, VOCABULARY, strict=True)
