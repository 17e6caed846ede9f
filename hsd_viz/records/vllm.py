"""vLLM: log lines of all versions since 0.6, ``/metrics``, responses, results of ``vllm bench``.

AIPerf's ``profile_export.jsonl`` has the names of vLLM's responses and is read here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hsd_viz.errors import BadFile
from hsd_viz.records import prometheus
from hsd_viz.records.context import Context, LinePattern, number, numbers
from hsd_viz.records.forms import declare
from hsd_viz.records.sample import (
    MOST_DRAFT,
    Request,
    Sample,
    Verification,
    reaching,
    survivors,
    with_fixed_length,
)
from hsd_viz.words import check_range

NAME = "vllm"
AIPERF = "aiperf"
#: Drafters by their names in vLLM.
METHODS = {
    "draft_model": "draft",
    "ngram": "lookup",
    "ngram_gpu": "lookup",
    "[ngram]": "lookup",
    "eagle": "eagle",
    "eagle3": "eagle3",
    "mtp": "mtp",
    "deepseek_mtp": "mtp",
    "mimo_mtp": "mtp",
    "glm4_moe_mtp": "mtp",
    "ernie_mtp": "mtp",
    "qwen3_next_mtp": "mtp",
    "dflash": "dflash",
    "medusa": "medusa",
    "suffix": "suffix",
}
_N = r"([\d.]+|nan)"

LINE_V0 = declare(
    NAME,
    "log line of the V0 engine",
    "log line",
    seen_in="0.5–0.8 (V0 engine)",
    source="https://github.com/vllm-project/vllm/issues/9539",
    sample="Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, …",
    reports="cumulative accepted, draft and emitted tokens; the number of draft tokens",
)
LINE_EARLY_V1 = declare(
    NAME,
    "log line without positions",
    "log line",
    seen_in="0.8.0–0.8.4 (V1 engine)",
    source="https://github.com/vllm-project/vllm/pull/15902",
    sample="SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens, …",
    reports="accepted and draft tokens of an interval; not the number of drafts",
)
LINE_RATE_FIRST = declare(
    NAME,
    "log line, rate first",
    "log line",
    seen_in="0.8.5–0.10.1",
    source="https://github.com/vllm-project/vllm/pull/24127",
    sample="SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, …",
    reports="accepted and draft tokens of an interval, rates by position",
)
LINE = declare(
    NAME,
    "log line, length first",
    "log line",
    seen_in="0.10.2–0.32.0",
    source="https://github.com/vllm-project/vllm/blob/main/vllm/v1/spec_decode/metrics.py",
    sample="SpecDecoding metrics: Mean acceptance length: 2.62, Accepted throughput: 15.60 …",
    reports="accepted and draft tokens of an interval, rates by position",
)
METRICS = declare(
    NAME,
    "counters of /metrics",
    "metrics",
    seen_in="0.8.5–0.32.0; names with and without _total",
    source="https://github.com/vllm-project/vllm/pull/16665",
    sample='vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 43.0',
    reports="drafts, draft tokens, accepted tokens, by position, since the start of the server",
)
METRICS_V0 = declare(
    NAME,
    "counters of /metrics of the V0 engine",
    "metrics",
    seen_in="0.5–0.8 (V0 engine)",
    source="https://docs.vllm.ai/en/v0.6.6/serving/metrics.html",
    sample='vllm:spec_decode_num_emitted_tokens_total{model_name="m"} 6720.0',
    reports="accepted, draft and emitted tokens since the start of the server",
)
RESPONSE = declare(
    NAME,
    "response with metrics.speculative_decoding",
    "response",
    seen_in="0.32.0",
    source="https://github.com/vllm-project/vllm/pull/48915",
    sample='{"metrics": {"speculative_decoding": {"acceptance_histogram": [4, 1, 1, 2], …',
    reports="counts of a request; detailed: every verification; times where they are on",
)
BENCH = declare(
    NAME,
    "summary of vllm bench serve",
    "summary",
    seen_in="0.11–0.32.0",
    source="https://github.com/vllm-project/vllm/pull/34552",
    sample="Acceptance rate (%): 51.47 / Acceptance length: 2.54 / Drafts: 20481 / …",
    reports="drafts, draft tokens, accepted tokens, rates by position, speed, concurrency",
)
BENCH_JSON = declare(
    NAME,
    "result file of vllm bench serve",
    "summary",
    seen_in="0.11–0.32.0 (--save-result)",
    source="https://github.com/vllm-project/vllm/pull/34552",
    sample='{"spec_decode_num_drafts": 20481, "spec_decode_draft_tokens": 61443, …',
    reports="drafts, draft tokens, accepted tokens, rates by position, speed, concurrency",
)
EXAMPLE = declare(
    NAME,
    "output of the example spec_decode.py",
    "summary",
    seen_in="0.8.3–0.32.0 (examples/offline_inference)",
    source="https://github.com/vllm-project/vllm/pull/26498",
    sample="num_drafts: 4687 / num_draft_tokens: 46870 / … / acceptance at token 0: 0.74",
    reports="drafts, draft tokens, accepted tokens, rates by position; of n-grams steps without",
)
AIPERF_RECORD = declare(
    AIPERF,
    "profile_export.jsonl with spec_decode_acceptance",
    "response",
    seen_in="0.13.0",
    source="https://github.com/ai-dynamo/aiperf/pull/1191",
    sample='{"spec_decode_acceptance": {"engine": "vllm", "acceptance_histogram": {"0": 34, …',
    reports="counts, acceptance by position, times of a request",
)


# --- log lines ----------------------------------------------------------------------------------


def _v0(found: re.Match[str], context: Context) -> Sample:
    """Return what was counted since the line before; the counts of V0 are cumulative.

    V0 counts as accepted what the target would have accepted of a draft, tokens after a rejected
    one included. A draft emits its accepted prefix and one token of the target, so the emitted
    tokens less one per draft are the accepted ones in the sense of all later versions.
    """
    rate, tokens, accepted, drafted, emitted = (float(text) for text in found.groups())
    counts = {"accepted": accepted, "drafted": drafted, "emitted": emitted}
    earlier = context.memory.get("vllm v0", {})
    restarted = any(counts[name] < earlier.get(name, 0.0) for name in counts)
    if restarted:
        earlier = {}
    context.memory["vllm v0"] = counts
    drafted -= earlier.get("drafted", 0.0)
    emitted -= earlier.get("emitted", 0.0)
    counted = accepted - earlier.get("accepted", 0.0)
    drafts = drafted / tokens if tokens else 0.0
    speed, running = context.take_speed()
    return Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=max(0.0, emitted - drafts),
        tokens=emitted,
        passes=drafts,
        speed=speed,
        running=running,
        draft_length=int(tokens),
        engine_rate=counted / drafted if drafted else rate,
        derived=frozenset(("drafts", "accepted", "passes")),
    )


def _early_v1(found: re.Match[str], context: Context) -> Sample | None:
    accepted = float(found[1])
    drafted = float(found[2])
    if not drafted:
        return None
    speed, running = context.take_speed()
    return Sample(
        drafted=drafted,
        accepted=accepted,
        speed=speed,
        running=running,
        draft_length=context.draft_length,
    )


def _interval_of(found: re.Match[str], context: Context) -> Sample | None:
    length, accepted, drafted, rates = found.groups()
    return interval(length, accepted, drafted, rates, context)


def interval(
    length: str, accepted: str, drafted: str, rates: str, context: Context
) -> Sample | None:
    """Return the sample of an interval; ``None`` of one without drafts."""
    proposed = float(drafted)
    if not proposed:
        return None
    each = numbers(rates)
    taken = float(accepted)
    drafts = drafts_of(taken, proposed, number(length), each)
    speed, running = context.take_speed()
    sample = Sample(
        drafts=drafts,
        drafted=proposed,
        accepted=taken,
        by_position=tuple(float(round(rate * drafts)) for rate in each),
        speed=speed,
        running=running,
        draft_length=len(each),
        derived=frozenset(("drafts", "by_position")),
    )
    return with_fixed_length(sample)


def drafts_of(
    accepted: float, drafted: float, length: float | None, rates: tuple[float, ...]
) -> float:
    """Return the number of drafts that rounded figures of an interval imply.

    If all drafts have as many tokens as there are rates, it is the quotient: exact. Whether they
    do follows from the mean length, which is rounded to two digits: 1 + accepted / drafts.
    """
    whole = drafted / len(rates) if rates else 0.0
    if not accepted or length is None:
        return float(round(whole))
    least = accepted / (length - 1 + 0.006)
    most = accepted / (length - 1 - 0.006) if length > 1.006 else float("inf")
    if whole == round(whole) and least <= whole <= most:
        return whole
    # Of the two rounded figures, the sum of the rates (three digits each) is the more exact one.
    return float(round(accepted / (sum(rates) or length - 1)))


def _speed(found: re.Match[str], context: Context) -> None:
    """Add the speed and the running requests of an engine; several engines report in turn."""
    speed = float(found[1])
    running = float(found[2])
    same_moment = context.memory.get("vllm clock") == context.clock and context.speed is not None
    context.speed = speed + (context.speed or 0.0 if same_moment else 0.0)
    context.running = running + (context.running or 0.0 if same_moment else 0.0)
    context.memory["vllm clock"] = context.clock


def _version(found: re.Match[str], context: Context) -> None:
    context.versions[NAME] = found[1]


def _model(found: re.Match[str], context: Context) -> None:
    context.model = found[1]


def _method(found: re.Match[str], context: Context) -> None:
    context.method = METHODS.get(found[1].lower(), context.method)


def _tokens(found: re.Match[str], context: Context) -> None:
    context.draft_length = int(found[1])


def _draft_model(found: re.Match[str], context: Context) -> None:
    context.draft_model = found[1]


#: A figure of the example -> its name here.
EXAMPLE_ROWS = {
    "num_drafts": "drafts",
    "num_draft_tokens": "drafted",
    "num_accepted_tokens": "accepted",
    "num_tokens_generated_without_sd": "idle",
    "mean acceptance length": "length",
}


def _example_row(found: re.Match[str], context: Context) -> None:
    """Keep a figure of the example; one that comes again starts the next output."""
    blocks = context.memory.setdefault("vllm examples", [])
    if found[1] == "total_num_output_tokens":
        blocks.append({})
    name = EXAMPLE_ROWS.get(found[1])
    if name is None:
        return
    if not blocks or name in blocks[-1]:
        blocks.append({})
    blocks[-1][name] = float(found[2])


def _example_rate(found: re.Match[str], context: Context) -> None:
    blocks = context.memory.setdefault("vllm examples", [{}])
    rates = blocks[-1].setdefault("rates", [])
    if int(found[1]) == len(rates):
        rates.append(float(found[2]))


def examples(context: Context) -> list[Sample]:
    """Return the outputs of the example that a file has."""
    found = []
    for block in context.memory.get("vllm examples", []):
        rates = tuple(block.get("rates", ()))
        drafts = block.get("drafts")
        if not drafts:
            if rates and block.get("length"):
                found.append(Sample(length=block["length"], draft_length=len(rates)))
            continue
        idle = block.get("idle", 0.0)
        sample = Sample(
            drafts=drafts,
            drafted=block.get("drafted"),
            accepted=block.get("accepted"),
            by_position=tuple(rate * drafts for rate in rates) or None,
            passes=drafts + idle if idle else None,
            draft_length=len(rates) or None,
            derived=frozenset(("by_position",)),
        )
        found.append(with_fixed_length(sample))
    return found


LINES = (
    LinePattern(
        None,
        re.compile(
            r"^\s*(total_num_output_tokens|num_drafts|num_draft_tokens|num_accepted_tokens"
            r"|num_tokens_generated_without_sd|(?:seq normalized |mean )acceptance length)"
            r": *(\d+(?:\.\d+)?)\s*$"
        ),
        _example_row,
    ),
    LinePattern(
        None, re.compile(r"^\s*acceptance at token (\d+): *(\d+(?:\.\d+)?)\s*$"), _example_rate
    ),
    LinePattern(
        LINE_V0,
        re.compile(
            rf"Speculative metrics: Draft acceptance rate: {_N}, System efficiency: [\d.]+, "
            rf"Number of speculative tokens: (\d+), Number of accepted tokens: (\d+), "
            rf"Number of draft tokens: (\d+), Number of emitted tokens: (\d+)"
        ),
        _v0,
    ),
    LinePattern(
        LINE_EARLY_V1,
        re.compile(
            r"Speculative metrics: Draft acceptance rate: [\d.]+, "
            r"Number of accepted tokens: (\d+), Number of draft tokens: (\d+),"
        ),
        _early_v1,
    ),
    LinePattern(
        LINE_RATE_FIRST,
        re.compile(
            rf"SpecDecoding metrics: Draft acceptance rate: [\w.]+%, "
            rf"Mean acceptance length: {_N}, .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
            r"Per-position acceptance rate: ([\d., ]+)"
        ),
        _interval_of,
    ),
    LinePattern(
        LINE_EARLY_V1,
        re.compile(
            r"SpecDecoding metrics: Draft acceptance rate: [\w.]+%, "
            r"Accepted: (\d+) tokens, Drafted: (\d+) tokens"
        ),
        _early_v1,
    ),
    LinePattern(
        LINE,
        re.compile(
            rf"SpecDecoding metrics: Mean acceptance length: {_N}, .*?"
            r"Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
            r"Per-position acceptance rate: ([\d., ]+)"
        ),
        _interval_of,
    ),
    LinePattern(
        None,
        re.compile(
            r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs",
        ),
        _speed,
    ),
    LinePattern(None, re.compile(r"LLM engine \(v([\w.+]+)\)"), _version),
    LinePattern(None, re.compile(r"vLLM API server version ([\w.+]+)"), _version),
    LinePattern(None, re.compile(r"with config: model='([^']+)'"), _model),
    LinePattern(
        None,
        re.compile(r"SpeculativeConfig\([^)]*?draft_model='([^']+)'"),
        _draft_model,
    ),
    LinePattern(None, re.compile(r"SpeculativeConfig\(method='([^']+)'"), _method),
    LinePattern(None, re.compile(r"speculative_config.*?['\"]method['\"]: ['\"](\w+)"), _method),
    LinePattern(None, re.compile(r"num_spec(?:ulative)?_tokens['\"]?[:=] ?(\d+)"), _tokens),
)


# --- summaries ----------------------------------------------------------------------------------

#: A row of ``vllm bench serve`` -> the field that it fills.
SUMMARY_ROWS = {
    "Acceptance length": "length",
    "Drafts": "drafts",
    "Draft tokens": "drafted",
    "Accepted tokens": "accepted",
}


def summary_rows(rows: Mapping[str, str]) -> Sample | None:
    """Return the sample of the rows of a printed summary, ``None`` if it has no counts of
    drafts.
    """
    drafts = number(rows.get("Drafts"))
    if drafts is None:
        return None
    rates = _rates_of_rows(rows)
    tpot = number(rows.get("Median TPOT (ms)")) or number(rows.get("Mean TPOT (ms)"))
    return bench_sample(
        drafts=drafts,
        drafted=number(rows.get("Draft tokens")),
        accepted=number(rows.get("Accepted tokens")),
        rates=tuple(rate / 100 for rate in rates),
        running=number(rows.get("Maximum request concurrency")),
        ms_per_token=tpot,
    )


def _rates_of_rows(rows: Mapping[str, str]) -> list[float]:
    rates: list[float] = []
    while (text := rows.get(f"Position {len(rates)}")) is not None:
        rates.append(float(text))
    return rates


def bench_json(value: Mapping[str, Any]) -> Sample | None:
    """Return the sample of a result file of ``vllm bench serve --save-result``."""
    drafts = value.get("spec_decode_num_drafts")
    if drafts is None:
        return None
    rates = value.get("spec_decode_per_position_acceptance_rates") or ()
    accepted = value.get("spec_decode_accepted_tokens")
    scale = 100 if _are_percent(rates, drafts, accepted) else 1
    return bench_sample(
        drafts=drafts,
        drafted=value.get("spec_decode_draft_tokens"),
        accepted=accepted,
        rates=tuple(rate / scale for rate in rates),
        running=value.get("max_concurrency"),
        ms_per_token=value.get("median_tpot_ms") or value.get("mean_tpot_ms"),
    )


def _are_percent(rates: Sequence[float], drafts: float, accepted: float | None) -> bool:
    """Return whether rates by position are in percent: as shares they sum to the accepted tokens of
    a draft.
    """
    if accepted is None or not drafts:
        return any(rate > 1 for rate in rates)
    of_a_draft = accepted / drafts
    return abs(sum(rates) / 100 - of_a_draft) < abs(sum(rates) - of_a_draft)


def bench_sample(
    *,
    drafts: float,
    drafted: float | None,
    accepted: float | None,
    rates: tuple[float, ...],
    running: float | None,
    ms_per_token: float | None,
) -> Sample:
    """Return the sample of a benchmark.

    Its speed is of all requests together, by the time per token of one and the number that may run
    at a time: an upper estimate where fewer did.
    """
    speed = None
    if ms_per_token:
        speed = 1e3 / ms_per_token * (running or 1.0)
    sample = Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(rate * drafts for rate in rates) or None,
        running=running,
        speed=speed,
        draft_length=len(rates) or None,
        derived=frozenset(("by_position",)) if rates else frozenset(),
    )
    return with_fixed_length(sample)


# --- /metrics -----------------------------------------------------------------------------------


def metrics(values: Mapping[prometheus.Key, float]) -> tuple[Sample, Any] | None:
    """Return the sample of a scrape, or of the difference of two, with its form."""
    prefix = "vllm:spec_decode_"
    drafted = prometheus.total(values, [f"{prefix}num_draft_tokens_total"])
    accepted = prometheus.total(values, [f"{prefix}num_accepted_tokens_total"])
    drafts = prometheus.total(values, [f"{prefix}num_drafts_total"])
    emitted = prometheus.total(values, [f"{prefix}num_emitted_tokens_total"])
    if drafts is None and emitted is not None and drafted is not None:
        return _metrics_v0(values, drafted, emitted), METRICS_V0
    if drafts is None:
        return None
    places = prometheus.by_position(values, f"{prefix}num_accepted_tokens_per_pos_total")
    sample = Sample(
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=None if places is None else tuple(places),
        running=prometheus.gauge(values, "vllm:num_requests_running"),
        draft_length=None if places is None else len(places),
    )
    return with_fixed_length(sample), METRICS


def _metrics_v0(values: Mapping[prometheus.Key, float], drafted: float, emitted: float) -> Sample:
    """Return the sample of V0's counters: the number of drafts is not among them."""
    rate = prometheus.gauge(values, "vllm:spec_decode_draft_acceptance_rate")
    return Sample(drafted=drafted, tokens=emitted, engine_rate=rate)


