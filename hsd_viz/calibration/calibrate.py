"""Calibrate an engine: measure the costs of its models and how much of each other's drafts they accept.

All figures come from ordinary decodes with short stacks that take turns: their rounds are the rounds that a hierarchy
pays for.

- Acceptance of model i's tokens by model j: under the target by ``i:g > target``, between draft models by ``i:g > j:h >
  target``, at several lookaheads, and of a database's drafts by ``db > target`` and ``db > j:h > target``. Not by ``i:g
  > j``: j would then write the text, and the text of a small model repeats itself and is easier to draft than the
  target's.
- Costs: medians of the forward passes, launches, look-ups and overheads of the same rounds. Verifications at the widths
  between and beyond get their shape from forward passes timed in isolation (:mod:`~hsd_viz.calibration.forwards`).

Decodes are not recorded, so that the cost of recording is not included.
"""

import hashlib
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any, TypeVar

from hsd_viz.calibration.estimate import estimate, rounds_of, timings
from hsd_viz.calibration.forwards import fit_curve, time_forwards
from hsd_viz.calibration.store import StoredCalibration, identity, newest, save
from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.sampling import PromptTooLong, Sampling
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.select import fill, select
from hsd_viz.prompts.suites import Prompt, Suite, load_suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.terminal import Progress
from hsd_viz.trace import Stage, Trace

T = TypeVar("T")
TARGET = "target"
#: Tokens decoded per prompt.
TOKENS, WARM_UP_TOKENS = 128, 8
#: Lookaheads of a model directly under the target; of two models, the lower one's first; of a model over a database.
ALONE = (1, 2, 4, 8)
PAIRS = ((2, 4), (4, 8))
OVER_DATABASE = (3, 8)


@dataclass(frozen=True, slots=True)
class Workload:
    """The decodes of a calibration: draft models (smallest first) and databases under ``target``. ``max_levels`` leaves
    out the stacks that only higher hierarchies need.
    """

    suite: Suite
    drafts: Sequence[str]
    databases: Sequence[str] = ("db",)
    target: str = TARGET
    max_levels: int | None = None
    sampling: Sampling = field(default_factory=Sampling)
    max_new_tokens: int = TOKENS

    def stacks(self) -> tuple[str, ...]:
        """Return the stacks to decode each prompt with."""
        most, top = self.max_levels or 3, Model(self.target)
        sources = [parse(f"{database} > {TARGET}").bottom for database in self.databases]
        stacks = [Stack(None, (top,))]
        if most >= 2:
            stacks += [Stack(None, (Model(i, g), top)) for i in self.drafts for g in ALONE]
            stacks += [Stack(source, (top,)) for source in sources]
        if most >= 3:
            pairs = combinations(self.drafts, 2)
            stacks += [Stack(None, (Model(i, g), Model(j, h), top)) for i, j in pairs for g, h in PAIRS]
            over = [(Model(j, h), top) for j in self.drafts for h in OVER_DATABASE]
            stacks += [Stack(source, models) for source in sources for models in over]
        return tuple(map(str, stacks))

    def texts(self, prompts: int) -> dict[str, Any]:
        """Return the description of the first ``prompts`` prompts."""
        texts = "\0".join(p.text for p in self.suite.prompts[:prompts])
        return {
            "suite": self.suite.name,
            "prompts": len(self.suite.prompts[:prompts]),
            "hash": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "max_new_tokens": self.max_new_tokens,
            "levels": self.max_levels,
            "drafts": list(self.drafts),
            "bottoms": list(self.databases),
        }

    def probe(self, engine: Engine) -> dict[str, Any]:
        """Return the identity of the engine, from one token decoded with a stack of all models."""
        stack = Stack(None, (*(Model(d, 1) for d in self.drafts), Model(self.target)))
        return identity(decode(engine, self.suite.prompts[0], stack, 1, self.sampling).meta)


