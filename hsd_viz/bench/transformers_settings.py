"""The best settings of transformers' own loops, found by trying them on prompts that are not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.limits import PromptTooLong
from hsd_viz.decoding.settings import Sampling
from hsd_viz.prompts.suites import Prompt, Suite, load_suite
from hsd_viz.prompts.templates import Template, opening
from hsd_viz.stack import HFStack

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine

#: What is tried. hf-generate has nothing to choose here: its cache is always used, and a static cache only pays with torch.compile,
#: which takes minutes for each shape it meets.
GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    "hf-generate": (),
    "hf-lookup": tuple(
        {"prompt_lookup_num_tokens": tokens, "max_matching_ngram_size": ngram}
        for ngram, tokens in product((2, 3), (4, 8, 10, 16))
    ),
    "hf-assistant": tuple(
        {
            "num_assistant_tokens": tokens,
            "num_assistant_tokens_schedule": schedule,
            "assistant_confidence_threshold": threshold,
        }
        for schedule, threshold, tokens in product(("constant", "heuristic"), (0.0, 0.4), (2, 4, 8))
    ),
}
TUNING_PROMPTS = 6
TUNING_TOKENS = 64
WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Tuned:
    """The settings that won, and the tokens per second of everything that was tried on ``prompts`` (their ids)."""

    settings: dict[str, Any]
    tried: tuple[tuple[dict[str, Any], float], ...]
    prompts: tuple[str, ...]


def spare_prompts(suite: Suite, whole: Suite) -> tuple[Prompt, ...]:
    """Prompts to tune on: of ``whole`` those that ``suite`` leaves out, of all categories in turn; else of the shipped suite.

    Raises ``ValueError`` where none is left.
    """
    measured = {p.text for p in suite.prompts}
    for source in (whole, load_suite("heldout")):
        left = tuple(p for p in source.prompts if p.text not in measured)
        if left:
            return Suite(source.name, source.categories, left).limited(TUNING_PROMPTS).prompts
    raise ValueError(
        "every prompt is measured, none is left to try the rivals' settings on: leave some out with --limit"
    )


def tune(
    engine: LocalEngine,
    stack: HFStack,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    *,
    max_new_tokens: int = TUNING_TOKENS,
    template: Template | None = None,
    progress: Callable[[str], None] = lambda text: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Tuned | None:
    """The fastest settings of ``stack`` on ``prompts``, all taking turns; ``None`` where there is nothing to choose or it was cancelled.

    Of a question the first turn is tried, as ``template`` writes it; what does not fit the context is passed by.
    """
    from hsd_viz.bench.hf import HFDecoder

    grid = GRIDS[stack.name]
    if not grid:
        return None
    decoders = [HFDecoder(engine, stack, options) for options in grid]
    tokens, seconds = [0] * len(grid), [0.0] * len(grid)
    tried = []
    for prompt in prompts:
        try:
            decoders[0](opening(prompt, template), min(WARM_UP_TOKENS, max_new_tokens), sampling)
            tried.append(prompt)
        except PromptTooLong:
            continue
    if not tried:
        return None
    for done, prompt in enumerate(tried):
        for k, decode in enumerate(decoders):
            if cancelled():
                return None
            progress(f"trying settings of {stack}: {done * len(grid) + k + 1}/{len(tried) * len(grid)}")
            output = decode(opening(prompt, template), max_new_tokens, sampling)
            tokens[k] += output.timed_tokens
            seconds[k] += output.seconds
    speeds = [t / s if s else 0.0 for t, s in zip(tokens, seconds, strict=True)]
    best = max(range(len(grid)), key=speeds.__getitem__)
    return Tuned(grid[best], tuple(zip(grid, speeds, strict=True)), tuple(p.id for p in tried))


def in_words(settings: Mapping[str, Any]) -> str:
    """Settings for a table: ``num_assistant_tokens 4, ...``."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())
