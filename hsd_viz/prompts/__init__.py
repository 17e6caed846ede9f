"""Prompts: suites, prompt files and chat templates. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hsd_viz.words import check_range

MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to decode.

    ``origin`` identifies the source: package, version, file, licence and line, or the question of a file. A question to
    a chat model has ``turns``, the user's messages in order: a :class:`~hsd_viz.prompts.templates.Template` writes the
    prompt of each turn from the turns so far and the answers to them, and ``text`` is the first turn alone.
    ``continuation`` is the text that follows in the source, where a suite provides it.
    """

    id: str
    category: str
    text: str
    origin: dict | None = None
    turns: tuple[str, ...] = ()
    continuation: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts with their categories; ``categories`` maps each name to its description, in the suite's order."""

    name: str
    categories: dict[str, str]
    prompts: tuple[Prompt, ...]

    def limited(self, limit: int | None) -> Suite:
        """Return the first ``limit`` prompts, taken from the categories in turn so that a short run covers all of them.
        Raises ValueError if ``limit`` is less than 1.
        """
        if limit is None or limit >= len(self.prompts):
            return self
        check_range("the limit", limit, 1)
        by_category = [[p for p in self.prompts if p.category == c] for c in self.categories]
        longest = max(map(len, by_category))
        in_turn = [group[k] for k in range(longest) for group in by_category if k < len(group)]
        chosen = {p.id for p in in_turn[:limit]}
        return Suite(self.name, self.categories, tuple(p for p in self.prompts if p.id in chosen))


def read_text(path: Path, what: str) -> str:
    """Return a UTF-8 text file of at most 64 MiB with ``\\n`` line ends and without a byte order mark.

    Raises ValueError if it cannot be read, is too large or not UTF-8; the message calls it the ``what`` file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"the {what} file {path} is too large: the limit is {MAX_BYTES // 2**20} MiB")
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read the {what} file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"the {what} file {path} is not UTF-8 text (byte {error.start} is {byte:#04x})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