def calibrate(engine: Engine, work: Workload) -> Generator[Progress, None, StoredCalibration | None]:
    """Yield the progress before each decode of a calibration, and return the calibration. Ctrl-C ends it early: it then
    covers the prompts that every stack had finished, with ``complete`` False; ``None`` without any. Raises: ValueError:
    for bad input, or if all texts ended at once.
    """
    prompts, stacks, sampling = work.suite.prompts, work.stacks(), work.sampling
    total, created = len(stacks) * len(prompts), time.time()
    texts: list[list[Trace]] = []
    shapes: dict[str, dict[int, float]] = {}
    engine_identity: dict[str, Any] = {}

    with suppress(KeyboardInterrupt):
        for stack in stacks:
            yield Progress(0, total, stack, "")
            decode(engine, prompts[0], stack, min(WARM_UP_TOKENS, work.max_new_tokens), sampling)
        yield Progress(0, total, "", "", "timing forward passes")
        engine.wait_ready()
        engine_identity = work.probe(engine)
        named = {**dict(zip(work.drafts, work.drafts, strict=True)), TARGET: work.target}
        if models := {name: model for name, own in named.items() if (model := engine.model(own)) is not None}:
            shapes = time_forwards(models)
        for k, prompt in enumerate(prompts):
            decoded: list[Trace] = []
            for stack in stacks:
                yield Progress(k * len(stacks) + len(decoded), total, stack, prompt.id)
                decoded.append(decode(engine, prompt, stack, work.max_new_tokens, at(sampling, k)))
            texts.append(decoded)
    complete = len(texts) == len(prompts)
    if not any(len(trace) for text in texts for trace in text):
        if complete:
            raise ValueError("no token was decoded on the calibration prompts: every text ended at once")
        return None
    traces = [trace for text in texts for trace in text]
    estimated, medians = estimate(traces, (*work.drafts, TARGET)), timings(traces).medians
    costs = dict(estimated.costs)
    for name in shapes.keys() & costs.keys():
        if real := medians[name]:
            costs[name] = replace(costs[name], forward=fit_curve(shapes[name], real))
    rounds, looked_up = rounds_of(traces)
    counts = {pair: len(rows) for pair, rows in rounds.items()} | {pair: n.total() for pair, n in looked_up.items()}
    return StoredCalibration(
        identity=engine_identity,
        texts=work.texts(len(texts)),
        created=created,
        seconds=time.time() - created,
        calibration=replace(estimated, costs=costs),
        rounds={f"{draft} > {verifier}": n for (draft, verifier), n in counts.items()},
        complete=complete,
    )


def calibrated(
    engine: Engine, work: Workload, note: Callable[[str], None], *, fresh: bool = False
) -> Generator[Progress, None, tuple[StoredCalibration | None, bool]]:
    """Yield the progress of a calibration, and return (calibration, whether it was stored): a recent stored one if
    there is one, else a new one, which is saved. ``fresh`` measures again in any case. ``note`` gets a message if it
    cannot be saved.
    """
    yield Progress(0, 0, "", "", "loading the models")
    engine.wait_ready()
    if not fresh and (stored := newest(work.probe(engine), work.texts(len(work.suite.prompts)))) is not None:
        return stored, True
    measured = yield from calibrate(engine, work)
    if measured is not None and measured.complete:
        try:
            save(measured)
        except ValueError as error:
            note(str(error))
    return measured, False


def run(steps: Generator[Progress, None, T], progress: Callable[[Progress], None] = lambda _: None) -> T:
    """Return the result of :func:`calibrate` or :func:`calibrated`, with its progress given to ``progress``."""
    try:
        while True:
            progress(next(steps))
    except StopIteration as end:
        return end.value


def decode(engine: Engine, prompt: Prompt, stack: str | Stack, max_new_tokens: int, sampling: Sampling) -> Trace:
    """Run one unrecorded decode and drop its draft rows, which are not needed here and are most of a trace."""
    try:
        trace = engine.run(prompt.text, stack, max_new_tokens=max_new_tokens, record=False, **asdict(sampling))
    except PromptTooLong as error:
        raise ValueError(f"prompt {prompt.id}: {error}") from None
    trace.draft_rows = ()
    return trace


def at(sampling: Sampling, k: int) -> Sampling:
    """Return the sampling of prompt ``k``: another seed for each prompt, the same for every stack."""
    return replace(sampling, seed=(sampling.seed + k) % 2**63)


# --- the stack for ``auto``, and the lookaheads for ``:auto`` ---------------------------------------------------------
#
# ``auto`` is the fastest stack by the latency law for this machine, these models and this sampling. Without a stored
# calibration, a short one is measured and saved.

