"""Run stacks over a suite, interleaved, in one process.

Timings drift with the state of the machine (other work, heat, caches). Stacks therefore alternate, A B C A B C ...,
prompt by prompt and repeat by repeat: background load affects all stacks equally, and ratios between them hold where
absolute times do not.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hsd_viz.bench.output import PLAIN, STATES, Decoder, LoopDecoder, Output, Row, ask, median_of, rows_of
from hsd_viz.decoding.sampling import PromptTooLong, Sampling
from hsd_viz.engine import Engine
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.prompts.templates import Template, choose_template, opening
from hsd_viz.stack import HFStack, Stack, parse_bench
from hsd_viz.terminal import Progress
from hsd_viz.words import check_budget, check_range

WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all runs share. Times are medians over ``repeats`` runs of each prompt and stack.

    ``profile``: report where the time of a round goes. ``state``: ``cold``, ``warm`` or ``both``, for drafters that
    learn (:mod:`~hsd_viz.bench.output`). ``budget``: the most draft tokens that a database or baseline proposes at a
    time, without cost stopping; ``None``: its own.
    """

    max_new_tokens: int = 128
    sampling: Sampling = field(default_factory=Sampling)
    repeats: int = 3
    profile: bool = False
    state: str = "cold"
    budget: int | None = None

    def __post_init__(self) -> None:
        check_range("max new tokens", self.max_new_tokens, 1)
        check_range("the number of repeats", self.repeats, 1)
        if self.state not in STATES:
            raise ValueError(f"the state '{self.state}' is unknown: it is {', '.join(STATES[:-1])} or {STATES[-1]}")
        check_budget(self.budget)


@dataclass(frozen=True, slots=True)
class Measurement:
    """All outputs of one bench: ``outputs[row]`` follows ``prompts``; ``complete`` is False when it was interrupted.

    ``template`` is the one that questions were written with, ``left_out`` has the questions, by id, of which a turn did
    not fit the context, and why. ``rows`` has the stack and state of each row.
    """

    suite: Suite
    settings: Settings
    prompts: tuple[Prompt, ...]
    outputs: dict[str, tuple[Output, ...]]
    complete: bool
    template: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


def read_stacks(texts: Sequence[str]) -> dict[str, Stack | HFStack]:
    """Parse stacks, by their canonical text; the plain ``target`` is put first where it is missing. Raises: ValueError:
    if a text is not a stack, a stack is given twice, or a stack does not end in ``target``.
    """
    stacks: dict[str, Stack | HFStack] = {}
    for text in texts:
        stack = parse_bench(text)
        if str(stack) in stacks:
            raise ValueError(f"the stack '{stack}' is given twice")
        if isinstance(stack, Stack) and stack.target.name != PLAIN:
            raise ValueError(f"the stack '{stack}' does not end in 'target': a bench has one target, set by --target")
        stacks[str(stack)] = stack
    return stacks if PLAIN in stacks else {PLAIN: parse_bench(PLAIN), **stacks}


def run_bench(
    engine: Engine,
    stacks: Sequence[str],
    suite: Suite,
    settings: Settings | None = None,
    *,
    template: str = "auto",
    progress: Callable[[Progress], None] = lambda _: None,
) -> Measurement:
    """Measure every stack on every prompt of ``suite``.

    Measuring starts when the engine has finished compiling. Each stack first decodes a few tokens that do not count:
    models load and caches warm up. ``template``: how turns and answers become prompts
    (:func:`~hsd_viz.prompts.templates.choose_template`). An interrupted bench returns what all stacks have finished,
    with ``complete`` False. Raises: ValueError: if a stack, a prompt or a setting is not valid.
    """
    settings, parsed = settings or Settings(), read_stacks(stacks)
    questions = any(p.turns for p in suite.prompts)
    writer = choose_template(engine.tokenizer, engine.target, template) if questions else None
    rows, complete = rows_of(parsed, settings.state), False
    decoders = {name: _decoder(engine, row, parsed[row.stack], settings) for name, row in rows.items()}
    bench = _Bench(engine, decoders, suite, settings, writer, progress)
    try:
        with suppress(KeyboardInterrupt):
            bench.warm_up()
            bench.measure()
            complete = True
    finally:
        gc.unfreeze()
    finished = (p for p in suite.prompts if all((name, p.id) in bench.done for name in rows))
    done = tuple(p for p in finished if p.id not in bench.left_out)
    outputs = {name: tuple(median_of(bench.done[name, p.id]) for p in done) for name in rows}
    used = writer.name if writer else None
    return Measurement(suite, settings, done, outputs, complete, used, bench.left_out, rows)


