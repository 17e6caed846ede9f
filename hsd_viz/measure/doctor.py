"""Does speculative decoding pay here, what limits it, and what should be set?

One computation answers all three. Times are in plain steps of the target at the batch of the run.
A round drafts D tokens and emits L; it takes w = 1 + drafting + verification beyond a step +
overhead, and the speed-up is L / w, at most L (:mod:`hsd_viz.latency.speedup`). Another draft
length of the same drafter keeps the times observed and the rounds cut at that length (longer ones:
the pooled acceptance of the second position and later). If a time was not observed, the speed-up
is only bounded. What is lost of the ideal, D + 1 tokens in one step, is divided among the causes::

    log((D + 1) / speed-up) = log((D + 1) / L)    acceptance
                            + log(w)              drafting, verification, overhead, by their times

The error of a speed-up is that of the times and of the rounds. Two draft lengths share the times
of a machine, so their ratio is far more certain than either: a better length is advised whenever
it is certainly better, whether or not speculation pays at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import ceil, log, log2
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.latency.law import MOST
from hsd_viz.latency.speedup import (
    RESOLVED,
    SpeedUp,
    Z,
    combined,
    repeated,
    repeats_to_decide,
    speed_up,
)
from hsd_viz.measure.findings import Finding, findings
from hsd_viz.measure.observation import TIMES, Observation
from hsd_viz.measure.observe import (
    Observed,
    from_figures,
    from_trace,
    measured,
    observe,
    with_hardware,
    with_times,
)
from hsd_viz.measure.profile import cells_of
from hsd_viz.records.settings import NGRAMS, PARALLEL, settings
from hsd_viz.records.time import Change
from hsd_viz.results.estimate import RESAMPLES, UNKNOWN, Estimate, estimate, ratio, resample
from hsd_viz.results.kinds import structure_of
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, as_text
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: The least gain for which another setting is advised.
LEAST_GAIN = 0.05
#: Relative standard error of times that were measured once, and of those of a hardware model.
TIMING = 0.025
MODELLED = 0.18
#: Error of the ratio of two draft lengths whose times are those of a hardware model.
RATIO_MODELLED = 0.05
#: Drafters that can be extended beyond the drafts that were seen.
EXTENDS = ("draft", "eagle", "eagle3")
#: Rows of a table of settings, and positions of a table of acceptance.
MOST_OPTIONS = 6
MOST_POSITIONS = 8
#: Lines of a record with about as many running requests, from which a speed is reported.
LEAST_LINES = 3
#: Batches of a hardware model.
WHAT_IF_BATCHES = (1, 4, 16, 64, 256)
#: The share of the forward passes without a draft from which it is a cause of its own.
IDLE = 0.2


@dataclass(frozen=True, slots=True)
class Option:
    """A setting.

    Attributes:
        stack: the setting as text.
        method: the drafter as an engine has it; ``plain``: none.
        tokens: its draft tokens.
        speedup: the expected speed-up.
    """

    stack: str
    method: str
    tokens: int
    speedup: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens per forward pass by draft length: what a record says without any time.

    Attributes:
        tokens: the draft length.
        tokens_per_pass: its expected tokens per forward pass.
    """

    tokens: int
    tokens_per_pass: Estimate


