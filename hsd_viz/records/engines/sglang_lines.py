"""SGLang's log lines: figures of drafts, finished requests, and settings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hsd_viz.disk import parse_json
from hsd_viz.records.engines.sglang import (
    FINISHED,
    LINE,
    METHODS,
    NAME,
    QUESTIONS,
    SGLangCounts,
    below_one,
    counted,
)
from hsd_viz.records.fields import Number, typed
from hsd_viz.records.file_context import (
    Context,
    LinePattern,
    SampleCompletion,
    figure,
    note_draft_model,
    note_model,
    number,
)
from hsd_viz.records.sample import RecordedRequest, Sample


def _decode(match: re.Match[str], context: Context) -> Sample | None:
    text = match[0]
    length = number(_after("accept len", text))
    if not length:
        return None
    running = number(_after("#running-req", text))
    used = number(_after("#token", text)) or number(_after("#full token", text))
    per_request = used / running if used and running else None
    return Sample(
        length=length,
        engine_rate=below_one(number(_after("accept rate", text))),
        running=running,
        speed=number(_after(r"gen throughput \(token/s\)", text)),
        draft_length=context.draft_length,
        request=None if per_request is None else RecordedRequest(context=per_request),
    )


def _after(name: str, text: str) -> str | None:
    match = re.search(rf"{name}: ([\d.]+)", text)
    return None if match is None else match[1]


def _algorithm(match: re.Match[str], context: Context) -> None:
    context.method = METHODS.get(match[1].upper(), context.method)


def _steps(match: re.Match[str], context: Context) -> None:
    """Set the draft length from the steps of a chain; a tree with several branches has none."""
    branches = re.search(r"speculative_eagle_topk=(\d+)", match.string)
    if branches is None or branches[1] == "1":
        context.draft_length = int(figure(match[1]))


def _draft_tokens(match: re.Match[str], context: Context) -> None:
    """Set the draft length from the verified tokens if no steps are named."""
    if context.draft_length is None and "speculative_num_steps=None" in match.string:
        context.draft_length = int(figure(match[1])) - 1


class _PrintedCounts(SGLangCounts):
    """The counts of a finished request.

    Attributes:
        prompt_tokens: the number of prompt tokens.
        cached_tokens: the number of cached prompt tokens.
    """

    prompt_tokens: Number | None = None
    cached_tokens: Number | None = None


_FIELD = re.compile(
    r"'(spec_\w+|completion_tokens|prompt_tokens|cached_tokens)': (\[[\d, ]*\]|\d+(?:\.\d+)?)"
)


def _finished(match: re.Match[str], context: Context) -> Sample | None:
    """Read the fields of a response that Python printed."""
    fields: dict[str, Any] = {}
    for name, text in _FIELD.findall(match.string):
        fields.setdefault(name, parse_json(text, f"damaged: {name}"))
    counts = typed(fields, _PrintedCounts)
    if not counts.spec_verify_ct:
        return None
    request = RecordedRequest(context=counts.prompt_tokens, cached=counts.cached_tokens)
    sample = counted(counts, counts.completion_tokens, request)
    if sample.draft_length is None:
        sample = replace(sample, draft_length=context.draft_length)
    return sample


def _questions(match: re.Match[str], _context: Context) -> Sample | None:
    return Sample(length=figure(match[1]))


LINES = (
    LinePattern(FINISHED, re.compile(r"'spec_verify_ct': \d"), _finished, single=True),
    LinePattern(LINE, re.compile(r"Decode batch.*accept len: [\d.]+.*"), _decode),
    LinePattern(
        QUESTIONS,
        re.compile(r"#questions: *\d+, Throughput: *[\d.]+ token/s, Acceptance length: *([\d.]+)"),
        _questions,
    ),
    LinePattern(None, re.compile(r"speculative_algorithm='(\w+)'"), _algorithm),
    LinePattern(None, re.compile(r"speculative_draft_model_path='([^']+)'"), note_draft_model),
    LinePattern(None, re.compile(r"server_args=ServerArgs\(model_path='([^']+)'"), note_model),
    LinePattern(None, re.compile(r"speculative_num_steps=(\d+)"), _steps),
    LinePattern(None, re.compile(r"speculative_num_draft_tokens=(\d+)"), _draft_tokens),
)


#: Allowed difference between a printed rate and that implied by a length, both rounded to 0.01.
ROUNDED = 0.0085


def with_draft_length(samples: Sequence[Sample], _context: Context) -> list[Sample]:
    """Return the lines of a log with the draft length implied by length and rate together.

    Before 0.5.9 the rate is length / (n + 1), of n draft tokens and the target's own; from then on
    it is (length - 1) / n. A draft length is taken where exactly one of both fits every line.
    """
    rated = [sample for sample in samples if sample.length and sample.engine_rate]
    if not rated or any(sample.draft_length for sample in samples):
        return list(samples)
    pairs = [(sample.length or 0.0, sample.engine_rate or 0.0) for sample in rated]
    lengths = sum(length for length, _ in pairs)
    rates = sum(rate for _, rate in pairs)
    whole = round(lengths / rates) - 1
    without_own = round((lengths - len(pairs)) / rates)
    fitting = set()
    if whole >= 1 and all(abs(x / (whole + 1) - r) <= ROUNDED for x, r in pairs):
        fitting.add(whole)
    if without_own >= 1 and all(abs((x - 1) / without_own - r) <= ROUNDED for x, r in pairs):
        fitting.add(without_own)
    if len(fitting) != 1:
        return list(samples)
    (tokens,) = fitting
    return [replace(sample, draft_length=tokens) for sample in samples]


COMPLETIONS = (SampleCompletion(NAME, with_draft_length, LINE),)
