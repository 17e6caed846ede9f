"""Find mannered or ambiguous wording in docs, docstrings, comments and string literals.

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

ROOT = Path(__file__).resolve().parent.parent
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
#: Generated, third-party, or quoting the patterns.
EXEMPT = ("tools/language.py", "js/node_modules", "js/package-lock.json", "hsd_viz/views/static")

_UNIT = (
    r"(?:tokens?|drafts?|forwards?|pass(?:es)?|launch(?:es)?|calls?"
    r"|seconds?|[mµn]s|microseconds?|milliseconds?|times"
    r"|once|bytes|[kKMG]B|nats|bits)"
)
_PER = (
    r"(?:round|line|token|step|second|minute|draft|prompt|forward|pass|row|layer|node|text|run"
    r"|stack|level|place|position|suite|machine)"
)
#: Pattern -> what to write. A space matches any white space, so that a line break hides nothing.
PATTERNS = {
    r"\b(?:tell|tells|telling|told)\b": "report, detect, specify, show",
    (
        r"(?<!there\s)\b(?:is|are) no\b"
        r"(?! (?:longer|more|less|fewer|later|earlier|different)\b)"
    ): "is not a …",
    r"\b(?:stands?|stood|standing)\b(?!-| for\b)": "is, appears, is stored",
    r"\b(?:lies?|lain)\b": "is, is stored",
    r"\bforwards\b(?!:)": "forward passes",
    (
        r"\b(?:a|one|each|every|per|single) forward\b"
        r"(?![-_(]| (?:pass|hook|method|call|function|step|graph))"
    ): "a forward pass",
    r"\b(?:one|clear|same) sentence\b|\bin words\b": "a one-line message",
    r"\bof (?:your|our|one's) own\b": "your own, custom",
    r"\b(?:go|goes|going|gone|went) on\b": "continue, resume",
    r"\bbeneath\b": "below, under",
    r"\b(?:no|some)body\b": "passive voice, or name the actor",
    r"\b(?:what|who)ever\b": "any, regardless of",
    r"\banew\b": "again, re-…",
    r"\blearnt\b": "learned",
    (
        r"\b(?:put|puts|putting) (?:\w+ )?up\b"
        r"|\bhand(?:s|ed|ing)? (?:\w+ ){0,2}up\b"
    ): "propose, return",
    r"\b(?:turn|turns|turned|turning) (?:\w+ )?down\b": "reject",
    (
        r"\b(?:keep|keeps|kept) (?:a|the|each|every|that|this|drafted|draft) "
        r"(?:draft(?:ed)? )?tokens?\b"
    ): "accept a token",
    r"\bdraft(?:ed)? tokens? (?:is|are|was|were|be) kept\b": "is accepted",
    r"(?<![-\w])rivals?\b(?!-)": "baseline",
    r"\bgreedily\b": "with greedy decoding",
    rf"\b{_UNIT} an? {_PER}\b(?! of\b)": "per …",
    r"\b(?:dear|dearer|dearest)\b": "expensive",
    r"\bseldom\b": "rarely",
    r"\bshall\b": "should, must",
    r"\bsooner\b": "faster, earlier",
    r"\b(?:hence|whence|thence)\b": "so, from where",
    (
        r"\bthe house\b|\b(?:rooms|this room|a room)\b"
        r"|\barrows? (?:runs?|points?|between)\b"
    ): "layout, package",
    r"\b(?:write|writes|wrote|written|writing) (?:\w+ )?down\b": "record",
    r"\b(?:has|have) (?:its|their) say\b": "decides, contributes",
    r"\bwhat (?:became|becomes|came|comes) of\b": "the result of",
}
_COMPILED = [(re.compile(p.replace(" ", r"\s+"), re.I), advice) for p, advice in PATTERNS.items()]
_CODE = re.compile(r"``.+?``|`[^`\n]+`|https?://\S+|\]\([^)\s]+\)", re.S)
_PROSE = re.compile(r"[A-Za-z]{2,}[,;:.]?\s+[A-Za-z]{2,}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One place to reword: file, 1-based line, the words found and what to write instead."""

    path: Path
    line: int
    words: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words!r}: write {self.advice!r}"


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
            yield node.lineno, node.value


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the prose of a Markdown page as one block; fenced code is blanked out, line by line."""
    yield (
        1,
        re.sub(
            r"^( *)(```|~~~).*?^\1\2", lambda m: "\n" * m[0].count("\n"), text, flags=re.S | re.M
        ),
    )


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


def _c_like(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments and string or template literals of C++ or TypeScript."""
    for match in _C_LIKE.finditer(text):
        body = re.sub(r"^\s*(?://+|/\*+|\*+)", "", match[0], flags=re.M)
        yield (
            text.count("\n", 0, match.start()) + 1,
            body.strip("`") if match[0].startswith("`") else body,
        )


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


def findings(path: Path) -> list[Finding]:
    """Return what to reword in one file. Raises ``KeyError`` for a suffix that has no reader."""
    found = []
    for line, prose in _READERS[path.suffix](path.read_text(encoding="utf-8")):
        prose = _CODE.sub(lambda m: "`" + "\n" * m[0].count("\n") + "`", prose)
        if not _PROSE.search(prose):
            continue
        for pattern, advice in _COMPILED:
            for match in pattern.finditer(prose):
                found.append(
                    Finding(path, line + prose.count("\n", 0, match.start()), match[0], advice)
                )
    return sorted(found, key=lambda f: f.line)


def files(*names: str) -> list[Path]:
    """Return every file to check below the names given, or below all of `CHECKED`."""
    found = []
    for name in names or CHECKED:
        base = (ROOT / name).resolve()
        if base.is_file():
            found.append(base)
        else:
            found += sorted(path for path in base.rglob("*") if path.is_file() and path.suffix)
    return list(filter(_is_checked, found))


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
    found: list[Finding] = []
    for path in files(*sys.argv[1:]):
        found += findings(path)
    for finding in found:
        print(str(finding).removeprefix(f"{ROOT}/"))
    print(f"{len(found)} findings", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
