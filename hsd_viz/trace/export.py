"""Export a trace to other formats.

- CSV: a file per table.
- Chrome's trace event format, which ui.perfetto.dev and chrome://tracing open.
- AIPerf's ``profile_export.jsonl`` (0.13.0), including its record of speculative decoding.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hsd_viz.disk import write_inside
from hsd_viz.errors import UserError
from hsd_viz.trace.rows import CallRow, RoundRow
from hsd_viz.trace.tables import TABLES, observed
from hsd_viz.trace.trace import Trace

#: The id of the thread that shows the rounds.
_ROUNDS_THREAD = 1


def write_csv(trace: Trace, folder: str | os.PathLike) -> list[Path]:
    """Write ``tokens.csv``, ``drafts.csv``, ``rounds.csv`` and ``calls.csv``, and return the paths.

    The folder is created if it is missing. The columns are those of :mod:`hsd_viz.trace.tables`;
    lists are written as JSON text, missing values as empty cells. A link in place of a file is
    replaced.

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
    """Return the CSV form of a value: lists as JSON text, others unchanged."""
    return json.dumps(value) if isinstance(value, list) else value


def chrome_trace(trace: Trace) -> dict[str, Any]:
    """Return the trace as a JSON object in Google's "Trace Event Format".

    Complete events (``X``) have the category ``call`` or ``round``, and their row as arguments. A
    thread shows the nested rounds, and a thread per level shows its calls. Counters (``C``) change
    at the end of each target round. Times are in microseconds with fractions.
    """
    names = {call.level: call.name for call in trace.call_rows}
    # The thread of each level, that of the target first.
    threads = {level: tid for tid, level in enumerate(sorted(names, reverse=True), 2)}
    rounds = sorted(trace.round_rows, key=lambda row: (observed(row.start_ns), -row.level))
    process = {"ph": "M", "name": "process_name", "args": {"name": f"hsd_viz: {trace.stack}"}}
    events = [
        process,
        *_name_thread(_ROUNDS_THREAD, "rounds"),
    ]
    for level, tid in threads.items():
        events += _name_thread(tid, names[level])
    events += _round_spans(trace, rounds, names)
    for call in trace.call_rows:
        name = f"{call.name} {call.kind}"
        events.append(_span(name, "call", threads[call.level], call, call._asdict()))
    events += _counters(trace, rounds)
    facts = {}
    for key, value in trace.meta.items():
        if key not in ("prompt", "prompt_ids"):
            facts[key] = str(value)
    return {
        "traceEvents": [{"pid": 1} | event for event in events],
        "displayTimeUnit": "ms",
        "otherData": facts,
    }


def _name_thread(tid: int, name: str) -> list[dict[str, Any]]:
    """Return the events that set the name and the position of a thread."""
    return [
        {"ph": "M", "name": "thread_name", "tid": tid, "args": {"name": name}},
        {"ph": "M", "name": "thread_sort_index", "tid": tid, "args": {"sort_index": tid}},
    ]


def _round_spans(
    trace: Trace, rounds: Sequence[RoundRow], names: dict[int, str]
) -> Iterator[dict[str, Any]]:
    """Yield an event for each round with the text that it emitted, given the names of levels."""
    texts: dict[int, str] = {}
    for token in trace.token_rows:
        texts[token.round] = texts.get(token.round, "") + token.text
    for row in rounds:
        name = f"{names.get(row.level, row.level)} round {row.id}"
        args = row._asdict() | {"emitted": texts.get(row.id)}
        yield _span(name, "round", _ROUNDS_THREAD, row, args)


def _counters(trace: Trace, rounds: Sequence[RoundRow]) -> Iterator[dict[str, Any]]:
    """Yield the counters of emitted and draft tokens at the end of each target round."""
    tokens_of_round = Counter(token.round for token in trace.token_rows)
    emitted = 0
    for row in rounds:
        if row.parent is not None:
            continue
        emitted += tokens_of_round[row.id]
        end = (observed(row.start_ns) + observed(row.duration_ns)) / 1000
        drafts = {"accepted": row.accepted, "not accepted": row.drafted - row.accepted}
        yield {"ph": "C", "name": "tokens emitted", "ts": end, "args": {"tokens": emitted}}
        yield {"ph": "C", "name": "draft tokens", "ts": end, "args": drafts}


def _span(
    name: str, category: str, tid: int, row: RoundRow | CallRow, args: dict[str, Any]
) -> dict[str, Any]:
    """Return the complete event for a row."""
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "tid": tid,
        "ts": observed(row.start_ns) / 1000,
        "dur": observed(row.duration_ns) / 1000,
        "args": args,
    }


def aiperf_record(trace: Trace, number: int = 0) -> dict[str, Any]:
    """Return a trace as a line of AIPerf's ``profile_export.jsonl``, with its record of speculative
    decoding.

    Raises:
        UserError: if the trace was imported from a source that does not report each verification.
    """
    meta = trace.meta
    metadata = {
        "session_num": number,
        "turn_index": 0,
        "request_start_ns": 0,
        "request_end_ns": meta.get("wall_ns"),
        "worker_id": "hsd_viz",
        "record_processor_id": "hsd_viz",
        "benchmark_phase": "profiling",
        "was_cancelled": meta.get("stop_reason") == "cancelled",
    }
    tokens = trace.metrics()["tokens"]
    acceptance = _aiperf_acceptance(trace, tokens)
    measures = {
        "input_sequence_length": _measure(len(meta.get("prompt_ids") or []), "tokens"),
        "output_sequence_length": _measure(tokens, "tokens"),
        "time_to_first_token": _measure(_in_ms(meta.get("prefill_ns")), "ms"),
        "request_latency": _measure(_in_ms(meta.get("wall_ns")), "ms"),
    }
    return {
        "metadata": metadata,
        "metrics": {
            name: measure for name, measure in measures.items() if measure["value"] is not None
        },
        "spec_decode_acceptance": acceptance,
        "error": None,
    }


def _aiperf_acceptance(trace: Trace, tokens: int | None) -> dict[str, Any]:
    """Return AIPerf's record of speculative decoding; ``tokens`` were emitted."""
    engine = (trace.meta.get("imported") or {"engine": "hsd_viz"})["engine"]
    if "counts" in trace.meta and not trace.round_rows:
        raise UserError(
            f"the record of {engine} has no single verifications: AIPerf's form needs them"
        )
    steps = [row for row in trace.round_rows if row.parent is None and row.drafted]
    accepted = [row.accepted for row in steps]
    drafted = [row.drafted for row in steps]
    return {
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


def _measure(value: float | None, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit}


def _in_ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6
