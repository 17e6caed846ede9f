"""Record the bundled traces: real runs of the shipped ladder, checked before they are saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from hsd_viz.disk import write_whole
from hsd_viz.engine import note_plain
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.replay import SIDE_BY_SIDE, TRACES
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check
from hsd_viz.words import check_range

_EDIT = """class Account:
    def __init__(self, name, balance=0):
        self.name = name
        self.balance = balance

    def set_name(self, name):
        if name is None:
            raise ValueError("name is required")
        self.name = name

    def set_balance(self, balance):
        if balance is None:
            raise ValueError("balance is required")
        self."""

_TESTS = """import unittest


class TestString(unittest.TestCase):
    def test_upper(self):
        self.assertEqual("abc".upper(), "ABC")

    def test_lower(self):
        self.assertEqual("ABC".lower(), "abc")

    def test_strip(self):
        self.assertEqual("""

_IDIOMS = """import argparse
import sys


def main():
    parser = argparse.ArgumentParser(description="""

_DOCSTRING = '''def read_lines(path, encoding="utf-8"):
    """Return the lines of a file.

'''


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recording: its name, its description, and what is run."""

    name: str
    title: str
    blurb: str
    stack: str
    prompt: str
    options: dict = field(default_factory=dict)


RECIPES = (
    Recipe(
        "both",
        "Databases under two draft models",
        "The databases draft for nano, nano for small, small for the target: every level verifies the one below. With "
        "so small a target the draft models cost more than they save: the next recording omits them.",
        "db > nano:4 > small:7 > target",
        _IDIOMS,
    ),
    Recipe(
        "databases",
        "Databases: context, model, statistics",
        "No draft model: drafts come from this text, from typical output of the target, and from a corpus.",
        "db > target",
        _IDIOMS,
    ),
    Recipe(
        "hierarchy",
        "A hierarchy of two draft models, sampled",
        "nano drafts for small, small for the target, at temperature 0.6. Look for corrections by small that the "
        "target accepts.",
        "nano:3 > small:6 > target",
        _TESTS,
        {"temperature": 0.6, "seed": 1},
    ),
    Recipe(
        "one-draft",
        "One draft model",
        "Classic speculative decoding: nano proposes four tokens, the target verifies them in one forward pass.",
        "nano:4 > target",
        _DOCSTRING,
    ),
    Recipe(
        "sampled",
        "One draft model at temperature 0.8",
        "Tokens are sampled, so acceptance is random: see u, q and p of each draft token, and the residual of "
        "each correction.",
        "nano:4 > target",
        _DOCSTRING,
        {"temperature": 0.8, "seed": 7},
    ),
    Recipe(
        "repetition",
        "A model that repeats itself",
        "Greedy decoding falls into a loop, which is easy to draft: high acceptance here says little about the method.",
        "db > target",
        _EDIT,
    ),
    Recipe(
        "plain",
        "Plain decoding",
        "One token per forward pass of the target: the reference for all other stacks.",
        "target",
        _IDIOMS,
    ),
)

#: Groups of recordings to compare: one prompt and one sampling setting each.
GROUPS: dict[str, tuple[str, dict]] = {"greedy": (_IDIOMS, {}), "sampled": (_TESTS, {"temperature": 0.6, "seed": 1})}
#: The recordings of each group: name, title, blurb, stack.
SIDES = (
    ("plain", "Plain decoding", "One token per forward pass of the target.", "target"),
    (
        "published",
        "Hierarchy Drafting as published",
        "Three databases, accessed in order, as in the paper.",
        "hd > target",
    ),
    (
        "databases",
        "Databases",
        "This project's database drafting: one scored draft tree from all databases.",
        "db > target",
    ),
    (
        "hierarchy",
        "Two draft models",
        "Hierarchical Speculative Decoding: nano for small, small for the target.",
        "nano:4 > small:8 > target",
    ),
    (
        "both",
        "Databases under two draft models",
        "The databases draft for nano, the lowest model.",
        "db > nano:4 > small:8 > target",
    ),
)


def record_traces(
    out: Path | None = None, *, tokens: int = 128, repeats: int = 5, progress: Callable[[str], None] = lambda line: None
) -> list[Path]:
    """Record every recipe on the CPU with one thread, write ``index.json`` beside the traces, and return the paths.

    A recipe and plain decoding of its prompt alternate, ``repeats`` times after one warm-up; the fastest run of each is
    used, the plain one as figures in the meta of the other (:func:`hsd_viz.engine.note_plain`). Each trace must
    satisfy all identities (:func:`hsd_viz.trace.metrics.check`).
    """
    folder = Path(out) if out is not None else TRACES
    paths, index = [], []
    with _engine() as engine:
        engine.wait_ready()
        for recipe in RECIPES:
            stacks = list(dict.fromkeys([recipe.stack, "target"]))
            trace, *plain = _fastest(engine, stacks, repeats, recipe.prompt, max_new_tokens=tokens, **recipe.options)
            for other in plain:
                note_plain(trace, other)
            paths.append(_save(trace, recipe, folder, index))
            progress(f"{recipe.name}: {trace.metrics()['mean_acceptance_length']:.2f} tokens per target forward pass")
    return [*paths, _write_index(folder, index)]


def record_side_by_side(
    out: Path | None = None, *, tokens: int = 128, repeats: int = 9, progress: Callable[[str], None] = lambda line: None
) -> list[Path]:
    """Record each group of :data:`GROUPS` into its own folder with an ``index.json``, and return the paths.

    On the CPU with one thread, in the fastest runtime. The stacks of a group alternate, ``repeats`` times after one
    warm-up, and the fastest run of each stack is used: background load only adds time.
    """
    paths = []
    with _engine() as engine:
        engine.wait_ready()
        for group, (prompt, options) in GROUPS.items():
            folder = (Path(out) if out is not None else SIDE_BY_SIDE) / group
            recipes = [Recipe(name, title, blurb, stack, prompt, options) for name, title, blurb, stack in SIDES]
            traces = _fastest(engine, [r.stack for r in recipes], repeats, prompt, max_new_tokens=tokens, **options)
            index: list[dict] = []
            for recipe, trace in zip(recipes, traces, strict=True):
                note_plain(trace, traces[0])
                paths.append(_save(trace, recipe, folder, index))
                progress(f"{group}, {recipe.name}: {trace.metrics()['tokens_per_second']:.0f} tokens/s")
            paths.append(_write_index(folder, index))
    return paths


def _fastest(engine: LocalEngine, stacks: Sequence[str], repeats: int, prompt: str, **options: Any) -> list[Trace]:
    """Return each stack's fastest of ``repeats`` interleaved runs after a warm-up; its meta records their number."""
    check_range("the number of repeats", repeats, 1)
    turns = [[engine.run(prompt, stack, **options) for stack in stacks] for _ in range(repeats + 1)]
    fastest = [min(runs, key=lambda t: t.metrics()["seconds"]) for runs in zip(*turns[1:], strict=True)]
    for trace in fastest:
        trace.meta["fastest_of"] = repeats
    return fastest


@contextmanager
def _engine() -> Iterator[LocalEngine]:
    """Yield the engine for recordings; restore torch's number of threads afterwards."""
    threads = torch.get_num_threads()
    try:
        yield load_engine(device="cpu", dtype="float32", threads=1)
    finally:
        torch.set_num_threads(threads)


def _save(trace: Trace, recipe: Recipe, folder: Path, index: list[dict]) -> Path:
    """Check a trace, save it and add it to the index."""
    check(trace)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recipe.name}.json.gz"
    index.append(
        {"name": recipe.name, "file": path.name, "title": recipe.title, "blurb": recipe.blurb, "stack": recipe.stack}
    )
    return trace.save(path)


def _write_index(folder: Path, index: list[dict]) -> Path:
    write_whole(folder / "index.json", json.dumps(index, indent=1) + "\n")
    return folder / "index.json"
