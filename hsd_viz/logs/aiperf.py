"""Runs of ours as AIPerf's ``profile_export.jsonl`` (0.13.0), with its record of speculative decoding."""

from collections import Counter
from typing import Any

from hsd_viz.trace import Trace


def aiperf_record(trace: Trace, number: int = 0) -> dict[str, Any]:
    """Return a trace as a line of AIPerf's ``profile_export.jsonl`` with its speculative-decoding record. Raises:
    ValueError: for an imported trace whose source does not report each verification."""
    imported = trace.meta.get("imported") or {"engine": "hsd_viz"}
    if "counts" in trace.meta and not trace.round_rows:
        raise ValueError(f"the record of {imported['engine']} has no single verifications: AIPerf's form needs them")
    target = max((row.level for row in trace.round_rows), default=0)
    steps = [row for row in trace.round_rows if row.level == target and row.drafted]
    accepted, drafted = [row.accepted for row in steps], [row.drafted for row in steps]
    meta, figures = trace.meta, trace.metrics()
    prefill, wall = meta.get("prefill_ns"), meta.get("wall_ns")
    acceptance = {
        "engine": imported["engine"],
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
    return {
        "metadata": {
            "session_num": number,
            "turn_index": 0,
            "request_start_ns": 0,
            "request_end_ns": wall,
            "worker_id": "hsd_viz",
            "record_processor_id": "hsd_viz",
            "benchmark_phase": "profiling",
            "was_cancelled": meta.get("stop_reason") == "cancelled",
        },
        "metrics": {
            name: {"value": value, "unit": unit} for name, (value, unit) in metrics.items() if value is not None
        },
        "spec_decode_acceptance": acceptance,
        "error": None,
    }
