"""Data of the drafting figures: tokens by source for each stack and temperature, with their provenance.

Read from ablations (``python -m benchmarks.ablation``), reports of ``hsd-viz bench``, or traces. No torch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hsd_viz.bench.report import Report
from hsd_viz.calibration.basis import machine_words, read_json
from hsd_viz.stack import DATABASES, Stack, StackError, parse_bench
from hsd_viz.trace import Trace
from hsd_viz.words import counted

PLAIN = "target"
_ABLATION = "hsd_viz ablation"


@dataclass(frozen=True, slots=True)
class Supply:
    """Results of one stack at one temperature; ``None`` for missing values.

    ``length`` is the mean acceptance length, ``accepted`` tokens per target forward pass by source, ``ratio`` the share
    of tokens from multi-token rounds, ``draft`` drafting seconds per round, ``speed`` tokens/s. ``categories`` has
    length, its 95 % interval and speed-up by kind of text.
    """

    stack: str
    temperature: float
    length: float
    accepted: Mapping[str, float] | None = None
    ratio: float | None = None
    draft: float | None = None
    speed: float | None = None
    categories: Mapping[str, tuple[float, Any, float | None]] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Short name: no brackets for ``db`` and ``hd`` with all databases in the usual order, no ``> target``."""
        return method(self.stack)

    @property
    def databases(self) -> tuple[str, ...]:
        """Databases named by the draft source, in order; () if none is named."""
        parsed = _parsed(self.stack)
        items = parsed.bottom.items if parsed is not None and parsed.bottom is not None else ()
        return tuple(i for i in items if i in DATABASES)


@dataclass(frozen=True, slots=True)
class Study:
    """Rows and a description of the measurement."""

    rows: tuple[Supply, ...]
    source: str

    @property
    def temperatures(self) -> tuple[float, ...]:
        return tuple(sorted({r.temperature for r in self.rows}))

    def at(self, temperature: float | None) -> tuple[Supply, ...]:
        """Return the rows of one temperature (``None``: the lowest). Raises: ValueError: if there are none."""
        there = self.temperatures
        wanted = there[0] if temperature is None else float(temperature)
        if wanted not in there:
            raise ValueError(f"no results at temperature {wanted:g}: use {', '.join(f'{t:g}' for t in there)}")
        return tuple(r for r in self.rows if r.temperature == wanted)

    def words(self) -> str:
        """Return the provenance of a figure."""
        return f"Measured: {self.source}."


def _parsed(stack: str) -> Stack | None:
    """Return a stack; ``None`` for a loop of another library or text that is not a stack."""
    try:
        parsed = parse_bench(stack)
    except StackError:
        return None
    return parsed if isinstance(parsed, Stack) else None


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def method(stack: str) -> str:
    """Return the short name of a stack in a figure."""
    parsed = _parsed(stack)
    if parsed is None or parsed.bottom is None or len(parsed.models) > 1:
        return stack.removesuffix(" > target")
    if parsed.bottom.items == DATABASES:
        return parsed.bottom.name
    return str(parsed.bottom)


def lookups_only(stack: str) -> bool:
    """Whether no model drafts, so that drafting latency is the whole cost of a draft before verification."""
    parsed = _parsed(stack)
    # `auto` may also use draft models.
    return parsed is not None and parsed.bottom is not None and parsed.bottom.name != "auto" and len(parsed.models) == 1


def only_source(stack: str) -> str | None:
    """Return the only draft source of a stack: a draft model or a baseline; ``None`` if there are several."""
    parsed = _parsed(stack)
    if parsed is None or len(parsed.parts) != 2:
        return None
    if parsed.bottom is None:
        return parsed.drafts[0].name
    return None if parsed.bottom.name in ("db", "hd", "auto") else parsed.bottom.name


def study_of(given: Any, source: str = "") -> Study:
    """Load a :class:`Study` from a study, an ablation or report (data or path), several of them, or traces. Raises:
    ValueError: for anything else.
    """
    if isinstance(given, Study):
        return given
    if isinstance(given, Trace):
        return _of_traces([given], source)
    if isinstance(given, str | Path):
        return study_of(read_json(given), source)
    if isinstance(given, Report):
        return _of_report(given, source)
    if isinstance(given, Mapping):
        try:
            ablation = given.get("format") == _ABLATION
            return _of_ablation(given, source) if ablation else _of_report(Report.from_dict(given), source)
        except (KeyError, TypeError, AttributeError):
            raise ValueError("not an ablation or a bench report") from None
    if isinstance(given, Iterable):
        parts = list(given)
        if parts and all(isinstance(p, Trace) for p in parts):
            return _of_traces(parts, source)
        if parts:
            studies = [study_of(p, source) for p in parts]
            return Study(tuple(r for s in studies for r in s.rows), "; ".join(dict.fromkeys(s.source for s in studies)))
    raise ValueError("expected an ablation, a bench report, their files, or traces")


