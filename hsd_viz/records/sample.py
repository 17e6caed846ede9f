"""Samples: the counts of one log line, response or pair of scrapes.

A sample contains only what its source reports; other fields are ``None``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from typing import Any, NamedTuple

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.errors import BadFile
from hsd_viz.records.fields import Number
from hsd_viz.results.positions import at_least, reaching
from hsd_viz.settings.ranges import check_range

#: Limits of a record; one that exceeds them is damaged.
MAX_DRAFT = 1024
MAX_COUNT = 10**15
#: Allowed amount by which emitted tokens are fewer than forward passes: the first token comes from
#: the prefill, and the last round may have been cut.
SLACK = 1.0


class RecordedVerification(NamedTuple):
    """One forward pass of the target over a draft.

    Attributes:
        drafted: the number of draft tokens.
        accepted: the number of accepted draft tokens.
        nanoseconds: the duration; ``None``: not reported.
    """

    drafted: int
    accepted: int
    nanoseconds: int | None = None


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """The facts of a record's request.

    Attributes:
        context: the number of prompt tokens, including cached ones.
        cached: the number of cached prompt tokens.
        temperature: the sampling temperature.
        category: the category of the prompt.
    """

    context: Number | None = None
    cached: Number | None = None
    temperature: Number | None = None
    category: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """The figures of one log line, response or pair of scrapes.

    Attributes:
        line: the line of the file, from 1; 0: not of a single line.
        clock: the time, as written.
        drafts: the number of verified drafts.
        drafted: the number of draft tokens.
        accepted: the number of accepted draft tokens.
        by_position: the number of drafts whose first k tokens were all accepted, k = 1, 2, ...
        reached: the number of drafts of at least k tokens, k = 1, 2, ...; ``None``: lengths are
            unknown.
        histogram: the number of drafts of which exactly j tokens were accepted, j = 0, 1, ...
        verifications: every verification, in order.
        tokens: the number of emitted tokens.
        passes: the number of passes of the target that emitted tokens, with or without a draft.
        length: the reported tokens per verification, if there are no counts.
        prefill_seconds: the time to the first token in seconds.
        seconds: the time after the first token in seconds.
        speed: the tokens per second of all requests together.
        running: the number of requests decoded together.
        draft_length: the configured number of draft tokens.
        draft_ms: the milliseconds of drafting per verification.
        engine_rate: the acceptance rate by the definition of this engine version, if different.
        request: the facts of the request.
        derived: the names of fields derived from rounded figures.
    """

    line: int = 0
    clock: str = ""
    drafts: Number | None = None
    drafted: Number | None = None
    accepted: Number | None = None
    by_position: tuple[Number, ...] | None = None
    reached: tuple[Number, ...] | None = None
    histogram: tuple[Number, ...] | None = None
    verifications: tuple[RecordedVerification, ...] = ()
    tokens: Number | None = None
    passes: Number | None = None
    length: Number | None = None
    prefill_seconds: Number | None = None
    seconds: Number | None = None
    speed: Number | None = None
    running: Number | None = None
    draft_length: int | None = None
    draft_ms: Number | None = None
    engine_rate: Number | None = None
    request: RecordedRequest | None = None
    derived: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_counts(self)

    @property
    def rate(self) -> float | None:
        """Accepted per draft token."""
        if self.accepted is None or not self.drafted:
            return None
        return self.accepted / self.drafted

    @property
    def tokens_per_pass(self) -> float | None:
        """Emitted tokens per forward pass of the target, over passes with and without a draft."""
        if self.tokens is not None and self.passes:
            return self.tokens / self.passes
        return None

    @property
    def tokens_per_verification(self) -> float | None:
        """Tokens per verification: accepted draft tokens and one token of the target."""
        if self.accepted is not None and self.drafts:
            return 1 + self.accepted / self.drafts
        return self.length

    def to_dict(self) -> dict[str, Any]:
        """Return the known fields as JSON data."""
        data: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if value not in (None, (), "", frozenset()):
                data[name] = value
        if self.verifications:
            data["verifications"] = list(map(list, self.verifications))
        if self.derived:
            data["derived"] = sorted(self.derived)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sample:
        """Return the sample of :meth:`to_dict`.

        Raises:
            BadFile: if it is not one.
        """
        try:
            return msgspec.convert(data, cls)
        except OF_ANOTHER_TYPE as error:
            if isinstance(error.__cause__, BadFile):
                raise error.__cause__ from None
            raise BadFile(f"a sample of a record is not valid: {error}") from None


def _check_numbers(sample: Sample) -> None:
    """Raise ``BadFile`` for a figure that is not a number, or negative."""
    for field in fields(sample):
        if field.name in ("line", "clock", "request", "derived", "verifications"):
            continue
        value = getattr(sample, field.name)
        for number in value if isinstance(value, tuple) else (value,):
            if number is None:
                continue
            usable = isinstance(number, int | float) and not isinstance(number, bool)
            if not usable or not isfinite(number) or not 0 <= number <= MAX_COUNT:
                raise BadFile(f"damaged: {field.name} is {number!r}")
    for row in sample.verifications:
        for number in (row.drafted, row.accepted):
            if type(number) is not int or not 0 <= number <= MAX_DRAFT:
                raise BadFile(f"damaged: a verification of {number!r} tokens")


def _check_counts(sample: Sample) -> None:
    """Raise ``BadFile`` for counts that contradict each other."""
    drafted = sample.drafted
    accepted = sample.accepted
    if drafted is not None and accepted is not None and accepted > drafted:
        raise BadFile(f"impossible: {accepted:g} accepted of {drafted:g} draft tokens")
    if sample.drafts and drafted is not None and drafted < sample.drafts - SLACK:
        raise BadFile(f"impossible: {sample.drafts:g} drafts of {drafted:g} tokens together")
    if sample.engine_rate is not None and sample.engine_rate > 1:
        raise BadFile(f"impossible: an acceptance rate of {sample.engine_rate:.1%}")
    for rows, name in ((sample.by_position, "position"), (sample.histogram, "accepted tokens")):
        if rows is not None and len(rows) > MAX_DRAFT + 1:
            raise BadFile(f"the longest draft {len(rows)} is out of range: {name} up to 1024")
    for row in sample.verifications:
        if row.accepted > row.drafted:
            raise BadFile(
                "damaged: a verification accepted more tokens than were drafted "
                f"({row.accepted} of {row.drafted})"
            )
    if sample.length is not None and 0 < sample.length < 1 - 0.01:
        raise BadFile(f"impossible: {sample.length:g} tokens per verification")
    tokens = sample.tokens
    if tokens is not None and sample.passes is not None and tokens < sample.passes - SLACK:
        raise BadFile(f"impossible: {tokens:g} tokens of {sample.passes:g} forward passes")


def survivors(histogram: Sequence[float]) -> tuple[float, ...]:
    """Return the number of drafts of which k or more tokens were accepted, k = 1, 2, ...

    Raises:
        UserError: if the longest draft is out of range.
    """
    check_range("the longest draft", len(histogram) - 1, 0, MAX_DRAFT)
    return tuple(at_least(histogram))


def drafts_reaching(counts: Sequence[int], longest: int) -> tuple[float, ...]:
    """Return the number of counts that are k or more, k = 1, 2, ..., ``longest``.

    Raises:
        UserError: if the longest draft is out of range.
    """
    check_range("the longest draft", longest, 0, MAX_DRAFT)
    drafts = reaching([(count, 1) for count in counts], range(1, longest + 1))
    return tuple(map(float, drafts))


#: Draft tokens per draft that may be missing from drafts of one length, because requests end.
CUT = 0.02


def with_fixed_length(sample: Sample) -> Sample:
    """Return the sample with ``reached`` if its counts show that all drafts have one length.

    Drafts of n positions have one length exactly if the draft tokens are n times the drafts. The
    last draft of a request may be cut at the token limit: up to :data:`CUT` draft tokens per draft
    may be missing, or fewer than n of a single request, all of its last draft.
    """
    if sample.reached is not None or sample.by_position is None or not sample.drafts:
        return sample
    longest = max(len(sample.by_position), sample.draft_length or 0)
    if sample.drafted is None or not longest:
        return sample
    missing = longest * sample.drafts - sample.drafted
    if abs(missing) <= CUT * sample.drafts:
        return replace(sample, reached=(sample.drafts,) * longest)
    one_request = sample.request is not None
    if one_request and 0 < missing < longest and missing == int(missing):
        whole = longest - int(missing)
        reached = (sample.drafts,) * whole + (sample.drafts - 1,) * int(missing)
        return replace(sample, reached=reached, derived=sample.derived | {"reached"})
    return sample
