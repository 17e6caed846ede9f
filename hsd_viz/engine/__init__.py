"""Engines: :func:`load_engine` decodes in this process, :class:`ReplayEngine` replays recorded traces. No torch."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from hsd_viz.trace import Event, Trace

_LAZY = {"load_engine": "local", "LocalEngine": "local", "ReplayEngine": "replay"}

__all__ = ["Engine", "prepare", *_LAZY]


class Engine(Protocol):
    """Decode prompts with stacks and report events as they happen."""

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
        rule: str | Mapping[str, str] = "token",
        record: bool = True,
        chat: bool = False,
    ) -> Iterator[Event]:
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``. Closing the generator cancels the decode.

        A prompt is text or a list of token ids. ``chat`` passes the text as one user turn, formatted by the chat
        template of the target's tokenizer. ``rule`` verifies drafts that were sampled from rows: ``token`` or
        ``block``, for all levels or by the name of the verifying model. ``record=False`` omits what is expensive to record: probabilities, entropies
        and top-5 lists.

        Raises ValueError for invalid arguments.
        """

    def run(self, prompt: str | Sequence[int], stack: str = "target", **options: Any) -> Trace:
        """Decode to the end and return the trace; takes the options of :meth:`decode`."""


def prepare() -> None:
    """Start compiling the native CPU backend in the background, so that it is ready for the first decode."""
    from hsd_viz.backends import default_build

    default_build().start()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
