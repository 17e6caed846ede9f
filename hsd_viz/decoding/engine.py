"""The interface of engines: prompts and stacks in, events and traces out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from hsd_viz.decoding.options import Sampling, SamplingOptions, defaults
from hsd_viz.decoding.session import Model
from hsd_viz.decoding.text import Prompt, Tokenizer
from hsd_viz.errors import UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.stack import TARGET, Stack
from hsd_viz.terminal import Status, ignore_status, progress_bar
from hsd_viz.trace import Event, Finished, Trace

if TYPE_CHECKING:
    from hsd_viz.drafting import Memory


class Options(SamplingOptions, total=False):
    """The options of a decode: the settings of :mod:`hsd_viz.decoding.options`, and some more.

    Attributes:
        max_new_tokens: the most tokens of the output.
        record: whether to record what is expensive: probabilities, entropies and top-5 lists.
        chat: whether to pass the prompt as one user turn by the target's chat template.
        budget: the most draft tokens that a database or baseline may propose at a time, 1-256,
            regardless of their cost; by default each uses its own limit.
        memory: what drafters remember from run to run: the same one for every run of a stack means
            warm; by default a run is cold.
    """

    max_new_tokens: int
    record: bool
    chat: bool
    budget: int | None
    memory: Memory | None


_OTHERS = {"record": True, "chat": False, "budget": None, "memory": None}
DEFAULTS = cast("Options", {**defaults(), **_OTHERS})


def options_of(sampling: Sampling, max_new_tokens: int) -> Options:
    """Return the options of a decode that draws so many tokens this way."""
    return cast("Options", {"max_new_tokens": max_new_tokens, **asdict(sampling)})


@dataclass(frozen=True, slots=True)
class DecodeCall:
    """The arguments of :meth:`Engine.decode` as one value.

    Attributes:
        prompt: text, token ids or messages.
        stack: text or parsed.
        options: those that differ from their defaults.
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
    """Decodes prompts with stacks and reports events as they happen. An engine implements
    :meth:`decode` and inherits the rest where it fits.

    Attributes:
        family: the family whose models have short names.
        target: the target's own name.
        device: where models run.
        dtype: the type of their weights.
        databases: a folder in place of the family's.
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
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``. Closing the generator cancels
        the decode.

        A prompt is text, a list of token ids or, with ``chat``, a list of messages with ``role``
        and ``content``; a stack is text or parsed.

        Raises:
            UserError: for invalid arguments, if possible before the first event is requested.
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
        """Wait until nothing is being compiled: earlier figures are of another runtime.
        ``progress`` gets a text.
        """
        return None

    def model(self, name: str = TARGET) -> Model | None:
        """Return the model behind a name as decodes run it; ``None`` where it is not in this
        process.
        """
        return None

    @property
    def tokenizer(self) -> Tokenizer:
        """The target's tokenizer.

        Raises:
            UserError: if it is not in this process.
        """
        raise UserError("this engine has no tokenizer here: use load_engine()")
