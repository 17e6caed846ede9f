"""Prompts: suites, prompt files and chat templates. This package does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest

from hsd_viz.settings.ranges import check_range


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt to decode.

    Attributes:
        id: the name of the prompt in its suite.
        category: the name of its category in the suite.
        text: the text to continue; for a question, only its first turn.
        origin: the source: package, version, file, licence and line, or the number and category of
            a question.
        turns: the user's messages of a question to a chat model, in order; empty for other prompts.
            A :class:`~hsd_viz.prompts.templates.Template` writes the prompt of each turn from the
            turns so far and the answers to them.
        continuation: the text that follows in the source; empty if the suite does not provide it.
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
        name: the name of the suite.
        categories: the descriptions of the categories by name, in the order of the suite.
        prompts: the prompts of all categories.
    """

    name: str
    categories: dict[str, str]
    prompts: tuple[Prompt, ...]

    def limited(self, limit: int | None) -> Suite:
        """Return ``limit`` prompts in the order of the suite, all of them with ``None``.

        They are chosen from the categories in turn, so that a short run covers all categories.

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
