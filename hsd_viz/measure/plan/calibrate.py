"""Calibration of an engine: measures the costs of its models, and their acceptance of each other's
drafts.

All figures come from ordinary, unrecorded decodes with short stacks that take turns. Their rounds
cost the same as those of a hierarchy.

- Acceptance of model i's tokens by model j: under the target by ``i:g > target``, between draft
  models by ``i:g > j:h > target``, at several lookaheads, and of a database's drafts by ``db >
  target`` and ``db > j:h > target``. Not by ``i:g > j``: the text of a small model repeats itself
  and is easier to draft than the target's.
- Drafts that stop when they are unsure: the pairs of (drafted, accepted) tokens of ``i:g?c >
  target`` and ``i:g?c > j:h > target``.
- Costs: medians of the forward passes, launches, look-ups and overheads of the same rounds.
  Verifications at the widths between and beyond get their shape from forward passes timed in
  isolation (:mod:`~hsd_viz.engine.forwards`).
"""

import hashlib
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from hsd_viz.decoding.engine import Engine, trace_of_events
from hsd_viz.decoding.options import DecodingOptions, Sampling
from hsd_viz.engine.forwards import fit_curve, time_forwards
from hsd_viz.errors import PromptError, UserError
from hsd_viz.latency.stored import StoredCalibration, identity, newest, save
from hsd_viz.latency.traced_acceptance import rounds_of
from hsd_viz.latency.traced_calibration import estimate
from hsd_viz.latency.traced_costs import verifications
from hsd_viz.measure.bench.output import WARM_UP_TOKENS
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.settings.declare import part_of
from hsd_viz.stack import DATABASE, TARGET, DraftSource, ModelPart, Stack, read_source
from hsd_viz.terminal import Progress, ignore_progress
from hsd_viz.trace import Trace
from hsd_viz.trace.meta import TraceMeta

#: Number of tokens decoded per prompt.
TOKENS = 128
#: Lookaheads: of a model directly under the target; of two models, the lower one first; of a model
#: over a database.
ALONE = (1, 2, 4, 8)
PAIRS = ((2, 4), (4, 8))
OVER_DATABASE = (3, 8)
#: Confidences of drafts that stop when they are unsure, of a model under the target and under
#: another model, and their lookahead, from which shorter ones follow.
CONFIDENCES = (0.2, 0.4, 0.6)
CONFIDENCES_IN_PAIRS = (0.4,)
UNSURE_LOOKAHEAD = 8


@dataclass(frozen=True, slots=True)
class Workload:
    """The decodes of a calibration.

    Attributes:
        suite: the suite of prompts.
        drafts: the draft models, smallest first.
        databases: the databases under the target.
        sampling: the sampling settings.
        max_new_tokens: the maximum number of tokens of an output.
    """

    suite: Suite
    drafts: Sequence[str]
    databases: Sequence[str] = (DATABASE,)
    sampling: Sampling = field(default_factory=Sampling)
    max_new_tokens: int = TOKENS

    def stacks(self) -> tuple[Stack, ...]:
        """Return the stacks with which each prompt is decoded."""
        under: list[tuple[DraftSource | None, tuple[ModelPart, ...]]] = [(None, ())]
        for name in self.drafts:
            for lookahead in ALONE:
                under.append((None, (ModelPart(name, lookahead),)))
        for name in self.drafts:
            for confidence in CONFIDENCES:
                under.append((None, (ModelPart(name, UNSURE_LOOKAHEAD, confidence),)))
        pairs = list(combinations(self.drafts, 2))
        for lower, upper in pairs:
            for confidence in CONFIDENCES_IN_PAIRS:
                unsure = ModelPart(lower, UNSURE_LOOKAHEAD, confidence)
                under.append((None, (unsure, ModelPart(upper, UNSURE_LOOKAHEAD))))
        for lower, upper in pairs:
            for first, second in PAIRS:
                under.append((None, (ModelPart(lower, first), ModelPart(upper, second))))
        sources = [read_source(name) for name in self.databases]
        for source in sources:
            under.append((source, ()))
        for source in sources:
            for name in self.drafts:
                for lookahead in OVER_DATABASE:
                    under.append((source, (ModelPart(name, lookahead),)))
        return tuple(Stack(source, (*drafts, ModelPart(TARGET))) for source, drafts in under)

    def texts(self) -> dict[str, Any]:
        """Return a description of the decoded texts."""
        texts = "\0".join(p.text for p in self.suite.prompts)
        return {
            "suite": self.suite.name,
            "prompts": len(self.suite.prompts),
            "hash": hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            "max_new_tokens": self.max_new_tokens,
            "drafts": list(self.drafts),
            "bottoms": list(self.databases),
        }

    def probe(self, engine: Engine) -> TraceMeta:
        """Return the meta of one token decoded with a stack of all models."""
        stack = Stack(None, (*(ModelPart(d, 1) for d in self.drafts), ModelPart(TARGET)))
        return decode(engine, self.suite.prompts[0], stack, 1, self.sampling).meta