# --- responses ----------------------------------------------------------------------------------


def response(value: Mapping[str, Any], request: Request) -> tuple[Sample, Any] | None:
    """Return the sample of a response, or of a line of AIPerf's file, with its form."""
    timing = value.get("metrics") or {}
    usage = value.get("usage") or {}
    if isinstance(found := value.get("spec_decode_acceptance"), Mapping):
        return _aiperf(found, timing, request), AIPERF_RECORD
    if not isinstance(timing, Mapping):
        return None
    if isinstance(found := timing.get("speculative_decoding"), Mapping):
        first = timing.get("time_to_first_token_ms")
        decode = timing.get("generation_time_ms")
        tokens = usage.get("completion_tokens")
        return acceptance(found, tokens, first, decode, request), RESPONSE
    if "spec_decode_num_drafts" in value and (sample := bench_json(value)) is not None:
        return sample, BENCH_JSON
    return None


def _aiperf(found: Mapping[str, Any], timing: Mapping[str, Any], request: Request) -> Sample:
    first = _value(timing, "time_to_first_token")
    whole = _value(timing, "request_latency")
    decode = None if first is None or whole is None else whole - first
    tokens = found.get("completion_tokens") or _value(timing, "output_sequence_length")
    return acceptance(found, tokens, first, decode, request)


