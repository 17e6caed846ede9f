"""Record the traces that come with the package: real runs of the shipped ladder, checked before they are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from hsd_viz.engine.baseline import note
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.replay import SIDE_BY_SIDE, TRACES
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import check

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
    """One recording: how it is named and told, and what is run."""

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
        "The databases draft for nano, nano for small, small for the target: every level verifies the one below. Beside so small a target "
        "the draft models cost more than they save: the next recording does without them.",
        "db > nano:4 > small:7 > target",
        _IDIOMS,
    ),
    Recipe(
        "databases",
        "Databases: context, model, statistics",
        "No draft model at all: the tokens come from this text, from what the target tends to write, and from a corpus.",
        "db > target",
        _IDIOMS,
    ),
    Recipe(
        "hierarchy",
        "A hierarchy of two draft models, sampled",
        "nano drafts for small, small for the target, at temperature 0.6. Look for small's own corrections that the target accepts.",
        "nano:3 > small:6 > target",
        _TESTS,
        {"temperature": 0.6, "seed": 1},
    ),
    Recipe(
        "one-draft",
        "One draft model",
        "Classic speculative decoding: nano writes four tokens, the target checks them in one forward.",
        "nano:4 > target",
        _DOCSTRING,
    ),
    Recipe(
        "sampled",
        "One draft model at temperature 0.8",
        "Tokens are drawn, so acceptance is a matter of chance: see u, q and p of each draft, and the residual of each correction.",
        "nano:4 > target",
        _DOCSTRING,
        {"temperature": 0.8, "seed": 7},
    ),
    Recipe(
        "repetition",
        "A model that repeats itself",
        "Greedy decoding falls into a loop, and a loop is easy to draft: high acceptance here says little about the method.",
        "db > target",
        _EDIT,
    ),
    Recipe(
        "plain",
        "Plain decoding",
        "One token per forward of the target: what everything else is measured against.",
        "target",
        _IDIOMS,
    ),
)

#: Groups of recordings to lay side by side: one prompt and one way of drawing tokens each, ...
GROUPS: dict[str, tuple[str, dict]] = {"greedy": (_IDIOMS, {}), "sampled": (_TESTS, {"temperature": 0.6, "seed": 1})}
#: ... and in each of them these: name, title, blurb, stack.
SIDES = (
    ("plain", "Plain decoding", "One token per forward of the target.", "target"),
    (
        "published",
        "Hierarchy Drafting as published",
        "Three databases, asked in order, as the paper has them.",
        "hd > target",
    ),
    ("databases", "Databases", "Our own database drafting: one scored draft tree from all databases.", "db > target"),
    (
        "hierarchy",
        "Two draft models",
        "Hierarchical Speculative Decoding: nano for small, small for the target.",
        "nano:4 > small:8 > target",
    ),
    (
        "both",
        "Databases under two draft models",
        "The databases draft for nano, at the bottom.",
        "db > nano:4 > small:8 > target",
    ),
)


def record_traces(
    out: Path | None = None, *, tokens: int = 128, repeats: int = 5, progress: Callable[[str], None] = lambda line: None
) -> list[Path]:
    """Record every recipe on the CPU with one thread and write ``index.json`` beside the traces; returns the files written.

    A recipe and plain decoding of its prompt take turns, ``repeats`` times after one that does not count; of each the fastest run is
    kept, the plain one as a figure in the meta of the other (:func:`hsd_viz.engine.baseline.note`). Each trace must keep all
    identities (:func:`hsd_viz.trace.metrics.check`).
    """
    folder = Path(out) if out is not None else TRACES
    paths, index = [], []
    with _engine() as engine:
        engine.wait_ready()
        for recipe in RECIPES:
            stacks = list(dict.fromkeys([recipe.stack, "target"]))
            trace, *plain = _fastest(engine, stacks, repeats, recipe.prompt, max_new_tokens=tokens, **recipe.options)
            for other in plain:
                note(trace, other)
            paths.append(_keep(trace, recipe, folder, index))
            progress(f"{recipe.name}: {trace.metrics()['mean_acceptance_length']:.2f} tokens per forward of the target")
    return [*paths, _write_index(folder, index)]


def record_side_by_side(
    out: Path | None = None, *, tokens: int = 128, repeats: int = 9, progress: Callable[[str], None] = lambda line: None
) -> list[Path]:
    """Record each group of :data:`GROUPS` into a folder of its own, with an ``index.json``; returns the files written.

    On the CPU with one thread, in its fastest runtime. The stacks of a group take turns, ``repeats`` times after one that does not
    count, and of each stack the fastest run is kept: what else the machine does only ever adds time, here and there in a run.
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
                note(trace, traces[0])
                paths.append(_keep(trace, recipe, folder, index))
                progress(f"{group}, {recipe.name}: {trace.metrics()['tokens_per_second']:.0f} tokens/s")
            paths.append(_write_index(folder, index))
    return paths


def _fastest(engine: LocalEngine, stacks: Sequence[str], repeats: int, prompt: str, **options: Any) -> list[Trace]:
    """Each stack's fastest run of ``repeats`` in which they took turns, after one that does not count; its meta says of how many."""
    if repeats < 1:
        raise ValueError(f"{repeats} repeats is out of range: it is a whole number from 1")
    turns = [[engine.run(prompt, stack, **options) for stack in stacks] for _ in range(repeats + 1)]
    kept = [min(runs, key=lambda t: t.metrics()["seconds"]) for runs in zip(*turns[1:], strict=True)]
    for trace in kept:
        trace.meta["fastest_of"] = repeats
    return kept


@contextmanager
def _engine() -> Iterator[LocalEngine]:
    """What recordings are made with; torch gets its threads back."""
    threads = torch.get_num_threads()
    try:
        yield load_engine(device="cpu", dtype="float32", threads=1)
    finally:
        torch.set_num_threads(threads)


def _keep(trace: Trace, recipe: Recipe, folder: Path, index: list[dict]) -> Path:
    """Check a trace, save it and note it in the index."""
    check(trace)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recipe.name}.json.gz"
    index.append(
        {"name": recipe.name, "file": path.name, "title": recipe.title, "blurb": recipe.blurb, "stack": recipe.stack}
    )
    return trace.save(path)


def _write_index(folder: Path, index: list[dict]) -> Path:
    path, temporary = folder / "index.json", folder / ".index.json.new"
    temporary.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, path)
    return path
