"""Prompts: suites, prompt files and chat templates. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from hsd_viz.words import check_range


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to decode, and the text that follows in its source, where a suite provides it.

    ``origin`` identifies the source: package, version, file, licence and line, or the question of a
    file. A question to a chat model has ``turns``, the user's messages in order: a
    :class:`~hsd_viz.prompts.templates.Template` writes the prompt of each turn from the turns so
    far and the answers to them, and ``text`` is the first turn alone.
    """

    id: str
    category: str
    text: str
    origin: dict | None = None
    turns: tuple[str, ...] = ()
    continuation: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts with their categories; ``categories`` maps each name to its description, in the
    suite's order.
    """

    name: str
    categories: dict[str, str]
    prompts: tuple[Prompt, ...]

    def limited(self, limit: int | None) -> Suite:
        """Return the first ``limit`` prompts, taken from the categories in turn so that a short run
        covers all of them. Raises ValueError if ``limit`` is less than 1.
        """
        if limit is None or limit >= len(self.prompts):
            return self
        check_range("the limit", limit, 1)
        by_category = [[p for p in self.prompts if p.category == c] for c in self.categories]
        in_turn = [p for row in zip_longest(*by_category) for p in row if p is not None]
        chosen = {p.id for p in in_turn[:limit]}
        return Suite(self.name, self.categories, tuple(p for p in self.prompts if p.id in chosen))
