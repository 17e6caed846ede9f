"""The lists of faults, and of figures with a value by hand, as files of TOML.

A fault is in the file of its package, ``tests/mutants/PACKAGE.toml``::

    [[fault]]
    file = "hsd_viz/drafting/db.py"
    text = "score=node.reach,"
    fault = "score=0.5,"
    test = "tests/drafting/test_db_by_hand.py::test_a_score_is_the_discounted_share"

``text`` is compared with the source by its words and signs: line breaks, indentation and a trailing
comma before a closing bracket do not matter, so that a formatter can wrap the source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = ROOT / "tests" / "mutants"
FIGURES = ROOT / "tests" / "figures_by_hand.toml"
_PIECE = re.compile(r"\w+|[^\w\s]")
_CLOSING = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault, and the test that must fail with it.

    Attributes:
        file: The file.
        text: What the file has exactly once.
        fault: What it becomes.
        test: The test, as pytest or vitest names it.
    """

    file: str
    text: str
    fault: str
    test: str

    @property
    def package(self) -> str:
        """The package of the file, its module beside the packages, or its folder beside
        ``hsd_viz``.
        """
        return re.split(r"[/.]", self.file.removeprefix("hsd_viz/"))[0]

    @property
    def list_name(self) -> str:
        """The file that lists it, from the root of the project."""
        return f"tests/mutants/{self.package}.toml"

    def applied(self, source: str) -> str:
        """Return the source with the fault.

        Raises:
            ValueError: if the text is not there exactly once; with the line that is most like it.
        """
        places = [*pattern(self.text).finditer(source)]
        if len(places) != 1:
            similar = "" if places else _most_like(self.text, source)
            raise ValueError(
                f"{self.file} has {len(places)} times {self.text!r}{similar}: "
                f"update {self.list_name}"
            )
        start, end = places[0].span()
        return source[:start] + self.fault.strip() + source[end:]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that a person may act on, with an example worked out on paper.

    Attributes:
        figure: Its name.
        example: The example and its value.
        test: The test that asserts the value, or its file.
    """

    figure: str
    example: str
    test: str


def _most_like(text: str, source: str) -> str:
    """Return which line of a source is most like a text, "" if none is."""
    lines = [line.strip() for line in source.splitlines()]
    similar = get_close_matches(text, lines, n=1)
    return f", but {similar[0]!r}" if similar else ""


def pattern(text: str) -> re.Pattern[str]:
    """Return the expression that finds a text of one line however a formatter wrapped it."""
    expression = ""
    before = ""
    pieces = _PIECE.findall(text)
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        if piece == "," and following in _CLOSING:
            continue
        if before:
            # Two words are two only if something is between them.
            expression += r"\s+" if _is_word(before) and _is_word(piece) else r"\s*"
        if before and piece in _CLOSING:
            expression += r"(?:,\s*)?"
        expression += re.escape(piece)
        before = piece
    return re.compile(expression)


def _is_word(piece: str) -> bool:
    return re.fullmatch(r"\w+", piece) is not None


def read_mutants(folder: Path = FAULTS) -> list[Mutant]:
    """Return all faults, package by package."""
    mutants = []
    for path in sorted(folder.glob("*.toml")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        mutants += [Mutant(**fault) for fault in data["fault"]]
    return mutants


def write_mutants(mutants: Iterable[Mutant], folder: Path = FAULTS) -> None:
    """Write the faults, each to the list of its package; a list without faults is removed."""
    by_package: dict[str, list[Mapping[str, str]]] = {}
    for mutant in mutants:
        by_package.setdefault(mutant.package, []).append(asdict(mutant))
    for path in folder.glob("*.toml"):
        if path.stem not in by_package:
            path.unlink()
    for package, faults in by_package.items():
        text = as_toml("fault", faults)
        (folder / f"{package}.toml").write_text(text, encoding="utf-8")


def read_figures(path: Path = FIGURES) -> list[Figure]:
    """Return the figures that have a value by hand."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Figure(**figure) for figure in data["figure"]]


def write_figures(figures: Iterable[Figure], path: Path = FIGURES) -> None:
    """Write the figures that have a value by hand."""
    path.write_text(as_toml("figure", map(asdict, figures)), encoding="utf-8")


def as_toml(name: str, tables: Iterable[Mapping[str, str]]) -> str:
    """Return tables of strings as an array of TOML."""
    blocks = []
    for table in tables:
        lines = [f"[[{name}]]", *(f"{key} = {_quoted(value)}" for key, value in table.items())]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _quoted(text: str) -> str:
    """Return a text of one line as a string of TOML: as it is, where quotes allow it."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
