"""Ask a question of several turns: each turn's prompt holds the answers to those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hsd_viz.bench.output import Answer, Output, joined
from hsd_viz.decoding.settings import Sampling
from hsd_viz.prompts.suites import Prompt
from hsd_viz.prompts.templates import Template


def ask(
    decode: Callable[[str | Sequence[int], int, Sampling], Output],
    prompt: Prompt,
    max_new_tokens: int,
    sampling: Sampling,
    template: Template | None,
) -> Output:
    """Decode a prompt; of a question every turn, each with the answers before it. ``max_new_tokens`` are those of one turn."""
    if not prompt.turns or template is None:
        return decode(prompt.text, max_new_tokens, sampling)
    answers: list[Answer] = []
    for k in range(len(prompt.turns)):
        ids = template.write(prompt.turns[: k + 1], [a.text for a in answers])
        output = decode(ids, max_new_tokens, sampling)
        answers.append(Answer(template.read(output.token_ids), output))
    return joined(answers)
