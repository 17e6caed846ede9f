"""Does speculative decoding pay here, what limits it, and what should be set? One computation answers all three.

Times are in plain steps of the target at the batch of the run. A round drafts D tokens and emits L; it takes w = 1 +
drafting + verification beyond a step + overhead, and the speed-up is L / w. Another draft length of the same drafter
keeps the times observed and the rounds cut at that length (longer ones: the pooled acceptance of the second position
and later). If a time was not observed, the speed-up is only bounded, and nothing is advised. What is lost of the ideal,
D + 1 tokens in one step, is divided among the causes::

    log((D + 1) / speed-up) = log((D + 1) / L)    acceptance
                            + log(w)              drafting, verification, overhead, in proportion to their times
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import ceil, exp, hypot, log, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np

from hsd_viz.adapters import settings
from hsd_viz.adapters.observation import NGRAMS, PARALLEL, TIMES, Observation
from hsd_viz.adapters.signatures import signatures
from hsd_viz.errors import parsing
from hsd_viz.intervals import RESAMPLES, UNKNOWN, Estimate, estimate, ratio
from hsd_viz.latency.law import MOST
from hsd_viz.logs.observe import (
    from_figures,
    from_trace,
    measured,
    observe,
    with_hardware,
    with_times,
)
from hsd_viz.logs.profile import Z, cells_of
from hsd_viz.stack import parse
from hsd_viz.tables import Table, lines, show
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Cause -> what it is (``is``), and what to do (``advice``).
CAUSES = json.loads(Path(__file__).with_name("causes.json").read_text(encoding="utf-8"))
#: The least gain for which another setting is advised.
LEAST_GAIN = 0.05
#: Relative standard error of times that were measured once, and of those that a hardware model gives.
TIMING, MODELLED = 0.025, 0.18
EXTENDS = ("draft", "eagle", "eagle3")


@dataclass(frozen=True, slots=True)
class Option:
    """A setting: ``stack`` as text, the drafter as an engine has it and its draft tokens, the expected speed-up."""

    stack: str
    method: str
    tokens: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict on an observation. ``shares`` of the causes sum to 1; there are none where a round's time was not
    observed. ``speedup`` and ``length`` (tokens per forward pass) have 95 % intervals where they can; ``at_most``
    bounds a speed-up that was not observed. ``observed`` is the run's own setting, ``advised`` the one to use, of
    ``options``; ``predicted`` are the times of a hardware model, ``more`` is what would decide the verdict.
    """

    observation: Observation
    length: Estimate
    findings: tuple[dict[str, str], ...]
    verdict: str = ""
    advice: str = ""
    cause: str | None = None
    shares: dict[str, float] = field(default_factory=dict)
    speedup: Estimate = UNKNOWN
    at_most: float | None = None
    observed: Option | None = None
    advised: Option | None = None
    options: tuple[Option, ...] = ()
    flags: dict[str, str] = field(default_factory=dict)
    predicted: tuple[str, ...] = ()
    more: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        seen, data = (
            self.observation,
            asdict(self) | self.length.named("length") | self.speedup.named("speedup"),
        )
        del data["observation"]
        data |= {
            "source": seen.source,
            "ms": {name: getattr(seen, name) for name in TIMES},
            "batch": seen.batch,
        }
        data |= {"busy": seen.busy, "by_position": seen.by_position() if seen.rounds else None}
        return data | {"not_observed": self.unknown()}

    @property
    def decided(self) -> bool:
        """Whether it is known on which side of 1 the speed-up is."""
        low, high = self.speedup.ends or (1.0, 1.0)
        return not low <= 1 <= high

    def unknown(self) -> list[str]:
        """Return the times that were not observed."""
        seen = self.observation
        parts = (
            [name for name, value in seen.parts().items() if value is None]
            if seen.round is None
            else []
        )
        return [*(["a plain step"] if seen.step is None else []), *parts]

    def lines(self) -> list[str]:
        """Return the verdict and what follows from it, as lines."""
        return lines("doctor.jinja", it=self)

    def tables(self) -> list[Table]:
        """Return shares, acceptance by position and options."""
        seen, parts = self.observation, self.observation.parts()
        rows = [["cause", "share of the loss", "extra time in steps"]]
        for cause, share in self.shares.items():
            rows.append([cause, f"{share:.0%}", show(parts.get(cause), "{:.2f}")])
        length, speedup = show(self.length, "{:.2f}"), show(self.speedup, "{:.2f}")
        note = f"tokens per forward pass {length}, drafted {sum(seen.survival()[0]):.1f}, speed-up {speedup}"
        tables = [Table("Where the speed-up goes", rows if self.shares else [], note)]
        if rates := seen.rates_by_position()[:8]:
            rows = [
                ["position", *map(str, range(1, len(rates) + 1))],
                ["accepted", *(f"{rate:.2f}" for rate in rates)],
            ]
            tables.append(
                Table(
                    "Acceptance by position",
                    rows,
                    "of the rounds that drafted k, those that accepted k",
                )
            )
        if cells := cells_of(seen.requests):
            rows = [
                [
                    "category",
                    "context",
                    "temperature",
                    "rounds",
                    "tokens per pass",
                    "position 1",
                    "2",
                    "3",
                    "4",
                ]
            ]
            for cell in cells:
                rates, most = cell["marginal_accept_rates"], cell["context"]
                about = [
                    cell["category"] or "-",
                    f"up to {most:,}" if most else "-",
                    show(cell["temperature"], "{:g}"),
                ]
                shown = [f"{rate:.2f}" for rate in (1 + sum(rates), *rates[:4])]
                rows.append([*about, str(cell["rounds"]), *[*shown, *["-"] * 4][:5]])
            tables.append(Table("Acceptance by category, context and temperature", rows))
        if self.options:
            rows = [["setting", "speed-up"]]
            for k, one in enumerate(sorted(self.options, key=lambda option: -option.speedup)):
                if k < 6 or one in (self.observed, self.advised):
                    present = " (present)" if one == self.observed else ""
                    rows.append([f"{one.stack}{present}", f"{one.speedup:.2f}"])
            note = "the present one as observed, the others by its times and rounds"
            tables.append(Table("Settings compared", rows, note))
        return tables


