"""Does speculative decoding pay here, what limits it, and what should be set? One computation answers all three.

Times are in plain steps of the target at the batch of the run. A round drafts D tokens and emits L; it takes w = 1 +
drafting + verification beyond a step + overhead, and the speed-up is L / w. Another draft length of the same drafter
keeps the times observed and the rounds cut at that length (longer ones: the pooled acceptance of the second position
and later), so that the observed length has exactly the observed speed. Stacks of this project are compared by the
latency law, scaled so that it gives the observed stack its observed speed. A time that was not observed is unknown: the
speed-up is then bounded, and nothing is advised.

A round of D draft tokens could emit D + 1 tokens in one step. What is lost of this ideal is divided among the causes::

    log((D + 1) / speed-up) = log((D + 1) / L)    acceptance
                            + log(w)              drafting, verification, batch, overhead, in proportion to their times
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np

from hsd_viz.adapters import METHODS, settings
from hsd_viz.adapters.signatures import Facts, Finding, signatures
from hsd_viz.intervals import Estimate, estimate, ratio, resample
from hsd_viz.latency.hardware import Machine, Shape, fitted, gpu_of, shape_of
from hsd_viz.latency.law import MOST, Law
from hsd_viz.latency.select import changes, select, split
from hsd_viz.logs.observe import PARALLEL, Observation, from_figures, from_traces, observe, with_times
from hsd_viz.stack import parse
from hsd_viz.tables import Table, show
from hsd_viz.trace import Trace

#: Cause -> what it is, and what to do.
CAUSES = {
    "acceptance": (
        "the acceptance is low for drafts of this length",
        "use a draft model closer to the target or trained on this traffic, draft fewer tokens, or try databases",
    ),
    "drafting": ("the drafting is too slow", "use a smaller draft model or an n-gram drafter, or draft fewer tokens"),
    "verification": (
        "the verification is expensive: a forward pass of several tokens costs much more than one of a single token",
        "draft fewer tokens, or use a machine or kernel whose forward passes are bound by memory",
    ),
    "batch": (
        "the batch is large: its forward passes have no room for draft tokens",
        "turn speculation off at this batch size, or draft fewer tokens",
    ),
    "overhead": (
        "the overhead is high: time outside forward passes and drafting",
        "use a compiled runtime or CUDA graphs, and fewer, longer rounds",
    ),
    "round": (
        "a round takes much longer than a plain step",
        "give --verify-ms and --draft-ms to divide it into drafting, verification and overhead",
    ),
}
#: The least gain for which another setting is advised.
LEAST_GAIN = 0.05
#: Relative standard error of times that were measured once.
TIMING = 0.025
#: How far acceptance and costs may be off without a change of the advice.
DOUBT, COST_DOUBT = 0.05, 0.2
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
EXTENDS = ("draft", "eagle", "eagle3")
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Option:
    """A setting: ``stack`` as text, the drafter as an engine has it and its draft tokens, the expected speed-up."""

    stack: str
    method: str
    tokens: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """The machine of a server: step times of its models at any batch."""

    machine: Machine
    target: Shape
    draft: Shape | None = None
    context: int = 2048
    weights: str = "bf16"
    cache: str = "bf16"

    def ms(self, tokens: float, batch: int, shape: Shape | None = None) -> float:
        """Return the milliseconds of a forward pass over ``tokens`` tokens per sequence (between whole numbers:
        interpolated).
        """
        at: dict[str, Any] = {"batch": batch, "context": self.context, "weights": self.weights, "cache": self.cache}
        low = int(tokens)
        times = [self.machine.step_ms(shape or self.target, tokens=n, **at) for n in (low, low + 1)]
        return times[0] + (tokens - low) * (times[1] - times[0])

    def drafting(self, tokens: float, batch: int, method: str) -> float:
        """Return the milliseconds of drafting; an n-gram drafter takes none."""
        if method in ("lookup", "suffix"):
            return 0.0
        head = self.draft or replace(self.target, layers=1, experts=0, used=0, shared=0)
        return self.ms(1, batch, head) * (1 if method in PARALLEL else tokens)

    def fit(self, step: float, verify: float | None, tokens: float, batch: int) -> Roofline:
        """Return the roofline that has the observed times."""
        at: dict[str, Any] = {"batch": batch, "context": self.context, "weights": self.weights, "cache": self.cache}
        many = max(2, round(tokens))
        if verify is None:
            verify = step * self.ms(many, batch) / self.ms(1, batch)
        return replace(self, machine=fitted(self.machine, self.target, step, max(step, verify), many=many, **at))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on an observation.

    ``shares`` of the causes sum to 1; there are none where a round's time was not observed. ``speedup`` and ``length``
    (tokens per forward pass) have 95 % intervals where they can; ``at_most`` bounds a speed-up that was not observed.
    ``observed`` is the run's own setting, ``advised`` the one to use (``None``: unknown), ``options`` all that were
    compared. ``more`` is how much more must be measured to decide. ``by_batch`` has (batch, best draft tokens, its
    speed-up, that of the present length), ``predicted`` the times that a hardware model gave.
    """

    observation: Observation
    verdict: str
    advice: str
    cause: str | None
    shares: dict[str, float]
    length: Estimate
    speedup: Estimate
    at_most: float | None = None
    observed: Option | None = None
    advised: Option | None = None
    options: tuple[Option, ...] = ()
    more: str = ""
    flags: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    by_batch: tuple[tuple[int, int, float, float], ...] = ()
    predicted: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        seen = self.observation
        option = lambda one: None if one is None else {k: getattr(one, k) for k in Option.__slots__}
        keys = ("verdict", "advice", "cause", "shares", "at_most", "more", "flags", "predicted")
        return {
            "source": seen.source,
            **{key: getattr(self, key) for key in keys},
            **{name: getattr(self, name).value for name in ("length", "speedup")},
            **{f"{name}_ci": getattr(self, name).ends for name in ("length", "speedup")},
            "observed": option(self.observed),
            "advised": option(self.advised),
            "options": [option(one) for one in self.options],
            "ms": {name: getattr(seen, name) for name in ("step", "verify", "draft", "overhead", "round")},
            "batch": seen.batch,
            "busy": seen.busy,
            "by_position": seen.by_position() if seen.exact else None,
            "by_batch": [
                dict(zip(("batch", "tokens", "speedup", "present"), row, strict=True)) for row in self.by_batch
            ],
            "findings": [one.to_dict() for one in self.findings],
            "not_observed": self.unknown(),
        }

    def unknown(self) -> list[str]:
        """Return the times that were not observed."""
        seen = self.observation
        parts = [name for name, value in seen.parts().items() if value is None] if seen.round is None else []
        return [*(["a plain step"] if seen.step is None else []), *parts]

    def lines(self) -> list[str]:
        """Return the verdict and what follows from it, as lines."""
        lines = [f"Verdict: {self.verdict}."]
        if self.advised is not None and self.observed is not None:
            lines.append(self._advice(self.advised, self.observed))
        elif self.advice:
            lines.append(f"What to do: {self.advice}.")
        if self.more:
            lines.append(f"To decide, {self.more}.")
        if self.predicted:
            lines.append(f"Predicted by the hardware model, not measured: {', '.join(self.predicted)}.")
        if self.observation.busy:
            lines.append(f"The machine was busy: {self.observation.busy}.")
        lines += [str(one) for one in self.findings]
        return lines

    def _advice(self, advised: Option, observed: Option) -> str:
        if advised == observed and (self.observation.busy or (self.more and observed.speedup < 1)):
            return f"What to do: change nothing yet; {self.advice}."
        if advised == observed:
            return f"What to do: keep {observed.stack}, {observed.speedup:.2f} times plain decoding; {self.advice}."
        if not advised.tokens:
            return f"What to do: turn speculation off; or {self.advice}."
        present = f"{advised.speedup:.2f} times plain decoding expected, {observed.speedup:.2f} now"
        return f"What to do: use {advised.stack} instead of {observed.stack}: {present}."

    def tables(self) -> list[Table]:
        """Return shares, acceptance by position, options and the table by batch size."""
        seen, parts = self.observation, self.observation.parts()
        tables = []
        length, speedup = show(self.length, "{:.2f}"), show(self.speedup, "{:.2f}")
        depth = sum(seen.survival()[0])
        note = f"tokens per forward pass {length}, drafted {depth:.1f}, speed-up {speedup}"
        rows = [["cause", "share of the loss", "extra time in steps"]]
        for cause, share in self.shares.items():
            time = parts.get(cause)
            rows.append([cause, f"{share:.0%}", "-" if time is None else f"{time:.2f}"])
        tables.append(Table("Where the speed-up goes", rows if self.shares else [], note))
        if seen.exact or seen.rates:
            reached, taken = seen.survival()
            rows = [["position", *(str(k) for k in range(1, min(8, len(taken)) + 1))]]
            rows += [["accepted", *(f"{a / r:.2f}" if r else "-" for a, r in zip(taken[:8], reached[:8], strict=True))]]
            tables.append(Table("Acceptance by position", rows, "of the rounds that drafted k, those that accepted k"))
        if self.options:
            rows = [["setting", "speed-up"]]
            best = sorted(self.options, key=lambda one: -one.speedup)[:6]
            rows += [
                [f"{one.stack}{' (present)' if one == self.observed else ''}", f"{one.speedup:.2f}"] for one in best
            ]
            tables.append(
                Table("Settings compared", rows, "the present one as observed, the others by the latency law")
            )
        if self.by_batch:
            rows = [["batch", "draft tokens", "speed-up", "present setting"]]
            rows += [[str(b), str(k) if k else "off", f"{s:.2f}", f"{now:.2f}"] for b, k, s, now in self.by_batch]
            tables.append(Table("By batch size", rows, "by the hardware model"))
        return tables

    def settings(self) -> Table:
        """Return the settings to paste as a table; without rows where nothing is advised."""
        rows = [["engine", "settings"], *map(list, self.flags.items())]
        return Table("Settings to paste", rows if self.flags else [])


