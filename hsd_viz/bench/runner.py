"""Run stacks over a suite, interleaved, in one process.

Timings drift with the state of the machine (other work, heat, caches). Stacks therefore alternate, A B C A B C ...,
prompt by prompt and repeat by repeat: background load affects all stacks equally, and ratios between them hold where
absolute times do not.

Some drafters learn from run to run: ``suffix`` keeps earlier outputs, ``recycling`` its adjacency matrix,
``ngram-cache`` the counts of earlier texts. A **cold** row has a fresh memory for each decode. A **warm** row has one
memory for the whole suite, so that the order of the prompts is part of what is measured. Every repeat of the suite
starts with an empty memory, which has then seen each earlier prompt once and never the prompt's own output.
"""

import gc
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

from hsd_viz.bench.output import PLAIN, Output, ask, from_trace, median_of
from hsd_viz.decoding.sampling import PromptTooLong, Sampling
from hsd_viz.drafting import Memory
from hsd_viz.drafting.make import remembers
from hsd_viz.engine import Engine
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.prompts.templates import choose_template
from hsd_viz.stack import HFStack, Stack, parse_bench
from hsd_viz.terminal import Progress
from hsd_viz.words import check_budget, check_range

WARM_UP_TOKENS = 8
STATES = ("cold", "warm", "both")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that all runs share. Times are medians over ``repeats`` runs of each prompt and stack.

    ``profile``: report where the time of a round goes. ``state``: ``cold``, ``warm`` or ``both``, for drafters that
    learn. ``budget``: the most draft tokens that a database or baseline proposes at a time, without cost stopping;
    ``None``: its own.
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
    not fit the context, and why. ``states`` has the state of each row.
    """

    suite: Suite
    settings: Settings
    prompts: tuple[Prompt, ...]
    outputs: dict[str, tuple[Output, ...]]
    complete: bool
    template: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    states: dict[str, str | None] = field(default_factory=dict)


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


def rows_of(stacks: dict[str, Stack | HFStack], states: str) -> dict[str, tuple[Stack | HFStack, str | None]]:
    """Return (stack, state) of each row by name. A stack that learns from run to run is ``cold`` or ``warm`` (its name
    ends in ``(warm)``), or both, as ``states`` has it; others have no state.
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
    settings = settings or Settings()
    rows, complete = rows_of(read_stacks(stacks), settings.state), False
    questions = any(p.turns for p in suite.prompts)
    writer = choose_template(engine.tokenizer, engine.target, template) if questions else None
    decoders = {name: _decoder(engine, stack, settings) for name, (stack, _) in rows.items()}
    total = settings.repeats * len(suite.prompts) * len(rows)
    memories: defaultdict[tuple[str, int], Memory] = defaultdict(Memory)
    runs: defaultdict[tuple[str, str], list[Output]] = defaultdict(list)
    left_out: dict[str, str] = {}

    def decode(name: str, prompt: Prompt, tokens: int, memory: Memory | None = None) -> Output | None:
        """Decode a prompt; ``None`` if it is a question that does not fit the context, which is then left out."""
        try:
            return ask(lambda text: decoders[name](text, tokens, settings.sampling, memory), prompt, writer)
        except ValueError as error:
            if prompt.turns and isinstance(error, PromptTooLong):
                left_out[prompt.id] = str(error)
                return None
            # Models load in the first decode: errors about them do not concern the prompt.
            raise ValueError(f"prompt {prompt.id}: {error}") if "prompt" in str(error) else error from None

    def wait() -> None:
        engine.wait_ready(lambda text: progress(Progress(0, total, "", "", text)))

    try:
        with suppress(KeyboardInterrupt):
            wait()
            # A GPU captures a graph when a shape is used for the second time: decode a full output twice.
            most, gpu = settings.max_new_tokens, engine.device.startswith("cuda")
            for name, tokens in product(rows, [most] * 2 if gpu else [min(WARM_UP_TOKENS, most)]):
                progress(Progress(0, total, name, ""))
                any(decode(name, prompt, tokens) for prompt in suite.prompts)
            # The warm-up may have started a compilation.
            wait()
            # Garbage collection of everything allocated so far would pause one stack for the time of a hundred rounds.
            gc.collect()
            gc.freeze()
            steps = product(range(settings.repeats), suite.prompts, rows)
            for done, (repeat, prompt, name) in enumerate(steps):
                if prompt.id not in left_out:
                    progress(Progress(done, total, name, prompt.id))
                    memory = memories[name, repeat] if rows[name][1] == "warm" else None
                    if output := decode(name, prompt, settings.max_new_tokens, memory):
                        runs[name, prompt.id].append(output)
            complete = True
    finally:
        gc.unfreeze()
    prompts = tuple(p for p in suite.prompts if p.id not in left_out and all(runs[name, p.id] for name in rows))
    outputs = {name: tuple(median_of(runs[name, p.id]) for p in prompts) for name in rows}
    states = {name: state for name, (_, state) in rows.items()}
    return Measurement(suite, settings, prompts, outputs, complete, writer and writer.name, left_out, states)


def _decoder(engine: Any, stack: Stack | HFStack, settings: Settings) -> Callable[..., Output]:
    """Return a function (text or token ids, max new tokens, sampling, memory) -> Output."""
    if isinstance(stack, HFStack):
        from hsd_viz.bench.hf import HFDecoder

        return HFDecoder(engine, stack)

    def decode(prompt: str | list[int], tokens: int, sampling: Sampling, memory: Memory | None) -> Output:
        given = {"budget": settings.budget, "memory": memory}
        options = asdict(sampling) | {name: value for name, value in given.items() if value is not None}
        return from_trace(engine.run(prompt, str(stack), max_new_tokens=tokens, record=False, **options))

    return decode
