"""Find the words of `tools/language/wording.py` in docs, docstrings, comments and string literals.

`python -m tools.language [PATH ...]` prints one line per finding and exits with 1 if there is any.
Without a path it checks all that `CHECKED` names. Code is ignored: identifiers, text between
backticks, fenced blocks, links, and strings of a single word.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tools.language.wording import RULES, Rule

ROOT = Path(__file__).resolve().parents[2]
#: What is checked: files, or directories of which all files with a known suffix are checked.
CHECKED = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "Makefile",
    "docs",
    "notebooks",
    "hsd_viz",
    "benchmarks",
    "tools",
    "js",
)
#: Generated, third-party, or quoting the words.
EXEMPT = (
    "tools/language/wording.py",
    "js/node_modules",
    "js/package-lock.json",
    "hsd_viz/views/static",
)

_CODE = re.compile(r"``.+?``|`[^`\n]+`|https?://\S+|\]\([^)\s]+\)", re.S)
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2", re.S | re.M)
_PROSE = re.compile(r"[A-Za-z]{2,}[,;:.]?\s+[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class WordingFinding:
    """A place to reword.

    Attributes:
        path: the file.
        line: its line, from 1.
        words: the words there.
        rule: the rule that they break.
    """

    path: Path
    line: int
    words: str
    rule: Rule

    def __str__(self) -> str:
        place = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        words = " ".join(self.words.split())
        return f"{place}:{self.line}: {words!r}: write {self.rule.instead!r} ({self.rule.reason})"


def _python(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comment blocks and string literals of Python source, each with its first line."""
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield first, "\n".join(block)
            block = []
        first = first if block else token.start[0]
        last = token.start[0]
        block.append(token.string.lstrip("#: "))
    if block:
        yield first, "\n".join(block)
    tree = ast.parse(text)
    # The walk comes to an f-string before its parts.
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            prose = ""
            for part in node.values:
                parts.add(id(part))
                prose += str(part.value) if isinstance(part, ast.Constant) else "…"
            yield node.lineno, prose
        elif _is_text(node) and id(node) not in parts:
            yield node.lineno, str(node.value)


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a Markdown page as one block; fenced code is blanked out, line by line."""
    yield 1, _FENCED.sub(_empty_lines, text)


def _notebook(text: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a notebook; the line is that within the cell."""
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield from _markdown(source)
        elif cell["cell_type"] == "code" and not source.lstrip().startswith("%"):
            yield from _python(source)


_C_LIKE = re.compile(
    r"(?://[^\n]*(?:\n\s*//[^\n]*)*)|/\*.*?\*/"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`",
    re.S,
)
_MARKS = re.compile(r"^\s*(?://+|/\*+|\*+)", re.M)


def _c_like(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments and string or template literals of C++ or TypeScript."""
    for match in _C_LIKE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, _MARKS.sub("", match[0]).strip("`")


def _make(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if "#" in line:
            yield number, line[line.index("#") :]


_READERS = {
    ".py": _python,
    ".md": _markdown,
    ".ipynb": _notebook,
    ".cpp": _c_like,
    ".hpp": _c_like,
    ".ts": _c_like,
    ".css": _c_like,
    ".js": _c_like,
    ".json": _c_like,
    "": _make,
}


def findings(path: Path) -> list[WordingFinding]:
    """Return what to reword in one file. Raises ``KeyError`` for a suffix that has no reader."""
    places = []
    for first, block in _READERS[path.suffix](path.read_text(encoding="utf-8")):
        prose = _CODE.sub(_mark, block)
        if not _PROSE.search(prose):
            continue
        for rule in RULES:
            for match in rule.expression.finditer(prose):
                line = first + prose.count("\n", 0, match.start())
                places.append(WordingFinding(path, line, match[0], rule))
    return sorted(places, key=lambda place: place.line)


def _mark(code: re.Match[str]) -> str:
    """Return what replaces code within prose: a mark, and as many lines."""
    return "`" + _empty_lines(code)


def _empty_lines(code: re.Match[str]) -> str:
    return "\n" * code[0].count("\n")


def files(*names: str) -> list[Path]:
    """Return every file to check below the names given, or below all of `CHECKED`."""
    paths = []
    for name in names or CHECKED:
        base = (ROOT / name).resolve()
        if base.is_file():
            paths.append(base)
        else:
            paths += sorted(path for path in base.rglob("*") if path.is_file() and path.suffix)
    return list(filter(_is_checked, paths))


def _is_checked(path: Path) -> bool:
    """Return whether a file has prose of the project."""
    skipped = tuple(str(ROOT / name) for name in EXEMPT)
    if str(path).startswith(skipped) or ".ipynb_checkpoints" in path.parts:
        return False
    # JSON with texts of the page; other JSON is data.
    if path.suffix == ".json" and path.parent.parent.name != "js":
        return False
    return path.suffix in _READERS


def main() -> int:
    """Print the findings of the paths on the command line; return 1 if there is any."""
    places: list[WordingFinding] = []
    for path in files(*sys.argv[1:]):
        places += findings(path)
    for place in places:
        print(place)
    print(f"{len(places)} findings", file=sys.stderr)
    return bool(places)
