"""Run stacks over a suite, interleaved, in one process.

Timings drift with the machine's mood (other work, heat, caches). So the stacks take turns, A B C A B C ..., prompt by prompt and
repeat by repeat: what disturbs one disturbs its neighbours alike, and ratios between them hold where absolute times do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hsd_viz.decoding.limits import PromptTooLong
from hsd_viz.decoding.settings import Sampling
from hsd_viz.stack import HFStack, Stack, parse_bench

from .output import Output, from_trace, median_of
from .profile import Round, profile_decode
from .rivals import TUNING_TOKENS, Tuned, tune
from .suites import Prompt, Suite
from .turns import Template, ask, choose_template, opening

if TYPE_CHECKING:
    from hsd_viz.engine import Engine

PLAIN = "target"
WARM_UP_TOKENS = 8

#: Runs one prompt, text or token ids: (prompt, most new tokens, sampling) -> Output.
Decoder = Callable[[str | Sequence[int], int, Sampling], Output]


@dataclass(frozen=True, slots=True)
class Settings:
    """What every run shares. ``repeats`` runs of each prompt and stack give median times.

    ``profile``: one more decode of each prompt in our own loop tells where its rounds' time goes. ``tune_rivals``: the settings
    of transformers' loops are tried first; the best ones are measured beside the defaults, in a row of their own.
    """

    max_new_tokens: int = 128
    sampling: Sampling = field(default_factory=Sampling)
    repeats: int = 3
    profile: bool = False
    tune_rivals: bool = False

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ValueError(f"max new tokens {self.max_new_tokens} is out of range: it is a whole number from 1")
        if self.repeats < 1:
            raise ValueError(f"{self.repeats} repeats is out of range: it is a whole number from 1")


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` decodes are over; the next one is ``stack`` on ``prompt`` (empty during warm-up).

    ``note`` says what is done instead, before anything is measured: compiling, trying settings.
    """

    done: int
    total: int
    stack: str
    prompt: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """All outputs of one bench: ``outputs[stack]`` follows ``prompts``; ``complete`` is False when it was cut short.

    ``profiles`` has the target rounds of the profiled decodes by stack, ``tuned`` what was found out about a rival's settings, by
    the name of its row. ``template`` is the one that questions were written with, ``left_out`` has the questions, by id, of which
    a turn did not fit the context, and why.
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
            raise ValueError(f"the stack '{stack}' does not end in 'target': all stacks of a bench have one target, named with --target")
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
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Measurement:
    """Measure every stack on every prompt of ``suite``.

    Nothing is measured while the engine still compiles. Each stack first decodes a few tokens that do not count: models load
    and caches warm up. ``spare`` are the prompts on which the rivals' settings are tried. ``template`` says how turns and
    answers become prompts (:func:`~hsd_viz.bench.turns.choose_template`). ``cancelled`` is asked before each decode; a cancelled
    or interrupted bench returns what all stacks have done by then, with ``complete`` False. Raises ``ValueError`` with one
    sentence for bad input.
    """
    settings = settings or Settings()
    parsed = read_stacks(stacks)
    writer = choose_template(engine.tokenizer, engine.models.target, template) if any(p.turns for p in suite.prompts) else None
    decoders = {name: _decoder(engine, stack) for name, stack in parsed.items()}
    tuned: dict[str, Tuned] = {}
    profiles: dict[str, list[Round]] = {}
    done: dict[tuple[str, str], list[Output]] = {}
    left_out: dict[str, str] = {}
    complete = False

    def total() -> int:
        return settings.repeats * len(suite.prompts) * len(decoders)

    def note(text: str) -> None:
        progress(Progress(0, total(), "", "", text))

    try:
        _wait_ready(engine, note)
        if settings.tune_rivals:
            decoders = _with_best_rivals(engine, parsed, decoders, settings, spare, writer, tuned, note, cancelled)
        for name, decode in decoders.items():
            progress(Progress(0, total(), name, ""))
            # On a GPU work is captured the second time that it is wanted: whole decodes leave little of that to the measured ones.
            for tokens in [settings.max_new_tokens] * 2 if _on_gpu(engine) else [WARM_UP_TOKENS]:
                _warm_up(decode, suite, settings, writer, tokens)
        # What warmed up may have had something compiled.
        _wait_ready(engine, note)
        complete = _measure(
            decoders, suite, settings, writer, done, left_out, lambda n, s, p: progress(Progress(n, total(), s, p)), cancelled
        )
        if complete and settings.profile:
            for prompt in suite.prompts:
                for name, stack in parsed.items():
                    if isinstance(stack, Stack) and prompt.id not in left_out and not cancelled():
                        progress(Progress(total(), total(), name, prompt.id, "profiling"))
                        rounds = profile_decode(engine, opening(prompt, writer), name, settings.max_new_tokens, settings.sampling)
                        profiles.setdefault(name, []).extend(rounds)
    except KeyboardInterrupt:
        complete = False
    prompts = tuple(p for p in suite.prompts if p.id not in left_out and all((name, p.id) in done for name in decoders))
    outputs = {name: tuple(median_of(done[name, p.id]) for p in prompts) for name in decoders}
    return Measurement(suite, settings, prompts, outputs, complete, profiles, tuned, writer.name if writer else None, left_out)


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
    tuned: dict[str, Tuned],
    note: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> dict[str, Decoder]:
    """``decoders`` and, behind each of transformers' loops, the same with its best settings; these are noted in ``tuned``."""
    out: dict[str, Decoder] = {}
    for name, stack in parsed.items():
        out[name] = decoders[name]
        if not isinstance(stack, HFStack):
            continue
        tokens = min(TUNING_TOKENS, settings.max_new_tokens)
        found = tune(engine, stack, spare, settings.sampling, max_new_tokens=tokens, template=template, progress=note, cancelled=cancelled)
        if found is not None:
            tuned[f"{name} (best)"] = found
            out[f"{name} (best)"] = _decoder(engine, stack, found.settings)
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
    done: dict[tuple[str, str], list[Output]],
    left_out: dict[str, str],
    progress: Callable[[int, str, str], None],
    cancelled: Callable[[], bool],
) -> bool:
    runs = ((prompt, name) for _ in range(settings.repeats) for prompt in suite.prompts for name in decoders)
    for count, (prompt, name) in enumerate(runs):
        if cancelled():
            return False
        if prompt.id in left_out:
            continue
        progress(count, name, prompt.id)
        with _naming(prompt):
            try:
                output = ask(decoders[name], prompt, settings.max_new_tokens, settings.sampling, template)
                done.setdefault((name, prompt.id), []).append(output)
            except PromptTooLong as error:
                if not prompt.turns:
                    raise
                left_out[prompt.id] = str(error)
    return True


def _decoder(engine: Any, stack: Stack | HFStack, settings: dict[str, Any] | None = None) -> Decoder:
    if isinstance(stack, HFStack):
        from .hf import HFDecoder

        return HFDecoder(engine, stack, settings)

    def decode(prompt: str | Sequence[int], max_new_tokens: int, sampling: Sampling) -> Output:
        trace = engine.run(
            prompt,
            str(stack),
            max_new_tokens=max_new_tokens,
            temperature=sampling.temperature,
            top_k=sampling.top_k,
            top_p=sampling.top_p,
            seed=sampling.seed,
            record=False,
        )
        return from_trace(trace)

    return decode
