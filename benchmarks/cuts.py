"""Find the places where source files can be cut into a prompt and its continuation, by kind of
text.

Each finder takes a :class:`ParsedFile` and yields every :class:`Cut` of its kind, regardless of its
repetition. No torch.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.disk import write_whole

if TYPE_CHECKING:
    from training.corpus import SourceFile


_LEXICAL = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class CutSize:
    """Sizes in characters: ``least`` to ``most`` for a prompt, ``ahead`` / 2 to ``ahead`` for
    its continuation.
    """

    least: int
    most: int
    ahead: int


@dataclass(frozen=True)
class Cut:
    """A place where a file can be cut. ``shown`` is the part of the prompt that is verbatim in the
    file.

    ``ahead`` is the beginning of the continuation, from the file or from the rule that generated
    the prompt.
    """

    file: SourceFile
    line: int
    prompt: str
    shown: str
    ahead: str

    @cached_property
    def locality(self) -> float:
        """The share of ``ahead`` that lookup in the preceding text could have drafted."""
        return locality(self.prompt, self.ahead)

    @property
    def order(self) -> str:
        """A sort key that is independent of the content."""
        return hashlib.sha256(
            f"{self.file.package}/{self.file.path}/{self.line}".encode()
        ).hexdigest()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file that parses, with its lines (including line ends)."""

    file: SourceFile
    tree: ast.Module
    lines: list[str]

    def text(self, node: ast.stmt) -> str:
        """Return the lines of a statement, without decorators."""
        return "".join(self.lines[node.lineno - 1 : node.end_lineno])


Finder = Callable[[ParsedFile, CutSize], Iterator[Cut]]


def repeated(tokens: Sequence[Hashable], n: int, start: int = 0) -> list[bool]:
    """Return for each token from ``start`` on whether it ends an n-gram that occurred before."""
    earlier_grams: set[tuple] = set()
    flags = []
    for end in range(1, len(tokens) + 1):
        gram = tuple(tokens[end - n : end]) if end >= n else None
        if end > start:
            flags.append(gram is not None and gram in earlier_grams)
        if gram is not None:
            earlier_grams.add(gram)
    return flags


def locality(prompt: str, continuation: str, n: int = 4) -> float:
    """Return the share of the continuation's words and marks that end a 4-gram seen before: the
    limit of lookup.
    """
    before = _LEXICAL.findall(prompt)
    flags = repeated(before + _LEXICAL.findall(continuation), n, len(before))
    return sum(flags) / len(flags) if flags else 0.0


def collect(files: Sequence[SourceFile] | None) -> tuple[list[ParsedFile], bytes, list[str]]:
    """Return the held-out sources, the training text to avoid (UTF-8, which is fast to search), and
    notes on versions.

    ``files`` is a corpus. By default it is this environment, of which only the held-out files in
    the manifest of the shipped models are used: other installed files were not held out. A note
    names each package whose version differs from the recorded one.
    """
    from hsd_viz.models.families import LADDER
    from training import corpus

    everything = corpus.collect() if files is None else files
    trained = b"\0".join(f.text.encode() for f in corpus.train_files(everything))
    if files is not None:
        return parsed(corpus.heldout_files(everything)), trained, []
    manifest = json.loads((Path(LADDER) / "manifest.json").read_text(encoding="utf-8"))
    names = set(manifest["heldout"])
    heldout = [f for f in everything if f.heldout and f"{f.package}/{f.path}" in names]
    versions = {f.package: f.version for f in heldout}
    recorded = {
        name: row["version"] for name, row in manifest["packages"].items() if row["heldout_files"]
    }
    notes = [
        f"{n} is {versions.get(n, 'missing')}, recorded is {v}"
        for n, v in recorded.items()
        if versions.get(n) != v
    ]
    return parsed(heldout), trained, notes