def diagnose(seen: Observation, roofline: Roofline | None = None) -> Diagnosis:
    """Return the diagnosis of an observation; ``roofline`` supplies times that were not observed, and other batches."""
    predicted: tuple[str, ...] = ()
    if roofline is not None:
        seen, roofline, predicted = _filled(seen, roofline)
    whole, weights = seen.whole(), _resampled(seen)
    kinds = list(seen.rounds)
    lengths = ratio(weights @ np.array([a for _, a in kinds], float), weights.sum(1)) + 1
    units = sum(seen.rounds.values()) if seen.exact else 1
    length = estimate(lengths, units)
    findings = tuple(signatures(_facts(seen)))
    if whole is None:
        return _bounded(seen, length, findings)
    shares = _shares(seen, whole, roofline)
    cause = max(shares, key=shares.__getitem__)
    what, advice = CAUSES[cause]
    speedup, more = _speedup(seen, lengths, whole, bool(predicted))
    observed = Option(_name(seen, seen.deepest), seen.method, seen.deepest, speedup.value or 0.0)
    options = (observed, Option(_name(seen, 0), "plain", 0, 1.0), *_alternatives(seen, observed, weights, roofline))
    low, high = speedup.ends or (observed.speedup, observed.speedup)
    robust = [one for one in options[2:] if _robust(seen, one, observed, weights, roofline)]
    better = max(robust, key=lambda one: one.speedup, default=None)
    advised = observed
    if better is not None and better.speedup > (1 + LEAST_GAIN if high < 1 else 0):
        advised = better
    elif high < 1:
        advised = options[1]
    if low <= 1 <= high or seen.busy:  # noise must not change a setting
        advised = observed
    if seen.busy:
        advice = "measure again on a quiet machine before changing it"
    said = "predicted: " if predicted and seen.round is None else ""
    limits = f"what limits it most: {what} ({shares[cause]:.0%} of what is lost)"
    figure = f"{show(speedup, '{:.2f}')} times as fast as plain decoding"
    if low > 1:
        verdict = f"{said}speculation pays: {figure}; {limits}"
    elif high < 1:
        verdict = f"{said}speculation loses: {figure}; {limits}"
    else:
        verdict = f"{said}undecided whether speculation pays: {figure}; {limits}"
    by_batch = () if roofline is None else tuple(_by_batch(seen, roofline))
    schedule = [(batch, advised.tokens if batch == seen.batch else tokens) for batch, tokens, *_ in by_batch]
    single = advised if advised.method in ("plain", seen.method) and _single(advised.stack, seen) else None
    if single is None:  # serving engines have no hierarchies
        best = max((one for one in options if _single(one.stack, seen)), key=lambda one: one.speedup)
        single = best
    flags = settings(single.method, single.tokens, seen.draft_model, schedule)
    if seen.stack:
        flags = {"hsd-viz": f'--stack "{advised.stack}"'} | flags
    return Diagnosis(
        seen, verdict, advice, cause, shares, length, speedup, None, observed, advised, options,
        more if low <= 1 <= high else "", flags, findings, by_batch, predicted,
    )  # fmt: skip