def diagnose(given: Observation, filled: Observation | None = None) -> Diagnosis:
    """Return the diagnosis of an observation; ``filled`` is the same with predicted times where it has none."""
    seen = given if filled is None else filled
    predicted = tuple(
        name for name in TIMES if getattr(given, name) is None and getattr(seen, name) is not None
    )
    curves, whole, modelled = _curves(seen), seen.whole(), given.whole() is None
    lengths = curves[1][:, seen.deepest]
    # What was observed is checked, nothing predicted.
    found = Diagnosis(
        seen, estimate(lengths, seen.total), tuple(signatures(given)), predicted=predicted
    )
    if whole is None:
        most = (found.length.value or 0.0) / seen.least()
        bound = f"at most {most:.2f} times as fast as plain decoding (not observed: {', '.join(found.unknown())})"
        if most < 1:
            return replace(
                found,
                at_most=most,
                verdict=f"speculation loses: {bound}",
                advice="turn speculation off",
            )
        give = "give tokens per second with and without speculation (--speed, --plain-speed), or the times of a round"
        return replace(
            found, at_most=most, verdict=f"undecided whether speculation pays: {bound}", advice=give
        )
    shares = _shares(seen, whole)
    cause = max(shares, key=shares.__getitem__)
    speedup, more = _speedup(seen, lengths, whole, modelled)
    low, high = speedup.ends or (1.0, 1.0)
    found = replace(found, speedup=speedup)
    observed = Option(_name(seen, seen.deepest), seen.method, seen.deepest, speedup.value or 0.0)
    off = Option(_name(seen, 0), "plain", 0, 1.0)
    others = dict(_lengths(seen, curves, observed))
    better = max(
        (one for one in others if others[one]), key=lambda one: one.speedup, default=observed
    )
    advised = observed
    if found.decided and not seen.busy:  # noise must not change a setting
        advised = better if low > 1 or better.speedup > 1 + LEAST_GAIN else off
    pays = (
        "speculation pays"
        if low > 1
        else "speculation loses"
        if high < 1
        else "undecided whether speculation pays"
    )
    tokens = advised.tokens
    if advised.method in NGRAMS:  # the longest draft that is usual: of one round in 20
        tokens = min(tokens, max(1, sum(reached >= 0.05 for reached in seen.survival()[0])))
    flags = {"hsd-viz": f'--stack "{advised.stack}"'} if seen.stack else {}
    if not _is_hierarchy(seen):  # serving engines have none
        flags |= settings(advised.method, tokens, seen.draft_model)
    return replace(
        found,
        findings=tuple(signatures(given, None if modelled or seen.busy else high)),
        verdict=f"{'predicted: ' if modelled else ''}{pays}: {show(speedup, '{:.2f}')} times as fast as plain "
        f"decoding; what limits it most: {CAUSES[cause]['is']} ({shares[cause]:.0%} of what is lost)",
        advice="measure again on a quiet machine before changing it"
        if seen.busy
        else CAUSES[cause]["advice"],
        cause=cause,
        shares=shares,
        observed=observed,
        advised=advised,
        options=(observed, off, *others),
        flags=flags,
        more="" if found.decided else more,
    )