def _decoder(engine: Any, row: Row, stack: Stack | HFStack, settings: Settings) -> Decoder:
    if isinstance(stack, HFStack):
        from hsd_viz.bench.hf import HFDecoder

        return HFDecoder(engine, stack)
    return LoopDecoder(engine, row, settings.budget, settings.profile)


@dataclass(slots=True)
class _Bench:
    """One run of a bench. ``template`` is ``None`` where the suite has no questions. ``done`` maps (row, prompt) to the
    outputs of its repeats, ``left_out`` questions that do not fit the context to reasons.
    """

    engine: Engine
    decoders: dict[str, Decoder]
    suite: Suite
    settings: Settings
    template: Template | None
    progress: Callable[[Progress], None]
    done: dict[tuple[str, str], list[Output]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def warm_up(self) -> None:
        """Wait for compilations, and decode what does not count."""
        wait = lambda: self.engine.wait_ready(lambda text: self._report(0, note=text))
        wait()
        # A GPU captures a graph when a shape is used for the second time: decode a full output twice.
        most, gpu = self.settings.max_new_tokens, self.engine.device.startswith("cuda")
        for name, decode in self.decoders.items():
            self._report(0, name)
            for tokens in [most] * 2 if gpu else [min(WARM_UP_TOKENS, most)]:
                # The first prompt, without questions that do not fit the context.
                any(self._fits(prompt, decode, tokens) for prompt in self.suite.prompts)
        # The warm-up may have started a compilation.
        wait()
        # Garbage collection of everything allocated so far would pause one stack for the time of a hundred rounds.
        gc.collect()
        gc.freeze()

    def _fits(self, prompt: Prompt, decode: Decoder, tokens: int) -> bool:
        with _naming(prompt):
            try:
                decode(opening(prompt, self.template), tokens, self.settings.sampling)
            except PromptTooLong:
                if not prompt.turns:
                    raise
                return False
        return True

    def measure(self) -> None:
        """Decode every prompt with every row, as often as it is repeated."""
        settings, count = self.settings, -1
        for _ in range(settings.repeats):
            for decode in self.decoders.values():
                if isinstance(decode, LoopDecoder):
                    decode.begin()
            for prompt, (name, decode) in product(self.suite.prompts, self.decoders.items()):
                count += 1
                if prompt.id in self.left_out:
                    continue
                self._report(count, name, prompt.id)
                with _naming(prompt):
                    try:
                        output = ask(decode, prompt, settings.max_new_tokens, settings.sampling, self.template)
                        self.done.setdefault((name, prompt.id), []).append(output)
                    except PromptTooLong as error:
                        if not prompt.turns:
                            raise
                        self.left_out[prompt.id] = str(error)

    def _report(self, done: int, name: str = "", prompt: str = "", note: str = "") -> None:
        total = self.settings.repeats * len(self.suite.prompts) * len(self.decoders)
        self.progress(Progress(done, total, name, prompt, note))


@contextmanager
def _naming(prompt: Prompt) -> Iterator[None]:
    """Name the prompt of the suite in errors about "the prompt"."""
    try:
        yield
    except ValueError as error:
        # Models load in the first decode: errors about them do not concern the prompt.
        if "prompt" not in str(error):
            raise
        raise ValueError(f"prompt {prompt.id}: {error}") from None