def _bounded(seen: Observation, length: Estimate, findings: tuple[Finding, ...]) -> Diagnosis:
    """Return what is known where a part of a round's time is not: a bound on the speed-up."""
    assert length.value is not None
    most = length.value / seen.least()
    bound = f"at most {most:.2f} times as fast as plain decoding"
    found = Diagnosis(seen, "", "", None, {}, length, Estimate(), most, findings=findings)
    missing = f"not observed: {', '.join(found.unknown())}"
    if most < 1:
        return replace(found, verdict=f"speculation loses: {bound} ({missing})", advice="turn speculation off")
    give = "give tokens per second with and without speculation (--speed, --plain-speed), or the times of a round"
    return replace(found, verdict=f"undecided whether speculation pays: {bound} ({missing})", advice=give)


def _facts(seen: Observation) -> Facts:
    """Return what the signatures of misconfiguration are checked against."""
    reached, taken = seen.survival()
    whole = seen.whole()
    return Facts(
        seen.method,
        sum(seen.rounds.values()),
        seen.deepest,
        seen.length,
        [a / r if r else 0.0 for a, r in zip(taken, reached, strict=True)] if seen.exact or seen.rates else [],
        seen.batch,
        None if whole is None else seen.length / whole,
        **seen.parts(),
        requests=seen.requests,
    )


