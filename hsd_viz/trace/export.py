"""Export of a trace: CSV tables, the Chrome trace event format, which ui.perfetto.dev and chrome://tracing open, and
AIPerf's ``profile_export.jsonl`` (0.13.0) with its record of speculative decoding.

In the second there is one thread per lane: the nested rounds, then one lane per level with its calls. Counters step at
the end of each target round. Times are microseconds; the fraction keeps the trace's nanoseconds. Format: "Trace Event
Format", Google.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hsd_viz.disk import write_whole
from hsd_viz.trace.tables import TABLES, CallRow, RoundRow
from hsd_viz.trace.trace import Trace

_PROCESS = 1
_ROUNDS = 1
#: The keys of a trace's meta to export.
_META = (
    *("stack_resolved", "device", "device_name", "dtype", "threads"),
    *("runtime", "sampling", "created", "stop_reason", "versions"),
)


def csv_tables(trace: Trace) -> dict[str, str]:
    """Return the contents of ``tokens.csv``, ``drafts.csv``, ``rounds.csv`` and ``calls.csv`` by file name. The columns
    are the fields of the rows in :mod:`hsd_viz.trace.tables`; lists are JSON text, absent values empty.
    """
    tables = {}
    for table in TABLES:
        frame = trace.frame(table)
        for column in frame.columns:
            frame[column] = [json.dumps(v) if isinstance(v, tuple) else v for v in frame[column]]
        tables[f"{table}.csv"] = frame.to_csv(index=False, lineterminator="\n")
    return tables


def write_csv(trace: Trace, folder: str | os.PathLike) -> list[Path]:
    """Write :func:`csv_tables` into ``folder``, created if missing, and return the paths. Raises: OSError: if they
    cannot be written.
    """
    tables = {Path(folder) / name: text for name, text in csv_tables(trace).items()}
    for path, text in tables.items():
        write_whole(path, text)
    return [*tables]


def chrome_trace(trace: Trace) -> dict[str, Any]:
    """Return the trace as one JSON object: ``traceEvents``, ``displayTimeUnit``, ``otherData``. Complete events (``X``)
    have the category ``call`` or ``round``; counters (``C``) are ``tokens emitted`` and ``draft tokens`` (accepted, not
    accepted) per target round.
    """
    lanes = sorted({(c.level, c.name) for c in trace.call_rows}, key=lambda lane: (-lane[0], lane[1]))
    threads = {lane: _ROUNDS + 1 + k for k, lane in enumerate(lanes)}  # the target's first
    texts: dict[int, str] = {}
    for token in trace.token_rows:
        texts[token.round] = texts.get(token.round, "") + token.text
    levels = {c.level: c.name for c in trace.call_rows}
    rounds = sorted(trace.round_rows, key=lambda r: (r.start_ns, -r.level))
    title = {"name": f"hsd_viz: {trace.meta.get('stack', 'decode')}"}
    events = [
        _event("M", "process_name", title),
        _event("M", "thread_name", {"name": "rounds"}, tid=_ROUNDS),
        *(_event("M", "thread_name", {"name": name}, tid=tid) for (_, name), tid in threads.items()),
        *(_event("M", "thread_sort_index", {"sort_index": tid}, tid=tid) for tid in (_ROUNDS, *threads.values())),
        *(_round(row, levels.get(row.level, f"level {row.level}"), texts.get(row.id, "")) for row in rounds),
        *(_call(row, threads[row.level, row.name]) for row in trace.call_rows),
        *_counters(trace),
    ]
    other = {key: str(trace.meta[key]) for key in _META if key in trace.meta}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}


def _event(phase: str, name: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "pid": _PROCESS, **more, "args": args}


def _span(name: str, category: str, tid: int, row: CallRow | RoundRow, args: dict[str, Any]) -> dict[str, Any]:
    return _event("X", name, args, cat=category, tid=tid, ts=row.start_ns / 1000, dur=row.duration_ns / 1000)  # type: ignore[operator]


def _call(row: CallRow, tid: int) -> dict[str, Any]:
    args = {"round": row.round, "steps": row.steps, "tokens fed": row.fed, "tokens cached": row.cached}
    return _span(f"{row.name} {row.kind}", "call", tid, row, args)


def _round(row: RoundRow, level: str, text: str) -> dict[str, Any]:
    args: dict[str, Any] = {key: getattr(row, key) for key in ("drafted", "examined", "accepted", "outcome")}
    args |= {} if row.why_no_draft is None else {"no draft": row.why_no_draft}
    return _span(f"{level} round {row.id}", "round", _ROUNDS, row, args | ({"emitted": text} if text else {}))


def _counters(trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield one step of each counter per target round."""
    tokens, emitted = Counter(t.round for t in trace.token_rows), 0
    for row in sorted((r for r in trace.round_rows if r.parent is None), key=lambda r: r.start_ns):
        emitted += tokens[row.id]
        end = (row.start_ns + row.duration_ns) / 1000
        yield _event("C", "tokens emitted", {"tokens": emitted}, ts=end)
        yield _event(
            "C", "draft tokens", {"accepted": row.accepted, "not accepted": row.drafted - row.accepted}, ts=end
        )


def aiperf_record(trace: Trace, number: int = 0) -> dict[str, Any]:
    """Return a trace as a line of AIPerf's ``profile_export.jsonl`` with its speculative-decoding record. Raises:
    ValueError: for an imported trace whose source does not report each verification.
    """
    meta, figures = trace.meta, trace.metrics()
    engine = (meta.get("imported") or {"engine": "hsd_viz"})["engine"]
    if "counts" in meta and not trace.round_rows:
        raise ValueError(f"the record of {engine} has no single verifications: AIPerf's form needs them")
    target = max((row.level for row in trace.round_rows), default=0)
    steps = [row for row in trace.round_rows if row.level == target and row.drafted]
    accepted, drafted = [row.accepted for row in steps], [row.drafted for row in steps]
    prefill, wall = meta.get("prefill_ns"), meta.get("wall_ns")
    acceptance = {
        "engine": engine,
        "mean_acceptance_length": 1 + sum(accepted) / len(steps) if steps else 1.0,
        "draft_acceptance_rate": sum(accepted) / sum(drafted) if steps else 0.0,
        "acceptance_histogram": {str(j): n for j, n in sorted(Counter(accepted).items())},
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "num_spec_steps": len(steps),
        "num_spec_tokens": max(drafted, default=None),
        "completion_tokens": figures["tokens"],
        "per_step_accepted": accepted,
        "per_step_drafted": drafted,
    }
    metrics = {
        "input_sequence_length": (len(meta.get("prompt_ids") or []), "tokens"),
        "output_sequence_length": (figures["tokens"], "tokens"),
        "time_to_first_token": (None if prefill is None else prefill / 1e6, "ms"),
        "request_latency": (None if wall is None else wall / 1e6, "ms"),
    }
    about = {"session_num": number, "turn_index": 0, "request_start_ns": 0, "request_end_ns": wall}
    about |= {"worker_id": "hsd_viz", "record_processor_id": "hsd_viz", "benchmark_phase": "profiling"}
    return {
        "metadata": about | {"was_cancelled": meta.get("stop_reason") == "cancelled"},
        "metrics": {name: {"value": v, "unit": unit} for name, (v, unit) in metrics.items() if v is not None},
        "spec_decode_acceptance": acceptance,
        "error": None,
    }
