"""Engines: :func:`load_engine` decodes in this process, :class:`ReplayEngine` replays recorded traces,
:class:`RemoteEngine` decodes on a server. No torch.
"""

import functools
import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol

from hsd_viz.decoding.settings import DEFAULT_RULE
from hsd_viz.machine import cores, load_average
from hsd_viz.stack import Stack, parse
from hsd_viz.terminal import progress_bar
from hsd_viz.trace import Event, Finished, Stage, Step, Trace
from hsd_viz.words import did_you_mean

#: Tokens between two progress events of a decode beside another; it can only be cancelled at one.
REPORT_EVERY = 16
#: Runs beside plain ones that are timed at most, and the seconds within which repetitions start.
PAIRS, PAIRS_SECONDS = 5, 3.0
#: Characters of a prompt in a progress bar.
_SHOWN = 32

_LAZY = {"load_engine": "local", "LocalEngine": "local", "ReplayEngine": "replay", "RemoteEngine": "remote"}

__all__ = ["Engine", "decode_beside_plain", "note_plain", "prepare", *_LAZY]


def options_of(decode: Callable) -> Callable[[Callable], Callable]:
    """Give a function the keyword-only options of ``decode`` in place of its ``**options``. Help and completion list
    them, and any other option is a TypeError that names them.
    """
    options = [p for p in inspect.signature(decode).parameters.values() if p.kind is p.KEYWORD_ONLY]

    def decorate(function: Callable) -> Callable:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters = [*own, *(o for o in options if o.name not in signature.parameters)]
        names = [p.name for p in parameters if p.name != "self"]

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            if unknown := next((name for name in given if name not in names), None):
                hint = did_you_mean(unknown, names)
                raise TypeError(f"{function.__name__}() has no option '{unknown}' (use {', '.join(names)}){hint}")
            return function(*args, **given)

        checked.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate


class Engine(Protocol):
    """Decode prompts with stacks and report events as they happen."""

    def decode(
        self,
        prompt: str | Sequence[int],
        stack: str | Stack = "target",
        *,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        rule: str | Mapping[str, str] = DEFAULT_RULE,
        record: bool = True,
        chat: bool = False,
    ) -> Iterator[Event]:
        """Yield ``Stage``..., ``Started``, ``Step``..., ``Finished``. Closing the generator cancels the decode.

        A prompt is text or a list of token ids, a stack text or parsed. ``chat`` passes the prompt's text as one user
        turn, formatted by the chat template of the target's tokenizer. ``rule`` verifies drafts that were sampled from
        rows: ``token`` or ``block``, for all levels or by the name of the verifying model. ``record=False`` omits what
        is expensive to record: probabilities, entropies and top-5 lists.

        Raises ValueError for invalid arguments.
        """

    @options_of(decode)
    def run(self, prompt: Any, stack: str | Stack = "target", **options: Any) -> Any:
        """Decode to the end and return the trace; takes the options of :meth:`decode`. A list of prompts returns the
        list of their traces and shows a progress bar. A prompt is text or a list of token ids; so a list that does not
        begin with an integer is a list of prompts.
        """
        if not isinstance(prompt, list | tuple) or not prompt or isinstance(prompt[0], int):
            return _last(self.decode(prompt, stack, **options))
        traces = []
        with progress_bar() as update:
            for n, one in enumerate(prompt):
                update(n, len(prompt), " ".join(one.split())[:_SHOWN] if isinstance(one, str) else "token ids")
                traces.append(_last(self.decode(one, stack, **options)))
            update(len(prompt), len(prompt), "")
        return traces


#: The options of :meth:`Engine.decode` and their defaults.
OPTIONS = {p.name: p.default for p in inspect.signature(Engine.decode).parameters.values() if p.kind is p.KEYWORD_ONLY}


def _last(events: Iterator[Event]) -> Trace:
    for event in events:
        if isinstance(event, Finished):
            return event.trace  # type: ignore[return-value]
    raise AssertionError("a decode that is not closed ends with Finished")


def prepare() -> None:
    """Start compiling the native CPU backend in the background, so that it is ready for the first decode."""
    from hsd_viz.backends import default_build

    default_build().start()


def decode_beside_plain(
    engine: Engine,
    prompt: str | Sequence[int],
    stack: str | Stack,
    *,
    pairs: int = PAIRS,
    seconds: float = PAIRS_SECONDS,
    **options: Any,
) -> Iterator[Event]:
    """Yield the events of ``engine.decode``, then decode with the target alone and note its speed in the trace. Both
    are then repeated, at most ``pairs`` times in all and for about ``seconds``, to measure the spread. These decodes
    yield stages only; they are skipped after a cancelled run and for plain decoding itself.
    """
    trace: Trace | None = None
    for event in engine.decode(prompt, stack, **options):
        if isinstance(event, Finished):
            trace = event.trace
        yield event
    parts = parse(stack).parts
    if trace is None or trace.meta.get("cancelled") or len(parts) == 1:
        return
    plain = str(parts[-1])
    other = yield from _unseen(engine.decode(prompt, plain, **options), "plain decoding, for comparison", options)
    note_plain(trace, other)
    cost = (trace.meta["wall_ns"] + other.meta["wall_ns"]) / 1e9
    pairs = min(pairs, 1 + int(seconds // cost)) if cost else 1
    for pair in range(2, pairs + 1):
        words = f"measuring the spread, pair {pair} of {pairs}"
        again = yield from _unseen(engine.decode(prompt, stack, **options), words, options)
        other = yield from _unseen(engine.decode(prompt, plain, **options), words, options)
        note_pair(trace, again, other)


def _unseen(events: Iterator[Event], words: str, options: Mapping[str, Any]) -> Generator[Event, None, Trace]:
    """Yield the stages of a decode that is only timed, and return its trace."""
    total, done = options.get("max_new_tokens"), 0
    trace: Trace | None = None
    for event in events:
        match event:
            case Step():
                before, done = done, done + len(event.tokens)
                if done // REPORT_EVERY > before // REPORT_EVERY or not before:
                    yield Stage(words, done, total)
            case Finished():
                trace = event.trace
    assert trace is not None, "a decode ends with its trace"
    return trace


def note_plain(trace: Trace, plain: Trace) -> None:
    """Record the speed of ``plain``, a plain decode of the same prompt and settings, in the meta of ``trace``."""
    figures = plain.metrics()
    trace.meta["plain"] = {"tokens": figures["tokens"], "tokens_per_second": figures["tokens_per_second"]}


def note_pair(trace: Trace, again: Trace, plain: Trace) -> None:
    """Record the speed-up of a repeated pair in ``plain`` of the meta: ``speedups``, the first pair's included, and the
    machine's ``load_average`` and ``cores``.
    """
    noted = trace.meta["plain"]
    speed, *speeds = (run.metrics()["tokens_per_second"] for run in (trace, again, plain))
    if not (speed and noted["tokens_per_second"] and all(speeds)):
        return
    noted.setdefault("speedups", [speed / noted["tokens_per_second"]]).append(speeds[0] / speeds[1])
    noted.update(load_average=load_average(), cores=cores())


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
