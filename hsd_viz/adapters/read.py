"""Records of any engine as traces; each engine's module names the forms that it reads.

An imported trace has no tokens or drafts; it has rounds only where the source reports each verification. Its meta has
``counts`` (:data:`~hsd_viz.adapters.vocabulary.QUANTITIES`), and under ``imported`` the engine, the version its form
was checked in, and the lists ``exact``, ``derived`` and ``not_observed``.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hsd_viz.adapters import ENGINES, tensorrt_llm
from hsd_viz.adapters.entries import BrokenEntry, EntryReader
from hsd_viz.adapters.record import COUNTS, imported
from hsd_viz.errors import BadFile, UserError
from hsd_viz.trace import Trace
from hsd_viz.words import counted, did_you_mean

#: The engines that have records, and the modules that read them: responses with ``read``, texts with ``read_text``.
KNOWN = {
    name: import_module(f"hsd_viz.adapters.{own['module']}")
    for name, own in ENGINES.items()
    if "module" in own
}
#: Counts of several requests that add up.
SUMMED = (*COUNTS, "histogram")
#: Characters of a category, and the largest number that is taken of a request.
MOST_NAME, MOST = 40, 1e12
#: Fact of a request -> where records have it.
REQUEST = {
    "context": ("usage.prompt_tokens", "meta_info.prompt_tokens", "timings.prompt_n"),
    "cached": (
        "usage.prompt_tokens_details.cached_tokens",
        "meta_info.cached_tokens",
        "timings.cache_n",
    ),
    "temperature": ("temperature", "metadata.temperature", "request.temperature"),
    "category": ("category", "metadata.category"),
}
#: Characters of a text file that are searched for log lines and counters.
_MOST_TEXT = 64 * 2**20


class NoRecord(BadFile):
    """A file without any record of speculative decoding that is known."""


def import_records(path: str | Path, engine: str | None = None) -> list[Trace]:
    """Return the traces of a file: one per request, or one of all requests where the source reports only sums.
    ``engine`` requires one engine. Raises: ValueError: if the engine is unknown, or the file has no record of a known
    form, or a damaged one.
    """
    if engine is not None and engine not in KNOWN:
        raise UserError(
            f"unknown engine '{engine}': use {', '.join(KNOWN)}{did_you_mean(engine, KNOWN)}"
        )
    path = Path(path)
    found = [*_responses(path)]
    if not found:
        try:
            with path.open("rb") as file:
                text = file.read(_MOST_TEXT).decode("utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        found = [trace for read in _readers("read_text") for trace in read(text)]
    if engine is not None:
        found = [trace for trace in found if trace.meta["imported"]["engine"] == engine]
    if not found:
        known = engine or f"a known engine ({', '.join(KNOWN)})"
        raise NoRecord(f"{path} has no record of speculative decoding by {known}")
    return found


def _responses(path: Path) -> Iterator[Trace]:
    """Yield the traces of JSON responses; all TensorRT-LLM iterations become one."""
    iterations = []
    reader = EntryReader(path)
    try:
        for _, entry in reader.entries():
            if isinstance(entry, BrokenEntry) or not isinstance(entry, Mapping):
                continue
            response = (
                entry.get("response") if isinstance(entry.get("response"), Mapping) else entry
            )
            if "specDecodingStats" in response:
                iterations.append(response)
            elif (trace := read_response(response)) is not None:
                trace.meta["imported"]["request"] = _request({**entry, **response})
                yield trace
    except (TypeError, KeyError, AttributeError, OSError, EOFError):
        return
    finally:
        reader.close()
    if iterations:
        yield tensorrt_llm.read_iterations(iterations)


def _request(entry: Mapping) -> dict[str, Any]:
    """Return what a record says of its request (:data:`REQUEST`); what is not a usable value is left out."""
    found: dict[str, Any] = {}
    for name, places in REQUEST.items():
        for place in places:
            value: Any = entry
            for key in place.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if (
                isinstance(value, str)
                if name == "category"
                else isinstance(value, int | float) and 0 <= value < MOST
            ):
                found.setdefault(name, value[:MOST_NAME] if isinstance(value, str) else value)
    if "timings" in entry and "context" in found:  # llama.cpp counts what it computed
        found["context"] += found.get("cached", 0)
    return found


def read_response(response: Mapping) -> Trace | None:
    """Return the trace of a response that holds a record of speculative decoding."""
    return next((trace for read in _readers("read") if (trace := read(response)) is not None), None)


def _readers(name: str) -> list[Any]:
    return [vars(module)[name] for module in dict.fromkeys(KNOWN.values()) if name in vars(module)]


def pooled(traces: Sequence[Trace]) -> Trace:
    """Return one trace of all requests: sums of their counts, and their rounds where all have them. What one of them
    lacks is not observed. Raises: ValueError: if they are of several engines.
    """
    abouts = [trace.meta["imported"] for trace in traces]
    engines = sorted({about["engine"] for about in abouts})
    if len(engines) > 1:
        raise UserError(
            f"the records are of several engines ({', '.join(engines)}): choose one of them"
        )
    if len(traces) == 1:
        return traces[0]
    counts = [trace.meta["counts"] for trace in traces]
    known: dict[str, Any] = {}
    for name in SUMMED:
        values = [count.get(name) for count in counts]
        if None not in values:
            rows = zip_longest(*values, fillvalue=0) if isinstance(values[0], list) else None
            known[name] = sum(values) if rows is None else [sum(row) for row in rows]
    exact = set.intersection(*(set(about["exact"]) for about in abouts))
    rounds = [trace.round_rows for trace in traces]
    steps = (
        [(row.drafted, row.accepted, row.duration_ns) for rows in rounds for row in rows]
        if all(rounds)
        else []
    )
    spent = [[trace.meta[name] for trace in traces] for name in ("prefill_ns", "decode_ns")]
    prefill, decode = (None if None in each else sum(each) / 1e6 for each in spent)
    derived = [name for name in known if name not in exact]
    return imported(
        engines[0], known, steps=steps, derived=derived, prefill_ms=prefill, decode_ms=decode
    )


def summary(traces: Sequence[Trace]) -> str:
    """Return what was imported and its figures, for the terminal."""
    whole = pooled(traces)
    about, figures = whole.meta["imported"], whole.metrics()
    lines = [f"{counted(len(traces), 'record')} of {about['engine']} ({about['version']})"]
    kinds = [name for name in ("exact", "derived", "not_observed") if about[name]]
    lines += [f"  {name.replace('_', ' ')}: {', '.join(about[name])}" for name in kinds]
    shown = [
        (figures["acceptance_rate"], "acceptance rate {:.1%}"),
        (figures["mean_acceptance_length"], "{:.2f} tokens per forward pass"),
        (figures["tokens_per_second"], "{:.1f} tokens/s per request"),
    ]
    if found := [form.format(value) for value, form in shown if value is not None]:
        lines.append(f"  {', '.join(found)}")
    return "\n".join(lines)
