"""llama.cpp: ``/metrics``, responses and streams of ``llama-server``; its log lines are
:mod:`hsd_viz.records.engines.llama_cpp_lines`.

mlx-vlm and other servers that follow llama-server's ``timings`` are read here as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from hsd_viz.records import prometheus
from hsd_viz.records.fields import Number, typed
from hsd_viz.records.forms import Form, declare
from hsd_viz.records.sample import RecordedRequest, Sample

NAME = "llama.cpp"
METHODS = {
    "draft-eagle3": "eagle3",
    "draft-mtp": "mtp",
    "draft-dflash": "dflash",
    "draft-dspark": "dflash",
    "draft-simple": "draft",
    "draft": "draft",
    "eagle3": "eagle3",
    "mtp": "mtp",
    "dflash": "dflash",
}
LINE = declare(
    NAME,
    "log of llama-server",
    "log line",
    seen_in="b4200–f5e85d4: draft acceptance [rate] = … (… accepted / … generated)",
    source="https://github.com/ggml-org/llama.cpp/pull/24536",
    sample="draft acceptance = 0.64479 ( 167 accepted / 259 generated), mean acceptance length = …",
    reports="accepted and draft tokens, tokens and times of a request; newer ones positions, too",
)
ROUND = declare(
    NAME,
    "verbose log of llama-server",
    "log line",
    seen_in="b7500 (-v)",
    source="https://github.com/ggml-org/llama.cpp/pull/18211",
    sample="slot update_slots: id 3 | task 0 | accepted 2/16 draft tokens, new n_tokens = 664",
    reports="every verification of a request",
)
STATISTICS = declare(
    NAME,
    "statistics of llama-server by drafter",
    "log line",
    seen_in="PR 19164 (2026-01) – PR 24536 (2026-06); where a log has no line of a request",
    source="https://github.com/ggml-org/llama.cpp/pull/23269",
    sample="statistics draft-mtp: #calls(b,g,a) = 11 796 796, #gen drafts = 796, …",
    reports=(
        "drafts, draft tokens, accepted tokens by drafter, since the start; newer ones positions"
    ),
)
SIMPLE = declare(
    NAME,
    "output of llama-speculative",
    "summary",
    seen_in="b1500–f5e85d4",
    source="https://github.com/ggml-org/llama.cpp/issues/12968",
    sample="n_predict = 261 / n_drafted = 156 / n_accept = 154",
    reports="tokens, draft tokens, accepted tokens; not the number of verifications",
)
METRICS = declare(
    NAME,
    "counters of /metrics",
    "metrics",
    seen_in="b8200 (2026-08)",
    source="https://github.com/ggml-org/llama.cpp/pull/26389",
    sample="llamacpp:spec_decode_num_drafts_total 1000",
    reports="drafts, draft tokens, accepted tokens, by position, tokens and seconds",
)
RESPONSE = declare(
    NAME,
    "response with timings",
    "response",
    seen_in="b5000–f5e85d4; chunks of a stream with timings_per_token",
    source="https://github.com/ggml-org/llama.cpp/pull/12603",
    sample='{"timings": {"predicted_n": 200, "predicted_ms": 11082.6, "draft_n": 347, …',
    reports="tokens, draft tokens, accepted tokens and times of a request",
)
MLX = declare(
    "mlx-vlm",
    "response with timings",
    "response",
    seen_in="PR 1788",
    source="https://github.com/Blaizzy/mlx-vlm/pull/1788",
    sample='{"timings": {"draft_kind": "mtp", "draft_rounds": 30, "draft_n": 90, …',
    reports="verifications, draft tokens, accepted tokens of a request",
)


# --- /metrics -----------------------------------------------------------------------------------


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Form] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    sample = prometheus.spec_decode(values, "llamacpp:spec_decode_")
    if sample is None:
        return None
    tokens = prometheus.counter_sum(values, ["llamacpp:tokens_predicted_total"]) or None
    seconds = prometheus.counter_sum(values, ["llamacpp:tokens_predicted_seconds_total"]) or None
    passes = None
    if tokens is not None and sample.accepted is not None:
        passes = max(tokens - sample.accepted, 0.0)
    sample = replace(
        sample,
        tokens=tokens,
        passes=passes,
        seconds=seconds,
        derived=sample.derived | {"passes"},
    )
    return sample, METRICS


# --- responses ----------------------------------------------------------------------------------


class _Timings(msgspec.Struct):
    """The ``timings`` of a response.

    Attributes:
        prompt_ms: the duration of the prefill in milliseconds.
        predicted_ms: the duration after the prefill in milliseconds.
        predicted_n: the number of emitted tokens.
        draft_n: the number of draft tokens.
        draft_n_accepted: the number of accepted draft tokens.
        draft_n_verif_steps: the number of verifications.
        draft_rounds: the number of verifications, in mlx-vlm.
    """

    prompt_ms: Number | None = None
    predicted_ms: Number | None = None
    predicted_n: Number | None = None
    draft_n: Number | None = None
    draft_n_accepted: Number | None = None
    draft_n_verif_steps: Number | None = None
    draft_rounds: Number | None = None


def response(value: Mapping[str, Any], request: RecordedRequest) -> tuple[Sample, Form] | None:
    """Return the sample of a response with its form."""
    if not isinstance(value.get("timings"), Mapping):
        return None
    timings = typed(value["timings"], _Timings)
    if timings.draft_n is None:
        return None
    accepted = timings.draft_n_accepted
    prefill = timings.prompt_ms
    decode = timings.predicted_ms
    tokens = timings.predicted_n
    rounds = timings.draft_rounds
    passes = None
    if rounds is not None:
        # mlx-vlm also counts accepted tokens after the end of the text, which do not determine
        # the number of forward passes.
        passes = rounds + 1
    elif tokens is not None and accepted is not None:
        passes = max(0, tokens - accepted)
    sample = Sample(
        drafts=timings.draft_n_verif_steps if rounds is None else rounds,
        drafted=timings.draft_n,
        accepted=accepted,
        tokens=tokens,
        passes=passes,
        prefill_seconds=None if prefill is None else prefill / 1e3,
        seconds=None if decode is None else decode / 1e3,
        request=request,
        derived=frozenset(("passes",)),
    )
    return sample, RESPONSE if rounds is None else MLX
