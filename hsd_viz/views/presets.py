"""Prompts and stacks to start from. Prompts differ in temporal locality: how much of what comes next stands in the text already."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptPreset:
    """A prompt, its title and a sentence on what to expect of it."""

    title: str
    blurb: str
    prompt: str


PROMPTS = (
    PromptPreset(
        "Edit a file (repeats the text above)",
        "Very high locality: the continuation copies the code above with small changes, so the context database drafts long runs.",
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
        "Test cases (a pattern with variations)",
        "High locality: every case has the shape of the one before; names and numbers are what the databases cannot know.",
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
        "Command line (common idioms)",
        "Medium locality: little stands in the text, but much of it was written a thousand times: the statistics database knows it.",
        """import argparse
import sys


def main():
    parser = argparse.ArgumentParser(description=""",
    ),
    PromptPreset(
        "Docstring and body",
        "Medium locality: prose drafts badly, the code below it then repeats the names of the signature.",
        '''def read_lines(path, encoding="utf-8"):
    """Return the lines of a file.

''',
    ),
    PromptPreset(
        "A new function",
        "Low locality: nothing above says what comes, so draft models earn their keep and databases are often silent.",
        "def merge_intervals(",
    ),
    PromptPreset(
        "An empty module",
        "No locality at the start: it grows as the model begins to repeat itself. Watch the context database wake up.",
        "import os\n",
    ),
)

#: Stacks worth trying, with what they are in words.
STACKS = (
    ("db > target", "databases"),
    ("db > nano:4 > target", "databases under a draft model"),
    ("nano:4 > target", "one draft model"),
    ("nano:4 > small:8 > target", "two draft models"),
    ("db > nano:4 > small:8 > target", "databases under two draft models"),
    ("auto > target", "the fastest stack for this machine"),
    ("db[context] > target", "the context database alone"),
    ("hd > target", "Hierarchy Drafting as published"),
    ("lookup > target", "prompt look-up, a rival"),
    ("target", "plain decoding"),
)
