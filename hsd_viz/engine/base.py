"""One protocol for whoever decodes: in this process, or a replay of what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hsd_viz.trace import Event, Trace


class Engine(Protocol):
    """Decodes prompts with stacks and tells what happens as it happens."""

    def decode(
        self,
        prompt: str | Sequence[int],
        stack: str = "target",
        *,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        record: bool = True,
        chat: bool = False,
    ) -> Iterator[Event]:
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``. Closing the generator cancels the decode.

        A prompt that is no text is a list of token ids, taken as they are. ``chat`` gives the prompt to the target as one turn
        of a user, in the form of its tokenizer's chat template.
        ``record=False`` leaves out what costs time to look at: probabilities, entropies and top-5 lists.
        Raises ``ValueError`` with one sentence for bad input.
        """

    def run(self, prompt: str | Sequence[int], stack: str = "target", **options) -> Trace:
        """Decode to the end and return the trace; the options of :meth:`decode`."""