def _value(timing: Mapping[str, Any], name: str) -> float | None:
    return (timing.get(name) or {}).get("value")


def acceptance(
    found: Mapping[str, Any],
    tokens: float | None,
    prefill_ms: float | None,
    decode_ms: float | None,
    request: Request,
) -> Sample:
    """Return the sample of a record with a dense or a sparse histogram."""
    accepted = found.get("per_step_accepted")
    drafted = found.get("per_step_drafted")
    rows: tuple[Verification, ...] = ()
    if accepted and drafted:
        if len(accepted) != len(drafted):
            raise BadFile("damaged: per_step_accepted and per_step_drafted differ in length")
        rows = tuple(Verification(d, a) for a, d in zip(accepted, drafted, strict=True))
    histogram = _histogram(found.get("acceptance_histogram"))
    taken = found.get("num_accepted_draft_tokens")
    sample = Sample(
        drafts=found.get("num_spec_steps"),
        drafted=found.get("num_draft_tokens"),
        accepted=taken,
        by_position=None if histogram is None else survivors(histogram),
        reached=_reached(rows),
        histogram=histogram,
        verifications=rows,
        tokens=tokens,
        passes=None if tokens is None or taken is None else tokens - taken,
        prefill_seconds=None if prefill_ms is None else prefill_ms / 1e3,
        seconds=None if decode_ms is None else decode_ms / 1e3,
        draft_length=found.get("num_spec_tokens"),
        request=request,
        derived=frozenset(("passes", "by_position")),
    )
    return with_fixed_length(sample)


def _histogram(found: Any) -> tuple[float, ...] | None:
    if isinstance(found, Mapping):
        counted = {int(j): n for j, n in found.items()}
        check_range("the longest draft", max(counted, default=0), 0, MOST_DRAFT)
        return tuple(counted.get(j, 0) for j in range(max(counted, default=0) + 1))
    return tuple(found) if found else None


def _reached(rows: tuple[Verification, ...]) -> tuple[float, ...] | None:
    """Return the drafts of at least k tokens, k = 1, 2, ..."""
    if not rows:
        return None
    drafted = [row.drafted for row in rows]
    return reaching(drafted, max(drafted))
