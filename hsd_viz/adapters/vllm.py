"""vLLM: responses with ``metrics.speculative_decoding``, log lines, the text of ``/metrics``; and AIPerf's records,
which have the same names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hsd_viz.adapters import ENGINES
from hsd_viz.adapters.observation import MOST_DRAFT
from hsd_viz.adapters.record import counts_of, imported
from hsd_viz.trace import Trace
from hsd_viz.words import check_range

NAME = "vllm"
_NUMBER = r"([\d.]+)"
_LINE = re.compile(
    rf"SpecDecoding metrics: Mean acceptance length: {_NUMBER}, .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([\d., ]+?), Avg"
)
_CONFIG = re.compile(r"SpeculativeConfig\(method='(\w+)'")
_COUNTER = re.compile(r"^vllm:spec_decode_(num_\w+?)_total(?:\{(.*)\})? (\S+)$", re.M)


def read(response: Mapping) -> Trace | None:
    """Return the trace of a response, or of a line of AIPerf's ``profile_export.jsonl``; ``None``: of another form."""
    timing, usage = response.get("metrics") or {}, response.get("usage") or {}
    if isinstance(found := response.get("spec_decode_acceptance"), Mapping):
        first, latency = (
            (timing.get(name) or {}).get("value")
            for name in ("time_to_first_token", "request_latency")
        )
        decode = None if None in (first, latency) else latency - first
        tokens = found.get("completion_tokens") or (timing.get("output_sequence_length") or {}).get(
            "value"
        )
        return _acceptance("aiperf", found, tokens, prefill_ms=first, decode_ms=decode)
    if isinstance(found := timing.get("speculative_decoding"), Mapping):
        times = {
            "prefill_ms": timing.get("time_to_first_token_ms"),
            "decode_ms": timing.get("generation_time_ms"),
        }
        return _acceptance(NAME, found, usage.get("completion_tokens"), **times)
    return None


def _acceptance(engine: str, found: Mapping, tokens: int | None, **more: Any) -> Trace:
    """Return the trace of a record with a dense or a sparse histogram."""
    accepted, drafted = found.get("per_step_accepted"), found.get("per_step_drafted")
    steps = (
        [(d, a, None) for a, d in zip(accepted, drafted, strict=True)]
        if accepted and drafted
        else []
    )
    histogram = found.get("acceptance_histogram")
    if isinstance(histogram, Mapping):
        counted = {int(j): n for j, n in histogram.items()}
        check_range("the longest draft", max(counted, default=0), 0, MOST_DRAFT)
        histogram = [counted.get(j, 0) for j in range(max(counted, default=0) + 1)]
    known = counts_of(NAME, found) | {"tokens": tokens, "histogram": histogram}
    return imported(engine, known, steps=steps, **more)


def read_text(text: str) -> Iterator[Trace]:
    """Yield the trace of the counters of ``/metrics`` (summed over engines), or of the lines of a log."""
    sums: Counter = Counter()
    positions: dict[int, int] = defaultdict(int)
    for name, labels, value in _COUNTER.findall(text):
        if place := re.search(r'position="(\d+)"', labels):
            positions[int(place[1])] += round(float(value))
        else:
            sums[name] += round(float(value))
    if "num_drafts" in sums:
        names = {
            "verifications": "num_drafts",
            "drafted": "num_draft_tokens",
            "accepted": "num_accepted_tokens",
        }
        known: dict[str, Any] = {quantity: sums.get(name) for quantity, name in names.items()}
        by_position = [positions[k] for k in range(max(positions) + 1)] if positions else None
        yield imported(NAME, known | {"by_position": by_position})
    if lines := _LINE.findall(text):
        yield _log(lines, _CONFIG.search(text))


def _log(lines: Sequence[tuple[str, str, str, str]], config: re.Match[str] | None) -> Trace:
    """Return the trace of the log's lines. Each is an interval; the number of its drafts follows from the rounded mean
    length, or from the draft length (the number of rates) where nothing was accepted.
    """
    accepted, drafted = (sum(int(line[k]) for line in lines) for k in (1, 2))
    verifications, places = 0, Counter[int]()
    for length, taken, proposed, rates in lines:
        each = [float(rate) for rate in rates.split(",")]
        drafts = (
            round(int(taken) / (float(length) - 1))
            if float(length) > 1
            else round(int(proposed) / len(each))
        )
        verifications += drafts
        for k, rate in enumerate(each):
            places[k] += round(rate * drafts)
    known = {"drafted": drafted, "accepted": accepted, "verifications": verifications}
    by_position = [places[k] for k in sorted(places)]
    method = ENGINES[NAME]["methods"].get(config[1]) if config else None
    names = ("verifications", "by_position")
    return imported(NAME, known | {"by_position": by_position}, derived=names, method=method)