def _name(seen: Observation, tokens: int) -> str:
    """Return a setting as text: a stack for runs of this project."""
    if not seen.stack:
        return f"{tokens} draft token{'s' * (tokens != 1)}" if tokens else "off"
    stack = parse(seen.stack)
    if not tokens:
        return str(stack.target)
    return (
        str(stack)
        if tokens == seen.deepest
        else f"{stack.drafts[0].name}:{tokens} > {stack.target}"
    )


def _is_hierarchy(seen: Observation) -> bool:
    return bool(seen.stack) and len(parse(seen.stack).parts) > 2


def _speedup(
    seen: Observation, lengths: np.ndarray, whole: float, modelled: bool
) -> tuple[Estimate, str]:
    """Return the speed-up with its interval, from rounds and times, and what more decides its side of 1."""
    value, spread = float(lengths[0]) / whole, [log(s) for s in seen.speedups]
    timing = (
        stdev(spread) / sqrt(len(spread)) if len(spread) > 1 else MODELLED if modelled else TIMING
    )
    rounds = float(np.std(np.log(lengths[1:]))) if len(lengths) > 1 else 0.0
    error = Z * hypot(timing, rounds)
    # Twice the measurements halve the square of the error; a difference of 2 % is resolved at the least.
    times = (error / max(abs(log(value)), 0.02)) ** 2 - 1
    if modelled:
        more = "measure a plain step and a verification, and give them"
    elif rounds > timing:
        more = f"record about {counted(max(1, ceil(times * seen.total)), 'more round')}"
    else:
        more = f"repeat both measurements about {counted(max(1, ceil(times * max(1, len(spread)))), 'more time')}"
    return Estimate(value, value * exp(-error), value * exp(error)), more


def _shares(seen: Observation, whole: float) -> dict[str, float]:
    """Return the share of each cause in what is lost of the ideal speed-up."""
    depth, extra = sum(seen.survival()[0]), seen.parts()
    if None in extra.values():
        extra = {"round": max(0.0, whole - 1)}
    spent = sum(time or 0.0 for time in extra.values())
    lost = {"acceptance": max(0.0, log((1 + depth) / seen.length))}
    lost |= {
        name: log(max(1.0, whole)) * (time or 0.0) / spent if spent else 0.0
        for name, time in extra.items()
    }
    total = sum(lost.values())
    return {name: part / total if total else 0.0 for name, part in lost.items()}


# --- other settings ---------------------------------------------------------------------------------------------------


