"""Run stacks over a suite, interleaved, in one process.

Timings drift with the machine's mood (other work, heat, caches). So the stacks take turns, A B C A B C ..., prompt by prompt and
repeat by repeat: what disturbs one disturbs its neighbours alike, and ratios between them hold where absolute times do not.
What drafters remember from prompt to prompt is a matter of the rows: see :mod:`~hsd_viz.bench.rows`.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.checkpoint import Checkpoint
from hsd_viz.bench.output import Output, median_of
from hsd_viz.bench.profile import Round, profile_decode
from hsd_viz.bench.rows import STATES, Decoder, LoopDecoder, Row, rows_of
from hsd_viz.bench.transformers_settings import TUNING_TOKENS, Tuned, tune
from hsd_viz.bench.turns import ask
from hsd_viz.checks import check_budget
from hsd_viz.decoding.limits import PromptTooLong
from hsd_viz.decoding.settings import Sampling
from hsd_viz.progress import Progress
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.prompts.templates import Template, choose_template, opening
from hsd_viz.stack import HFStack, Stack, parse_bench

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

PLAIN = "target"
WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Settings:
    """What every run shares. ``repeats`` runs of each prompt and stack give median times.

    ``profile``: one more decode of each prompt in our own loop tells where its rounds' time goes. ``tune_rivals``: the settings
    of transformers' loops are tried first; the best ones are measured beside the defaults, in a row of their own. ``state`` is
    ``cold``, ``warm`` or ``both``, for drafters that remember (:mod:`~hsd_viz.bench.rows`). ``budget``: the most draft tokens
    that a database or rival puts up at a time, cost stopping off; ``None`` as each was made.
    """

    max_new_tokens: int = 128
    sampling: Sampling = field(default_factory=Sampling)
    repeats: int = 3
    profile: bool = False
    tune_rivals: bool = False
    state: str = "cold"
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max new tokens {self.max_new_tokens} is out of range: it is a whole number from 1")
        if self.repeats < 1:
            raise ValueError(f"{self.repeats} repeats is out of range: it is a whole number from 1")
        if self.state not in STATES:
            raise ValueError(f"the state '{self.state}' is unknown: it is {', '.join(STATES[:-1])} or {STATES[-1]}")
        check_budget(self.budget)


@dataclass(frozen=True, slots=True)
class Measurement:
    """All outputs of one bench: ``outputs[row]`` follows ``prompts``; ``complete`` is False when it was cut short.

    ``profiles`` has the target rounds of the profiled decodes by stack, ``tuned`` what was found out about a rival's settings, by
    the name of its row. ``template`` is the one that questions were written with, ``left_out`` has the questions, by id, of which
    a turn did not fit the context, and why. ``rows`` has the stack and state of each row, where it is more than a stack's name.
    """

    suite: Suite
    settings: Settings
    prompts: tuple[Prompt, ...]
    outputs: dict[str, tuple[Output, ...]]
    complete: bool
    profiles: dict[str, list[Round]] = field(default_factory=dict)
    tuned: dict[str, Tuned] = field(default_factory=dict)
    template: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)


def read_stacks(texts: Sequence[str]) -> dict[str, Stack | HFStack]:
    """The stacks by their written form; the plain ``target`` comes first where it is missing.

    Raises ``ValueError`` for text that is no stack, for a stack given twice, and for a target of its own.
    """
    stacks: dict[str, Stack | HFStack] = {}
    for text in texts:
        stack = parse_bench(text)
        if str(stack) in stacks:
            raise ValueError(f"the stack '{stack}' is given twice")
        if isinstance(stack, Stack) and stack.target.name != PLAIN:
            raise ValueError(
                f"the stack '{stack}' does not end in 'target': all stacks of a bench have one target, named with --target"
            )
        stacks[str(stack)] = stack
    return stacks if PLAIN in stacks else {PLAIN: parse_bench(PLAIN), **stacks}


def run_bench(
    engine: Engine,
    stacks: Sequence[str],
    suite: Suite,
    settings: Settings | None = None,
    *,
    spare: Sequence[Prompt] = (),
    template: str = "auto",
    checkpoint: Checkpoint | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Measurement:
    """Measure every stack on every prompt of ``suite``.

    Nothing is measured while the engine still compiles. Each stack first decodes a few tokens that do not count: models load
    and caches warm up. ``spare`` are the prompts on which the rivals' settings are tried. ``template`` says how turns and
    answers become prompts (:func:`~hsd_viz.prompts.templates.choose_template`). ``checkpoint`` has what an earlier run of the same bench
    has done, which is not done again, and keeps what this one does. ``cancelled`` is asked before each decode; a cancelled
    or interrupted bench returns what all stacks have done by then, with ``complete`` False. Raises ``ValueError`` with one
    sentence for bad input.
    """
    settings = settings or Settings()
    parsed = read_stacks(stacks)
    writer = (
        choose_template(engine.tokenizer, engine.models.target, template)
        if any(p.turns for p in suite.prompts)
        else None
    )
    rows = rows_of(parsed, settings.state)
    decoders = {name: _decoder(engine, parsed[row.stack], row, settings.budget) for name, row in rows.items()}
    kept = checkpoint if checkpoint is not None else Checkpoint()
    profiles: dict[str, list[Round]] = {}
    complete = False

    def total() -> int:
        return settings.repeats * len(suite.prompts) * len(decoders)

    def note(text: str) -> None:
        progress(Progress(0, total(), "", "", text))

    try:
        _wait_ready(engine, note)
        if settings.tune_rivals:
            decoders = _with_best_rivals(engine, parsed, decoders, settings, spare, writer, kept, note, cancelled)
        for name, decode in decoders.items():
            progress(Progress(0, total(), name, ""))
            # On a GPU work is captured the second time that it is wanted: whole decodes leave little of that to the measured ones.
            for tokens in [settings.max_new_tokens] * 2 if _on_gpu(engine) else [WARM_UP_TOKENS]:
                _warm_up(decode, suite, settings, writer, tokens)
        # What warmed up may have had something compiled.
        _wait_ready(engine, note)
        # Going over all that was made so far, the garbage collector would stand still for a hundred rounds of whoever's turn it is.
        gc.collect()
        gc.freeze()
        complete = _measure(
            decoders, suite, settings, writer, kept, lambda n, s, p: progress(Progress(n, total(), s, p)), cancelled
        )
        if complete and settings.profile:
            for prompt in suite.prompts:
                for name, row in rows.items():
                    # A profiled decode has no memory: of a warm row it would tell nothing.
                    own = isinstance(parsed[row.stack], Stack) and row.state != "warm"
                    if own and prompt.id not in kept.left_out and not cancelled():
                        progress(Progress(total(), total(), name, prompt.id, "profiling"))
                        start = opening(prompt, writer)
                        rounds = profile_decode(
                            engine, start, row.stack, settings.max_new_tokens, settings.sampling, settings.budget
                        )
                        profiles.setdefault(name, []).extend(rounds)
    except KeyboardInterrupt:
        complete = False
    finally:
        gc.unfreeze()
        kept.flush()
    prompts = tuple(
        p for p in suite.prompts if p.id not in kept.left_out and all((name, p.id) in kept.done for name in decoders)
    )
    outputs = {name: tuple(median_of(kept.done[name, p.id]) for p in prompts) for name in decoders}
    return Measurement(
        suite,
        settings,
        prompts,
        outputs,
        complete,
        profiles,
        kept.tuned,
        writer.name if writer else None,
        kept.left_out,
        rows,
    )


def _wait_ready(engine: Any, note: Callable[[str], None]) -> None:
    if hasattr(engine, "wait_ready"):
        engine.wait_ready(note)


def _with_best_rivals(
    engine: Any,
    parsed: dict[str, Stack | HFStack],
    decoders: dict[str, Decoder],
    settings: Settings,
    spare: Sequence[Prompt],
    template: Template | None,
    kept: Checkpoint,
    note: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> dict[str, Decoder]:
    """``decoders`` and, behind each of transformers' loops, the same with its best settings; these are noted in ``kept``."""
    out: dict[str, Decoder] = {}
    for name, decoder in decoders.items():
        out[name] = decoder
        stack = parsed.get(name)
        if not isinstance(stack, HFStack):
            continue
        best = f"{name} (best)"
        if best not in kept.tuned:
            tokens = min(TUNING_TOKENS, settings.max_new_tokens)
            found = tune(
                engine,
                stack,
                spare,
                settings.sampling,
                max_new_tokens=tokens,
                template=template,
                progress=note,
                cancelled=cancelled,
            )
            if found is None:
                continue
            kept.tune(best, found)
        out[best] = _decoder(engine, stack, settings=kept.tuned[best].settings)
    return out


