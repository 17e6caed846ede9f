"""TensorRT-LLM: iteration statistics with ``specDecodingStats``; all iterations of a file are one trace."""

from collections.abc import Mapping, Sequence

from hsd_viz.adapters import ENGINES
from hsd_viz.adapters.record import Verification, imported
from hsd_viz.trace import Trace

NAME = "tensorrt-llm"


def read_iterations(iterations: Sequence[Mapping]) -> Trace:
    """Return the trace of iterations; those of one request each are its rounds."""
    spec = [row["specDecodingStats"] for row in iterations]
    sums = {
        quantity: sum(row.get(name) or 0 for row in spec)
        for name, quantity in ENGINES[NAME]["metrics"].items()
        if quantity != "length_drafts"
    }
    steps: list[Verification] = []
    drafting = [
        (row, s) for row, s in zip(iterations, spec, strict=True) if s.get("numDraftTokens")
    ]
    if all(s.get("numRequestsWithDraftTokens") == 1 for _, s in drafting):
        for row, s in drafting:
            latency = row.get("iterLatencyMS")
            duration = None if latency is None else round(latency * 1e6)
            steps.append((s["numDraftTokens"], s["numAcceptedTokens"], duration))
    return imported(NAME, sums, steps=steps)
