"""Load suites of prompts, by the name of a shipped suite or from a file."""

import re
from pathlib import Path

import msgspec

from hsd_viz.disk import read_text
from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.prompts import Prompt, Suite
from hsd_viz.prompts.questions import read_questions

_FOLDER = Path(__file__).parent / "data"
#: The descriptions of the shipped suites by name, the default suite first.
SHIPPED = {
    "heldout": (
        "The small default suite: places in files that no model here was trained on, chosen for "
        "how much the next text repeats the prompt, so that a few prompts cover both extremes."
    ),
    "python": (
        "Six kinds of Python text, not selected for repetition, from files that no model or "
        "database was built from. They differ in how much of the next text occurs earlier, from "
        "nearly all of it in the prompt to none."
    ),
    "questions": (
        "Eighteen questions in English to a chat model, written for this project: six kinds, from "
        "short answers of which nothing is in the prompt to texts to copy with small changes."
    ),
}
# Three or more blank lines, which may contain spaces and tabs.
_SEPARATOR = re.compile(r"\n(?:[ \t]*\n){3,}")


def load_suite(name_or_path: str) -> Suite:
    """Load a shipped suite by name, or the suite in a file.

    A ``.jsonl`` file contains questions. Any other file is text, in which three or more blank lines
    separate the prompts.

    Raises:
        UserError: for an unknown name, and for a file that cannot be read or contains no prompt.
    """
    if name_or_path in SHIPPED:
        return msgspec.json.decode((_FOLDER / f"{name_or_path}.json").read_bytes(), type=Suite)
    path = Path(name_or_path).expanduser()
    if not name_or_path or not path.exists():
        expected = (
            f"use {', '.join(SHIPPED)} or the path of a file{did_you_mean(name_or_path, SHIPPED)}"
        )
        raise UserError(f"unknown suite '{name_or_path}': {expected}")
    if path.suffix.lower() == ".jsonl":
        return read_questions(path)
    return _from_text(path.name, read_text(path, "suite"))


def _from_text(name: str, text: str) -> Suite:
    # A prompt keeps its indentation and inner blank lines; one final line end belongs to the file.
    blocks = [block.lstrip("\n").removesuffix("\n") for block in _SEPARATOR.split("\n" + text)]
    blocks = [block for block in blocks if block.strip()]
    if not blocks:
        raise UserError(
            f"the suite {name} contains no prompt: "
            "write prompts separated by three or more blank lines"
        )
    prompts = tuple(Prompt(str(k), "all", block) for k, block in enumerate(blocks, start=1))
    return Suite(name, {"all": "Every prompt of the file."}, prompts)