def calibrate(
    engine: Engine, work: Workload, progress: Progress = ignore_progress
) -> StoredCalibration:
    """Calibrate an engine. ``progress`` is called before each decode.

    Raises:
        UserError: for invalid input, or if all outputs are empty.
    """
    prompts = work.suite.prompts
    stacks = work.stacks()
    sampling = work.sampling
    total = len(stacks) * len(prompts)
    created = time.time()
    for stack in stacks:
        progress(0, total, f"{stack}  warming up")
        decode(engine, prompts[0], stack, min(WARM_UP_TOKENS, work.max_new_tokens), sampling)
    progress(0, total, "timing forward passes")
    engine.wait_ready()
    of_engine = identity(work.probe(engine))
    shapes = _isolated_forwards(engine, (*work.drafts, TARGET))
    traces: list[Trace] = []
    for k, prompt in enumerate(prompts):
        for stack in stacks:
            progress(len(traces), total, f"{stack}  {prompt.id}")
            traces.append(decode(engine, prompt, stack, work.max_new_tokens, at(sampling, k)))
    if not any(map(len, traces)):
        raise UserError("no token was decoded on the calibration prompts: every text ended at once")
    estimates = estimate(traces, (*work.drafts, TARGET))
    verified = verifications(traces)
    costs = dict(estimates.costs)
    for name in shapes.keys() & costs.keys() & verified.keys():
        costs[name] = replace(costs[name], forward=fit_curve(shapes[name], verified[name]))
    rounds, looked_up = rounds_of(traces)
    counts = {pair: len(rows) for pair, rows in rounds.items()}
    for pair, lookups in looked_up.items():
        counts[pair] = lookups.total()
    return StoredCalibration(
        identity=of_engine,
        texts=work.texts(),
        created=created,
        seconds=time.time() - created,
        calibration=replace(estimates, costs=costs),
        rounds={" > ".join(pair): number for pair, number in counts.items()},
    )


def _isolated_forwards(engine: Engine, names: Sequence[str]) -> dict[str, dict[int, float]]:
    """Return the times of isolated forward passes of each model of this process, by width."""
    models = {}
    for name in names:
        model = engine.model(name)
        if model is not None:
            models[name] = model
    return time_forwards(models) if models else {}


def calibrated(
    engine: Engine, work: Workload, progress: Progress = ignore_progress, *, fresh: bool = False
) -> tuple[StoredCalibration, bool]:
    """Return (calibration, whether it was stored): a recent stored calibration if there is one,
    else a new one, which is saved. ``fresh`` always measures again.
    """
    progress(0, 0, "loading the models")
    engine.wait_ready()
    if not fresh and (stored := newest(identity(work.probe(engine)), work.texts())) is not None:
        return stored, True
    measured = calibrate(engine, work, progress)
    try:
        save(measured)
    except OSError as error:
        warnings.warn(f"the calibration cannot be saved: {error.strerror or error}", stacklevel=2)
    return measured, False


def decode(
    engine: Engine, prompt: Prompt, stack: str | Stack, max_new_tokens: int, sampling: Sampling
) -> Trace:
    """Run an unrecorded decode, and drop its draft rows, which are most of a trace and are not
    needed here.
    """
    options = replace(
        part_of(sampling, DecodingOptions), max_new_tokens=max_new_tokens, record=False
    )
    try:
        trace = trace_of_events(engine.events(prompt.text, stack, options))
    except PromptError as error:
        raise UserError(f"prompt {prompt.id}: {error}") from error
    for values in trace.columns["drafts"].values():
        values.clear()
    return trace


def at(sampling: Sampling, k: int) -> Sampling:
    """Return the sampling of prompt ``k``, whose seed differs between prompts but not between
    stacks.
    """
    return replace(sampling, seed=(sampling.seed + k) % 2**63)
