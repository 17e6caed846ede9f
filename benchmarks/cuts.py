"""Where source files can be cut into a prompt and what its authors wrote next, by kind of text.

Each finder takes a :class:`Source` and yields every :class:`Cut` of its kind. None looks at how much a text repeats itself: that
is for whoever picks. No torch here.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.locality import locality

if TYPE_CHECKING:
    from hsd_viz.ladder.training.corpus import SourceFile


@dataclass(frozen=True, slots=True)
class Size:
    """Characters: a prompt has ``least`` to ``most``, and up to ``ahead`` of what follows are looked at, half of that at least."""

    least: int
    most: int
    ahead: int


@dataclass(frozen=True)
class Cut:
    """A place where a file can be cut. ``shown`` is the part of the prompt that stands in the file, word for word.

    ``ahead`` is the beginning of what follows: in the file, or by the rule that the prompt was made by.
    """

    file: SourceFile
    line: int
    prompt: str
    shown: str
    ahead: str

    @cached_property
    def locality(self) -> float:
        """How much of ``ahead`` look-up in the text so far could have drafted."""
        return locality(self.prompt, self.ahead)

    @property
    def order(self) -> str:
        """A key that puts cuts in an order that has nothing to do with what they say."""
        return hashlib.sha256(f"{self.file.package}/{self.file.path}/{self.line}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """A file that parses, with its lines (line ends kept)."""

    file: SourceFile
    tree: ast.Module
    lines: list[str]

    def text(self, node: ast.stmt) -> str:
        """The lines of a statement, decorators left out."""
        return "".join(self.lines[node.lineno - 1 : node.end_lineno])


Finder = Callable[[Source, Size], Iterator[Cut]]


def recorded_heldout(files: Iterable[SourceFile]) -> tuple[list[SourceFile], list[str]]:
    """The held-out files that the shipped models' manifest names, and a sentence for each package of another version.

    What else is installed here by now must not move the picks, and was not held out from anything.
    """
    from hsd_viz.ladder.load import weights_dir

    manifest = json.loads((Path(weights_dir()) / "manifest.json").read_text(encoding="utf-8"))
    names = set(manifest["heldout"])
    found = [f for f in files if f.heldout and f"{f.package}/{f.path}" in names]
    here = {f.package: f.version for f in found}
    wanted = {name: row["version"] for name, row in manifest["packages"].items() if row["heldout_files"]}
    notes = [
        f"{name} is {here.get(name, 'missing')}, recorded is {v}" for name, v in wanted.items() if here.get(name) != v
    ]
    return found, notes


def parsed(files: Iterable[SourceFile]) -> list[Source]:
    """The files that parse, in the order of their names."""
    sources = []
    for file in sorted(files, key=lambda f: (f.package, f.path)):
        try:
            sources.append(Source(file, ast.parse(file.text), file.text.splitlines(keepends=True)))
        except (SyntaxError, ValueError):
            continue
    return sources


def find(finder: Finder, sources: Sequence[Source], size: Size) -> list[Cut]:
    """All cuts of one kind whose prompts are of a good length and in ASCII."""
    return [
        c for s in sources for c in finder(s, size) if size.least <= len(c.prompt) <= size.most and c.prompt.isascii()
    ]


def learnt_text(files: Iterable[SourceFile]) -> bytes:
    """What was learnt from, to be searched: in UTF-8, where a search is several times as fast as in Python's wide strings."""
    return b"\0".join(f.text.encode() for f in files)


def pick(ranked: Iterable[Cut], learnt: bytes, count: int, per_package: int, *, whole: bool = False) -> list[Cut]:
    """The first ``count`` of a ranking, at most one a file and ``per_package`` a package, so that no single style fills a category.

    A held-out file may share functions with files that were learnt from: a prompt whose end occurs in ``learnt`` is passed by,
    and with ``whole`` also one whose continuation begins as something in it.
    """
    files: set[tuple[str, str]] = set()
    packages: Counter[str] = Counter()
    picked: list[Cut] = []
    for c in ranked:
        key = (c.file.package, c.file.path)
        if len(picked) == count:
            break
        if key in files or packages[c.file.package] >= per_package:
            continue
        if c.shown[-150:].encode() in learnt or (whole and c.ahead[:150].encode() in learnt):
            continue
        files.add(key)
        packages[c.file.package] += 1
        picked.append(c)
    return picked


