"""llama.cpp's log lines: requests and verifications of ``llama-server`` of all versions, and the
summary of ``llama-speculative``. Statistics are in
:mod:`hsd_viz.records.engines.llama_cpp_statistics`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hsd_viz.records.engines.llama_cpp import LINE, ROUND, SIMPLE
from hsd_viz.records.file_context import (
    NUMBER,
    Context,
    Finisher,
    LinePattern,
    figure,
    number,
    numbers,
)
from hsd_viz.records.sample import (
    RecordedRequest,
    RecordedVerification,
    Sample,
    drafts_reaching,
    with_fixed_length,
)


@dataclass(slots=True)
class _Notes:
    """The state from previous lines. A task is a request of a slot.

    Attributes:
        task: the last task named by a line.
        timings: the figures of each task, by name.
        rounds: the verifications of each task.
        simple: the figures of the summary of ``llama-speculative``, by name.
    """

    task: str = ""
    timings: dict[str, dict[str, float]] = field(default_factory=dict)
    rounds: dict[str, list[RecordedVerification]] = field(default_factory=dict)
    simple: dict[str, float] = field(default_factory=dict)


def _task(text: str) -> str:
    """Return the task named by the prefix of a line, since lines of slots are interleaved."""
    match = re.search(r"id +(\d+) +\| +task +(-?\d+)", text)
    return f"{match[1]}:{match[2]}" if match else ""


def _timings(context: Context, text: str) -> dict[str, float]:
    """Return the figures of a line's task; a line without a prefix belongs to the last task."""
    notes = context.notes_of(_Notes)
    notes.task = _task(text) or notes.task
    return notes.timings.setdefault(notes.task, {})


def _header(match: re.Match[str], context: Context) -> None:
    _timings(context, match.string)


def _prompt_time(match: re.Match[str], context: Context) -> None:
    timings = _timings(context, match.string)
    timings.clear()
    timings["prefill_ms"] = figure(match[1])
    timings["prompt"] = figure(match[2])


def _eval_time(match: re.Match[str], context: Context) -> None:
    timings = _timings(context, match.string)
    timings["decode_ms"] = figure(match[1])
    timings["tokens"] = figure(match[2])


def _acceptance(match: re.Match[str], context: Context) -> Sample | None:
    timings = _timings(context, match.string)
    accepted = figure(match[2])
    drafted = figure(match[3])
    if not drafted:
        return None
    rates = numbers(match[5]) if match[5] else ()
    drafts = _drafts(accepted, drafted, number(match[4]), rates)
    tokens = timings.pop("tokens", None)
    prefill = timings.pop("prefill_ms", None)
    decode = timings.pop("decode_ms", None)
    prompt = timings.pop("prompt", None)
    rounds = tuple(context.notes_of(_Notes).rounds.pop(_task(match.string), ()))
    complete = sum(row.drafted for row in rounds) == drafted
    sample = Sample(
        drafts=len(rounds) if complete else drafts,
        drafted=drafted,
        accepted=accepted,
        by_position=tuple(rate * drafts for rate in rates) if rates and drafts else None,
        verifications=rounds if complete else (),
        tokens=tokens,
        passes=None if tokens is None else tokens - accepted,
        prefill_seconds=None if prefill is None else prefill / 1e3,
        seconds=None if decode is None else decode / 1e3,
        request=RecordedRequest(context=prompt),
        derived=frozenset(("drafts", "by_position", "passes")),
    )
    return with_fixed_length(sample)


def _drafts(
    accepted: float, drafted: float, length: float | None, rates: tuple[float, ...]
) -> float | None:
    """Return the number of verifications implied by rounded figures; ``None``: there are none.

    Versions before 24536 print no such figures, so that it is unknown how many forward passes had
    a draft.
    """
    if length is None or length <= 1:
        return None
    whole = drafted / len(rates) if rates else 0.0
    if rates and whole == round(whole) and abs(1 + accepted / whole - length) <= 0.006:
        return whole
    if rates and sum(rates):
        return float(round(accepted / sum(rates)))
    return float(round(accepted / (length - 1)))


def _round(match: re.Match[str], context: Context) -> None:
    """Store a verification until the end of its request; before 18211 the draft length is 0."""
    accepted = int(figure(match[1]))
    drafted = int(figure(match[2]))
    if drafted >= accepted:
        rounds = context.notes_of(_Notes).rounds
        rounds.setdefault(_task(match.string), []).append(RecordedVerification(drafted, accepted))


def unfinished(context: Context) -> list[Sample]:
    """Return the requests of a verbose log whose end is missing, from their verifications."""
    rounds = context.notes_of(_Notes).rounds
    return [of_verifications(tuple(rows)) for rows in rounds.values() if rows]


def of_verifications(rows: tuple[RecordedVerification, ...]) -> Sample:
    """Return the sample of a request with all its verifications."""
    drafted = [row.drafted for row in rows]
    accepted = [row.accepted for row in rows]
    longest = max(drafted)
    return Sample(
        drafts=len(rows),
        drafted=sum(drafted),
        accepted=sum(accepted),
        by_position=drafts_reaching(accepted, longest),
        reached=drafts_reaching(drafted, longest),
        verifications=rows,
        request=RecordedRequest(),
    )


def _simple(match: re.Match[str], context: Context) -> None:
    context.notes_of(_Notes).simple[match[1]] = figure(match[2])


def _simple_end(match: re.Match[str], context: Context) -> Sample | None:
    notes = context.notes_of(_Notes)
    figures = notes.simple
    notes.simple = {}
    if "n_drafted" not in figures:
        return None
    accepted = figure(match[1])
    tokens = figures.get("n_predict")
    return Sample(
        drafted=figures["n_drafted"],
        accepted=accepted,
        tokens=tokens,
        passes=None if tokens is None else tokens - accepted,
        derived=frozenset(("passes",)),
    )


LINES = (
    LinePattern(
        LINE,
        re.compile(
            rf"draft acceptance(?: rate)? = {NUMBER} \( *(\d+) accepted / *(\d+) generated\)"
            rf"(?:, mean (?:acceptance length|len) = *{NUMBER})?"
            r"(?:, acceptance rate per position = \(([\d., ]+)\))?"
        ),
        _acceptance,
        single=True,
    ),
    LinePattern(None, re.compile(r"prompt eval time = *([\d.]+) ms / *(\d+) tokens"), _prompt_time),
    LinePattern(
        None,
        re.compile(r"(?<!prompt )eval time = *([\d.]+) ms / *(\d+) (?:tokens|runs)"),
        _eval_time,
    ),
    LinePattern(None, re.compile(r"slot +print_timing: id"), _header),
    LinePattern(ROUND, re.compile(r"accepted (\d+)/ *(\d+) draft tokens"), _round),
    LinePattern(None, re.compile(r"^\s*(n_draft|n_predict|n_drafted) += +(\d+)\s*$"), _simple),
    LinePattern(SIMPLE, re.compile(r"^\s*n_accept += +(\d+)\s*$"), _simple_end, single=True),
)


FINISHERS = (Finisher(ROUND, unfinished, single=True, counted=False),)