def save(suite: dict, argv: Sequence[str] | None) -> None:
    """Write a suite to the file named on the command line, by default the one of the package."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    out = (
        Path(arguments[0]) if arguments else Path("hsd_viz/prompts/data") / f"{suite['name']}.json"
    )
    write_whole(out, json.dumps(suite, indent=1, ensure_ascii=True) + "\n")


def parsed(files: Iterable[SourceFile]) -> list[ParsedFile]:
    """Return the files that parse, sorted by name."""
    sources = []
    for file in sorted(files, key=lambda f: (f.package, f.path)):
        try:
            sources.append(
                ParsedFile(file, ast.parse(file.text), file.text.splitlines(keepends=True))
            )
        except (SyntaxError, ValueError):
            continue
    return sources


def find(finder: Finder, sources: Sequence[ParsedFile], size: CutSize) -> list[Cut]:
    """Return all cuts of one kind whose prompts have the right length and are ASCII."""
    cuts = []
    for source in sources:
        for cut in finder(source, size):
            if size.least <= len(cut.prompt) <= size.most and cut.prompt.isascii():
                cuts.append(cut)
    return cuts


def pick(
    ranked: Iterable[Cut], trained: bytes, count: int, per_package: int, *, whole: bool = False
) -> list[Cut]:
    """Return the first ``count`` of a ranking, at most one per file and ``per_package`` per
    package.

    Held-out files can share functions with training files: a prompt whose end occurs in ``trained``
    is skipped, and with ``whole`` also one whose continuation starts with text in it.
    """
    files: set[tuple[str, str]] = set()
    packages: Counter[str] = Counter()
    cuts: list[Cut] = []
    for c in ranked:
        key = (c.file.package, c.file.path)
        if len(cuts) == count:
            break
        if key in files or packages[c.file.package] >= per_package:
            continue
        if c.shown[-150:].encode() in trained or (whole and c.ahead[:150].encode() in trained):
            continue
        files.add(key)
        packages[c.file.package] += 1
        cuts.append(c)
    return cuts


def as_prompt(cut: Cut, category: str, number: int) -> dict:
    """Return a cut as an entry of the suite's JSON."""
    f = cut.file
    origin = {
        "package": f.package,
        "version": f.version,
        "file": f.path,
        "licence": f.licence,
        "line": cut.line,
    }
    share = round(cut.locality, 3)
    return {
        "id": f"{category}-{number}",
        "category": category,
        "text": cut.prompt,
        "locality": share,
        "origin": origin,
    }


def cut_lines(source: ParsedFile, first: int, last: int, end: int, size: CutSize) -> Cut | None:
    """Return a cut with the lines ``first`` to ``last`` as the prompt and those up to ``end``,
    exclusive, as the continuation.

    A prompt that is too long is shortened from its beginning by whole lines.
    """
    lines = source.lines
    while first < last and sum(map(len, lines[first:last])) > size.most:
        first += 1
    prompt = "".join(lines[first:last])
    ahead = "".join(lines[last:end])[: size.ahead]
    if len(prompt) < size.least or len(ahead) < size.ahead / 2:
        return None
    return Cut(source.file, first + 1, prompt, prompt, ahead)


# --- the kinds


def tables(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield runs of at least twelve lines of one shape, such as the entries of a dict, cut
    inside.
    """
    lines = source.lines
    shapes = [_shape(line) for line in lines]
    start = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and shapes[end] == shapes[start]:
            continue
        length = sum(map(len, lines[start:end]))
        if (
            end - start >= 12
            and length >= size.least + size.ahead / 2
            and shapes[start] is not None
        ):
            last = start
            written = 0
            while written < min(size.least * 4 // 3, length - size.ahead / 2):
                written += len(lines[last])
                last += 1
            if cut := cut_lines(source, max(0, start - 3), last, end, size):
                yield cut
        start = end


def _shape(line: str) -> tuple[int, str, str] | None:
    """Return indentation, first and last character of a line, or None for prose."""
    text = line.strip()
    if not text or text[-1].isalnum() or text[0] == "#":
        return None
    first = "w" if text[0].isalnum() or text[0] in "_-" else text[0]
    return len(line) - len(line.lstrip()), first, text[-1]


def siblings(
    source: ParsedFile,
    size: CutSize,
    akin: Callable[[ast.FunctionDef, ast.FunctionDef], bool] | None = None,
) -> Iterator[Cut]:
    """Yield up to three adjacent functions and the head of the next, if it is ``akin`` to the
    previous one.
    """
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Module | ast.ClassDef):
            continue
        for k, (earlier, later) in enumerate(zip(node.body, node.body[1:], strict=False)):
            if not (isinstance(earlier, ast.FunctionDef) and isinstance(later, ast.FunctionDef)):
                continue
            if akin is None or akin(earlier, later):
                first = node.body[max(0, k - 3)].lineno - 1
                if cut := cut_lines(
                    source, first, later.body[0].lineno - 1, later.end_lineno or later.lineno, size
                ):
                    yield cut


def code(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield function bodies of at least four statements, cut halfway."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            body = [s for s in node.body if not is_text(s)]
            if len(body) >= 4:
                middle = body[len(body) // 2]
                if cut := cut_lines(
                    source,
                    node.lineno - 1,
                    middle.lineno - 1,
                    node.end_lineno or middle.lineno,
                    size,
                ):
                    yield cut


def docstrings(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield docstrings of functions, cut halfway."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.body and is_text(node.body[0]):
            text = node.body[0]
            middle = (text.lineno + (text.end_lineno or text.lineno)) // 2
            if cut := cut_lines(
                source, node.lineno - 1, middle, (text.end_lineno or middle) - 1, size
            ):
                yield cut


def prose(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield prose in docstrings with three lines of it on either side of the cut."""
    # Columns of a listing are two blanks apart.
    wordy = [
        re.match(r"\s*[A-Za-z(`'][\w ,.;:'`()*-]{40,}$", line) is not None
        and "  " not in line.strip()
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
                if cut := cut_lines(source, first, middle, text.end_lineno or middle, size):
                    yield cut


def is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a bare string, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