def as_prompt(cut: Cut, category: str, number: int) -> dict:
    """A cut as the suites' JSON has it."""
    f = cut.file
    origin = {"package": f.package, "version": f.version, "file": f.path, "licence": f.licence, "line": cut.line}
    share = round(cut.locality, 3)
    return {"id": f"{category}-{number}", "category": category, "text": cut.prompt, "locality": share, "origin": origin}


def cut_lines(source: Source, first: int, last: int, end: int, size: Size) -> Cut | None:
    """A cut whose prompt is the lines from ``first`` up to ``last`` and whose continuation goes on to ``end``, exclusive.

    The prompt is shortened from its beginning, by whole lines, where it is too long.
    """
    lines = source.lines
    while first < last and sum(map(len, lines[first:last])) > size.most:
        first += 1
    prompt = "".join(lines[first:last])
    ahead = "".join(lines[last:end])[: size.ahead]
    if len(prompt) < size.least or len(ahead) < size.ahead / 2:
        return None
    return Cut(source.file, first + 1, prompt, prompt, ahead)


# --- the kinds ---------------------------------------------------------------------------------------------------------


def tables(source: Source, size: Size) -> Iterator[Cut]:
    """Twelve and more lines of one shape in a row, such as the entries of a dict, cut among them."""
    lines = source.lines
    shapes = [_shape(line) for line in lines]
    start = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and shapes[end] == shapes[start]:
            continue
        length = sum(map(len, lines[start:end]))
        if end - start >= 12 and length >= size.least + size.ahead / 2 and shapes[start] is not None:
            last, written = start, 0
            while written < min(size.least * 4 // 3, length - size.ahead / 2):
                written += len(lines[last])
                last += 1
            if found := cut_lines(source, max(0, start - 3), last, end, size):
                yield found
        start = end


def _shape(line: str) -> tuple[int, str, str] | None:
    """Lines of one shape are indented alike and begin and end alike; running text has none."""
    text = line.strip()
    if not text or text[-1].isalnum() or text[0] == "#":
        return None
    first = "w" if text[0].isalnum() or text[0] in "_-" else text[0]
    return len(line) - len(line.lstrip()), first, text[-1]


def siblings(
    source: Source, size: Size, akin: Callable[[ast.FunctionDef, ast.FunctionDef], bool] | None = None
) -> Iterator[Cut]:
    """Functions beside one another, up to three and the head of the next; only those that are ``akin`` to the one before."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Module | ast.ClassDef):
            continue
        for k, (earlier, later) in enumerate(zip(node.body, node.body[1:], strict=False)):
            if not (isinstance(earlier, ast.FunctionDef) and isinstance(later, ast.FunctionDef)):
                continue
            if akin is None or akin(earlier, later):
                first = node.body[max(0, k - 3)].lineno - 1
                if found := cut_lines(source, first, later.body[0].lineno - 1, later.end_lineno or later.lineno, size):
                    yield found


def code(source: Source, size: Size) -> Iterator[Cut]:
    """Function bodies of four statements and more, cut halfway."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            body = [s for s in node.body if not is_text(s)]
            if len(body) >= 4:
                middle = body[len(body) // 2]
                if found := cut_lines(
                    source, node.lineno - 1, middle.lineno - 1, node.end_lineno or middle.lineno, size
                ):
                    yield found


def docstrings(source: Source, size: Size) -> Iterator[Cut]:
    """The documentation of functions, cut halfway."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.body and is_text(node.body[0]):
            text = node.body[0]
            middle = (text.lineno + (text.end_lineno or text.lineno)) // 2
            if found := cut_lines(source, node.lineno - 1, middle, (text.end_lineno or middle) - 1, size):
                yield found


def prose(source: Source, size: Size) -> Iterator[Cut]:
    """Running text in docstrings of modules, classes and functions, three lines of it on either side of the cut."""
    # Columns of a listing are two blanks apart.
    wordy = [
        re.match(r"\s*[A-Za-z(`'][\w ,.;:'`()*-]{40,}$", line) is not None and "  " not in line.strip()
        for line in source.lines
    ]
    for node in ast.walk(source.tree):
        if (
            not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            or not node.body
            or not is_text(node.body[0])
        ):
            continue
        text = node.body[0]
        if re.search(r"copyright|licen[cs]e|warrant", ast.get_docstring(node) or "", re.IGNORECASE):
            continue
        for middle in range(text.lineno + 3, (text.end_lineno or text.lineno) - 2):
            if all(wordy[middle - 3 : middle + 3]):
                first = text.lineno - 1 if isinstance(node, ast.Module) else node.lineno - 1
                if found := cut_lines(source, first, middle, text.end_lineno or middle, size):
                    yield found


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a string that stands alone, as a docstring does."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
