"""Figures of measurements: bench reports, and database ablations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import plotly.express as px

from hsd_viz.bench.page import speed_words, warnings
from hsd_viz.bench.report import Report, kind, read_report
from hsd_viz.calibration.basis import machine_words, read_json, temperature_words
from hsd_viz.disk import read_limited
from hsd_viz.figures.charts import HOVER, INK, Figure, bars, between, finish, nothing
from hsd_viz.figures.palette import in_order
from hsd_viz.stack import DATABASES, Stack, StackError, parse_bench
from hsd_viz.trace import Trace
from hsd_viz.words import counted

PLAIN = "target"
ABLATION = "hsd_viz ablation"
DRAFTERS = {"db": "db: longest matching suffix, one scored tree", "hd": "hd: Hierarchy Drafting (HD) as published"}
#: Subsets in the order of the HD paper: all, pairs, single databases.
SUBSETS = [names for n in (3, 2, 1) for names in combinations(DATABASES, n)]
SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down"]
PER_PASS, SPEED = "tokens per target forward pass", "speed, plain decoding = 1"


# --- bench reports ----------------------------------------------------------------------------------------------------


def speedup(report: Report | Mapping[str, Any] | str | Path, dark: bool = False) -> Figure:
    """Plot the speed-up over plain decoding by stack, from a bench report, its data or its file.

    Values of five or more prompts have 95 % intervals; impossible ones are left out. Raises: ValueError: if it is not a
    report.
    """
    report, title = report_of(report), "Speed-up over plain decoding"
    frame = report.frame().query("metric == 'speedup_over_plain' and possible and category == ''")
    frame = frame.dropna(subset=["value"]).sort_values("value", ascending=False)
    all_, few = frame[frame["looping"]].reset_index(drop=True), frame[~frame["looping"]].set_index("stack")
    if all_.empty:
        return nothing(title, "No stack with a speed-up was measured.", dark)
    rows = all_[["stack"]].assign(**{"": [f"{v:.2f} ×" for v in all_["value"]]}, dot=all_["value"])
    rows = rows.assign(low=all_["low"], high=all_["high"])
    # The thin bar: the prompts whose plain output repeats itself little, unless these are all or none.
    little = few[few["outputs"] < report.suite.prompts]["value"]
    if len(little):
        rows["second"] = rows["stack"].map(little)
    parts = pd.DataFrame({"row": all_.index, "part": all_["kind"], "value": all_["value"]})
    text = speed_words(bool(len(little)), bool(all_["low"].notna().any()))
    doubts = " ".join(f"{line}." for line in warnings(report))
    note = f"{report.suite.name}, {report.processor or 'an unknown machine'}. {doubts}".strip()
    return bars(rows, parts, title, SPEED, reference=1.0, text=text, note=note, dark=dark)


def report_of(given: Report | Mapping[str, Any] | str | Path) -> Report:
    """Return a bench report, read from its data or its file. Raises: ValueError: if it is not one."""
    if isinstance(given, Report):
        return given
    if isinstance(given, str | Path):
        try:
            return read_report(read_limited(Path(given).expanduser()), str(given))
        except OSError as error:
            raise ValueError(f"{given} cannot be read: {error.strerror or error}") from None
    return read_report(json.dumps(given), "the data")


# --- studies: stacks at several temperatures, with their sources ------------------------------------------------------


class Study(NamedTuple):
    """Measured stacks as tidy frames, and the ``source`` of the figures.

    ``rows``: ``stack, temperature, category`` ("" for all prompts), ``length`` (mean acceptance length) with its
    interval ``low`` to ``high``, ``speedup``,
    ``ratio`` (share of tokens from multi-token rounds), ``draft`` (drafting seconds per round).
    ``sources``: ``stack, temperature, source, tokens`` accepted per forward pass of the target.
    """

    rows: pd.DataFrame
    sources: pd.DataFrame
    source: str

    @property
    def temperatures(self) -> tuple[float, ...]:
        return tuple(sorted(self.rows["temperature"].unique().tolist()))

    def at(self, temperature: float | None) -> pd.DataFrame:
        """Return the rows of one temperature (``None``: the lowest). Raises: ValueError: if there are none."""
        there = self.temperatures
        wanted = there[0] if temperature is None else float(temperature)
        if wanted not in there:
            raise ValueError(f"no results at temperature {wanted:g}: use {', '.join(f'{t:g}' for t in there)}")
        return self.rows[self.rows["temperature"] == wanted]


_ROW = ["stack", "temperature", "category", "length", "low", "high", "speedup", "ratio", "draft"]


def study_of(given: Any) -> Study:
    """Load a :class:`Study` from an ablation or report (data or path), several of them, or traces. Raises: ValueError:
    for anything else.
    """
    if isinstance(given, str | Path):
        given = read_json(given)
    if isinstance(given, Trace):
        given = [given]
    if isinstance(given, Report):
        return _of_report(given)
    if isinstance(given, Mapping):
        try:
            return _of_ablation(given) if given.get("format") == ABLATION else _of_report(Report.from_dict(given))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise ValueError("not an ablation or a bench report") from None
    parts = list(given) if isinstance(given, Iterable) else []
    if not parts:
        raise ValueError("expected an ablation, a bench report, their files, or traces")
    if all(isinstance(part, Trace) for part in parts):
        return _of_traces(parts)
    rows, sources, named = zip(*map(study_of, parts), strict=True)
    return Study(pd.concat(rows, ignore_index=True), pd.concat(sources, ignore_index=True), "; ".join({*named}))


def _study(rows: list[dict[str, Any]], sources: list[dict[str, Any]], source: str) -> Study:
    frame = pd.DataFrame(rows, columns=_ROW).astype(dict.fromkeys(_ROW[3:], float))
    return Study(frame, pd.DataFrame(sources, columns=["stack", "temperature", "source", "tokens"]), source)


def _of_ablation(data: Mapping[str, Any]) -> Study:
    rows, sources = [], []
    plain = {row["temperature"]: row["tokens_per_second"] for row in data["rows"] if row["stack"] == PLAIN}
    for row in data["rows"]:
        key = {"stack": row["stack"], "temperature": float(row["temperature"])}
        whole = {"length": row["mean_acceptance_length"], "draft": row["draft_seconds_median"]}
        whole["speedup"] = row["tokens_per_second"] / plain[row["temperature"]] if plain else None
        rows.append(key | whole | {"category": "", "ratio": row["tokens_in_rounds_of_several"] / row["tokens"]})
        for name, n in row["by_category"].items():
            rows.append(key | {"category": name, "length": n["tokens"] / n["target_forwards"]})
        accepted = {s: n / row["target_forwards"] for s, n in row["accepted_by_source"].items()}
        sources += [key | {"source": s, "tokens": n} for s, n in accepted.items()]
    return _study(rows, sources, _words(data, "the median over rounds"))


def _of_report(report: Report) -> Study:
    rows = []
    for stack in report.stacks:
        for category, block in {"": stack, **stack.by_category}.items():
            length = block.mean_acceptance_length
            if length.value is not None:
                low, high = length.interval or (None, None)
                key = {"stack": stack.stack, "temperature": report.settings.temperature, "category": category}
                figures = {"speedup": block.speedup_over_plain.value, "draft": block.draft_seconds_per_round.value}
                rows.append(key | figures | {"length": length.value, "low": low, "high": high})
    return _study(rows, [], _words(report.to_dict(), "the mean over rounds"))


def _of_traces(traces: Sequence[Trace]) -> Study:
    groups: dict[tuple[str, float], list[Trace]] = {}
    for trace in traces:
        temperature = float(trace.meta.get("sampling", {}).get("temperature", 0.0))
        groups.setdefault((trace.stack, temperature), []).append(trace)
    rows, sources = [], []
    for (stack, temperature), some in groups.items():
        key = {"stack": stack, "temperature": temperature}
        found = pd.DataFrame([t.metrics() for t in some])
        tokens, forwards = found["tokens"].sum(), found["target_forwards"].sum()
        if not forwards:
            raise ValueError("the trace has no emitted tokens")
        sizes = [t.tokens.groupby("round").size() for t in some]
        spent = (found["draft_seconds_per_round"].astype(float).fillna(0.0) * found["rounds"]).sum()
        ratio = sum(n[n > 1].sum() for n in sizes) / tokens
        whole = {"length": tokens / forwards, "ratio": ratio, "draft": spent / max(1, found["rounds"].sum())}
        rows.append(key | whole | {"category": ""})
        accepted = pd.DataFrame(found["accepted_by_source"].tolist()).sum() / forwards
        sources += [key | {"source": s, "tokens": n} for s, n in accepted.items()]
    where = f"{counted(len(traces), 'recorded run')} on {machine_words(traces[0])}"
    return _study(rows, sources, f"{where}; drafting latency is the mean over rounds")


def _words(data: Mapping[str, Any], latency: str) -> str:
    machine, suite, settings = data["machine"], data["suite"], data["settings"]
    on_gpu = str(settings.get("device")).startswith("cuda")
    place = machine["gpu"] if on_gpu else f"{machine['cpu']}, {counted(settings['threads'], 'thread')}"
    loads = [machine.get(name) for name in ("load_average", "load_average_at_end")]
    busy = " to ".join(f"{load:.1f}" for load in loads if load is not None)
    busy = f"; drafting latency is {latency}, with a load average of {busy}" if busy else ""
    repeats = settings.get("repeats")
    rule = "" if repeats is None else f", median of {repeats}" if repeats > 1 else ", one pass"
    prompts, each = counted(suite["prompts"], "prompt"), counted(settings["max_new_tokens"], "new token")
    return f"{prompts} of the suite {suite['name']}, {each} each{rule}, {place}{busy}"


def method(stack: str) -> str:
    """Return the short name of a stack: no brackets for all databases in the usual order, no ``> target``."""
    parsed = _parsed(stack)
    if parsed is None or parsed.bottom is None or len(parsed.models) > 1:
        return stack.removesuffix(" > target")
    return parsed.bottom.name if parsed.bottom.items == DATABASES else str(parsed.bottom)


def _parsed(stack: str) -> Stack | None:
    """Return a stack; ``None`` for a loop of another library or text that is not a stack."""
    try:
        parsed = parse_bench(stack)
    except StackError:
        return None
    return parsed if isinstance(parsed, Stack) else None


def database_ablation(data: Any, dark: bool = False, *, temperature: float | None = None) -> Figure:
    """Plot tokens per target forward pass by source, for every database subset. ``data`` is an ablation
    (:mod:`benchmarks.ablation`), its file, or traces. Raises: ValueError: if ``data`` has no database stack.
    """
    study = study_of(data)
    frame = study.at(temperature).query("category == ''").set_index("stack")
    subsets = {f"{name}[{','.join(d)}] > {PLAIN}": (DRAFTERS[name], ", ".join(d)) for name in DRAFTERS for d in SUBSETS}
    chosen = [stack for stack in subsets if stack in frame.index] or [s for s in frame.index if s != PLAIN]
    if not chosen:
        raise ValueError("no stack with a database was measured")
    if study.sources.empty:
        raise ValueError("a bench report has no tokens by database: use an ablation or traces")
    frame, known = frame.loc[chosen].reset_index(), chosen[0] in subsets
    rows = pd.DataFrame(
        {
            "databases" if known else "stack": [subsets.get(s, ("", s))[1] for s in chosen],
            "group": [subsets.get(s, ("", ""))[0] for s in chosen],
            "tokens per forward pass": frame["length"].map("{:.2f}".format),
            "tokens from multi-token rounds": frame["ratio"].map("{:.0%}".format),
            "drafting, µs per round": (1e6 * frame["draft"]).map("{:.0f}".format),
        }
    )
    at = study.sources[study.sources["temperature"] == frame["temperature"].iloc[0]]
    at = at[at["stack"].isin(chosen) & (at["tokens"] > 0)].rename(columns={"source": "part", "tokens": "value"})
    at = at.assign(row=at["stack"].map(chosen.index)).sort_values("part", key=lambda p: p.map(in_order(p).index))
    own = frame["length"] - at.groupby("row")["value"].sum().reindex(frame.index, fill_value=0.0)
    parts = pd.concat([pd.DataFrame({"row": frame.index, "part": "own", "value": own}), at[["row", "part", "value"]]])
    text = (
        "Bar length: tokens per target forward pass, split into the target's own token and accepted draft tokens by "
        "first source. Plain decoding has the first part only. A multi-token round emitted more than one token; their "
        "share of all tokens is the paper's acceptance ratio."
    )
    title = "Contribution of each database" if known else "Tokens by source"
    title = f"{title}, {temperature_words(frame['temperature'].iloc[0])}"
    note = f"Measured: {study.source}."
    return bars(rows, parts, title, f"{PER_PASS}, by source", text=text, note=note, dark=dark)


def by_category(
    data: Any,
    dark: bool = False,
    *,
    stacks: Sequence[str] | None = None,
    first: Sequence[str] | int = 6,
    rule: str = "",
    temperature: float | None = None,
) -> Figure:
    """Plot mean acceptance length by kind of text for ``stacks`` of a bench report or an ablation.

    By default the ``first`` stacks of each kind of text by speed-up, else by length (a number, or names). ``rule``
    describes that selection. Raises: ValueError: if the data have no categories.
    """
    study = study_of(data)
    frame = study.at(temperature).query("category != '' and length > 1")
    frame = frame.assign(method=frame["stack"].map(method), by=frame["speedup"].fillna(frame["length"]))
    for stack in stacks or ():
        if stack not in {*frame["stack"], *frame["method"]}:
            raise ValueError(f"'{stack}' was not measured: use one of {', '.join(frame['method'].unique())}")
    if frame.empty:
        raise ValueError("no results by category: use a report of 'hsd-viz bench' or an ablation")
    frame["category"] = pd.Categorical(frame["category"], frame["category"].unique())
    frame = frame.sort_values(["category", "by"], ascending=[True, False])
    names = first if stacks is None else stacks
    if isinstance(names, int):
        frame = frame.groupby("category", sort=False, observed=True).head(names)
    else:
        frame = frame[frame["stack"].isin(names) | frame["method"].isin(names)]
    frame = frame.reset_index(drop=True)
    texts = {"tokens per forward pass": frame["length"].map("{:.2f}".format)}
    if frame["low"].notna().any():
        texts["95 % interval"] = [between(a, b, ".1f") for a, b in zip(frame["low"], frame["high"], strict=True)]
    if frame["speedup"].notna().any():
        texts["speed-up"] = frame["speedup"].map("{:.2f} ×".format)
    rows = pd.DataFrame({"stack": frame["method"], "group": frame["category"].astype(str), **texts})
    parts = pd.DataFrame({"row": frame.index, "part": frame["stack"].map(kind), "value": frame["length"]})
    text = (
        "Bar length: tokens per target forward pass. Compare groups for the effect of the text, rows for the effect of "
        f"the method.{f' Shown: {rule}.' if rule else ''}"
    )
    title = f"Results by kind of text, {temperature_words(float(frame['temperature'].iloc[0]))}"
    return bars(rows, parts, title, PER_PASS, reference=1.0, text=text, note=f"Measured: {study.source}.", dark=dark)


def temperature_curves(
    data: Any, dark: bool = False, *, metric: str = "length", stacks: Sequence[str] | None = None
) -> Figure:
    """Plot acceptance length or speed-up (``metric="speedup"``) over temperature, one line per method. ``data`` is an
    ablation, or several reports of different temperatures. Raises: ValueError: if there is only one temperature.
    """
    if metric not in ("length", "speedup"):
        raise ValueError(f"unknown metric '{metric}': use 'length' or 'speedup'")
    study = study_of(data)
    if len(study.temperatures) < 2:
        raise ValueError("only one temperature was measured: use an ablation, or reports of several temperatures")
    frame = methods(study, stacks).dropna(subset=[metric]).sort_values("temperature")
    frame = frame.groupby("method", sort=False).filter(lambda some: len(some) > 1)
    if frame.empty:
        raise ValueError("no stack was measured at two temperatures")
    frame["said"] = [
        f"{r.method} at temperature {r.temperature:g}: {getattr(r, metric):.2f}" for r in frame.itertuples()
    ]
    colours = {name: INK.accent if name in DRAFTERS else INK.muted for name in frame["method"]}
    look = {"color": "method", "symbol": "method", "symbol_sequence": SYMBOLS, "color_discrete_map": colours}
    figure = px.line(frame, x="temperature", y=metric, custom_data=["said"], markers=True, **look)
    for line in figure.data:
        line.update(customdata=[cell[0] for cell in line.customdata], hovertemplate=HOVER, marker_size=9)
    figure.update_yaxes(title_text=PER_PASS if metric == "length" else SPEED)
    figure.update_xaxes(title_text="temperature (0: greedy)", tickvals=list(study.temperatures), zeroline=False)
    table = frame.pivot(index="method", columns="temperature", values=metric).map(lambda v: f"{v:.2f}")
    heads = ["method", *(f"T = {t:g}" for t in table.columns)]
    return finish(
        figure,
        "Acceptance length by temperature" if metric == "length" else "Speed-up by temperature",
        text="A higher temperature rejects likely drafts more often, regardless of the method. The loss depends on the "
        "entropy of the model.",
        note=f"Measured: {study.source}.",
        table=[heads, *([name, *row] for name, *row in table.itertuples())],
        dark=dark,
        height=400,
    )


def methods(study: Study, stacks: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the rows of all prompts with their ``method``: those named, else the drafters without models, each with
    all databases, without ablation subsets and orders.
    """
    frame = study.rows.query("category == ''")
    frame = frame.assign(method=frame["stack"].map(method))
    if stacks is not None:
        return frame[frame["stack"].isin(stacks) | frame["method"].isin(stacks)]
    parsed = frame["stack"].map(_parsed)
    lookups = [p is not None and p.bottom is not None and p.bottom.name != "auto" and not p.drafts for p in parsed]
    found = frame[lookups]
    whole = found[~found["method"].str.startswith(("db[", "hd["))]
    return (whole if len(whole) else found).drop_duplicates(["method", "temperature"])
