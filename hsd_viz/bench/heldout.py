"""Build the shipped ``heldout`` suite from source files that no model of the ladder has seen.

    python -m hsd_viz.bench.heldout [OUT.json]

Every candidate is a place where a file could be cut: the text before it is the prompt, the text after it is what its authors
wrote. How strongly that continuation repeats what stands before it (:func:`~hsd_viz.bench.locality.locality`) is computed, and
the pick is made by that number. The same files give the same suite.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .locality import locality

if TYPE_CHECKING:
    from hsd_viz.ladder.corpus import SourceFile

PER_CATEGORY = 12
LEAST, MOST = 420, 1000  # characters of a prompt: 100 to 400 tokens of the ladder
AHEAD = 360  # characters of the continuation that are looked at

#: Name -> sentence, from the most to the least repetitive.
CATEGORIES = {
    "rewrite": "A function of the file, then the head of a renamed copy of it: the text to come stands in the prompt.",
    "siblings": "Methods or functions beside one another, cut after the head of the next: of all such cuts the most repetitive.",
    "tables": "Lines of one shape, such as the entries of a dict or a list: of all such cuts the most repetitive.",
    "docstrings": "The documentation of a function, cut halfway: as repetitive as half of all such cuts are.",
    "code": "The inside of a function body, cut halfway: as repetitive as half of all such cuts are.",
    "prose": "Running text that explains, from docstrings: of all such cuts the least repetitive.",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place where a file can be cut. ``shown`` is the part of the prompt that stands in the file, word for word."""

    file: SourceFile
    line: int
    prompt: str
    shown: str
    locality: float


def build_heldout(files: Sequence[SourceFile] | None = None) -> dict:
    """The suite as JSON data. ``files``: a corpus, this environment's when left out."""
    from hsd_viz.ladder import corpus

    files = corpus.collect() if files is None else files
    learnt = "\0".join(f.text for f in corpus.train_files(files))
    parsed = list(_parsed(corpus.heldout_files(files)))
    prompts = []
    for category, (find, rank) in _FINDERS.items():
        found = [c for file, tree in parsed for c in find(file, tree) if LEAST <= len(c.prompt) <= MOST and c.prompt.isascii()]
        for k, chosen in enumerate(_pick(rank(found), learnt), start=1):
            f = chosen.file
            origin = {"package": f.package, "version": f.version, "file": f.path, "licence": f.licence, "line": chosen.line}
            share = round(chosen.locality, 3)
            prompts.append({"id": f"{category}-{k}", "category": category, "text": chosen.prompt, "locality": share, "origin": origin})
    return {"name": "heldout", "categories": CATEGORIES, "prompts": prompts}


def _parsed(files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, ast.Module]]:
    for file in sorted(files, key=lambda f: (f.package, f.path)):
        try:
            yield file, ast.parse(file.text)
        except (SyntaxError, ValueError):
            continue


def _pick(ranked: list[Candidate], learnt: str) -> list[Candidate]:
    """The first of the ranking, at most one a file and three a package, so that no single style fills a category.

    A held-out file may share functions with files that were learnt from: a prompt whose end occurs in ``learnt`` is passed by.
    """
    files: set[tuple[str, str]] = set()
    packages: Counter[str] = Counter()
    picked: list[Candidate] = []
    for c in ranked:
        key = (c.file.package, c.file.path)
        if len(picked) == PER_CATEGORY:
            break
        if key in files or packages[c.file.package] >= 3 or c.shown[-150:] in learnt:
            continue
        files.add(key)
        packages[c.file.package] += 1
        picked.append(c)
    return picked


def _tie(c: Candidate) -> str:
    return hashlib.sha256(f"{c.file.package}/{c.file.path}/{c.line}".encode()).hexdigest()


