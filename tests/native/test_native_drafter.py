"""Compare the trees of the native database drafter with those of Python's, bit for bit."""

from __future__ import annotations

import random
from ctypes import byref
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.format import KeyTable, marks
from hsd_viz.drafting.index.read import Index
from hsd_viz.drafting.index.write import write_index
from hsd_viz.drafting.semantic_database import SEMANTIC, SemanticDatabase
from hsd_viz.drafting.trust import priors
from hsd_viz.engine.forwards import Costs
from hsd_viz.engine.local import LocalEngine
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import (
    NativeDatabaseDrafter,
    drafter_settings,
    native_drafter,
    semantic_settings,
)
from hsd_viz.stack import DraftSource
from tests.rows import column

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

#: How many token ids there are: few, so that much is found.
SIZE = 12
_NAMES = (
    "context|model|statistics|context,model|model,context|statistics,context|statistics,model|"
    "context,model,statistics|statistics,model,context|model,context,statistics|semantic|"
    "context,semantic|semantic,context,model,statistics"
)
STACKS = tuple(tuple(names.split(",")) for names in _NAMES.split("|"))
COSTS = (None, 0.0, 0.02, 0.15, 0.6, (5, 5, 5, 5, 9, 9, 9, 9, 14), (1.0, 1.6, 1.6, 1.6, 3.0))

tokens = st.integers(0, SIZE - 1)
curves = st.one_of(
    st.sampled_from(COSTS),
    st.lists(st.floats(0, 0.4), min_size=1, max_size=30).map(
        lambda steps: np.cumsum([1.0, *steps])
    ),
)


def habits(seed: int, size: int, count: int, length: int) -> list[list[int]]:
    """Return texts in which most tokens are followed by the next one, and passages recur."""
    draw = random.Random(seed)
    texts = []
    for _ in range(count):
        text = [1]
        while len(text) < length:
            if draw.random() < 0.1 and len(text) > 10:
                at = draw.randrange(len(text) - 5)
                text += text[at : at + draw.randrange(2, 12)]
            else:
                text.append((text[-1] + 1) % size if draw.random() < 0.7 else draw.randrange(size))
        texts.append(text[:length])
    return texts


def write(folder: Path, size: int, texts: list[list[int]]) -> dict[str, Path]:
    """Write a model database and a statistics database of these texts."""
    paths = {"model": folder / "model.hsdb", "statistics": folder / "statistics.hsdb"}
    build = partial(
        build_database, vocabulary_size=size, vocabulary_hash="h", pruning=Pruning(least=2)
    )
    half = len(texts) // 2
    general = ([np.array(text)] for text in texts[half:])
    build(general, paths["statistics"], kind="statistics")
    build(([text] for text in texts[:half]), paths["model"], kind="model")
    return paths


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> dict[str, Path]:
    return write(tmp_path_factory.mktemp("databases"), SIZE, habits(0, SIZE, 40, 150))


@pytest.fixture(scope="module")
def files(paths) -> dict[str, Index]:
    return {name: Index(path) for name, path in paths.items()}


def native(drafter: DatabaseDrafter) -> DatabaseDrafter:
    twin = native_drafter(drafter, default_build().library)
    assert type(twin) is NativeDatabaseDrafter
    return twin


def pair(drafter: DatabaseDrafter) -> tuple[DatabaseDrafter, DatabaseDrafter]:
    """Return a drafter and its native twin, at the start of a text."""
    twin = native(drafter)
    drafter.start(())
    twin.start(())
    return drafter, twin


def same(one, other) -> None:
    """Compare trees in every column; floats must have equal bits."""
    assert other == one
    assert column(other.origins, "score") == column(one.origins, "score")
    assert other.depths() == one.depths()
    assert list(map(type, column(other.origins, "position"))) == list(
        map(type, column(one.origins, "position"))
    )


@st.composite
def run(draw, token=tokens):
    """Return a prompt and its rounds: (accepted tokens, budget) per draft, then emitted tokens."""
    prompt = draw(st.lists(token, max_size=60))
    ahead = st.lists(token, max_size=4)
    drafts = st.lists(st.tuples(ahead, st.integers(0, 64)), max_size=3)
    return prompt, draw(
        st.lists(st.tuples(drafts, st.lists(token, max_size=9), st.booleans()), max_size=12)
    )


