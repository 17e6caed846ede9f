"""The interface of engines: prompts and stacks in, events and traces out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from hsd_viz.decoding.keywords import Options
from hsd_viz.decoding.options import DecodingOptions, Sampling, defaults
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import Prompt, Tokenizer
from hsd_viz.drafting import Memory
from hsd_viz.errors import UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.settings.ranges import check_budget
from hsd_viz.stack import TARGET, Stack
from hsd_viz.terminal import Status, ignore_status, progress_bar
from hsd_viz.trace import Event, Finished, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions(DecodingOptions):
    """The options of a decode: the settings of :mod:`hsd_viz.decoding.options`, and some more.

    They are the keyword arguments of :meth:`Engine.decode`; for type checkers
    :class:`~hsd_viz.decoding.keywords.Options` lists them.

    Attributes:
        record: whether to record probabilities, entropies and top-5 lists, which are expensive.
        chat: whether to pass the prompt as a user turn through the target's chat template.
        budget: the largest number of draft tokens, 1-256, that a database or baseline may propose
            at a time, regardless of their cost; by default each uses its own limit.
        memory: the memory that drafters keep between runs. Pass the same memory to each run of a
            stack for warm runs; by default a run is cold.

    Raises:
        UserError: if a value is out of range.
    """

    record: bool = True
    chat: bool = False
    budget: int | None = None
    memory: Memory | None = None

    def __post_init__(self) -> None:
        DecodingOptions.__post_init__(self)
        check_budget(self.budget)


#: The default of each option by name, the settings first.
DEFAULTS: dict[str, Any] = defaults() | {
    name: CallOptions.__dataclass_fields__[name].default for name in get_annotations(CallOptions)
}


def options_of(sampling: Sampling, max_new_tokens: int) -> Options:
    """Return the options of a decode of up to ``max_new_tokens`` tokens with ``sampling``."""
    return cast("Options", {"max_new_tokens": max_new_tokens, **asdict(sampling)})


@dataclass(frozen=True, slots=True)
class DecodeCall:
    """The arguments of :meth:`Engine.decode` as one value.

    Attributes:
        prompt: the prompt as text, token ids or messages.
        stack: the stack as text or parsed.
        options: the options that differ from their defaults.
    """

    prompt: Prompt
    stack: str | Stack = TARGET
    options: Options = field(default_factory=Options)

    def events(self, engine: Engine) -> Iterator[Event]:
        """Return the events of the decode by an engine."""
        return engine.decode(prompt=self.prompt, stack=self.stack, **self.options)

    def run(self, engine: Engine) -> Trace:
        """Decode to the end with an engine and return the trace."""
        return engine.run(prompt=self.prompt, stack=self.stack, **self.options)


class Engine(Protocol):
    """The interface of engines, which decode prompts with stacks and report events.

    An engine implements :meth:`decode`. The other methods have defaults that it may override.

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

    def decode(
        self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[Options]
    ) -> Iterator[Event]:
        """Decode a prompt, yielding ``Stage``..., ``Started``, ``Step``..., ``Finished``.

        Closing the generator cancels the decode.

        Args:
            prompt: text, a list of token ids or, with ``chat``, a list of messages with ``role``
                and ``content``.
            stack: the stack as text or parsed.
            options: the options that differ from their defaults.

        Raises:
            UserError: if an argument is invalid; where possible, before the first event is
                requested.
        """

    def run(self, prompt: Prompt, stack: str | Stack = TARGET, **options: Unpack[Options]) -> Trace:
        """Decode to the end and return the trace."""
        for event in DecodeCall(prompt, stack, options).events(self):
            if isinstance(event, Finished):
                return event.trace  # type: ignore[return-value]
        raise AssertionError("a decode that is not closed ends with Finished")

    def run_many(
        self,
        prompts: Sequence[Prompt],
        stack: str | Stack = TARGET,
        **options: Unpack[Options],
    ) -> list[Trace]:
        """Decode prompts one after the other with a progress bar, and return their traces."""
        traces: list[Trace] = []
        with progress_bar() as update:
            for n, prompt in enumerate(prompts):
                update(n, len(prompts), f"prompt {n + 1}")
                traces.append(DecodeCall(prompt, stack, options).run(self))
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
