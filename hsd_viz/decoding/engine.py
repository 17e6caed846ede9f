"""The interface of engines: prompts and stacks in, events and traces out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import Prompt, Tokenizer
from hsd_viz.errors import UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.stack import TARGET, Stack
from hsd_viz.terminal import Status, ignore_status, progress_bar
from hsd_viz.trace import Event, Finished, Trace


def trace_of_events(events: Iterable[Event]) -> Trace:
    """Consume the events of a decode, and return its trace."""
    for event in events:
        if isinstance(event, Finished):
            return event.trace  # type: ignore[return-value]
    raise AssertionError("a decode that is not closed ends with Finished")


class Engine:
    """The interface of engines, which decode prompts with stacks and report events.

    An engine implements :meth:`events`. The other methods have defaults that it may override.

    Attributes:
        family: the family of models whose short names stacks may use.
        target: the name of the target model.
        device: the device on which models run.
        dtype: the number type of the weights.
        databases: a folder of databases that replace those of the family; ``None`` for the
            family's own.
    """

    family: str = "code"
    target: str = TARGET
    device: str = "cpu"
    dtype: str = "float32"
    databases: str | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            no_attribute(self, name, "engine", dir(type(self)))

    def events(
        self, prompt: Prompt, stack: str | Stack, options: DecodingOptions
    ) -> Iterator[Event]:
        """Decode a prompt with checked options, as :meth:`decode` does.

        Raises:
            UserError: if the prompt or the stack is invalid, or if the engine does not support an
                option; where possible, before the first event is requested.
        """
        raise NotImplementedError

    def decode(
        self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[DecodingKeywords]
    ) -> Iterator[Event]:
        """Decode a prompt, yielding ``Stage``..., ``Started``, ``Step``..., ``Finished``.

        Closing the generator cancels the decode.

        Args:
            prompt: text, a list of token ids or, with ``chat``, a list of messages with ``role``
                and ``content``.
            stack: the stack as text or parsed.
            options: the options that differ from their defaults
                (:class:`~hsd_viz.decoding.options.DecodingOptions`).

        Raises:
            TypeError: if an option is unknown.
            UserError: if an argument is invalid; where possible, before the first event is
                requested.
        """
        return self.events(prompt, stack, DecodingOptions.of(options))

    def run(
        self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[DecodingKeywords]
    ) -> Trace:
        """Decode to the end and return the trace."""
        return trace_of_events(self.events(prompt, stack, DecodingOptions.of(options)))

    def run_many(
        self,
        prompts: Sequence[Prompt],
        stack: str | Stack = TARGET,
        **options: Unpack[DecodingKeywords],
    ) -> list[Trace]:
        """Decode prompts one after the other with a progress bar, and return their traces."""
        decoding = DecodingOptions.of(options)
        traces: list[Trace] = []
        with progress_bar() as update:
            for n, prompt in enumerate(prompts):
                update(n, len(prompts), f"prompt {n + 1}")
                traces.append(trace_of_events(self.events(prompt, stack, decoding)))
        return traces

    def wait_ready(self, progress: Status = ignore_status) -> None:
        """Wait until no runtime is being compiled, because a decode before that uses another one.

        ``progress`` is called with a status text.
        """
        return None

    def model(self, name: str = TARGET) -> Model | None:
        """Return the model of a name as decodes run it; ``None`` if it is not in this process."""
        return None

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the target.

        Raises:
            UserError: if the tokenizer is not in this process.
        """
        raise UserError("this engine has no tokenizer here: use load_engine()")