def _name(seen: Observation, tokens: int) -> str:
    """Return a setting as text: a stack for runs of this project."""
    if not seen.stack:
        return f"{tokens} draft tokens" if tokens else "off"
    stack = parse(seen.stack)
    if not tokens:
        return str(stack.target)
    if tokens == seen.deepest or stack.bottom is not None or len(stack.drafts) != 1:
        return str(stack)
    return f"{stack.drafts[0].name}:{tokens} > {stack.target}"


def _single(stack: str, seen: Observation) -> bool:
    """Whether a setting has at most one source of drafts."""
    return not seen.stack or len(parse(stack).parts) <= 2


def _resampled(seen: Observation) -> np.ndarray:
    """Return how often each kind of round counts in the sample (row 0) and its resamples; means have no resamples."""
    counts = np.array(list(seen.rounds.values()))
    if not seen.exact:
        return counts[None].astype(float)
    # Rounds of a kind are equal: how often each kind is drawn is multinomial.
    total = counts.sum()
    draws = np.random.default_rng(0).multinomial(total, counts / total, size=len(resample(2)) - 1)
    return np.vstack([counts, draws]).astype(float)


def _speedup(seen: Observation, lengths: np.ndarray, whole: float, predicted: bool) -> tuple[Estimate, str]:
    """Return the speed-up with its interval, from rounds and times, and what more decides its side of 1."""
    value, spread = float(lengths[0]) / whole, [log(s) for s in seen.speedups]
    n = len(spread)
    timing = stdev(spread) / sqrt(n) if n > 1 else 0.18 if predicted else TIMING
    rounds = float(np.std(np.log(lengths[1:]))) if len(lengths) > 1 else 0.0
    error = _Z * sqrt(timing**2 + rounds**2)
    # A difference of 2 % is resolved at the least.
    times = (error / max(abs(log(value)), 0.02)) ** 2 - 1
    if predicted:
        more = "measure a plain step and a verification, and give them"
    elif rounds > timing:
        more = f"record about {max(1, round(times * sum(seen.rounds.values())))} more rounds"
    else:
        more = f"repeat both measurements about {max(1, round(times * max(1, n)))} more times"
    return Estimate(value, value * exp(-error), value * exp(error)), more