@contextmanager
def _naming(prompt: Prompt) -> Iterator[None]:
    """Say which prompt of the suite a complaint about "the prompt" means."""
    try:
        yield
    except ValueError as error:
        # Models load in the first decode: what is wrong with one of them is not the prompt's fault.
        if "prompt" not in str(error):
            raise
        raise ValueError(f"prompt {prompt.id}: {error}") from None


def _on_gpu(engine: Any) -> bool:
    return str(getattr(engine, "device", "cpu")).startswith("cuda")


def _warm_up(decode: Decoder, suite: Suite, settings: Settings, template: Template | None, tokens: int) -> None:
    """Up to ``tokens`` tokens after the first prompt; a question that does not fit is passed by, as it will be when it is measured."""
    for prompt in suite.prompts:
        with _naming(prompt):
            try:
                decode(opening(prompt, template), min(tokens, settings.max_new_tokens), settings.sampling)
                return
            except PromptTooLong:
                if not prompt.turns:
                    raise


def _measure(
    decoders: dict[str, Decoder],
    suite: Suite,
    settings: Settings,
    template: Template | None,
    kept: Checkpoint,
    progress: Callable[[int, str, str], None],
    cancelled: Callable[[], bool],
) -> bool:
    count = -1
    for repeat in range(settings.repeats):
        for decode in decoders.values():
            if isinstance(decode, LoopDecoder):
                decode.begin()
        for prompt, name in ((prompt, name) for prompt in suite.prompts for name in decoders):
            count += 1
            if cancelled():
                return False
            known = _known(kept, name, prompt, repeat)
            if prompt.id in kept.left_out or (known and not _to_remember(decoders[name], kept, name, suite, repeat)):
                continue
            progress(count, name, prompt.id)
            with _naming(prompt):
                try:
                    output = ask(decoders[name], prompt, settings.max_new_tokens, settings.sampling, template)
                    if not known:
                        kept.add(name, prompt.id, output)
                except PromptTooLong as error:
                    if not prompt.turns:
                        raise
                    kept.leave_out(prompt.id, str(error))
    return True


def _known(kept: Checkpoint, name: str, prompt: Prompt, repeat: int) -> bool:
    return len(kept.done.get((name, prompt.id), ())) > repeat


def _to_remember(decode: Decoder, kept: Checkpoint, name: str, suite: Suite, repeat: int) -> bool:
    """Whether a prompt that an earlier run has measured is decoded again: a warm row goes on with what it remembered there."""
    return (
        isinstance(decode, LoopDecoder)
        and decode.warm
        and any(not _known(kept, name, p, repeat) for p in suite.prompts if p.id not in kept.left_out)
    )


def _decoder(
    engine: Any,
    stack: Stack | HFStack,
    row: Row | None = None,
    budget: int | None = None,
    settings: dict[str, Any] | None = None,
) -> Decoder:
    if isinstance(stack, HFStack):
        from hsd_viz.bench.hf import HFDecoder

        return HFDecoder(engine, stack, settings)
    return LoopDecoder(engine, row or Row(str(stack), str(stack)), budget)
