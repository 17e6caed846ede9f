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
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

from hsd_viz.calibration.estimate import estimate
from hsd_viz.calibration.forwards import fit_curve, time_forwards
from hsd_viz.calibration.store import StoredCalibration, identity, load, path_of, save
from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.sampling import PromptTooLong, Sampling
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import Model, Stack, parse
from hsd_viz.terminal import Progress
from hsd_viz.trace import Trace

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

    def texts(self, engine: Engine, prompts: int) -> dict[str, Any]:
        """Return the description of the first ``prompts`` prompts and of the clock that times them."""
        texts = "\0".join(p.text for p in self.suite.prompts[:prompts])
        return {
            "suite": self.suite.name,
            "prompts": len(self.suite.prompts[:prompts]),
            "hash": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "max_new_tokens": self.max_new_tokens,
            "levels": self.max_levels,
            "drafts": list(self.drafts),
            "bottoms": list(self.databases),
            "clock": "wall" if engine.clock is time.perf_counter_ns else "processor",
        }

    def probe(self, engine: Engine) -> dict[str, Any]:
        """Return the identity of the engine, from one token decoded with a stack of all models."""
        stack = Stack(None, (*(Model(d, 1) for d in self.drafts), Model(self.target)))
        return identity(decode(engine, self.suite.prompts[0], stack, 1, self.sampling).meta)


def calibrate(
    engine: Engine,
    work: Workload,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> StoredCalibration | None:
    """Measure the decodes of ``work`` as :func:`calibration_steps` does, with its progress given to ``progress``."""
    steps = calibration_steps(engine, work, cancelled)
    try:
        while True:
            progress(next(steps))
    except StopIteration as end:
        return end.value


def calibration_steps(
    engine: Engine, work: Workload, cancelled: Callable[[], bool] = lambda: False
) -> Generator[Progress, None, StoredCalibration | None]:
    """Yield the progress before each decode of a calibration, and return the calibration. ``cancelled`` (called before
    each decode) and Ctrl-C end it early: it then covers the prompts that every stack had finished, with ``complete``
    False; ``None`` without any. Raises: ValueError: for bad input, or if all texts ended at once.
    """
    prompts, stacks, sampling = work.suite.prompts, work.stacks(), work.sampling
    total, created = len(stacks) * len(prompts), time.time()
    texts: list[list[Trace]] = []
    shapes: dict[str, dict[int, float]] = {}
    engine_identity: dict[str, Any] = {}

    def run(prompt: Prompt, stack: str, tokens: int, settings: Sampling) -> Trace:
        if cancelled():
            raise KeyboardInterrupt
        return decode(engine, prompt, stack, tokens, settings)

    with suppress(KeyboardInterrupt):
        for stack in stacks:
            yield Progress(0, total, stack, "")
            run(prompts[0], stack, min(WARM_UP_TOKENS, work.max_new_tokens), sampling)
        yield Progress(0, total, "", "", "timing forward passes")
        engine.wait_ready()
        engine_identity = work.probe(engine)
        named = {**dict(zip(work.drafts, work.drafts, strict=True)), TARGET: work.target}
        if models := {name: model for name, own in named.items() if (model := engine.model(own)) is not None}:
            shapes = time_forwards(models, clock=engine.clock, cancelled=cancelled)
        for k, prompt in enumerate(prompts):
            decoded: list[Trace] = []
            for stack in stacks:
                yield Progress(k * len(stacks) + len(decoded), total, stack, prompt.id)
                decoded.append(run(prompt, stack, work.max_new_tokens, at(sampling, k)))
            texts.append(decoded)
    complete = len(texts) == len(prompts)
    if not any(len(trace) for text in texts for trace in text):
        if complete:
            raise ValueError("no token was decoded on the calibration prompts: every text ended at once")
        return None
    estimates = estimate([trace for text in texts for trace in text], (*work.drafts, TARGET))
    costs = dict(estimates.timing.models)
    for name in shapes.keys() & costs.keys():
        if real := estimates.timing.medians[name]:
            costs[name] = replace(costs[name], forward=fit_curve(shapes[name], real))
    return StoredCalibration(
        identity=engine_identity,
        texts=work.texts(engine, len(texts)),
        created=created,
        seconds=time.time() - created,
        calibration=replace(estimates.calibration(), costs=costs),
        rounds={f"{draft} > {verifier}": n for (draft, verifier), n in estimates.rounds.items()},
        complete=complete,
    )


def calibrated(
    engine: Engine,
    work: Workload,
    *,
    fresh: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    note: Callable[[str], None] = lambda message: None,
) -> tuple[StoredCalibration | None, bool]:
    """Return (calibration, whether it was stored): a recent stored one if there is one, else a new one, which is saved.
    ``fresh`` measures again in any case. ``note`` gets a message if a stored one cannot be read or a new one cannot be
    saved.
    """
    progress(Progress(0, 0, "", "", "loading the models"))
    engine.wait_ready()
    path = path_of(work.probe(engine), work.texts(engine, len(work.suite.prompts)))
    if not fresh:
        try:
            if (stored := load(path)).fresh():
                return stored, True
        except FileNotFoundError:
            pass
        except ValueError as error:
            note(f"{error}: it is measured again")
    measured = calibrate(engine, work, progress=progress, cancelled=cancelled)
    if measured is not None and measured.complete:
        try:
            save(measured)
        except ValueError as error:
            note(str(error))
    return measured, False


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