def follow(one, twin, prompt, rounds) -> int:
    """Draft an entire run with both, and return the number of drafted nodes.

    Similar tokens have similar hidden states.
    """
    one.start(prompt)
    twin.start(prompt)
    text = list(prompt)
    nodes = 0
    draw = np.random.default_rng(len(prompt))
    directions = draw.integers(-127, 128, (SIZE, 5))
    known = 0

    def observe(length: int) -> None:
        """Let both learn the hidden states of the positions below ``length`` that are new."""
        nonlocal known
        if one.state_depth is None or length <= known:
            return
        noise = draw.integers(-20, 21, (length - known, 5))
        states = np.clip(directions[text[known:length]] + noise, -127, 127).astype(np.int8)
        one.observe_states(states)
        twin.observe_states(states)
        known = length

    observe(len(prompt) - 1)
    for drafts, emitted, obedient in rounds:
        tree = None
        for ahead, budget in drafts:
            tree = one.draft(text + ahead, budget)
            same(tree, twin.draft(text + ahead, budget))
            nodes += len(tree)
        if obedient and tree:
            # The target follows the draft for a while, and what was kept above.
            emitted = drafts[-1][0] + tree.tokens[:3] + emitted
        text += emitted
        observe(len(text) - 1)
        one.extend(emitted)
        twin.extend(emitted)
    return nodes


@settings(deadline=None, max_examples=300)
@given(
    run(),
    st.sampled_from(STACKS),
    curves,
    st.frozensets(tokens, max_size=3),
    st.sampled_from((0.0, 0.3, 0.7, 1.0, 1.5)),
    st.integers(1, 16),
)
def test_trees_are_the_same_to_the_last_bit(
    files, known, sources, costs, eos, temperature, longest
):
    drafter = DatabaseDrafter(
        sources, files, eos=eos, costs=costs, temperature=temperature, longest=longest
    )
    one, twin = pair(drafter)
    follow(one, twin, *known)
    follow(one, twin, *known)


@pytest.mark.parametrize("size", [70_000, 300])
def test_large_vocabularies_and_wide_files(tmp_path, size):
    texts = habits(1, size, 30, 400)
    # Habits of many ids: stretches that return are what is found.
    opened = {name: Index(path) for name, path in write(tmp_path, size, texts * 3).items()}
    one, twin = pair(DatabaseDrafter(("context", "model", "statistics"), opened, costs=0.02))
    text = texts[0]
    nodes = 0
    for at in range(0, 400, 3):
        tree = one.draft(text[:at], 16)
        same(tree, twin.draft(text[:at], 16))
        nodes += len(tree)
        one.extend(text[at : at + 3])
        twin.extend(text[at : at + 3])
    assert nodes > 300


def test_a_text_beyond_the_first_table_is_remembered_whole():
    """The first table of positions has room for 512 different keys."""
    one, twin = pair(DatabaseDrafter(("context",), {}, costs=None))
    one.start(range(1500))
    twin.start(range(1500))
    for token in range(0, 1499, 7):
        tree = twin.draft([token], 4)
        same(one.draft([token], 4), tree)
        assert tree.tokens == list(range(token + 1, token + 1 + len(tree)))
        assert len(tree)


