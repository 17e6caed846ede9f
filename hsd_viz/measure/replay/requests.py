"""Requests of a log as token ids, one at a time: JSON lines or one JSON array, of any size.

The forms of an entry are those of :mod:`hsd_viz.measure.replay.log_forms`, with an optional
``max_new_tokens`` and ``temperature``. An entry that cannot be used is a
:class:`~hsd_viz.records.entries.BrokenEntry`, never an exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hsd_viz.errors import CUT_SHORT, UserError
from hsd_viz.measure.replay.log_forms import LoggedExchange, exchanges
from hsd_viz.measure.replay.log_tokenizer import LogTokenizer
from hsd_viz.measure.replay.text_replay import Text
from hsd_viz.records.entries import BrokenEntry, EntryReader
from hsd_viz.records.sample import RecordedVerification

#: Maximum number of used tokens of a request: the end of the prompt and the start of the output.
MAX_TOKENS = 32_768
#: Token limit for an output that ended before its limit.
_NO_LIMIT = 2**31


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request.

    Attributes:
        text: the prompt and the output as token ids.
        limit: the maximum number of new tokens, at least the length of the output.
        cut: whether tokens were cut off.
        temperature: the sampling temperature; ``None``: not reported by the log.
        encoded: whether the output was text that was encoded again.
        parts: the kinds of parts of the output: ``text``, ``reasoning``, ``tool calls``.
        served: whether the response has figures of speculative decoding.
        rounds: the verifications, if the response reports each of them.
    """

    text: Text
    limit: int
    cut: bool
    temperature: float | None = None
    encoded: bool = False
    parts: tuple[str, ...] = ()
    served: bool = False
    rounds: tuple[RecordedVerification, ...] = ()


def requests(reader: EntryReader, tokenizer: LogTokenizer) -> Iterator[LoggedRequest | BrokenEntry]:
    """Yield the requests and the broken entries of a log."""
    for number, entry in _entries(reader):
        if isinstance(entry, BrokenEntry):
            yield entry
            continue
        try:
            for exchange in exchanges(entry):
                yield _request(exchange, entry, tokenizer)
        except UserError as error:
            yield BrokenEntry(number, str(error))


def _entries(reader: EntryReader) -> Iterator[tuple[int, Any]]:
    """Yield (number, JSON value or broken entry); a damaged file ends with a broken entry."""
    number = 0
    try:
        for number, entry in reader.entries():
            yield number, entry
    except CUT_SHORT as error:
        broken = BrokenEntry(number + 1, f"the file cannot be read further: {error}")
        yield broken.number, broken


def _request(
    exchange: LoggedExchange, entry: Mapping[str, Any], tokenizer: LogTokenizer
) -> LoggedRequest:
    """Return an exchange as token ids.

    Args:
        exchange: the prompt and the answer.
        entry: the entry of the log, which contains the settings.
        tokenizer: the tokenizer of the log.

    Raises:
        UserError: if text cannot be encoded, or the output is empty.
    """
    answer = exchange.answer
    prompt = tokenizer.ids(exchange.prompt, "prompt")
    output = tokenizer.ids(answer.content, "output")
    if not output:
        raise UserError("the output is empty")
    excess = len(prompt) + len(output) - MAX_TOKENS
    output = output[:MAX_TOKENS]
    prompt = prompt[max(0, len(prompt) + len(output) - MAX_TOKENS) :]
    return LoggedRequest(
        text=Text("", tuple(prompt), tuple(output)),
        limit=max(_limit(entry, output[-1] in tokenizer.eos), len(output)),
        cut=excess > 0,
        temperature=_temperature(entry),
        encoded=isinstance(answer.content, str),
        parts=answer.parts,
        served=answer.served,
        rounds=() if excess > 0 else answer.rounds,
    )


def _limit(entry: Mapping[str, Any], ended: bool) -> int:
    """Return the token limit of an entry; if it states none, an output that ended has no limit."""
    limit = entry.get("max_new_tokens")
    if type(limit) is int and limit > 0:
        return limit
    return _NO_LIMIT if ended else 0


def _temperature(entry: Mapping[str, Any]) -> float | None:
    """Return the temperature of an entry or of its request; ``None``: not stated."""
    request = entry.get("request")
    places = [entry, *([request] if isinstance(request, Mapping) else [])]
    for place in places:
        value = place.get("temperature")
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100:
            return float(value)
    return None
