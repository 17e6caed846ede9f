"""Prompts to measure with: the shipped suites, Spec-Bench, and files of one's own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_SHIPPED = Path(__file__).parent / "data"
#: What each shipped suite shows, by name: the one for every day first.
SHIPPED = {
    "heldout": "The small suite for every day: places of files that no model here has seen, picked for how much what follows repeats "
    "what stands before, so that a few prompts show the extremes.",
    "python": "Six kinds of Python text, as they come, from files that no model or database here has seen: they differ in where what "
    "their authors wrote next has been seen before, from nearly all of it in the prompt to nowhere.",
}
#: The one suite with a name that is fetched, not shipped.
SPEC_BENCH = "spec-bench"
# Three or more blank lines; lines of spaces are blank too.
_SEPARATOR = re.compile(r"\n(?:[ \t]*\n){3,}")
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. ``origin`` says where it is from: package, version, file, licence, line, or the question of a file.

    A question to a chat model has ``turns``, what its user says one after the other: the prompt of each turn is written by a
    :class:`~hsd_viz.prompts.templates.Template` from the turns so far and the answers to them, and ``text`` is the first turn alone.
    ``continuation`` is what the authors wrote next, where a suite has it.
    """

    id: str
    category: str
    text: str
    origin: dict | None = None
    turns: tuple[str, ...] = ()
    continuation: str = ""


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
    """The suites that have a name."""
    return (*sorted(SHIPPED), SPEC_BENCH)


def load_suite(name_or_path: str) -> Suite:
    """A suite by its name, the questions of a ``.jsonl`` file, or a text file: prompts separated by three or more blank lines.

    ``spec-bench`` is fetched once (:mod:`~hsd_viz.prompts.specbench`). Raises ``ValueError`` with one sentence for an unknown name
    and for a file that cannot be read or holds no prompt.
    """
    from hsd_viz.prompts.specbench import question_file, read_questions

    if name_or_path == SPEC_BENCH:
        return read_questions(question_file(), SPEC_BENCH)
    if name_or_path in names():
        return _from_json(json.loads((_SHIPPED / f"{name_or_path}.json").read_text(encoding="utf-8")))
    path = Path(name_or_path).expanduser()
    if not name_or_path or not path.exists():
        raise ValueError(f"unknown suite '{name_or_path}': there are {', '.join(names())}, and there is no such file")
    if path.suffix.lower() == ".jsonl":
        return read_questions(path)
    return _from_text(path.name, read_text(path, "suite"))


def describe_suites() -> str:
    """For reading: every suite that has a name, with its categories."""
    from hsd_viz.prompts.specbench import TASKS

    lines = []
    for name in names():
        if name == SPEC_BENCH:
            head, categories = (
                "480 questions to chat models, fetched once (or give the path of its question.jsonl)",
                TASKS,
            )
        else:
            suite = load_suite(name)
            head, categories = f"{len(suite.prompts)} prompts, shipped. {SHIPPED[name]}", suite.categories
        lines += [f"{name}: {head}", *(f"  {category}: {sentence}" for category, sentence in categories.items()), ""]
    lines.append(
        "A text file: its prompts are separated by three or more blank lines. A .jsonl file: questions as Spec-Bench has them."
    )
    return "\n".join(lines)


def read_bytes(path: Path, what: str) -> bytes:
    """The bytes of a file of reasonable size; ``ValueError`` with one sentence that calls it the ``what`` file."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"the {what} file {path} is too large: it may have {_MOST_BYTES // 2**20} MiB")
    return data


def read_text(path: Path, what: str) -> str:
    """A UTF-8 text file with any line ends, its byte order mark left out; ``ValueError`` with one sentence as :func:`read_bytes`."""
    try:
        text = read_bytes(path, what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"the {what} file {path} is not UTF-8 text (byte {error.start} is {error.object[error.start]:#04x})"
        ) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _from_text(name: str, text: str) -> Suite:
    # A prompt keeps its indentation and its inner blank lines; one line end at its end belongs to the file, not to it.
    blocks = [block.lstrip("\n").removesuffix("\n") for block in _SEPARATOR.split("\n" + text)]
    kept = [block for block in blocks if block.strip()]
    if not kept:
        raise ValueError(f"the suite {name} holds no prompt: write one or more, separated by three or more blank lines")
    prompts = tuple(Prompt(str(k), "all", block) for k, block in enumerate(kept, start=1))
    return Suite(name, {"all": "Every prompt of the file."}, prompts)


def _from_json(data: dict) -> Suite:
    prompts = tuple(
        Prompt(p["id"], p["category"], p["text"], p["origin"], continuation=p.get("continuation", ""))
        for p in data["prompts"]
    )
    return Suite(data["name"], dict(data["categories"]), prompts)