def _curves(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
    """Return draft and emitted tokens of a round by draft length 0, 1, ..., ``[1 + resamples, lengths]``."""
    deepest = seen.deepest
    if seen.rounds:
        kinds, counts = np.array(list(seen.rounds)), np.array(list(seen.rounds.values()))
        # Rounds of a kind are equal: how often each kind is drawn is multinomial.
        drawn = np.random.default_rng(0).multinomial(
            seen.total, counts / seen.total, size=RESAMPLES
        )
        shares = np.vstack([counts, drawn]) / seen.total
        reached, taken = (shares @ (kinds[:, [k]] >= np.arange(1, deepest + 1)) for k in (0, 1))
    else:
        reached, taken = (np.array([one]) for one in seen.survival())
    known = deepest > 1 and not seen.by_mean and seen.method in EXTENDS
    # Beyond the drafts that were seen: the pooled acceptance of the second position and later.
    tail = np.clip(np.nan_to_num(ratio(taken[:, 1:].sum(1), taken[:, :-1].sum(1))), 0, 1)[:, None]
    further = np.arange(1, max(deepest, min(MOST, 2 * deepest) if known else 0) - deepest + 1)
    taken = np.hstack([taken, taken[:, -1:] * tail**further])
    reached = np.hstack([reached, np.repeat(reached[:, -1:], len(further), 1)])
    zero = np.zeros((len(taken), 1))
    return np.cumsum(np.hstack([zero, reached]), 1), 1 + np.cumsum(np.hstack([zero, taken]), 1)


def _lengths(
    seen: Observation, curves: tuple[np.ndarray, np.ndarray], observed: Option
) -> Iterator[tuple[Option, bool]]:
    """Yield the other draft lengths of the drafter, and whether they are certainly faster: by :data:`LEAST_GAIN`, and
    in 95 % of the resamples. The times of drafting and, beyond a step, of verification grow with the draft, the latter
    in the form of a hardware model where there is one.
    """
    fixed = seen.stack and (seen.method != "draft" or _is_hierarchy(seen))
    if fixed or None in (parts := seen.parts()).values():
        return
    depth, tokens = curves
    longer = depth / depth[:, [seen.deepest]]
    drafting = parts["drafting"] * (1.0 if seen.method in PARALLEL else longer)
    if seen.curve:
        further = lambda fed: np.interp(fed, np.arange(len(seen.curve)), seen.curve) - seen.curve[0]
        longer = further(depth) / np.maximum(further(depth[:, [seen.deepest]]), 1e-12)
    speeds = tokens / (1 + drafting + parts["verification"] * longer + parts["overhead"])
    gains = speeds / speeds[:, [seen.deepest]]
    certain = (gains[0] >= 1 + LEAST_GAIN) & (np.quantile(gains, 0.05, axis=0) > 1)
    for k in range(1, gains.shape[1]):
        if k != seen.deepest:
            yield (
                Option(_name(seen, k), seen.method, k, observed.speedup * float(gains[0, k])),
                bool(certain[k]),
            )


def doctor(
    record: str | Path | Trace | None = None,
    *,
    measure: str = "",
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
        record: a trace, or the path of a trace or a record of another engine.
        measure: instead of a record: a stack, of which a few short decodes are measured on this machine.
        acceptance: instead of both: as an engine prints it, with ``lookahead`` draft tokens.
        gpu, models, tp, context, weights: of the hardware model that fills in unknown times (:func:`hsd_viz.predict`).
        known: ``batch``, ``method``, ``draft_model`` and the figures of :func:`~hsd_viz.logs.observe.with_times`.

    Raises: ValueError: for bad input.
    """
    if measure:
        seen = measured(measure)
    elif isinstance(record, Trace):
        seen = from_trace(record, "this run")
    elif record is None:
        seen = from_figures(acceptance, lookahead)
    else:
        with parsing(record):
            seen = observe(Path(record))
    seen = with_times(seen, **known)
    return diagnose(
        seen,
        with_hardware(seen, gpu, models, tp, context=context, weights=weights) if gpu else None,
    )
