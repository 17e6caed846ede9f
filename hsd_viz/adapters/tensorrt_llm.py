"""TensorRT-LLM: iteration statistics with ``specDecodingStats``; all iterations of a file are one trace."""

from collections.abc import Mapping, Sequence

from hsd_viz.adapters.quantities import Adapter, Vocabulary
from hsd_viz.adapters.record import Verification, imported
from hsd_viz.trace import Trace

NAME = "tensorrt-llm"
WORDS = Vocabulary(
    "1.2",
    {
        "numRequestsWithDraftTokens": "verifications",
        "numDraftTokens": "drafted",
        "numAcceptedTokens": "accepted",
        "acceptanceLength": "length_drafts",
    },
)
DECODING_TYPES = {"draft": "Draft_Target", "eagle3": "Eagle3", "mtp": "MTP", "lookup": "NGram", "medusa": "Medusa"}


def read_iterations(iterations: Sequence[Mapping]) -> Trace:
    """Return the trace of iterations; those of one request each are its rounds."""
    spec = [row["specDecodingStats"] for row in iterations]
    sums = {
        quantity: sum(row.get(name) or 0 for row in spec)
        for name, quantity in WORDS.names.items()
        if quantity != "length_drafts"
    }
    steps: list[Verification] = []
    drafting = [(row, s) for row, s in zip(iterations, spec, strict=True) if s.get("numDraftTokens")]
    if all(s.get("numRequestsWithDraftTokens") == 1 for _, s in drafting):
        for row, s in drafting:
            latency = row.get("iterLatencyMS")
            duration = None if latency is None else round(latency * 1e6)
            steps.append((s["numDraftTokens"], s["numAcceptedTokens"], duration))
    return imported(NAME, WORDS.version, sums, steps=steps)


def flags(method: str, tokens: int, model: str, by_batch: Sequence[tuple[int, int]]) -> str:
    """Return the YAML of ``extra_llm_api_options``."""
    if method == "plain":
        return "leave out speculative_config"
    if method not in DECODING_TYPES:
        return ""
    length = f"max_draft_len: {tokens}"
    if method == "mtp":
        length = f"num_nextn_predict_layers: {tokens}"
    name = f", speculative_model: {model}" if method in ("draft", "eagle3", "medusa") else ""
    return f"speculative_config: {{decoding_type: {DECODING_TYPES[method]}, {length}{name}}}"


ADAPTER = Adapter(NAME, WORDS, "1.2", flags)
