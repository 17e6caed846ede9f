"""Run stacks over a suite, interleaved, in one process.

Timings drift with the state of the machine (other work, heat, caches). Stacks therefore alternate, A B C A B C ...,
prompt by prompt and repeat by repeat: background load affects all stacks equally, and ratios between them hold where
absolute times do not.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hsd_viz.bench.checkpoint import Checkpoint
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
    checkpoint: Checkpoint | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Measurement:
    """Measure every stack on every prompt of ``suite``.

    Measuring starts when the engine has finished compiling. Each stack first decodes a few tokens that do not count:
    models load and caches warm up. ``template``: how turns and answers become prompts
    (:func:`~hsd_viz.prompts.templates.choose_template`). ``checkpoint``: the decodes of an earlier run of the same
    bench, which are not repeated; it also stores those of this one. ``cancelled`` is called before each decode; a
    cancelled or interrupted bench returns what all stacks have finished, with ``complete`` False. Raises: ValueError:
    if a stack, a prompt or a setting is not valid.
    """
    questions = any(p.turns for p in suite.prompts)
    writer = choose_template(engine.tokenizer, engine.target, template) if questions else None
    store = Checkpoint() if checkpoint is None else checkpoint
    bench = _Bench(engine, read_stacks(stacks), suite, settings or Settings(), writer, store, progress, cancelled)
    complete = False
    try:
        complete = bench.run()
    except KeyboardInterrupt:
        pass
    finally:
        gc.unfreeze()
    rows = bench.rows
    finished = (p for p in suite.prompts if all((name, p.id) in store.done for name in rows))
    done = tuple(p for p in finished if p.id not in store.left_out)
    outputs = {name: tuple(median_of(store.done[name, p.id]) for p in done) for name in rows}
    used = writer.name if writer else None
    return Measurement(suite, bench.settings, done, outputs, complete, used, store.left_out, rows)


@dataclass(slots=True)
class _Bench:
    """One run of a bench. ``template`` is ``None`` where the suite has no questions."""

    engine: Engine
    stacks: dict[str, Stack | HFStack]
    suite: Suite
    settings: Settings
    template: Template | None
    checkpoint: Checkpoint
    progress: Callable[[Progress], None]
    cancelled: Callable[[], bool]
    rows: dict[str, Row] = field(init=False)
    decoders: dict[str, Decoder] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = rows_of(self.stacks, self.settings.state)
        self.decoders = {name: self._decoder(row) for name, row in self.rows.items()}

    def run(self) -> bool:
        """Warm up and measure; return whether nothing is missing."""
        self._wait_ready()
        gpu = self.engine.device.startswith("cuda")
        for name, decode in self.decoders.items():
            self._report(0, name)
            # A GPU captures a graph when a shape is used for the second time: decode a full output twice.
            for tokens in [self.settings.max_new_tokens] * 2 if gpu else [WARM_UP_TOKENS]:
                self._warm_up(decode, tokens)
        # The warm-up may have started a compilation.
        self._wait_ready()
        # Garbage collection of everything allocated so far would pause one stack for the time of a hundred rounds.
        gc.collect()
        gc.freeze()
        return self._measure()

    def prompts(self) -> Iterator[Prompt]:
        """The prompts of the suite, without questions that do not fit the context."""
        return (p for p in self.suite.prompts if p.id not in self.checkpoint.left_out)

    def _total(self) -> int:
        return self.settings.repeats * len(self.suite.prompts) * len(self.decoders)

    def _report(self, done: int, name: str = "", prompt: str = "", note: str = "") -> None:
        self.progress(Progress(done, self._total(), name, prompt, note))

    def _wait_ready(self) -> None:
        self.engine.wait_ready(lambda text: self._report(0, note=text))

    def _decoder(self, row: Row) -> Decoder:
        stack = self.stacks[row.stack]
        if isinstance(stack, HFStack):
            from hsd_viz.bench.hf import HFDecoder

            return HFDecoder(self.engine, stack)
        return LoopDecoder(self.engine, row, self.settings.budget, self.settings.profile)

    def _warm_up(self, decode: Decoder, tokens: int) -> None:
        """Decode up to ``tokens`` tokens after the first prompt, without questions that do not fit the context."""
        for prompt in self.suite.prompts:
            with _naming(prompt):
                try:
                    most = min(tokens, self.settings.max_new_tokens)
                    decode(opening(prompt, self.template), most, self.settings.sampling)
                    return
                except PromptTooLong:
                    if not prompt.turns:
                        raise

    def _measure(self) -> bool:
        settings, stored = self.settings, self.checkpoint
        count = -1
        for repeat in range(settings.repeats):
            for decode in self.decoders.values():
                if isinstance(decode, LoopDecoder):
                    decode.begin()
            for prompt, name in ((prompt, name) for prompt in self.suite.prompts for name in self.decoders):
                count += 1
                if self.cancelled():
                    return False
                known = self._known(name, prompt, repeat)
                if prompt.id in stored.left_out or (known and not self._rebuilds_memory(name, repeat)):
                    continue
                self._report(count, name, prompt.id)
                with _naming(prompt):
                    try:
                        decode, most = self.decoders[name], settings.max_new_tokens
                        output = ask(decode, prompt, most, settings.sampling, self.template)
                        if not known:
                            stored.add(name, prompt.id, output)
                    except PromptTooLong as error:
                        if not prompt.turns:
                            raise
                        stored.leave_out(prompt.id, str(error))
        return True

    def _known(self, name: str, prompt: Prompt, repeat: int) -> bool:
        return len(self.checkpoint.done.get((name, prompt.id), ())) > repeat

    def _rebuilds_memory(self, name: str, repeat: int) -> bool:
        """Return whether measured prompts are decoded again: later prompts of a warm row need their memory."""
        decode = self.decoders[name]
        unfinished = any(not self._known(name, p, repeat) for p in self.prompts())
        return isinstance(decode, LoopDecoder) and decode.warm and unfinished


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
