"""vLLM's log lines: figures of drafts of all versions since 0.6, speed, and settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hsd_viz.records.engines.vllm import (
    LINE,
    LINE_EARLY_V1,
    LINE_RATE_FIRST,
    LINE_V0,
    METHODS,
    NAME,
)
from hsd_viz.records.engines.vllm_bench import EXAMPLE_LINES
from hsd_viz.records.file_context import (
    NUMBER,
    Context,
    LinePattern,
    figure,
    note_draft_model,
    note_model,
    number,
    numbers,
)
from hsd_viz.records.sample import Sample, with_fixed_length


@dataclass(slots=True)
class _Notes:
    """The state from previous lines.

    Attributes:
        v0_counts: the cumulative counts of the last line of V0, by name.
        clock: the time of the last line with a speed.
    """

    v0_counts: dict[str, float] = field(default_factory=dict)
    clock: str | None = None


def _v0(match: re.Match[str], context: Context) -> Sample:
    """Return the counts since the previous line; the counts of V0 are cumulative.

    V0 counts all draft tokens that the target would have accepted, including those after a
    rejected one. A draft emits its accepted prefix and one token of the target, so that the
    accepted tokens in the sense of later versions are the emitted tokens less one per draft.
    """
    rate, tokens, accepted, drafted, emitted = (figure(text) for text in match.groups())
    counts = {"accepted": accepted, "drafted": drafted, "emitted": emitted}
    notes = context.notes_of(_Notes)
    earlier = notes.v0_counts
    restarted = any(counts[name] < earlier.get(name, 0.0) for name in counts)
    if restarted:
        earlier = {}
    notes.v0_counts = counts
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


def _early_v1(match: re.Match[str], context: Context) -> Sample | None:
    accepted = figure(match[1])
    drafted = figure(match[2])
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


def _interval_of(match: re.Match[str], context: Context) -> Sample | None:
    length, accepted, drafted, rates = match.groups()
    return interval(length, accepted, drafted, rates, context)


def interval(
    length: str, accepted: str, drafted: str, rates: str, context: Context
) -> Sample | None:
    """Return the sample of an interval; ``None`` if it has no drafts."""
    proposed = figure(drafted)
    if not proposed:
        return None
    each = numbers(rates)
    taken = figure(accepted)
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
    """Return the number of drafts implied by the rounded figures of an interval.

    If all drafts have as many tokens as there are rates, it is the exact quotient. The mean length,
    1 + accepted / drafts rounded to two digits, shows whether they do.
    """
    whole = drafted / len(rates) if rates else 0.0
    if not accepted or length is None or length < 1:
        return float(round(whole))
    least = accepted / (length - 1 + 0.006)
    most = accepted / (length - 1 - 0.006) if length > 1.006 else float("inf")
    if whole == round(whole) and least <= whole <= most:
        return whole
    # The sum of the rates (three digits each) is more exact than the rounded length.
    per_draft = sum(rates) or length - 1
    return float(round(accepted / per_draft)) if per_draft else float(round(whole))


def _speed(match: re.Match[str], context: Context) -> None:
    """Add the speed and the running requests of an engine; several engines alternate."""
    speed = figure(match[1])
    running = figure(match[2])
    notes = context.notes_of(_Notes)
    same_moment = notes.clock == context.clock and context.speed is not None
    context.speed = speed + (context.speed or 0.0 if same_moment else 0.0)
    context.running = running + (context.running or 0.0 if same_moment else 0.0)
    notes.clock = context.clock


def _version(match: re.Match[str], context: Context) -> None:
    context.versions[NAME] = match[1]


def _method(match: re.Match[str], context: Context) -> None:
    context.method = METHODS.get(match[1].lower(), context.method)


def _tokens(match: re.Match[str], context: Context) -> None:
    context.draft_length = int(figure(match[1]))


LINES = (
    *EXAMPLE_LINES,
    LinePattern(
        LINE_V0,
        re.compile(
            rf"Speculative metrics: Draft acceptance rate: {NUMBER}, System efficiency: [\d.]+, "
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
            rf"Mean acceptance length: {NUMBER}, .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
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
            rf"SpecDecoding metrics: Mean acceptance length: {NUMBER}, .*?"
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
    LinePattern(None, re.compile(r"with config: model='([^']+)'"), note_model),
    LinePattern(
        None,
        re.compile(r"SpeculativeConfig\([^)]*?draft_model='([^']+)'"),
        note_draft_model,
    ),
    LinePattern(None, re.compile(r"SpeculativeConfig\(method='([^']+)'"), _method),
    LinePattern(None, re.compile(r"speculative_config.*?['\"]method['\"]: ['\"](\w+)"), _method),
    LinePattern(None, re.compile(r"num_spec(?:ulative)?_tokens['\"]?[:=] ?(\d+)"), _tokens),
)
