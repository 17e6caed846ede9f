"""Runs stacks over a suite, interleaved in one process, and collects their measurements.

Timings drift with the state of the machine (other load, heat, caches). Stacks therefore alternate,
A B C A B C ..., so that background load affects all of them equally, and ratios between them are
valid even if absolute times are not.

Some drafters learn across decodes (``suffix``, ``recycling``, ``ngram-cache``). A **cold** row uses
a new memory for each decode. A **warm** row uses one memory for the whole suite, so that its result
depends on the order of the prompts. The memory is empty at the start of each repeat, so that it
never contains the output of the same prompt.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, product
from statistics import mean
from typing import TYPE_CHECKING

from hsd_viz.decoding.engine import Engine, trace_of_events
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.drafting import Memory
from hsd_viz.drafting.make import remembers
from hsd_viz.errors import PromptError, PromptTooLong, UserError
from hsd_viz.measure.bench.decodes import KeptDecodes
from hsd_viz.measure.bench.output import (
    WARM_UP_TOKENS,
    Output,
    from_trace,
    median_of,
    pooled,
    waits_between,
)
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.prompts.templates import Template, choose_template
from hsd_viz.settings.declare import part_of
from hsd_viz.settings.spelling import spelled
from hsd_viz.stack import PLAIN, HFStack, ModelPart, Stack, parse_bench
from hsd_viz.terminal import Progress, ignore_progress

if TYPE_CHECKING:
    from hsd_viz.measure.bench.hf import Generated


def ask(
    decode: Callable[[str | list[int]], Output], prompt: Prompt, template: Template | None
) -> Output:
    """Decode a prompt; for a question, decode every turn after the previous answers."""
    if not prompt.turns or template is None:
        return decode(prompt.text)
    answers: list[str] = []
    outputs: list[Output] = []
    for k in range(len(prompt.turns)):
        outputs.append(decode(template.write(prompt.turns[: k + 1], answers)))
        answers.append(template.read(outputs[-1].token_ids))
    calls: Counter[str] = Counter()
    for output in outputs:
        calls.update(output.calls)
    # Sums over the turns, and the mean time to the first token.
    return replace(
        pooled(outputs, sum, mean),
        token_ids=tuple(chain.from_iterable(output.token_ids for output in outputs)),
        timed_tokens=sum(output.timed_tokens for output in outputs),
        target_forwards=sum(output.target_forwards for output in outputs),
        drafted=sum(output.drafted for output in outputs),
        accepted=sum(output.accepted for output in outputs),
        calls=dict(calls),
    )


@dataclass(frozen=True, slots=True)
class Measurement:
    """All outputs of one bench.

    Attributes:
        suite: the suite of prompts and questions.
        settings: the settings of all runs.
        prompts: the decoded prompts.
        outputs: the outputs of each row, in the order of ``prompts``.
        complete: whether the bench finished without interruption.
        template: the template that converts questions to prompts.
        left_out: the questions that did not fit the context, with the reason.
        states: the state of each row.
    """

    suite: Suite
    settings: BenchSettings
    prompts: tuple[Prompt, ...]
    outputs: dict[str, tuple[Output, ...]]
    complete: bool
    template: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    states: dict[str, str | None] = field(default_factory=dict)


def read_stacks(texts: Sequence[str | Stack]) -> dict[str, Stack | HFStack]:
    """Parse stacks, by canonical text. The plain ``target`` is put first if it is missing.

    Raises:
        UserError: if a stack is invalid or given twice.
    """
    stacks: dict[str, Stack | HFStack] = {}
    for text in texts:
        stack = parse_bench(text)
        if str(stack) in stacks:
            raise UserError(f"the stack '{stack}' is given twice")
        if isinstance(stack, Stack) and stack.target.name != PLAIN:
            raise UserError(
                f"the stack '{stack}' does not end in 'target': a "
                f"bench has one target, set by {spelled('target')}"
            )
        stacks[str(stack)] = stack
    return stacks if PLAIN in stacks else {PLAIN: Stack(None, (ModelPart(PLAIN),)), **stacks}


#: The stack and the state of each row of a bench, by name.
Rows = Mapping[str, tuple[Stack | HFStack, str | None]]


def rows_of(stacks: dict[str, Stack | HFStack], states: str) -> Rows:
    """Return (stack, state) of each row, by name. Stacks that learn across decodes have a ``cold``
    row, a ``warm`` row, or both.
    """
    rows: dict[str, tuple[Stack | HFStack, str | None]] = {}
    for name, stack in stacks.items():
        learns = isinstance(stack, Stack) and stack.bottom is not None and remembers(stack.bottom)
        if not learns or states != "warm":
            rows[name] = stack, "cold" if learns else None
        if learns and states != "cold":
            rows[f"{name} (warm)"] = stack, "warm"
    return rows


def run_bench(
    engine: Engine,
    stacks: Sequence[str | Stack],
    suite: Suite,
    settings: BenchSettings | None = None,
    *,
    template: str = "auto",
    kept: KeptDecodes | None = None,
    progress: Progress = ignore_progress,
) -> Measurement:
    """Measure every stack on every prompt of ``suite``.

    First the engine finishes compiling, and each stack decodes a few tokens that do not count.
    ``template`` converts turns and answers to prompts
    (:func:`~hsd_viz.prompts.templates.choose_template`). Decodes in ``kept`` are not repeated, and
    new ones are added to it. An interrupted bench returns the outputs that all stacks have
    finished.

    Raises:
        UserError: if a stack, a prompt or a setting is invalid.
    """
    settings = settings or BenchSettings()
    rows = rows_of(read_stacks(stacks), settings.state)
    writer = None
    if any(prompt.turns for prompt in suite.prompts):
        writer = choose_template(engine.tokenizer, engine.target, template)
    bench = _RunningBench(engine, rows, suite, settings, writer, kept, progress)
    with suppress(KeyboardInterrupt):
        bench.warm_up()
        with _present_objects_frozen():
            bench.measure()
    return bench.measurement()


@contextmanager
def _present_objects_frozen() -> Iterator[None]:
    """Leave the objects allocated so far out of garbage collections.

    Such a collection would pause one stack for the time of a hundred rounds. What the process has
    frozen before stays frozen.
    """
    gc.collect()
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _RunningBench:
    """A running bench.

    Attributes:
        rows: the stack and state of each row.
        suite: the suite of prompts.
        settings: the settings of all runs.
        writer: the template that converts questions to prompts.
        runs: the outputs so far, by row and prompt.
        left_out: the questions that do not fit the context, with the reason.
        complete: whether everything was decoded.
    """

    def __init__(
        self,
        engine: Engine,
        rows: Rows,
        suite: Suite,
        settings: BenchSettings,
        writer: Template | None,
        kept: KeptDecodes | None,
        progress: Progress,
    ) -> None:
        self.rows = rows
        self.suite = suite
        self.settings = settings
        self.writer = writer
        self.runs: defaultdict[tuple[str, str], list[Output]] = defaultdict(list)
        self.left_out: dict[str, str] = {}
        self.complete = False
        self._kept = kept
        self._progress = progress
        self._total = settings.repeats * len(suite.prompts) * len(rows)
        self._memories: defaultdict[tuple[str, int], Memory] = defaultdict(Memory)
        self._wait_ready = engine.wait_ready
        self._decoders = {}
        for name, (stack, _) in rows.items():
            self._decoders[name] = _decoder(engine, stack, settings)

    def warm_up(self) -> None:
        """Decode a few uncounted tokens with each row, to load and compile the models."""
        self._wait()
        tokens = min(WARM_UP_TOKENS, self.settings.max_new_tokens)
        for name in self.rows:
            self._progress(0, self._total, f"{name}  warming up")
            for prompt in self.suite.prompts:
                if self._decode(name, prompt, tokens):
                    break
        # The warm-up may have started a compilation, and has loaded models that are compiled now.
        self._wait()

    def measure(self) -> None:
        """Decode each prompt with each row, in turns."""
        turns = product(range(self.settings.repeats), self.suite.prompts, self.rows)
        for done, (repeat, prompt, name) in enumerate(turns):
            if prompt.id in self.left_out:
                continue
            self._progress(done, self._total, f"{name}  {prompt.id}")
            output = self._output(name, prompt, repeat)
            if output:
                self.runs[name, prompt.id].append(output)
        self.complete = True

    def measurement(self) -> Measurement:
        """Return the outputs that all rows have finished."""
        prompts = []
        for prompt in self.suite.prompts:
            is_finished = all(self.runs[name, prompt.id] for name in self.rows)
            if is_finished and prompt.id not in self.left_out:
                prompts.append(prompt)
        outputs = {}
        for name in self.rows:
            outputs[name] = tuple(median_of(self.runs[name, prompt.id]) for prompt in prompts)
        return Measurement(
            suite=self.suite,
            settings=self.settings,
            prompts=tuple(prompts),
            outputs=outputs,
            complete=self.complete,
            template=None if self.writer is None else self.writer.name,
            left_out=self.left_out,
            states={name: state for name, (_, state) in self.rows.items()},
        )

    def _wait(self) -> None:
        """Wait until the engine has finished compiling."""
        self._wait_ready(lambda text: self._progress(0, self._total, text))

    def _output(self, name: str, prompt: Prompt, repeat: int) -> Output | None:
        """Return the stored output of a run, else a new one, which is stored."""
        stored = self._kept
        output = stored.get(name, prompt.id, repeat) if stored else None
        if output is not None:
            return output
        memory = self._memories[name, repeat] if self.rows[name][1] == "warm" else None
        output = self._decode(name, prompt, self.settings.max_new_tokens, memory)
        if output and stored:
            stored.add(name, prompt.id, repeat, output)
        return output

    def _decode(
        self, name: str, prompt: Prompt, tokens: int, memory: Memory | None = None
    ) -> Output | None:
        """Decode a prompt. Return ``None`` for a question that does not fit the context, and leave
        it out.
        """
        decoder = self._decoders[name]
        try:
            return ask(lambda text: decoder(text, tokens, memory), prompt, self.writer)
        except PromptError as error:
            # Models load in the first decode, so that errors about them do not concern the prompt.
            if prompt.turns and isinstance(error, PromptTooLong):
                self.left_out[prompt.id] = str(error)
                return None
            raise UserError(f"prompt {prompt.id}: {error}") from error


def _decoder(
    engine: Engine, stack: Stack | HFStack, settings: BenchSettings
) -> Callable[..., Output]:
    """Return a function that decodes a prompt to a number of tokens with an optional memory."""
    if isinstance(stack, HFStack):
        from hsd_viz.engine.local import LocalEngine
        from hsd_viz.measure.bench.hf import HFDecoder

        if not isinstance(engine, LocalEngine):
            raise UserError(f"'{stack}' needs an engine of this process: use load_engine()")
        generate = HFDecoder(engine, stack)

        def generated(prompt: str | list[int], tokens: int, memory: Memory | None) -> Output:
            return _from_generated(generate(prompt, tokens, settings.sampling))

        return generated

    shared = replace(
        part_of(settings.sampling, DecodingOptions), record=False, budget=settings.budget
    )

    def decode(prompt: str | list[int], tokens: int, memory: Memory | None) -> Output:
        options = replace(shared, max_new_tokens=tokens, memory=memory)
        return from_trace(trace_of_events(engine.events(prompt, stack, options)))

    return decode


def _from_generated(run: Generated) -> Output:
    """Convert the decode of a loop of transformers to an output."""
    return Output(
        token_ids=run.token_ids,
        seconds=run.seconds,
        timed_tokens=run.timed_tokens,
        prefill_seconds=run.prefill_seconds,
        target_forwards=run.target_forwards,
        drafted=run.drafted,
        accepted=run.accepted,
        draft_seconds=None,
        runtime="transformers",
        first_token_seconds=run.arrivals[0][0] if run.arrivals else None,
        waits=waits_between(run.arrivals),
    )
