"""The rows of a bench: a stack in a state, and what decodes it.

Some drafters learn from run to run: ``suffix`` keeps earlier outputs, ``recycling`` its adjacency matrix, ``ngram-cache`` the counts
of earlier texts. **Cold** gives them a fresh memory for each decode. **Warm** gives the stack one memory for the whole suite, so
that the order of the prompts is part of what is measured. Every repeat goes through the suite anew, with a memory that is empty at
first: it has then seen the prompts before this one, each once, whichever repeat it is, and never this one's own output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.bench.output import Output, from_trace
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import Memory
from hsd_viz.drafting.logits import LOGITS
from hsd_viz.stack import HFStack, Stack

#: Bottoms whose drafters remember texts from run to run (:class:`hsd_viz.drafting.Memory`); so does any with the database ``logits``.
REMEMBER = ("suffix", "recycling", "ngram-cache")
STATES = ("cold", "warm", "both")

#: Runs one prompt, text or token ids: (prompt, most new tokens, sampling) -> Output.
Decoder = Callable[[str | Sequence[int], int, Sampling], Output]


@dataclass(frozen=True, slots=True)
class Row:
    """A stack in a state: ``cold``, ``warm``, or ``None`` where it remembers nothing. ``stack`` is as it is written."""

    name: str
    stack: str
    state: str | None = None


def rows_of(stacks: dict[str, Stack | HFStack], states: str) -> dict[str, Row]:
    """The rows of ``stacks`` by name, in order; ``states`` is one of :data:`STATES`. Warm rows say so in their names."""
    if states not in STATES:
        raise ValueError(f"the state '{states}' is unknown: it is {', '.join(STATES[:-1])} or {STATES[-1]}")
    rows = []
    for name, stack in stacks.items():
        if not remembers(stack):
            rows.append(Row(name, name))
            continue
        if states != "warm":
            rows.append(Row(name, name, "cold"))
        if states != "cold":
            rows.append(Row(f"{name} (warm)", name, "warm"))
    return {row.name: row for row in rows}


def remembers(stack: Stack | HFStack) -> bool:
    """Whether the drafter of ``stack`` learns from run to run."""
    if not isinstance(stack, Stack) or stack.bottom is None:
        return False
    return stack.bottom.name in REMEMBER or LOGITS in stack.bottom.items


class LoopDecoder:
    """Decodes a stack in our own loop. A warm one has one memory from :meth:`begin` on; before that, and else, each decode is cold."""

    def __init__(self, engine: Any, row: Row, budget: int | None = None) -> None:
        self._engine = engine
        self._row = row
        self._options = {} if budget is None else {"budget": budget}

    @property
    def warm(self) -> bool:
        return self._row.state == "warm"

    def begin(self) -> None:
        """A repeat begins: what was remembered is forgotten."""
        if self.warm:
            self._options["memory"] = Memory()

    def __call__(self, prompt: str | Sequence[int], max_new_tokens: int, sampling: Sampling) -> Output:
        trace = self._engine.run(
            prompt,
            self._row.stack,
            max_new_tokens=max_new_tokens,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            record=False,
            **self._options,
        )
        return from_trace(trace)
