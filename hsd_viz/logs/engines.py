"""Records of other engines as traces: what a source does not report is *not observed*, ``None`` in every metric.

An imported trace has no tokens or drafts; it has rounds only where the source reports each verification. Its meta has
``counts`` (:data:`hsd_viz.logs.vocabulary.QUANTITIES`), and under ``imported`` the engine, the version its form was
checked in, and the lists ``exact``, ``derived`` and ``not_observed``.

=============  =========================================================================================
engine         source
=============  =========================================================================================
vllm           responses with ``metrics.speculative_decoding``, log lines, the text of ``/metrics``
sglang         responses with ``meta_info``
llama.cpp      responses with ``timings``, log lines of llama-server
tensorrt-llm   iteration statistics with ``specDecodingStats``
aiperf         ``profile_export.jsonl`` with ``spec_decode_acceptance``
=============  =========================================================================================
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hsd_viz.logs.records import BrokenEntry, LogReader
from hsd_viz.logs.vocabulary import VOCABULARIES, complete
from hsd_viz.trace import RoundRow, Trace

#: What an importer looks for; the rest of :data:`QUANTITIES` follows.
COUNTS = ("tokens", "forwards", "verifications", "drafted", "accepted", "by_position")
_VERSIONS = {name: vocabulary.version for name, vocabulary in VOCABULARIES.items()} | {
    "aiperf": "0.13.0",
    "openai": "v1",
}
_NUMBER = r"([\d.]+)"
_VLLM_LINE = re.compile(
    rf"SpecDecoding metrics: Mean acceptance length: {_NUMBER}, .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([\d., ]+?), Avg"
)
_VLLM_COUNTER = re.compile(r"^vllm:spec_decode_(num_\w+?)_total(?:\{(.*)\})? (\S+)$", re.M)
_LLAMA_LINE = re.compile(
    rf"draft acceptance(?: rate)? = {_NUMBER} \(\s*(\d+) accepted /\s*(\d+) generated\)"
    rf"(?:, mean (?:acceptance length|len) =\s*{_NUMBER})?(?:, acceptance rate per position = \(([\d., ]+)\))?"
)
_LLAMA_TIME = re.compile(rf"\beval time =\s*{_NUMBER} ms /\s*(\d+) (?:tokens|runs)")
#: Characters of a text file that are searched for log lines and counters.
_MOST_TEXT = 64 * 2**20


def import_records(path: str | Path, engine: str | None = None) -> list[Trace]:
    """Return the traces of a file: one per request, or one of all requests where the source reports only sums.
    ``engine`` requires one engine. Raises: ValueError: if the file has no record of a known form.
    """
    path = Path(path)
    found = [*_responses(path)]
    if not found:
        try:
            text = path.read_bytes()[:_MOST_TEXT].decode("utf-8", errors="replace")
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
        found = [trace for reader in (_vllm_counters, _vllm_log, _llama_log) for trace in reader(text)]
    if engine is not None:
        found = [trace for trace in found if trace.meta["imported"]["engine"] == engine]
    if not found:
        known = ", ".join(name for name in _VERSIONS if name in (*_READERS, "vllm", "llama.cpp"))
        raise ValueError(f"{path} has no record of speculative decoding by {engine or f'a known engine ({known})'}")
    return found


def _responses(path: Path) -> Iterator[Trace]:
    """Yield the traces of JSON responses; all TensorRT-LLM iterations become one."""
    iterations = []
    reader = LogReader(path)
    try:
        for _, entry in reader.entries():
            if isinstance(entry, BrokenEntry) or not isinstance(entry, Mapping):
                continue
            response = entry.get("response") if isinstance(entry.get("response"), Mapping) else entry
            if "specDecodingStats" in response:
                iterations.append(response)
                continue
            if (trace := read_response(response)) is not None:
                yield trace
    except (TypeError, KeyError, AttributeError, ValueError):
        return
    finally:
        reader.close()
    if iterations:
        yield _tensorrt(iterations)


def read_response(response: Mapping) -> Trace | None:
    """Return the trace of a response that holds a record of speculative decoding."""
    return next((trace for read in _READERS.values() if (trace := read(response)) is not None), None)


def imported(
    engine: str,
    known: Mapping[str, Any],
    *,
    steps: Sequence[tuple[int, int, int | None]] = (),
    derived: Sequence[str] = (),
    prefill_ms: float | None = None,
    decode_ms: float | None = None,
) -> Trace:
    """Return a trace of ``known`` quantities. ``steps``: (drafted, accepted, ns or ``None``) of each verification."""
    exact = {name: value for name, value in known.items() if value is not None}
    counts = complete(exact)
    ns = [None if ms is None else round(ms * 1e6) for ms in (prefill_ms, decode_ms)]
    missing = [name for name in COUNTS if name not in counts]
    missing += [
        name for name, value in (("prefill", ns[0]), ("time", ns[1]), ("rounds", steps or None)) if value is None
    ]
    about = {
        "engine": engine,
        "version": _VERSIONS[engine],
        "exact": [name for name in exact if name not in derived],
        "derived": [*derived, *(name for name in COUNTS if name in counts and name not in exact)],
        "not_observed": [*missing, "tokens' text", "draft tokens", "calls"],
    }
    wall = None if None in ns else sum(ns)
    trace = Trace(
        {
            "stack": engine,
            "prompt": None,
            "prompt_ids": None,
            "prefill_ns": ns[0],
            "wall_ns": wall,
            "decode_ns": ns[1],
            "counts": counts,
            "imported": about,
        }
    )
    for number, (drafted, accepted, duration) in enumerate(steps):
        outcome = "plain" if not drafted else "bonus" if accepted == drafted else "correction"
        examined = accepted + (accepted < drafted)
        why = None if drafted else "no match"
        trace.round_rows.append(RoundRow(number, None, 1, drafted, examined, accepted, outcome, why, None, duration))
    return trace


def _vllm(response: Mapping) -> Trace | None:
    timing = response.get("metrics") or {}
    found = timing.get("speculative_decoding")
    if not isinstance(found, Mapping):
        return None
    usage = response.get("usage") or {}
    times = {"prefill_ms": timing.get("time_to_first_token_ms"), "decode_ms": timing.get("generation_time_ms")}
    return _acceptance("vllm", found, usage.get("completion_tokens"), **times)


def _aiperf(record: Mapping) -> Trace | None:
    found = record.get("spec_decode_acceptance")
    if not isinstance(found, Mapping):
        return None
    metrics = record.get("metrics") or {}
    first, latency = ((metrics.get(name) or {}).get("value") for name in ("time_to_first_token", "request_latency"))
    decode = None if None in (first, latency) else latency - first
    tokens = found.get("completion_tokens") or (metrics.get("output_sequence_length") or {}).get("value")
    return _acceptance("aiperf", found, tokens, prefill_ms=first, decode_ms=decode)


def _acceptance(engine: str, found: Mapping, tokens: int | None, **times: float | None) -> Trace:
    """Return the trace of a record of vLLM or AIPerf: equal names, a dense or a sparse histogram."""
    accepted, drafted = found.get("per_step_accepted"), found.get("per_step_drafted")
    steps = [(d, a, None) for a, d in zip(accepted, drafted, strict=True)] if accepted and drafted else []
    histogram = found.get("acceptance_histogram")
    if isinstance(histogram, Mapping):
        counted = {int(j): n for j, n in histogram.items()}
        histogram = [counted.get(j, 0) for j in range(max(counted, default=0) + 1)]
    known = _counts("vllm", found) | {"tokens": tokens, "histogram": histogram}
    return imported(engine, known, steps=steps, **times)


def _counts(engine: str, found: Mapping) -> dict[str, Any]:
    """Return the counts that a record has under the names of its engine."""
    counts = (*COUNTS, "histogram")
    return {quantity: found.get(name) for name, quantity in VOCABULARIES[engine].names.items() if quantity in counts}


def _sglang(response: Mapping) -> Trace | None:
    found = response.get("meta_info")
    if not isinstance(found, Mapping) or "spec_verify_ct" not in found:
        return None
    # Newer versions renamed two counts.
    newer = {"spec_draft_token_num": "spec_proposed_drafts", "spec_accept_token_num": "spec_accepted_drafts"}
    renamed = {old: found[new] for old, new in newer.items() if new in found}
    return imported("sglang", _counts("sglang", renamed | dict(found)))


def _llama(response: Mapping) -> Trace | None:
    found = response.get("timings")
    if not isinstance(found, Mapping) or "draft_n" not in found:
        return None
    times = {"prefill_ms": found.get("prompt_ms"), "decode_ms": found.get("predicted_ms")}
    return imported("llama.cpp", _counts("llama.cpp", found), **times)


def _tensorrt(iterations: Sequence[Mapping]) -> Trace:
    spec = [row["specDecodingStats"] for row in iterations]
    sums = {
        quantity: sum(row.get(name) or 0 for row in spec)
        for name, quantity in VOCABULARIES["tensorrt-llm"].names.items()
        if quantity != "length_drafts"
    }
    steps: list[tuple[int, int, int | None]] = []
    drafting = [(row, s) for row, s in zip(iterations, spec, strict=True) if s.get("numDraftTokens")]
    if all(s.get("numRequestsWithDraftTokens") == 1 for _, s in drafting):
        for row, s in drafting:
            latency = row.get("iterLatencyMS")
            duration = None if latency is None else round(latency * 1e6)
            steps.append((s["numDraftTokens"], s["numAcceptedTokens"], duration))
    return imported("tensorrt-llm", sums, steps=steps)


_READERS: dict[str, Callable[[Mapping], Trace | None]] = {
    "vllm": _vllm,
    "aiperf": _aiperf,
    "sglang": _sglang,
    "llama.cpp": _llama,
}


def _vllm_counters(text: str) -> Iterator[Trace]:
    """Read the counters of ``/metrics``, summed over engines."""
    sums: Counter = Counter()
    positions: dict[int, int] = defaultdict(int)
    for name, labels, value in _VLLM_COUNTER.findall(text):
        if place := re.search(r'position="(\d+)"', labels):
            positions[int(place[1])] += round(float(value))
        else:
            sums[name] += round(float(value))
    if "num_drafts" in sums:
        names = {"verifications": "num_drafts", "drafted": "num_draft_tokens", "accepted": "num_accepted_tokens"}
        known = {quantity: sums.get(name) for quantity, name in names.items()}
        by_position = [positions[k] for k in range(max(positions) + 1)] if positions else None
        yield imported("vllm", known | {"by_position": by_position})


def _vllm_log(text: str) -> Iterator[Trace]:
    """Read the lines of the log: each is an interval, whose number of drafts follows from a rounded length."""
    lines = _VLLM_LINE.findall(text)
    if lines:
        rows = [(float(length), int(accepted), int(drafted)) for length, accepted, drafted, _ in lines]
        known: dict[str, Any] = {"drafted": sum(row[2] for row in rows), "accepted": sum(row[1] for row in rows)}
        if all(length > 1 for length, _, _ in rows):
            known["verifications"] = sum(round(accepted / (length - 1)) for length, accepted, _ in rows)
        yield imported("vllm", known, derived=["verifications"] if "verifications" in known else [])


def _llama_log(text: str) -> Iterator[Trace]:
    """Read the lines that llama-server prints after each request."""
    for block in re.split(r"(?=prompt eval time =)", text):
        if (line := _LLAMA_LINE.search(block)) is None:
            continue
        _, accepted, drafted, length, rates = line.groups()
        known: dict[str, Any] = {"accepted": int(accepted), "drafted": int(drafted)}
        if length and float(length) > 1:
            known["verifications"] = round(int(accepted) / (float(length) - 1))
        if rates:
            known["position_rate"] = [float(rate) for rate in rates.split(",")]
        times = [(float(ms), int(n)) for ms, n in _LLAMA_TIME.findall(block)]
        # The prompt's line comes first; both match.
        prompt, decode = times[0][0] if len(times) > 1 else None, times[-1] if times else (None, None)
        known["tokens"] = decode[1]
        names = [name for name in ("verifications", "position_rate") if name in known]
        yield imported("llama.cpp", known, derived=names, prefill_ms=prompt, decode_ms=decode[0])


def summary(traces: Sequence[Trace]) -> str:
    """Return what was imported, for the terminal."""
    about = traces[0].meta["imported"]
    lines = [f"{len(traces)} {'record' if len(traces) == 1 else 'records'} of {about['engine']} ({about['version']})"]
    for name in ("exact", "derived", "not_observed"):
        if about[name]:
            lines.append(f"  {name.replace('_', ' ')}: {', '.join(about[name])}")
    return "\n".join(lines)


def save(traces: Sequence[Trace], path: Path) -> list[Path]:
    """Write one trace to ``path``, several with numbers before its suffixes."""
    if len(traces) == 1:
        return [traces[0].save(path)]
    stem, dot, suffix = path.name.partition(".")
    return [trace.save(path.with_name(f"{stem}-{k}{dot}{suffix}")) for k, trace in enumerate(traces)]
