"""Prompts: suites, prompt files and chat templates. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest

from hsd_viz.settings.ranges import check_range


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to decode.

    Attributes:
        id: its name in the suite.
        category: its kind.
        text: the text; of a question its first turn alone.
        origin: the source: package, version, file, licence and line, or the question of a file.
        turns: of a question to a chat model: the user's messages in order. A
            :class:`~hsd_viz.prompts.templates.Template` writes the prompt of each turn from the
            turns so far and the answers to them.
        continuation: the text that follows in the source, where a suite provides it.
    """

    id: str
    category: str
    text: str
    origin: dict | None = None
    turns: tuple[str, ...] = ()
    continuation: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts with their categories.

    Attributes:
        name: of the suite.
        categories: descriptions by name, in the suite's order.
        prompts: the prompts.
    """

    name: str
    categories: dict[str, str]
    prompts: tuple[Prompt, ...]

    def limited(self, limit: int | None) -> Suite:
        """Return the first ``limit`` prompts, taken from the categories in turn so that a short run
        covers all of them.

        Raises:
            UserError: if ``limit`` is less than 1.
        """
        if limit is None or limit >= len(self.prompts):
            return self
        check_range("the limit", limit, 1)
        by_category: dict[str, list[Prompt]] = {category: [] for category in self.categories}
        for prompt in self.prompts:
            if prompt.category in by_category:
                by_category[prompt.category].append(prompt)
        in_turn = [prompt for prompt in chain(*zip_longest(*by_category.values())) if prompt]
        ids = {prompt.id for prompt in in_turn[:limit]}
        prompts = tuple(prompt for prompt in self.prompts if prompt.id in ids)
        return Suite(self.name, self.categories, prompts)
