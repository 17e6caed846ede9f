"""Prompts to measure with: the shipped ``heldout`` suite, and text files of one's own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_SHIPPED = Path(__file__).parent / "suites"
# Three or more blank lines; lines of spaces are blank too.
_SEPARATOR = re.compile(r"\n(?:[ \t]*\n){3,}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. ``origin`` says where a shipped prompt was cut: package, version, file, licence, line."""

    id: str
    category: str
    text: str
    origin: dict | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts with their categories; ``categories`` maps each name to one sentence, in the suite's order."""

    name: str
    categories: dict[str, str]
    prompts: tuple[Prompt, ...]

    def limited(self, limit: int | None) -> Suite:
        """The first ``limit`` prompts, taken from the categories in turn, so that a short run sees all of them."""
        if limit is None or limit >= len(self.prompts):
            return self
        if limit < 1:
            raise ValueError(f"the limit {limit} is out of range: it is a whole number from 1")
        by_category = [[p for p in self.prompts if p.category == c] for c in self.categories]
        longest = max(map(len, by_category))
        in_turn = [group[k] for k in range(longest) for group in by_category if k < len(group)]
        kept = {p.id for p in in_turn[:limit]}
        return Suite(self.name, self.categories, tuple(p for p in self.prompts if p.id in kept))


def names() -> tuple[str, ...]:
    """The shipped suites."""
    return tuple(sorted(p.stem for p in _SHIPPED.glob("*.json")))


def load_suite(name_or_path: str) -> Suite:
    """A shipped suite by its name, or a text file whose prompts are separated by three or more blank lines.

    Raises ``ValueError`` with one sentence for an unknown name and for a file that cannot be read or holds no prompt.
    """
    if name_or_path in names():
        return _from_json(json.loads((_SHIPPED / f"{name_or_path}.json").read_text(encoding="utf-8")))
    path = Path(name_or_path)
    if not path.exists():
        raise ValueError(f"unknown suite '{name_or_path}': the shipped ones are {', '.join(names())}, and there is no such file")
    return _from_text(path.name, read_text(path, "suite"))


def read_text(path: Path, what: str) -> str:
    """A UTF-8 text file with any line ends; ``ValueError`` with one sentence that calls it the ``what`` file."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ValueError(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"the {what} file {path} is not UTF-8 text (byte {error.start} is {error.object[error.start]:#04x})") from None
    return text.replace("\r\n", "\n")


def _from_text(name: str, text: str) -> Suite:
    # A prompt keeps its indentation and its inner blank lines; one line end at its end belongs to the file, not to it.
    blocks = [block.lstrip("\n").removesuffix("\n") for block in _SEPARATOR.split("\n" + text)]
    kept = [block for block in blocks if block.strip()]
    if not kept:
        raise ValueError(f"the suite {name} holds no prompt: write one or more, separated by three or more blank lines")
    prompts = tuple(Prompt(str(k), "all", block) for k, block in enumerate(kept, start=1))
    return Suite(name, {"all": "Every prompt of the file."}, prompts)


def _from_json(data: dict) -> Suite:
    prompts = tuple(Prompt(p["id"], p["category"], p["text"], p["origin"]) for p in data["prompts"])
    return Suite(data["name"], dict(data["categories"]), prompts)
