"""Preset prompts and stacks. Prompts differ in temporal locality: how much of the continuation repeats earlier text."""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.engine.replay import TEMPERATURE as TEMPERATURE


@dataclass(frozen=True, slots=True)
class PromptPreset:
    """A prompt, its short name, its title and a note on its locality."""

    name: str
    title: str
    blurb: str
    prompt: str


PROMPTS = (
    PromptPreset(
        "edit",
        "File edit (repeats earlier text)",
        "Very high locality: the continuation copies the code with small changes, so the context database drafts "
        "long sequences.",
        """class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, other):
        return Point(self.x""",
    ),
    PromptPreset(
        "tests",
        "Test cases (a pattern with variations)",
        "High locality: each case has the form of the previous one; databases cannot predict new names and numbers.",
        """import unittest


class TestString(unittest.TestCase):
    def test_upper(self):
        self.assertEqual("abc".upper(), "ABC")

    def test_lower(self):
        self.assertEqual("ABC".lower(), "abc")

    def test_strip(self):
        self.assertEqual(""",
    ),
    PromptPreset(
        "idioms",
        "Command line (common idioms)",
        "Medium locality: few repetitions, but common idioms, which the statistics database contains.",
        """import argparse
import sys


def main():
    parser = argparse.ArgumentParser(description=""",
    ),
    PromptPreset(
        "docstring",
        "Docstring and body",
        "Medium locality: prose is hard to draft; the code then repeats the names of the signature.",
        '''def read_lines(path, encoding="utf-8"):
    """Return the lines of a file.

''',
    ),
    PromptPreset(
        "new",
        "A new function",
        "Low locality: the text does not determine the continuation, so draft models work best and databases rarely "
        "match.",
        "def merge_intervals(",
    ),
    PromptPreset(
        "empty",
        "An empty module",
        "No locality at the start; it grows as the output repeats, and the context database starts to draft.",
        "import os\n",
    ),
)

#: Preset stacks with descriptions: one draft model, databases, hierarchies, then baselines.
STACKS = (
    ("nano:4 > target", "one draft model"),
    ("db > target", "databases"),
    ("db > nano:4 > target", "databases below one draft model"),
    ("nano:4 > small:8 > target", "two draft models: Hierarchical Speculative Decoding (HSD)"),
    ("db > nano:4 > small:8 > target", "databases below HSD with two draft models"),
    ("auto > target", "the fastest stack for this machine"),
    ("db[context] > target", "the context database only"),
    ("hd > target", "Hierarchy Drafting (HD), as published"),
    ("lookup > target", "baseline: prompt lookup decoding"),
    ("target", "plain decoding"),
)
