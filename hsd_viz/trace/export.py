"""Export of a trace: CSV tables, the Chrome trace event format, which ui.perfetto.dev and
chrome://tracing open, and AIPerf's ``profile_export.jsonl`` (0.13.0) with its record of speculative
decoding.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from hsd_viz.disk import write_inside
from hsd_viz.errors import UserError
from hsd_viz.trace.tables import TABLES, Row
from hsd_viz.trace.trace import Trace


def write_csv(trace: Trace, folder: str | os.PathLike) -> list[Path]:
    """Write ``tokens.csv``, ``drafts.csv``, ``rounds.csv`` and ``calls.csv`` to ``folder``, created
    if missing, and return the paths. The columns are those of :mod:`hsd_viz.trace.tables`; lists
    are JSON text, absent values empty. A link in place of a file is replaced.

    Raises:
        OSError: if a file cannot be written.
    """
    paths: list[Path] = []
    for table in TABLES:
        frame = trace.frame(table).map(_cell)
        content = frame.to_csv(index=False, lineterminator="\n")
        paths.append(write_inside(Path(folder), f"{table}.csv", content))
    return paths


def _cell(value: Any) -> Any:
    """Return a value of a table as CSV has it: lists as JSON text."""
    return json.dumps(value) if isinstance(value, list) else value


def chrome_trace(trace: Trace) -> dict[str, Any]:
    """Return the trace as a JSON object in Google's "Trace Event Format". Complete events (``X``)
    have the category ``call`` or ``round`` and their row as arguments: one thread has the nested
    rounds, one for each level its calls. Counters (``C``) step at the end of each target round.
    Times are microseconds with the nanoseconds as a fraction.
    """
    levels = {call.level: call.name for call in trace.call_rows}
    #: The threads of levels, the target's first.
    threads: dict[int, int] = {}
    for tid, level in enumerate(sorted(levels, reverse=True), 2):
        threads[level] = tid
    texts: dict[int, str] = {}
    for token in trace.token_rows:
        texts[token.round] = texts.get(token.round, "") + token.text
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "args": {"name": f"hsd_viz: {trace.stack}"}}
    ]
    named_threads = {1: "rounds"}
    for level, tid in threads.items():
        named_threads[tid] = levels[level]
    for tid, name in named_threads.items():
        events.append({"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}})
        events.append(
            {"ph": "M", "name": "thread_sort_index", "tid": tid, "args": {"sort_index": tid}}
        )
    rows = sorted(trace.round_rows, key=lambda r: (r.start_ns, -r.level))
    for row in rows:
        args = row._asdict() | {"emitted": texts.get(row.id)}
        events.append(
            _span(f"{levels.get(row.level, row.level)} round {row.id}", "round", 1, row, args)
        )
    for call in trace.call_rows:
        name = f"{call.name} {call.kind}"
        events.append(_span(name, "call", threads[call.level], call, call._asdict()))
    tokens = Counter(token.round for token in trace.token_rows)
    emitted = 0
    for row in rows:
        if row.parent is not None:
            continue
        emitted += tokens[row.id]
        drafts = {"accepted": row.accepted, "not accepted": row.drafted - row.accepted}
        for name, args in {"tokens emitted": {"tokens": emitted}, "draft tokens": drafts}.items():
            events.append(
                {
                    "ph": "C",
                    "name": name,
                    "ts": (row.start_ns + row.duration_ns) / 1000,
                    "args": args,
                }
            )
    other = {}
    for key, value in trace.meta.items():
        if key not in ("prompt", "prompt_ids"):
            other[key] = str(value)
    return {
        "traceEvents": [{"pid": 1, **event} for event in events],
        "displayTimeUnit": "ms",
        "otherData": other,
    }


def _span(name: str, category: str, tid: int, row: Row, args: dict[str, Any]) -> dict[str, Any]:
    times = {"ts": row.start_ns / 1000, "dur": row.duration_ns / 1000}
    return {"ph": "X", "name": name, "cat": category, "tid": tid, **times, "args": args}


def aiperf_record(trace: Trace, number: int = 0) -> dict[str, Any]:
    """Return a trace as a line of AIPerf's ``profile_export.jsonl`` with its speculative-decoding
    record.

    Raises:
        UserError: for an imported trace whose source does not report each verification.
    """
    meta = trace.meta
    tokens = trace.metrics()["tokens"]
    engine = (meta.get("imported") or {"engine": "hsd_viz"})["engine"]
    if "counts" in meta and not trace.round_rows:
        raise UserError(
            f"the record of {engine} has no single verifications: AIPerf's form needs them"
        )
    steps = [row for row in trace.round_rows if row.parent is None and row.drafted]
    accepted = [row.accepted for row in steps]
    drafted = [row.drafted for row in steps]
    acceptance = {
        "engine": engine,
        "mean_acceptance_length": 1 + sum(accepted) / len(steps) if steps else 1.0,
        "draft_acceptance_rate": sum(accepted) / sum(drafted) if steps else 0.0,
        "acceptance_histogram": {str(j): n for j, n in sorted(Counter(accepted).items())},
        "num_accepted_draft_tokens": sum(accepted),
        "num_draft_tokens": sum(drafted),
        "num_spec_steps": len(steps),
        "num_spec_tokens": max(drafted, default=None),
        "completion_tokens": tokens,
        "per_step_accepted": accepted,
        "per_step_drafted": drafted,
    }
    counts = {
        "input_sequence_length": len(meta.get("prompt_ids") or []),
        "output_sequence_length": tokens,
    }
    times = {"time_to_first_token": meta.get("prefill_ns"), "request_latency": meta.get("wall_ns")}
    metrics = {name: {"value": n, "unit": "tokens"} for name, n in counts.items() if n is not None}
    metrics |= {
        name: {"value": ns / 1e6, "unit": "ms"} for name, ns in times.items() if ns is not None
    }
    about = {
        "session_num": number,
        "turn_index": 0,
        "request_start_ns": 0,
        "request_end_ns": meta.get("wall_ns"),
    }
    about |= {
        "worker_id": "hsd_viz",
        "record_processor_id": "hsd_viz",
        "benchmark_phase": "profiling",
    }
    return {
        "metadata": about | {"was_cancelled": meta.get("stop_reason") == "cancelled"},
        "metrics": metrics,
        "spec_decode_acceptance": acceptance,
        "error": None,
    }