def _highest(found: list[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda c: (-c.locality, _tie(c)))


def _lowest(found: list[Candidate]) -> list[Candidate]:
    return sorted(found, key=lambda c: (c.locality, _tie(c)))


def _middle(found: list[Candidate]) -> list[Candidate]:
    middle = sorted(c.locality for c in found)[len(found) // 2] if found else 0.0
    return sorted(found, key=lambda c: (abs(c.locality - middle), _tie(c)))


def _cut(file: SourceFile, lines: list[str], first: int, last: int, end: int) -> Candidate | None:
    """A candidate whose prompt is the lines from ``first`` up to ``last`` and whose continuation goes on to ``end``, exclusive.

    The prompt is shortened from its beginning, by whole lines, where it is too long.
    """
    while first < last and sum(map(len, lines[first:last])) > MOST:
        first += 1
    prompt = "".join(lines[first:last])
    ahead = "".join(lines[last:end])[:AHEAD]
    if len(prompt) < LEAST or len(ahead) < AHEAD / 2:
        return None
    return Candidate(file, first + 1, prompt, prompt, locality(prompt, ahead))


def _tables(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    shapes = [_shape(line) for line in lines]
    start = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and shapes[end] == shapes[start]:
            continue
        length = sum(map(len, lines[start:end]))
        if end - start >= 12 and length >= LEAST + AHEAD / 2 and shapes[start] is not None:
            last, size = start, 0
            while size < min(560, length - AHEAD / 2):
                size += len(lines[last])
                last += 1
            if found := _cut(file, lines, max(0, start - 3), last, end):
                yield found
        start = end


def _shape(line: str) -> tuple[int, str, str] | None:
    """Lines of one shape are indented alike and begin and end alike; running text has none."""
    text = line.strip()
    if not text or text[-1].isalnum() or text[0] == "#":
        return None
    first = "w" if text[0].isalnum() or text[0] in "_-" else text[0]
    return len(line) - len(line.lstrip()), first, text[-1]


def _siblings(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef):
            continue
        for earlier, later in zip(node.body, node.body[1:], strict=False):
            if isinstance(earlier, ast.FunctionDef) and isinstance(later, ast.FunctionDef):
                before = node.body.index(earlier)
                first = node.body[max(0, before - 3)].lineno - 1
                if found := _cut(file, lines, first, later.body[0].lineno - 1, later.end_lineno or later.lineno):
                    yield found


def _rewrites(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        source = "".join(lines[node.lineno - 1 : node.end_lineno])
        head_end = node.body[0].lineno - 1
        head = "".join(lines[node.lineno - 1 : head_end])
        body = "".join(lines[head_end : node.end_lineno])
        copy = head.replace(f"def {node.name}(", f"def {node.name}_copy(", 1)
        if copy == head or len(body) < AHEAD:
            continue
        prompt = f"{source.rstrip()}\n\n\n# The same function under another name.\n{copy}"
        yield Candidate(file, node.lineno, prompt, source, locality(prompt, body[:AHEAD]))


def _code(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = [s for s in node.body if not _is_text(s)]
            if len(body) >= 4:
                middle = body[len(body) // 2]
                if found := _cut(file, lines, node.lineno - 1, middle.lineno - 1, node.end_lineno or middle.lineno):
                    yield found


def _docstrings(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.body and _is_text(node.body[0]):
            text = node.body[0]
            middle = (text.lineno + (text.end_lineno or text.lineno)) // 2
            if found := _cut(file, lines, node.lineno - 1, middle, (text.end_lineno or middle) - 1):
                yield found


def _prose(file: SourceFile, tree: ast.Module) -> Iterator[Candidate]:
    lines = file.text.splitlines(keepends=True)
    # Columns of a listing are two blanks apart.
    wordy = [re.match(r"\s*[A-Za-z(`'][\w ,.;:'`()*-]{40,}$", line) is not None and "  " not in line.strip() for line in lines]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not node.body or not _is_text(node.body[0]):
            continue
        text = node.body[0]
        if re.search(r"copyright|licen[cs]e|warrant", ast.get_docstring(node) or "", re.IGNORECASE):
            continue
        for middle in range(text.lineno + 3, (text.end_lineno or text.lineno) - 2):
            # Running text on both sides of the cut: no lists, no code.
            if all(wordy[middle - 3 : middle + 3]):
                first = text.lineno - 1 if isinstance(node, ast.Module) else node.lineno - 1
                if found := _cut(file, lines, first, middle, text.end_lineno or middle):
                    yield found


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


_FINDERS = {
    "rewrite": (_rewrites, _highest),
    "siblings": (_siblings, _highest),
    "tables": (_tables, _highest),
    "docstrings": (_docstrings, _middle),
    "code": (_code, _middle),
    "prose": (_prose, _lowest),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the suite and say what it holds."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    out = Path(arguments[0]) if arguments else Path(__file__).parent / "suites" / "heldout.json"
    suite = build_heldout()
    out.write_text(json.dumps(suite, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
    for category in CATEGORIES:
        shares = [p["locality"] for p in suite["prompts"] if p["category"] == category]
        print(f"{category:<11} {len(shares):>3} prompts, continuations repeat {min(shares):.2f} to {max(shares):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