def _shares(seen: Observation, whole: float, roofline: Roofline | None) -> dict[str, float]:
    """Return the share of each cause in what is lost of the ideal speed-up."""
    depth = sum(seen.survival()[0])
    lost = {"acceptance": max(0.0, log((1 + depth) / seen.length))}
    extra = seen.parts()
    if None in extra.values():
        extra = {"round": max(0.0, whole - 1)}
    elif roofline is not None and seen.batch > 1 and extra["verification"]:
        alone = roofline.ms(depth + 1, 1) / roofline.ms(1, 1) - 1
        extra["verification"], full = min(alone, extra["verification"]), extra["verification"]
        extra["batch"] = full - extra["verification"]
    spent = sum(extra.values())  # type: ignore[arg-type]
    for name, time in extra.items():
        lost[name] = log(max(1.0, whole)) * (time or 0.0) / spent if spent else 0.0
    total = sum(lost.values())
    return {name: part / total if total else 0.0 for name, part in lost.items()}


def _curves(seen: Observation, weights: np.ndarray, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return draft tokens and emitted tokens of a round by draft length 0, 1, ..., ``[resamples, lengths]``."""
    deepest = seen.deepest
    if seen.exact:
        kinds, places = np.array(list(seen.rounds)), np.arange(1, deepest + 1)
        shares = weights / weights.sum(1, keepdims=True)
        reached, taken = (shares @ (kinds[:, [k]] >= places) for k in (0, 1))
    else:
        reached, taken = (np.array([one], float) for one in seen.survival())
    if shift:
        before = np.hstack([reached[:, :1], taken[:, :-1]])
        rates = np.divide(taken, before, out=np.zeros_like(taken), where=before > 0) + shift
        taken = np.minimum(np.cumprod(np.clip(rates, 0, 1), axis=1) * reached[:, :1], reached)
    known = deepest > 1 and (seen.exact or seen.rates) and seen.method in EXTENDS
    most = max(deepest, min(MOST, 2 * deepest)) if known else deepest
    # Beyond the drafts that were seen: the pooled acceptance of the second position and later.
    tail = np.clip(ratio(taken[:, 1:].sum(1), taken[:, :-1].sum(1)), 0, 1)[:, None] if most > deepest else 0.0
    further = np.arange(1, most - deepest + 1)
    taken = np.hstack([taken, taken[:, -1:] * tail**further])
    reached = np.hstack([reached, np.repeat(reached[:, -1:], len(further), 1)])
    zero = np.zeros((len(taken), 1))
    return np.cumsum(np.hstack([zero, reached]), 1), 1 + np.cumsum(np.hstack([zero, taken]), 1)


def _gains(
    seen: Observation,
    weights: np.ndarray,
    roofline: Roofline | None,
    *,
    shift: float = 0.0,
    verify: float = 1.0,
    draft: float = 1.0,
) -> np.ndarray:
    """Return the speed at each draft length relative to the present one, ``[resamples, lengths]``. ``shift`` is added
    to every acceptance; the extra time of verification and the time of drafting are multiplied.
    """
    depth, tokens = _curves(seen, weights, shift)
    now, parts = depth[:, [seen.deepest]], seen.parts()
    share = depth / now
    drafting = draft * (parts["drafting"] or 0.0) * (1.0 if seen.method in PARALLEL else share)
    extra = verify * (parts["verification"] or 0.0) * share
    if roofline is not None:
        curve = np.array([roofline.ms(m, seen.batch) for m in range(1, int(depth.max()) + 3)])
        at = lambda d: np.interp(d, np.arange(len(curve)), curve) - curve[0]
        extra = verify * (parts["verification"] or 0.0) * at(depth) / np.maximum(at(now), 1e-12)
    time = 1 + drafting + extra + (parts["overhead"] or 0.0)
    speed = tokens / time
    return speed / speed[:, [seen.deepest]]


def _alternatives(seen: Observation, observed: Option, weights: np.ndarray, roofline: Roofline | None) -> list[Option]:
    """Return the other draft lengths of the drafter, and the other stacks whose costs and acceptance are known."""
    found: list[Option] = []
    if None not in seen.parts().values() and _single(observed.stack, seen):
        gains = _gains(seen, weights, roofline)[0]
        lengths = [k for k in range(1, len(gains)) if k != seen.deepest and not (seen.stack and seen.method != "draft")]
        found += [Option(_name(seen, k), seen.method, k, observed.speedup * float(gains[k])) for k in lengths]
    if seen.calibration is not None and parse(seen.stack).target.name == seen.calibration.target:
        law = Law(seen.calibration)
        try:
            now = law.predict(seen.stack)
        except ValueError:  # something of the stack was not measured
            return found
        known = {one.stack for one in (observed, *found)}
        for one in select(seen.calibration).ranked:
            stack = parse(one.stack)
            # Lengths of the same drafter are compared by its rounds.
            same = _single(observed.stack, seen) and split(stack)[0] == split(parse(observed.stack))[0]
            if one.stack not in known and not same and len(stack.parts) > 1:
                drafter = "draft" if stack.drafts else "suffix" if "suffix" in one.stack else "lookup"
                tokens = (stack.drafts[-1].lookahead or 1) if stack.drafts else seen.deepest
                speedup = observed.speedup * now.ms_per_token / one.ms_per_token
                found.append(Option(one.stack, drafter, int(tokens), speedup))
    return found


def _robust(seen: Observation, one: Option, observed: Option, weights: np.ndarray, roofline: Roofline | None) -> bool:
    """Whether a setting is faster than the present one by :data:`LEAST_GAIN`, and still faster in 95 % of the resamples
    and with acceptance or a cost that is off.
    """
    if one.speedup < observed.speedup * (1 + LEAST_GAIN):
        return False
    doubts = [{"shift": DOUBT}, {"shift": -DOUBT}]
    doubts += [{name: 1 + by} for name in ("verify", "draft") for by in (-COST_DOUBT, COST_DOUBT)]
    if one.method == seen.method and (not seen.stack or one.stack == _name(seen, one.tokens)):
        gains = _gains(seen, weights, roofline)[:, one.tokens]
        shifted = [_gains(seen, weights[:1], roofline, **doubt)[0, one.tokens] for doubt in doubts]
        return bool(np.nanquantile(gains, 0.05) > 1 and min(shifted) > 1)
    assert seen.calibration is not None
    for _, calibration in changes(seen.calibration, DOUBT, COST_DOUBT):
        law = Law(calibration)
        if law.predict(one.stack).ms_per_token >= law.predict(seen.stack).ms_per_token:
            return False
    return True


def _filled(seen: Observation, roofline: Roofline) -> tuple[Observation, Roofline, tuple[str, ...]]:
    """Return the observation with the times that the roofline predicts where they were not observed, the roofline
    fitted on those that were, and the names of the predicted ones.
    """
    depth, batch = sum(seen.survival()[0]), seen.batch
    if seen.step is not None:
        roofline = roofline.fit(seen.step, seen.verify, depth + 1, batch)
    guesses = {
        "step": roofline.ms(1, batch),
        "verify": roofline.ms(depth + 1, batch),
        "draft": roofline.drafting(depth, batch, seen.method),
        "overhead": 0.0,
    }
    if seen.round is not None:
        # The time of a round is known: what is left of it is overhead.
        spent = sum(getattr(seen, name) or guesses[name] for name in ("verify", "draft"))
        guesses["overhead"] = max(0.0, seen.round - spent)
    predicted = tuple(name for name in guesses if getattr(seen, name) is None)
    filled: dict[str, Any] = {name: guesses[name] for name in predicted}
    return replace(seen, **filled), roofline, predicted


def _by_batch(seen: Observation, roofline: Roofline) -> list[tuple[int, int, float, float]]:
    """Return by batch size: the best draft length (0: off), its speed-up, and that of the present length."""
    depth, tokens = (curve[0] for curve in _curves(seen, _resampled(seen)[:1]))
    anchor = (seen.draft or 0.0) / (roofline.drafting(depth[seen.deepest], seen.batch, seen.method) or 1.0)
    rows = []
    for batch in sorted({*BATCHES, seen.batch}):
        plain, speeds = roofline.ms(1, batch), []
        for k in range(1, len(depth)):
            drafting = anchor * roofline.drafting(depth[k], batch, seen.method)
            if seen.method in ("lookup", "suffix"):
                drafting = (seen.draft or 0.0) * batch / seen.batch
            time = roofline.ms(depth[k] + 1, batch) + drafting + (seen.overhead or 0.0)
            speeds.append(tokens[k] * plain / time)
        best = max(range(len(speeds)), key=speeds.__getitem__)
        if speeds[best] < speeds[seen.deepest - 1] * (1 + LEAST_GAIN):
            best = seen.deepest - 1
        off = speeds[best] <= 1
        rows.append((batch, 0 if off else best + 1, 1.0 if off else speeds[best], speeds[seen.deepest - 1]))
    return rows


def roofline_of(gpu: str, models: Sequence[str], tp: int = 1, **options: Any) -> Roofline:
    """Return the roofline of a GPU for a target and, after it, its draft model (a name, a ``config.json``, or a draft
    head such as ``eagle3``). Raises: ValueError: for unknown names.
    """
    target, *drafts = [name.strip() for name in models]
    draft = shape_of(drafts[0]) if drafts and drafts[0] not in METHODS else None
    return Roofline(Machine(gpu_of(gpu), tp), shape_of(target), draft, **options)


def doctor(
    record: str | Path | Trace | Sequence[Trace] | None = None,
    *,
    stack: str | None = None,
    acceptance: Sequence[float] = (),
    lookahead: int | None = None,
    gpu: str = "",
    models: Sequence[str] = (),
    tp: int = 1,
    context: int = 2048,
    weights: str = "bf16",
    **known: Any,
) -> Diagnosis:
    """Return why speculative decoding is not faster, and what to set.

    Args:
        record: a trace, several of one stack, or the path of a trace, a bench report or a record of another engine;
            ``None``: ``acceptance`` instead, as an engine prints it, with ``lookahead`` draft tokens.
        stack: the row of a bench report.
        gpu, models: the GPU, and the target and its draft model on it: a hardware model fills in what is not known.
        tp, context, weights: of the hardware model, as in :func:`hsd_viz.predict`.
        known: ``batch``, ``method``, ``draft_model``, ``speed`` and ``plain_speed`` (tokens per second), and
            ``step``, ``verify``, ``draft``, ``overhead`` (ms).

    Raises: ValueError: for bad input.
    """
    roofline = roofline_of(gpu, models, tp, context=context, weights=weights) if gpu else None
    if record is None:
        seen = from_figures(acceptance, lookahead)
    elif isinstance(record, str | Path):
        seen = observe(Path(record), stack)
    else:
        seen = from_traces([record] if isinstance(record, Trace) else record, "this run")
    return diagnose(with_times(seen, **known) if known else seen, roofline)
