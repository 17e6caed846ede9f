"""Record the traces that come with the package: real runs of the shipped ladder, checked before they are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from hsd_viz.engine.local import load_engine
from hsd_viz.engine.replay import TRACES
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
        "The databases draft for nano, nano for small, small for the target: every level verifies the one below.",
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


def record_traces(out: Path | None = None, *, tokens: int = 128, progress: Callable[[str], None] = lambda line: None) -> list[Path]:
    """Record every recipe on the CPU with one thread and write ``index.json`` beside the traces; returns the files written.

    Each run is done twice and the second kept, so that no first-use cost is on show. Each trace must keep all identities
    (:func:`hsd_viz.trace.metrics.check`).
    """
    folder = Path(out) if out is not None else TRACES
    folder.mkdir(parents=True, exist_ok=True)
    threads = torch.get_num_threads()
    engine = load_engine(device="cpu", dtype="float32", threads=1)
    paths, index = [], []
    try:
        for recipe in RECIPES:
            for _ in range(2):
                trace = engine.run(recipe.prompt, recipe.stack, max_new_tokens=tokens, **recipe.options)
            check(trace)
            path = folder / f"{recipe.name}.json.gz"
            paths.append(trace.save(path))
            index.append({"name": recipe.name, "file": path.name, "title": recipe.title, "blurb": recipe.blurb, "stack": recipe.stack})
            progress(f"{recipe.name}: {trace.metrics()['mean_acceptance_length']:.2f} tokens per forward of the target")
    finally:
        torch.set_num_threads(threads)
    target = folder / "index.json"
    temporary = folder / ".index.json.new"
    temporary.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    os.replace(temporary, target)
    return [*paths, target]