@dataclass(frozen=True, slots=True)
class Batch:
    """What a setting brings at a batch.

    Attributes:
        requests: requests decoded together, as text.
        lines: lines of the record with so many; 0: predicted by a hardware model.
        tokens_per_second: of one request, with speculation.
        speedup: over plain decoding.
    """

    requests: str
    lines: int
    tokens_per_second: Estimate
    speedup: Estimate


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """The verdict on an observation.

    Attributes:
        observation: what was observed, with predicted times where there are.
        length: tokens per forward pass.
        findings: signs of misconfiguration.
        verdict: the verdict, without a full stop.
        advice: what to do, where no other setting is advised.
        cause: what limits the speed-up most.
        shares: the share of each cause in what is lost; they sum to 1.
        speedup: with its 95 % interval.
        note: what the bound says of the times, "" where it holds.
        at_most: the bound of a speed-up that was not observed.
        observed: the run's own setting.
        advised: the setting to use.
        options: the settings compared.
        lengths: tokens per forward pass by draft length.
        batches: speeds by batch: those of the record, and those of a hardware model.
        flags: the settings of engines.
        predicted: the times of a hardware model.
        more: what would decide the verdict.
        changes: where figures changed in the middle of the record.
        remarks: what was read, skipped and refused.
        model: the served model, "" where it is not named.
    """

    observation: Observation
    length: Estimate
    findings: tuple[Finding, ...]
    verdict: str = ""
    advice: str = ""
    cause: str | None = None
    shares: dict[str, float] = field(default_factory=dict)
    speedup: Estimate = UNKNOWN
    note: str = ""
    at_most: float | None = None
    observed: Option | None = None
    advised: Option | None = None
    options: tuple[Option, ...] = ()
    lengths: tuple[Lengths, ...] = ()
    batches: tuple[Batch, ...] = ()
    flags: dict[str, str] = field(default_factory=dict)
    predicted: tuple[str, ...] = ()
    more: str = ""
    changes: tuple[Change, ...] = ()
    remarks: tuple[str, ...] = ()
    model: str = ""

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Diagnosis of {self.observation.source}"

    def headline(self) -> str:
        """Return the verdict as a sentence."""
        return f"Verdict: {self.verdict}."

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON data."""
        seen = self.observation
        data = asdict(self) | self.length.named("length") | self.speedup.named("speedup")
        del data["observation"]
        data["findings"] = [one.to_dict() for one in self.findings]
        data["lengths"] = [
            {"tokens": one.tokens, **one.tokens_per_pass.named("tokens_per_pass")}
            for one in self.lengths
        ]
        data["batches"] = [
            {
                "requests": one.requests,
                "lines": one.lines,
                **one.tokens_per_second.named("tokens_per_second"),
                **one.speedup.named("speedup"),
            }
            for one in self.batches
        ]
        data["changes"] = [asdict(one) | {"words": one.words} for one in self.changes]
        data["source"] = seen.source
        data["ms"] = {name: getattr(seen, name) for name in TIMES}
        data["batch"] = seen.batch
        data["busy"] = seen.busy
        data["by_position"] = seen.by_position() if seen.rounds else None
        data["not_observed"] = self.unknown()
        data["without_draft"] = seen.without_draft
        return data

    @property
    def decided(self) -> bool:
        """Whether it is known on which side of 1 the speed-up is."""
        low, high = self.speedup.ends or (1.0, 1.0)
        return not low <= 1 <= high

    def unknown(self) -> list[str]:
        """Return the times that were not observed."""
        seen = self.observation
        missing = ["a plain step"] if seen.step is None else []
        if seen.round is None:
            missing += [name for name, value in seen.parts().items() if value is None]
        return missing

    def lines(self) -> list[str]:
        """Return the verdict and what follows from it, as lines."""
        lines = [self.headline(), f"What to do: {self._what_to_do()}."]
        if self.note:
            lines.append(f"Impossible times: {self.note}; the speed-up is capped.")
        if self.more:
            lines.append(f"Undecided yet: to decide, {self.more}.")
        if self.predicted:
            names = ", ".join(self.predicted)
            lines.append(f"Predicted by the hardware model, not measured: {names}.")
        if self.observation.busy:
            lines.append(f"The machine was busy: {self.observation.busy}.")
        if not self.observation.drafted_known:
            lines.append(
                "The record does not report how many tokens were drafted: what rejected ones "
                "cost is not known."
            )
        lines += [f"Change in time: {one.words}." for one in self.changes]
        lines += [one.words for one in self.findings]
        lines += [f"Record: {remark}." for remark in self.remarks]
        return lines

    def _what_to_do(self) -> str:
        """Return the advice as text."""
        now = self.observed
        best = self.advised
        first = self._first_of_all()
        if now is None or best is None:
            return f"{first}{self.advice}"
        return first + self._setting_words(now, best)

    def _first_of_all(self) -> str:
        """Return what comes before any setting: a record that is not what it seems."""
        rules = [one.rule for one in self.findings]
        if "collapses in time" in rules:
            return "find out first why acceptance collapsed (below); then "
        if "everything accepted" in rules:
            return "find out first why everything is accepted (below); then "
        if "nothing accepted" in rules:
            off = self.advised is not None and not self.advised.tokens
            return (
                "check that the drafter fits the target (below); "
                f"{'until then' if off else 'then'} "
            )
        return ""

    def _setting_words(self, now: Option, best: Option) -> str:
        """Return the advice about the present and the better setting as text."""
        present = f"{now.speedup:.2f}"
        undecided = not self.decided and now.speedup < 1
        if best == now and (self.observation.busy or undecided or self.note):
            return f"change nothing yet; {self.advice}"
        aim = "to see what limits it" if self.cause == "round" else "for more"
        if best == now:
            return f"keep {now.stack}, {present} times plain decoding; {aim}, {self.advice}"
        if not best.tokens:
            return f"turn speculation off; or {self.advice}"
        longer = best.tokens > now.tokens
        words = (
            f"{'try' if longer else 'use'} {best.stack} instead of {now.stack}: {best.speedup:.2f} "
            f"times plain decoding expected, {present} now"
        )
        if longer:
            words += f", {_if_extended(now.tokens, best.tokens)}"
        if self.cause in ("drafting", "overhead"):
            words += f"; for more, {self.advice}"
        if not self.decided:
            words += "; whether speculation pays at all is undecided"
        return words

    # --- tables

    def tables(self) -> list[Table]:
        """Return shares, acceptance by position, the course in time and the settings compared."""
        tables = [self._shares_table()]
        tables += [
            table
            for table in (
                self._positions_table(),
                self._course_table(),
                self._cells_table(),
                self._lengths_table(),
                self._batches_table(),
                self._options_table(),
            )
            if table is not None
        ]
        return tables

    def _shares_table(self) -> Table:
        seen = self.observation
        parts = seen.parts()
        rows = [["cause", "share of the loss", "extra time in steps", "ms per round"]]
        for cause, share in self.shares.items():
            steps = parts.get(cause)
            ms = None
            if steps is not None and seen.step is not None:
                ms = steps * seen.step
            rows.append([cause, f"{share:.0%}", as_text(steps, "{:.2f}"), as_text(ms, "{:.3g}")])
        length = as_text(self.length, "{:.2f}")
        speedup = as_text(self.speedup, "{:.2f}")
        drafted = f"{seen.drafted:.1f}" if seen.drafted_known else "not reported"
        note = f"tokens per forward pass {length}, drafted {drafted}, speed-up {speedup}"
        if seen.without_draft:
            note += f", {seen.without_draft:.0%} of the forward passes without a draft"
        return Table("Where the speed-up goes", rows if self.shares else [], note)

    def _positions_table(self) -> Table | None:
        seen = self.observation
        if seen.varied:
            rates = list(seen.rates)[:MOST_POSITIONS]
            note = (
                "of all drafts, as the engine reports it: drafts have several lengths, which are "
                "unknown, and a draft shorter than k counts as rejected at position k"
            )
        else:
            rates = seen.rates_by_position()[:MOST_POSITIONS]
            note = "of the rounds that drafted k, those that accepted k"
        if not rates:
            return None
        rows = [
            ["position", *(str(k) for k in range(1, len(rates) + 1))],
            ["accepted", *(f"{rate:.2f}" for rate in rates)],
        ]
        return Table("Acceptance by position", rows, note)

    def _course_table(self) -> Table | None:
        if not self.changes:
            return None
        rows = [["figure", "from record", "line", "before", "after"]]
        for one in self.changes:
            form = "{:.1%}" if one.figure == "acceptance" else "{:.1f}"
            rows.append(
                [
                    one.figure,
                    str(one.number),
                    str(one.line),
                    form.format(one.before),
                    form.format(one.after),
                ]
            )
        return Table("Changes in time", rows, "the figures above are pooled over all of it")

    def _cells_table(self) -> Table | None:
        cells = cells_of(self.observation.requests)
        if not cells:
            return None
        head = ["category", "context", "temperature", "rounds", "tokens per pass"]
        rows = [[*head, "position 1", "2", "3", "4"]]
        for cell in cells:
            rates = cell["marginal_accept_rates"]
            most = cell["context"]
            figures = [f"{rate:.2f}" for rate in (1 + sum(rates), *rates[:4])]
            rows.append(
                [
                    cell["category"] or "-",
                    f"up to {most:,}" if most else "-",
                    as_text(cell["temperature"], "{:g}"),
                    str(cell["rounds"]),
                    *[*figures, *["-"] * 4][:5],
                ]
            )
        return Table("Acceptance by category, context and temperature", rows)

    def _lengths_table(self) -> Table | None:
        if len(self.lengths) < 2:
            return None
        rows: list[list[Any]] = [["draft tokens", "tokens per forward pass"]]
        for one in self.lengths:
            present = " (present)" if one.tokens == self.observation.deepest else ""
            rows.append([f"{one.tokens}{present}", one.tokens_per_pass])
        note = "the rounds of the record cut at this length: the most that it can gain"
        forms = {"tokens per forward pass": ("{:.2f}", 1.0)}
        return Table("What if: other draft lengths", rows, note, forms=forms)

    def _batches_table(self) -> Table | None:
        if len(self.batches) < 2:
            return None
        rows: list[list[Any]] = [["requests", "tokens/s per request", "speed-up", "from"]]
        for one in self.batches:
            source = counted(one.lines, "line") if one.lines else "hardware model"
            speed = as_text(one.tokens_per_second, "{:.1f}")
            speedup = as_text(one.speedup, "{:.2f}")
            rows.append([one.requests, speed, speedup, source])
        note = "the record has no other batches"
        if not all(one.lines for one in self.batches):
            note = "batches of the hardware model are predicted, at the acceptance of the record"
        return Table("What if: another batch", rows, note)

    def _options_table(self) -> Table | None:
        if not self.options:
            return None
        rows: list[list[Any]] = [["setting", "speed-up"]]
        ranked = sorted(self.options, key=lambda option: -option.speedup)
        for k, one in enumerate(ranked):
            if k < MOST_OPTIONS or one in (self.observed, self.advised):
                present = " (present)" if one == self.observed else ""
                rows.append([f"{one.stack}{present}", one.speedup])
        note = "the present one as observed, the others by its times and rounds"
        return Table("Settings compared", rows, note, forms={"speed-up": ("{:.2f}", 1.0)})


# --- the diagnosis ------------------------------------------------------------------------------


def diagnose(
    given: Observation, filled: Observation | None = None, changes: Sequence[Change] = ()
) -> Diagnosis:
    """Return the diagnosis of an observation.

    Args:
        given: what was observed.
        filled: the same with predicted times where it has none.
        changes: where figures changed in the middle of the record.
    """
    seen = given if filled is None else filled
    predicted = tuple(
        name for name in TIMES if getattr(given, name) is None and getattr(seen, name) is not None
    )
    curves = _Curves.of(seen)
    lengths = curves.tokens[:, seen.deepest] if curves is not None else np.array([seen.length])
    diagnosis = Diagnosis(
        observation=seen,
        length=estimate(lengths, seen.total),
        findings=tuple(findings(given, None, changes)),
        predicted=predicted,
        changes=tuple(changes),
        lengths=_what_if_lengths(seen, curves),
        batches=tuple(_recorded_batches(seen)),
    )
    whole = seen.whole()
    if whole is None:
        return _undetermined(diagnosis, given)
    modelled = given.whole() is None
    return _determined(diagnosis, given, curves, lengths, whole, modelled)


def _undetermined(diagnosis: Diagnosis, given: Observation) -> Diagnosis:
    """Return the diagnosis of an observation without the times of a round and of a plain step."""
    seen = diagnosis.observation
    most = seen.length / seen.least()
    missing = ", ".join(diagnosis.unknown())
    bound = f"at most {most:.2f} times as fast as plain decoding (not observed: {missing})"
    idle = ""
    if seen.without_draft >= IDLE:
        idle = f"; {seen.without_draft:.0%} of the forward passes have no draft"
    if most < 1:
        return replace(
            diagnosis,
            at_most=most,
            verdict=f"speculation loses: {bound}{idle}",
            advice="turn speculation off",
        )
    return replace(
        diagnosis,
        at_most=most,
        verdict=f"undecided whether speculation pays: {bound}{idle}",
        advice=_what_to_give(seen),
    )


def _what_to_give(seen: Observation) -> str:
    """Return the figures that are missing, as text; what the record has is not asked for."""
    if seen.step is None and seen.round is not None:
        speed = 1e3 * seen.length / seen.round
        return (
            f"give the speed without speculation (--plain-speed): the record has {speed:.1f} "
            f"tokens/s per request at batch {seen.batch}, so speculation pays if plain decoding "
            "is slower than that"
        )
    return (
        "give tokens per second with and without speculation (--speed, --plain-speed), or the "
        "times of a round"
    )


def _determined(
    diagnosis: Diagnosis,
    given: Observation,
    curves: _Curves | None,
    lengths: np.ndarray,
    whole: float,
    modelled: bool,
) -> Diagnosis:
    """Return the diagnosis of an observation whose speed-up is known."""
    seen = diagnosis.observation
    shares = _shares(seen, whole)
    cause = max(shares, key=shares.__getitem__)
    made, more = _speedup(seen, lengths, whole, modelled)
    speedup = made.estimate
    low, high = speedup.ends or (1.0, 1.0)
    diagnosis = replace(diagnosis, speedup=speedup, note=made.note)
    observed = Option(_name(seen, seen.deepest), seen.method, seen.deepest, speedup.value or 0.0)
    off = Option(_name(seen, 0), "plain", 0, 1.0)
    others = dict(_other_lengths(seen, curves, observed, modelled))
    certain = [option for option, better in others.items() if better]
    better = max(certain, key=lambda option: option.speedup, default=observed)
    advised = _advised(diagnosis, cause, observed, better, off)
    if made.capped is not None:
        return _impossible(diagnosis, made, observed)
    if low > 1:
        pays = "speculation pays"
    elif high < 1:
        pays = "speculation loses"
    else:
        pays = "undecided whether speculation pays"
    slow_known = not modelled and not seen.busy
    return replace(
        diagnosis,
        findings=tuple(findings(given, high if slow_known else None, diagnosis.changes)),
        verdict=(
            f"{'predicted: ' if modelled else ''}{pays}: "
            f"{as_text(speedup, '{:.2f}')} times as fast "
            f"as plain decoding; what limits it most: "
            f"{_what_limits(seen, cause, whole, shares[cause])}"
        ),
        advice=(
            "measure again on a quiet machine before changing it"
            if seen.busy
            else _cause_advice(seen, cause)
        ),
        cause=cause,
        shares=shares,
        observed=observed,
        advised=advised,
        options=(observed, off, *others),
        flags=_flags(seen, advised),
        more="" if diagnosis.decided else more,
    )


def _what_limits(seen: Observation, cause: str, whole: float, share: float) -> str:
    """Return a cause with its figure and its share of the loss."""
    what, figure = _cause_and_figure(seen, cause, whole)
    return f"{what} ({figure}{share:.0%} of what is lost)"


def _cause_and_figure(seen: Observation, cause: str, whole: float) -> tuple[str, str]:
    """Return a cause, and its figure with a semicolon, "" where it is not known."""
    if cause == "acceptance":
        if not seen.drafted_known or not seen.drafted:
            return "rejected draft tokens", ""
        return "rejected draft tokens", f"{(seen.length - 1) / seen.drafted:.0%} are accepted; "
    if cause == "few drafts":
        return "forward passes without a draft", f"{seen.without_draft:.0%} of all; "
    if cause == "round":
        return "the time of a round", f"{whole:.2f} plain steps; "
    steps = seen.parts()[cause] or 0.0
    if cause == "verification":
        return "verification", f"a pass over the draft takes {1 + steps:.2f} plain steps; "
    what = {"drafting": "drafting", "overhead": "time outside forward passes and drafting"}[cause]
    return what, f"{steps:.2f} plain steps per round; "


def _cause_advice(seen: Observation, cause: str) -> str:
    """Return what to do about a cause."""
    if cause == "acceptance":
        if seen.method in NGRAMS:
            return "add a draft model or a draft head for text that was not written before"
        if seen.deepest == 1 and seen.method in EXTENDS:
            return "record a run with 2 draft tokens: this record has no second position"
        return "use a draft model closer to the target or trained on this traffic, or try databases"
    if cause == "verification":
        if seen.batch > 1:
            return (
                "use fewer draft tokens while many requests run, or a machine whose forward passes "
                "are bound by memory at this batch"
            )
        return "use a machine or kernel whose forward passes are bound by memory"
    return {
        "few drafts": (
            "lower the thresholds that stop a draft (p-min, n-min), or add an n-gram drafter for "
            "the other rounds"
        ),
        "drafting": "use a smaller draft model or an n-gram drafter",
        "overhead": "use a compiled runtime or CUDA graphs",
        "round": "give --verify-ms and --draft-ms to divide it into drafting, verification and "
        "overhead",
    }[cause]


def _if_extended(present: int, longer: int) -> str:
    """Return the assumption behind a draft that is longer than those of the record."""
    later = f"position {longer}" if longer == present + 1 else f"positions {present + 1}-{longer}"
    seen = "position 2" if present == 2 else f"positions 2-{present}"
    verb = "is" if longer == present + 1 else "are"
    return f"if {later} {verb} accepted as {seen} {'is' if present == 2 else 'are'}"


def _impossible(diagnosis: Diagnosis, made: SpeedUp, observed: Option) -> Diagnosis:
    """Return the diagnosis where the times give more than the tokens per forward pass."""
    most = made.bound
    return replace(
        diagnosis,
        speedup=Estimate(most, None, most),
        at_most=most,
        verdict=(
            f"undecided whether speculation pays: at most {most:.2f} times as fast as plain "
            "decoding, the tokens per forward pass"
        ),
        advice="measure the plain step again, on a quiet machine and at the same batch",
        observed=observed,
        advised=observed,
    )


def _advised(
    diagnosis: Diagnosis, cause: str, observed: Option, better: Option, off: Option
) -> Option:
    """Return the setting to use.

    Noise must not change a setting: on a busy machine nothing is advised. A certainly better draft
    length is advised whether or not speculation pays, unless both certainly lose, or the length is
    not what limits it: few drafts, or a record that is not what it seems.
    """
    rules = {one.rule for one in diagnosis.findings}
    if diagnosis.observation.busy or cause == "few drafts" or "everything accepted" in rules:
        return observed
    _, high = diagnosis.speedup.ends or (1.0, 1.0)
    if diagnosis.decided and high < 1:
        return better if better.speedup > 1 + LEAST_GAIN else off
    return better


def _flags(seen: Observation, advised: Option) -> dict[str, str]:
    """Return the settings of engines for a setting."""
    tokens = advised.tokens
    if advised.method in NGRAMS:
        # The longest draft that is usual: of one round in 20.
        usual = sum(reached >= 0.05 for reached in seen.survival()[0])
        tokens = min(tokens, max(1, usual))
    flags = {"hsd-viz": f'--stack "{advised.stack}"'} if seen.stack else {}
    if not _is_hierarchy(seen) and (seen.rates or seen.rounds):
        flags |= settings(advised.method, tokens, seen.draft_model)
    return flags


def _name(seen: Observation, tokens: int) -> str:
    """Return a setting as text: a stack for runs of this project."""
    if seen.stack is None:
        if not tokens:
            return "off"
        if seen.totals is not None and not seen.rates:
            return "the present drafts"
        return counted(tokens, "draft token")
    stack = seen.stack
    if not tokens:
        return str(stack.target)
    if tokens == seen.deepest:
        return str(stack)
    return f"{stack.drafts[0].name}:{tokens} > {stack.target}"


def _is_hierarchy(seen: Observation) -> bool:
    return seen.stack is not None and structure_of(seen.stack).is_hierarchy


def _speedup(
    seen: Observation, lengths: np.ndarray, whole: float, modelled: bool
) -> tuple[SpeedUp, str]:
    """Return the speed-up with its interval, and what more decides its side of 1."""
    value = float(lengths[0]) / whole
    rounds = float(np.std(np.log(lengths[1:]))) * Z if len(lengths) > 1 else 0.0
    repeats = len(seen.speedups)
    timing = repeated(seen.speedups)[1] if repeats > 1 else Z * (MODELLED if modelled else TIMING)
    error = combined(timing, rounds)
    made = speed_up(value, error, seen.length)
    if modelled:
        return made, "measure a plain step and a verification, and give them"
    if rounds > timing:
        # Twice the rounds halve the square of the error.
        times = (error / max(abs(log(value)), RESOLVED)) ** 2 - 1
        rounds_more = counted(max(1, ceil(times * seen.total)), "more round")
        return made, f"record about {rounds_more}"
    if repeats > 1:
        further = repeats_to_decide(seen.speedups, value)
    else:
        further = max(1, ceil((error / max(abs(log(value)), RESOLVED)) ** 2 - 1))
    return made, f"repeat both measurements about {counted(further, 'more time')}"


def _shares(seen: Observation, whole: float) -> dict[str, float]:
    """Return the share of each cause in what is lost of the ideal speed-up."""
    extra: dict[str, float | None] = dict(seen.parts())
    if None in extra.values():
        extra = {"round": max(0.0, whole - 1)}
    spent = sum(time or 0.0 for time in extra.values())
    depth = seen.drafted
    if seen.without_draft >= IDLE:
        # With a draft in every pass; the rest of the loss is that of the drafts themselves.
        full = depth / (1 - seen.without_draft)
        gained = (seen.length - 1) / (1 - seen.without_draft)
        lost = {
            "acceptance": max(0.0, log((1 + full) / (1 + gained))),
            "few drafts": max(0.0, log((1 + gained) / seen.length)),
        }
    else:
        lost = {"acceptance": max(0.0, log((1 + depth) / seen.length))}
    for name, time in extra.items():
        lost[name] = log(max(1.0, whole)) * (time or 0.0) / spent if spent else 0.0
    total = sum(lost.values())
    return {name: part / total if total else 0.0 for name, part in lost.items()}


# --- other settings -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Curves:
    """Draft and emitted tokens of a round by draft length 0, 1, ...

    Attributes:
        depth: draft tokens, ``[1 + resamples, lengths]``.
        tokens: emitted tokens, of the same shape.
    """

    depth: np.ndarray
    tokens: np.ndarray

    @classmethod
    def of(cls, seen: Observation) -> _Curves | None:
        """Return the curves of an observation, ``None`` where positions are unknown."""
        if not seen.positions_known:
            return None
        deepest = seen.deepest
        if seen.rounds:
            reached, taken = _resampled_rounds(seen)
        else:
            reached, taken = (np.array([one]) for one in seen.survival())
        extends = deepest > 1 and not seen.by_mean and seen.method in EXTENDS
        further = max(deepest, min(MOST, 2 * deepest)) - deepest if extends else 0
        # Beyond the drafts that were seen: the pooled acceptance of the second position and later.
        pooled = ratio(taken[:, 1:].sum(1), taken[:, :-1].sum(1))
        tail = np.clip(np.nan_to_num(pooled), 0, 1)[:, None]
        more = np.arange(1, further + 1)
        taken = np.hstack([taken, taken[:, -1:] * tail**more])
        reached = np.hstack([reached, np.repeat(reached[:, -1:], further, 1)])
        zero = np.zeros((len(taken), 1))
        return cls(
            depth=np.cumsum(np.hstack([zero, reached]), 1),
            tokens=1 + np.cumsum(np.hstack([zero, taken]), 1),
        )


def _resampled_rounds(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
    """Return P(a draft has k tokens or more) and P(k or more are accepted), resampled."""
    kinds = np.array(list(seen.rounds))
    counts = np.array(list(seen.rounds.values()))
    # Rounds of a kind are equal: how often each kind is drawn is multinomial.
    drawn = np.random.default_rng(0).multinomial(seen.total, counts / seen.total, size=RESAMPLES)
    shares = np.vstack([counts, drawn]) / seen.total
    places = np.arange(1, seen.deepest + 1)
    reached = shares @ (kinds[:, [0]] >= places)
    taken = shares @ (kinds[:, [1]] >= places)
    return reached, taken


def _what_if_lengths(seen: Observation, curves: _Curves | None) -> tuple[Lengths, ...]:
    """Return tokens per forward pass at other draft lengths: up to the longest that was seen."""
    fixed = seen.stack is not None and (seen.method != "draft" or _is_hierarchy(seen))
    if curves is None or seen.by_mean or fixed:
        return ()
    longest = min(seen.deepest, MOST)
    return tuple(
        Lengths(k, estimate(curves.tokens[:, k], seen.total)) for k in range(1, longest + 1)
    )


def _recorded_batches(seen: Observation) -> Iterator[Batch]:
    """Yield the speeds of a record by running requests, in steps of powers of two."""
    groups: dict[int, list[float]] = {}
    for running, speed in seen.batches:
        groups.setdefault(ceil(log2(max(1.0, running)) - 1e-9), []).append(speed)
    for power, speeds in sorted(groups.items()):
        if len(speeds) < LEAST_LINES:
            continue
        most = 2**power
        least = most // 2 + 1 if power else 1
        means = resample(len(speeds)) @ np.array(speeds) / len(speeds)
        yield Batch(
            requests=str(most) if least == most else f"{least}–{most}",
            lines=len(speeds),
            tokens_per_second=estimate(means, len(speeds)),
            speedup=UNKNOWN,
        )


def _predicted_batches(
    given: Observation, on_card: Callable[[Observation], Observation]
) -> Iterator[Batch]:
    """Yield the speeds of the observed drafts at other batches of a hardware model."""
    unknown = replace(
        given, step=None, verify=None, draft=None, overhead=None, round=None, speedups=()
    )
    for batch in WHAT_IF_BATCHES:
        seen = on_card(replace(unknown, batch=batch))
        whole = seen.whole()
        if whole is None or seen.step is None:
            return
        made = speed_up(seen.length / whole, Z * MODELLED, seen.length).estimate
        low, high = made.ends or (None, None)
        per_second = 1e3 / seen.step
        yield Batch(
            requests=str(batch),
            lines=0,
            tokens_per_second=Estimate(
                (made.value or 0.0) * per_second,
                None if low is None else low * per_second,
                None if high is None else high * per_second,
            ),
            speedup=made,
        )


def _other_lengths(
    seen: Observation, curves: _Curves | None, observed: Option, modelled: bool
) -> Iterator[tuple[Option, bool]]:
    """Yield the other draft lengths of the drafter, and whether they are certainly faster.

    Certainly: by :data:`LEAST_GAIN`, by :data:`RATIO_MODELLED` more where the times are those of a
    hardware model, and in 95 % of the resamples. The times of drafting and, beyond a step, of
    verification grow with the draft, the latter in the form of a hardware model where there is one.
    """
    fixed = seen.stack is not None and (seen.method != "draft" or _is_hierarchy(seen))
    parts = seen.parts()
    if fixed or curves is None or None in parts.values():
        return
    drafting = parts["drafting"] or 0.0
    verification = parts["verification"] or 0.0
    overhead = parts["overhead"] or 0.0
    depth = curves.depth
    longer = depth / depth[:, [seen.deepest]]
    drafted = drafting * (1.0 if seen.method in PARALLEL else longer)
    if seen.curve:
        grown = _beyond_a_step(seen.curve, depth)
        longer = grown / np.maximum(grown[:, [seen.deepest]], 1e-12)
    speeds = curves.tokens / (1 + drafted + verification * longer + overhead)
    gains = speeds / speeds[:, [seen.deepest]]
    least = 1 + LEAST_GAIN + (RATIO_MODELLED if modelled else 0.0)
    certain = (gains[0] >= least) & (np.quantile(gains, 0.05, axis=0) > 1)
    for k in range(1, gains.shape[1]):
        if k != seen.deepest:
            expected = min(observed.speedup * float(gains[0, k]), float(curves.tokens[0, k]))
            yield Option(_name(seen, k), seen.method, k, expected), bool(certain[k])


def _beyond_a_step(curve: Sequence[float], depth: np.ndarray) -> np.ndarray:
    """Return the time of a forward pass over 1 + ``depth`` tokens beyond that of a plain step."""
    return np.interp(depth, np.arange(len(curve)), curve) - curve[0]


# --- the function of the command ----------------------------------------------------------------


def doctor(
    record: str | Path | Trace | None = None,
    *,
    measure: str = "",
    acceptance: Sequence[float] = (),
    lookahead: int | None = None,
    model: str | None = None,
    engine: str | None = None,
    gpu: str = "",
    models: Sequence[str] = (),
    tp: int = 1,
    context: int = 2048,
    weights: str = "bf16",
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
    **known: Any,
) -> Diagnosis:
    """Return why speculative decoding is not faster, and what to set.

    Args:
        record: a trace, or the path of a trace or a record of another engine.
        measure: instead of a record: a stack, of which a few short decodes are measured here.
        acceptance: instead of both: as an engine prints it, with ``lookahead`` draft tokens.
        lookahead: draft tokens per round, with ``acceptance``.
        model: of a record of several models: this one.
        engine: of a record of several engines: this one.
        gpu: the card of the hardware model that fills in unknown times (:func:`hsd_viz.predict`).
        models: the target and its draft model on that card.
        tp: cards that share each model.
        context: tokens cached per request.
        weights: the format of the weights.
        bandwidth: GB/s of an unknown card.
        flops: TFLOP/s of an unknown card.
        memory: GB of an unknown card.
        known: ``batch``, ``method``, ``draft_model`` and the figures of
            :func:`~hsd_viz.measure.observe.with_times`.

    Raises:
        UserError: for bad input.
    """
    if measure:
        observed = Observed(measured(measure))
    elif isinstance(record, Trace):
        observed = Observed(from_trace(record, "this run"))
    elif record is None:
        observed = Observed(from_figures(acceptance, lookahead))
    else:
        observed = observe(Path(record), model, engine)
    seen = with_times(observed.seen, **known)
    filled = None
    predicted: tuple[Batch, ...] = ()
    if gpu or bandwidth:
        on_card = partial(
            with_hardware,
            gpu=gpu,
            models=models,
            tp=tp,
            context=context,
            weights=weights,
            bandwidth=bandwidth,
            flops=flops,
            memory=memory,
        )
        filled = on_card(seen)
        predicted = tuple(_predicted_batches(seen, on_card))
    diagnosis = diagnose(seen, filled, observed.changes)
    return replace(
        diagnosis,
        remarks=observed.notes,
        model=observed.model,
        batches=(*diagnosis.batches, *predicted),
    )


def below(diagnosis: Diagnosis, least: float) -> str:
    """Return why a health check at ``least`` fails, "" where it passes.

    It fails if the speed-up, or the bound of one that was not observed, is certainly below
    ``least``, if the value is, or if acceptance collapsed in the middle of the record.
    """
    collapsed = [one for one in diagnosis.findings if one.rule == "collapses in time"]
    if collapsed:
        return collapsed[0].evidence
    if diagnosis.speedup.value is not None:
        if diagnosis.speedup.value < least:
            shown = as_text(diagnosis.speedup, "{:.2f}")
            return f"the speed-up is {shown}, below {least:g}"
        return ""
    if diagnosis.at_most is not None and diagnosis.at_most < least:
        return f"the speed-up is at most {diagnosis.at_most:.2f}, below {least:g}"
    return ""