def test_counts_of_any_size(tmp_path):
    counts = [
        1,
        2,
        32_767,
        32_768,
        33_000,
        65_535,
        65_536,
        1_000_000,
        8_388_352,
        8_388_608,
        2**32 - 1,
        2**33,
    ]
    for size in (300, 70_000):
        # The key (k,) is followed by k + 1 and k + 2.
        table = KeyTable(
            marks([np.arange(12)]),
            np.ones(12, int),
            np.array(counts) + np.array(counts) // 2,
            np.full(12, 2),
            np.ones(12),
            np.repeat(np.arange(12), 2) + np.tile([1, 2], 12),
            np.stack([counts, np.array(counts) // 2 + 1], 1).ravel(),
        )
        path = tmp_path / f"{size}.hsdb"
        write_index(path, table, "statistics", size, "h", {})
        indexes = {"statistics": Index(path)}
        one, twin = pair(DatabaseDrafter(("statistics",), indexes, costs=None))
        for token in range(12):
            tree = one.draft([token], 12)
            same(tree, twin.draft([token], 12))
            assert len(tree)
            assert tree.origins[0].count >= min(counts[token], 2**23) * 0.99


def damages(arrays: dict, draw: random.Random):
    """Return functions that damage the arrays of a file in place, by name."""
    n = {name: len(array) for name, array in arrays.items()}

    def few(arrays):
        for array in arrays.values():
            for _ in range(max(1, len(array) // 20)):
                array[draw.randrange(len(array))] ^= 1 << draw.randrange(8 * array.itemsize)

    def noise(arrays):
        for array in arrays.values():
            array[:] = np.frombuffer(draw.randbytes(array.nbytes), array.dtype)

    def full_buckets(arrays):
        arrays["starts"][::2] = draw.randrange(n["marks"])
        arrays["starts"][1::2] = draw.choice([n["marks"], 2**32 - 1])

    def rows_at_the_end(arrays):
        k = np.array([draw.randrange(8) for _ in range(n["places"])])
        shift = np.array([draw.randrange(-2, 3) for _ in range(n["places"])])
        arrays["places"][:] = (n["values"] - 2 * k + shift) * 8 + k

    return (few, noise, full_buckets, rows_at_the_end)


@pytest.mark.parametrize("way", range(4))
def test_damaged_files_are_read_like_in_python_and_never_past_their_end(paths, tmp_path, way):
    for seed in range(8):
        draw = random.Random(seed)
        shared = {}
        for name, path in paths.items():
            raw = bytearray(path.read_bytes())
            at = 8 + int.from_bytes(raw[:8], "little")
            arrays = {}
            whole = Index(path)
            for name_of in ("starts", "marks", "places", "values"):
                view = getattr(whole, name_of)
                arrays[name_of] = np.frombuffer(raw, view.format, len(view), at)
                at += view.nbytes
            damages(arrays, draw)[way](arrays)
            (tmp_path / f"{seed}{path.name}").write_bytes(raw)
            size = draw.choice([None, SIZE - 2, SIZE + 5])
            shared[name] = Index(
                tmp_path / f"{seed}{path.name}", vocabulary_size=size, verify=False
            )
        for sources in (("statistics",), ("model",), ("statistics", "context", "model")):
            one, twin = pair(DatabaseDrafter(sources, shared, costs=0.02))
            text = habits(seed, SIZE, 1, 80)[0]
            one.start(text[:20])
            twin.start(text[:20])
            for at in range(20, 80):
                same(one.draft(text[:at], 24), twin.draft(text[:at], 24))
                one.extend(text[at : at + 1])
                twin.extend(text[at : at + 1])


def test_a_file_that_is_overwritten_while_it_is_open_is_never_read_past_its_end(paths, tmp_path):
    """Files are checked only when they are opened, so wrong drafts are allowed afterwards."""
    for seed in range(20):
        path = tmp_path / f"{seed}.hsdb"
        raw = bytearray(paths["statistics"].read_bytes())
        path.write_bytes(raw)
        twin = native(DatabaseDrafter(("statistics",), {"statistics": Index(path)}, costs=None))
        twin.start(())
        body = 8 + int.from_bytes(raw[:8], "little")
        with open(path, "r+b") as f:
            f.seek(body)
            f.write(
                b"\xff" * (len(raw) - body)
                if seed == 0
                else random.Random(seed).randbytes(len(raw) - body)
            )
        for token in range(SIZE):
            twin.draft([token, token + 1], 64)


def test_what_has_no_twin_stays_as_it_is(files):
    library = default_build().library
    shared = SharedDatabases(present=dict(files))
    other = SimpleNamespace(lookup=lambda tail, longest=None: None)
    for drafter in (
        None,
        make_drafter(DraftSource("hd"), databases=shared),
        make_drafter(DraftSource("db", ("context", "logits")), memory=Memory()),
        DatabaseDrafter(("context", "model"), {"model": other}),
        DatabaseDrafter(("context",), {}, longest=17),
    ):
        assert native_drafter(drafter, library) is drafter
    twin = native(make_drafter(DraftSource("db"), databases=shared, eos=2))
    assert twin.name == "db"
    assert twin.nodes == 24
    assert twin.sources == ("context", "model", "statistics")
    assert native_drafter(twin, library) is twin


def test_python_drafts_where_there_is_no_library_and_where_it_is_not_wanted(monkeypatch):
    missing = SimpleNamespace(start=lambda: SimpleNamespace(wait=lambda: False))
    for runtime, build, kind in (
        ("auto", None, NativeDatabaseDrafter),
        ("auto", missing, DatabaseDrafter),
        ("eager", None, DatabaseDrafter),
    ):
        models = EngineModels(EngineOptions(device="cpu", runtime=runtime), build)
        engine = LocalEngine(models, Costs())
        model = SimpleNamespace(vocab_size=4096)
        monkeypatch.setattr(engine.models, "fast", lambda name, model=model: model)
        assert type(engine.drafter("db > target")[0]) is kind


def test_more_copies_than_a_match_holds_are_refused():
    quick = default_build().library.quick
    handle = quick.hsd_drafter_new(byref(drafter_settings(8)))
    copies = semantic_settings(SemanticDatabase)
    rates = np.array(priors(SEMANTIC, 0.0)).ctypes.data
    copies.most = 8
    quick.hsd_drafter_add_semantic(handle, byref(copies), rates, 1.0)
    copies.most = 9
    with pytest.raises(UserError, match="so many copies"):
        quick.hsd_drafter_add_semantic(handle, byref(copies), rates, 1.0)
    quick.hsd_drafter_free(handle)