def _of_ablation(data: Mapping[str, Any], source: str) -> Study:
    rows = []
    for row in data["rows"]:
        categories = {c: (n["tokens"] / n["target_forwards"], None, None) for c, n in row["by_category"].items()}
        rows.append(
            Supply(
                row["stack"],
                float(row["temperature"]),
                row["mean_acceptance_length"],
                {s: n / row["target_forwards"] for s, n in row["accepted_by_source"].items()},
                row["tokens_in_rounds_of_several"] / row["tokens"],
                row["draft_seconds_median"],
                row["tokens_per_second"],
                categories,
            )
        )
    return Study(tuple(rows), source or _words(data, "the median over rounds"))


def _of_report(report: Report, source: str) -> Study:
    rows = []
    for s in report.stacks:
        if s.mean_acceptance_length.value is None:
            continue
        categories = {
            name: (f.mean_acceptance_length.value, f.mean_acceptance_length.interval, f.speedup_over_plain.value)
            for name, f in s.by_category.items()
        }
        rows.append(
            Supply(
                s.stack,
                report.settings.temperature,
                s.mean_acceptance_length.value,
                draft=s.draft_seconds_per_round.value,
                speed=s.tokens_per_second.value,
                categories=categories,
            )
        )
    return Study(tuple(rows), source or _words(report.to_dict(), "the mean over rounds"))


def _of_traces(traces: list[Trace], source: str) -> Study:
    groups: dict[tuple[str, float], list[Trace]] = {}
    for trace in traces:
        groups.setdefault((trace.stack, float(trace.meta.get("sampling", {}).get("temperature", 0.0))), []).append(
            trace
        )
    rows = []
    for (stack, temperature), some in groups.items():
        figures = [t.metrics() for t in some]
        tokens, forwards, rounds = (sum(f[k] for f in figures) for k in ("tokens", "target_forwards", "rounds"))
        if not forwards:
            raise ValueError("the trace has no emitted tokens")
        accepted: Counter = Counter()
        several = 0
        for trace, f in zip(some, figures, strict=True):
            accepted.update(f["accepted_by_source"])
            several += sum(n for n in Counter(t.round for t in trace.token_rows).values() if n > 1)
        seconds = sum(f["seconds"] for f in figures)
        draft = sum((f["draft_seconds_per_round"] or 0.0) * f["rounds"] for f in figures) / rounds if rounds else None
        by_source = {s: n / forwards for s, n in accepted.items()}
        rows.append(
            Supply(
                stack,
                temperature,
                tokens / forwards,
                by_source,
                several / tokens,
                draft,
                tokens / seconds if seconds else None,
            )
        )
    number = len(traces)
    words = f"{counted(number, 'recorded run')} on {machine_words(traces[0])}; drafting latency is the mean over rounds"
    return Study(tuple(rows), source or words)


def _words(data: Mapping[str, Any], latency: str) -> str:
    machine, suite, settings = data["machine"], data["suite"], data["settings"]
    on_gpu = str(settings.get("device")).startswith("cuda")
    place = machine["gpu"] if on_gpu else machine["cpu"]
    threads = "" if on_gpu else f", {counted(settings['threads'], 'thread')}"
    load = machine.get("load_average")
    busy = "" if load is None else f"; drafting latency is {latency}, with a load average of {load:.1f}"
    if busy and machine.get("load_average_at_end") is not None:
        busy += f" to {machine['load_average_at_end']:.1f}"
    new = settings["max_new_tokens"]
    repeats = settings.get("repeats")
    rule = "" if repeats is None else f", median of {repeats}" if repeats > 1 else ", one pass"
    prompts, each = counted(suite["prompts"], "prompt"), counted(new, "new token")
    return f"{prompts} of the suite {suite['name']}, {each} each{rule}, {place}{threads}{busy}"