#: The short calibration: about 8 000 tokens on the shipped ladder, which take 10 to 40 seconds on one thread.
SUITE, PROMPTS, NEW_TOKENS = "heldout", 8, 64
#: A predicted gain below this share is within the error of the prediction: ``auto`` is then plain decoding.
MIN_GAIN = 0.02


def decide(
    engine: Engine, stack: Stack, choosing: bool, meta: Mapping[str, Any], decided: dict[str, Stack]
) -> Generator[Stage, None, Stack]:
    """Return the fastest stack of the levels of ``stack`` (``choosing``), or ``stack`` with the fastest lookaheads for
    ``:auto``. Yields stages while ``auto`` calibrates this machine; closing the iterator cancels that. ``meta`` is that
    of a trace of ``stack``, ``decided`` holds the decisions of this process.

    Raises:
        ValueError: if lookaheads are to be chosen and this machine has no calibration of the models.
    """
    key = json.dumps([str(stack), choosing, identity(meta)], sort_keys=True)
    if key not in decided:
        found = _stored(fastest if choosing else lookaheads, stack, meta)
        if found is None and not choosing:
            example = Model(stack.drafts[0].name, 4)
            drafts, temperature = ",".join(m.name for m in stack.drafts), meta["sampling"]["temperature"]
            raise ValueError(
                f"'{stack}' needs a calibration of this machine: run `hsd-viz plan --models {drafts} --temperature "
                f"{temperature:g}` with the same device, dtype and threads, or write a lookahead, as in {example}"
            )
        decided[key] = found or (yield from _measured(engine, stack, meta))
    return decided[key]


def fastest(levels: Stack, calibration: Calibration) -> Stack:
    """Return the fastest stack of ``levels`` by the law. Plain decoding if no stack is predicted to gain
    ``MIN_GAIN``.
    """
    databases = () if levels.bottom is None else (str(levels.bottom),)
    choice = select(calibration.restricted([m.name for m in levels.drafts], databases))
    picked = parse((choice.picked if choice.picked.gain_over(choice.plain) >= MIN_GAIN else choice.plain).stack)
    return Stack(picked.bottom, (*picked.drafts, levels.target))


def lookaheads(stack: Stack, calibration: Calibration) -> Stack:
    """Return ``stack`` with the fastest lookaheads for ``:auto``. Raises: ValueError: if a part was not measured."""
    # The calibration calls the target by that name, however the stack calls it.
    filled = fill(Stack(stack.bottom, (*stack.drafts, Model(TARGET))), calibration)
    return Stack(filled.bottom, (*filled.drafts, stack.target))


def _stored(rule: Callable[[Stack, Calibration], Stack], stack: Stack, meta: Mapping[str, Any]) -> Stack | None:
    """Return the decision of ``rule`` by a stored calibration for exactly this engine, ``None`` without one."""
    if (stored := newest(identity(meta))) is None:
        return None
    with suppress(ValueError):  # part of the stack was not measured
        return rule(stack, stored.calibration)
    return None


def _measured(engine: Engine, levels: Stack, meta: Mapping[str, Any]) -> Generator[Stage, None, Stack]:
    """Yield stages of a short calibration, and return the fastest stack; plain decoding where it is not possible."""
    sizes = {m["name"]: m.get("parameters") or 0 for m in meta["models"]}
    drafts = sorted((m.name for m in levels.drafts), key=sizes.__getitem__)
    databases = () if levels.bottom is None else (str(levels.bottom),)
    sampling = Sampling(**{name: value for name, value in meta["sampling"].items() if name != "seed"})
    prompts = load_suite(SUITE).limited(PROMPTS)
    work = Workload(prompts, drafts, databases, levels.target.name, sampling=sampling, max_new_tokens=NEW_TOKENS)
    notes: list[str] = []
    steps = calibrated(engine, work, notes.append)
    try:
        while True:
            step = next(steps)
            yield Stage("auto: measuring this machine once", step.done, step.total)
    except StopIteration as end:
        stored, _ = end.value
    except ValueError as error:
        yield Stage(f"auto: this machine cannot be measured ({error}): decoding without drafts")
        return Stack(None, (levels.target,))
    if stored is None or not stored.complete:
        raise KeyboardInterrupt
    for message in notes:
        yield Stage(f"auto: {message}")
    return fastest(levels, stored.calibration)
