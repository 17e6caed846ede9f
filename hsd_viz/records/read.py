"""Reads a record of any engine: a log, responses, a stream, a summary or a copy of ``/metrics``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hsd_viz.errors import BadFile, UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.records import prometheus
from hsd_viz.records.collected import Collected
from hsd_viz.records.engines.registry import FINISHERS, METRIC_NAME, OBJECTS, PATTERNS
from hsd_viz.records.entries import BrokenEntry
from hsd_viz.records.file_context import Finisher, LinePattern
from hsd_viz.records.forms import FORMS, engines_with_forms
from hsd_viz.records.lines import Document, clock_of, documents
from hsd_viz.records.reading import QUOTED, Reading
from hsd_viz.records.responses import id_of, is_chunk, request_of, sample_of, without_request
from hsd_viz.records.scraped import keep_scrapes
from hsd_viz.records.streams import Chunk, Streams
from hsd_viz.records.summaries import Summaries
from hsd_viz.settings.spelling import spelled

#: Matches a line that may be a record of an unknown form: words of speculation, then a number.
_MAY_BE = re.compile(
    r"(?<![a-z])(?:"
    r"spec\w*.?decod\w*.{0,40}\d"
    r"|draft\w* (?:tokens?|acceptance).{0,30}\d"
    r"|accept(?!ing\b|ed (?:client|connection|request|socket))\w*.{0,20}\d"
    r")",
    re.IGNORECASE,
)
#: Matches lines of settings, of loading and of requests, which have such words and numbers.
_SETTINGS = re.compile(
    r"speculative_config\b|\bSpeculativeConfig\(|\bServerArgs\(|\bargs *[:=]|\bdraft_model\b"
    r"|\bn[-_]max\b|_created\{|^# (?:HELP|TYPE) |\b(?:Capturing|Loading)\b|\b(?:GET|POST) /"
)


class NoRecord(BadFile):
    """A file without a record of a known form."""


def read(path: str | Path, engine: str | None = None, since: str | Path | None = None) -> Reading:
    """Return the series of a file.

    Args:
        path: the path of responses, a log, a stream, a summary or a copy of ``/metrics``.
        engine: the only engine to read; ``None``: all.
        since: an earlier copy of ``/metrics`` of the same server, from which counters count.

    Raises:
        UserError: if the engine is unknown.
        BadFile: if the file has no record of a known form, or only damaged ones.
    """
    engines = engines_with_forms()
    if engine is not None and engine not in engines:
        hint = did_you_mean(engine, engines)
        raise UserError(f"unknown engine '{engine}': use {', '.join(engines)}{hint}")
    reader = _Reader()
    reader.read(Path(path))
    before = None
    if since is not None:
        before = _Reader()
        before.read(Path(since))
        if not before.scrapes.scrapes:
            raise BadFile(
                f"{since} is not a copy of /metrics: {spelled('since')} needs an earlier one"
            )
        if not reader.scrapes.scrapes:
            raise BadFile(f"{path} is not a copy of /metrics: {spelled('since')} is for counters")
    reader.finish(None if before is None else before.scrapes)
    series = reader.collected.series()
    if engine is not None:
        series = [part for part in series if part.engine == engine]
    if not series:
        raise _nothing(Path(path), reader, engine)
    return Reading(
        name=Path(path).name,
        series=tuple(series),
        lines=reader.lines,
        by_form=dict(reader.collected.by_form),
        other=reader.other,
        superseded=reader.streams.superseded,
        unknown=tuple(reader.unknown),
        refused=(*reader.collected.refused, *reader.broken),
    )


def _nothing(path: Path, reader: _Reader, engine: str | None) -> BadFile:
    """Return the error of a file without a usable record."""
    if reader.collected.refused:
        number, why = reader.collected.refused[0]
        return BadFile(f"{path} has no usable record: line {number}: {why}")
    looked = []
    for name in engines_with_forms() if engine is None else [engine]:
        forms = ", ".join(form.name for form in FORMS if form.engine == name)
        looked.append(f"{name}: {forms}")
    message = (
        f"{path} has no record of speculative decoding by {engine or 'a known engine'}; "
        f"looked for {'; '.join(looked)}"
    )
    if reader.broken:
        number, why = reader.broken[0]
        message += f"; line {number}: {why}"
    elif reader.unknown:
        number, text = reader.unknown[0]
        message += f"; line {number} may be one of an unknown form: {text[:QUOTED]}"
    return NoRecord(message)


class _Reader:
    """Reader of one file."""

    def __init__(self) -> None:
        self.collected = Collected()
        self.context = self.collected.context
        self.scrapes = prometheus.Scrapes()
        self.lines = 0
        self.other = 0
        self.unknown: list[tuple[int, str]] = []
        self.broken: list[tuple[int, str]] = []
        self.streams = Streams()
        self.summaries = Summaries(self.collected)

    def read(self, path: Path) -> None:
        """Read a file.

        Raises:
            BadFile: if the file cannot be opened.
        """
        for document in documents(path):
            self.lines += 1
            if isinstance(document, BrokenEntry):
                self.broken.append((document.number, document.why))
            elif document.value is None:
                self._line(document)
            else:
                self._value(document)
        self.summaries.end()
        for chunk in self.streams.unfinished():
            self._keep_stream(chunk)

    def finish(self, before: prometheus.Scrapes | None) -> None:
        """Add the records that are complete at the end of the file. Counters count from
        ``before``.
        """
        keep_scrapes(self.collected, self.scrapes, before)
        for finisher in FINISHERS:
            self._finish(finisher)

    # --- lines

    def _line(self, document: Document) -> None:
        text = document.text
        if not text.strip():
            return
        self.context.line = document.line
        self.context.clock = clock_of(document.clock or text)
        if self.summaries.take(text):
            return
        metric = prometheus.metric_of(text)
        if metric is not None and METRIC_NAME.search(metric[0]):
            self.scrapes.add(*metric, document.line)
            return
        if not self._any_pattern(text):
            self._unmatched(document)

    def _any_pattern(self, text: str) -> bool:
        """Read a line with the matching patterns, up to the first one that belongs to a form."""
        matched = False
        for pattern in PATTERNS:
            match = pattern.regex.search(text)
            if match is None:
                continue
            matched = True
            self._matched(pattern, match)
            if pattern.form is not None:
                break
        return matched

    def _matched(self, pattern: LinePattern, match: re.Match[str]) -> None:
        context = self.context
        try:
            sample = pattern.read(match, context)
        except UserError as error:
            self.collected.refuse(context.line, error)
            return
        form = pattern.form
        if form is None:
            return
        self.collected.count(form)
        if sample is not None:
            sample = replace(sample, line=context.line, clock=context.clock)
            self.collected.keep(sample, form, context.model, pattern.single)

    def _unmatched(self, document: Document) -> None:
        text = document.text
        if _MAY_BE.search(text) and not _SETTINGS.search(text):
            self.unknown.append((document.line, text.strip()))
        else:
            self.other += 1

    # --- JSON values

    def _value(self, document: Document) -> None:
        self.context.line = document.line
        value = document.value
        if not isinstance(value, Mapping):
            self.other += 1
            return
        try:
            if not self._statistics(value) and not self._response(value, document.event):
                self.other += 1
        except UserError as error:
            self.collected.refuse(document.line, error)

    def _statistics(self, value: Mapping[str, Any]) -> bool:
        """Return whether a value is an object of statistics, and store its sample."""
        entry = without_request(value)
        statistics = next((kind for kind in OBJECTS if kind.mark in entry), None)
        if statistics is None:
            return False
        sample = statistics.read(entry)
        self.collected.count(statistics.form)
        if sample is not None:
            clock = clock_of(str(entry.get("timestamp", "")))
            sample = replace(sample, line=self.context.line, clock=clock)
            self.collected.keep(sample, statistics.form, "")
        return True

    def _response(self, value: Mapping[str, Any], event: bool) -> bool:
        """Return whether a value is a response or a result, and store its sample."""
        entry = without_request(value)
        response = sample_of(entry, request_of({**value, **entry}))
        if response is None:
            return False
        sample, form = response
        self.collected.count(form)
        sample = replace(sample, line=self.context.line)
        model = str(entry.get("model") or value.get("model") or "")
        chunk = Chunk(sample, form, model)
        if event or is_chunk(entry):
            ended = self.streams.add(id_of(entry), chunk)
            if ended is not None:
                self._keep_stream(ended)
            return True
        self.streams.complete(id_of(entry), chunk)
        self.collected.keep(sample, form, model, single=form.kind == "response")
        return True

    def _keep_stream(self, chunk: Chunk) -> None:
        self.collected.keep(chunk.sample, chunk.form, chunk.model, single=True)

    # --- what only the whole file shows

    def _finish(self, finisher: Finisher) -> None:
        """Add the samples of a finisher, unless the file has more detailed records."""
        groups = self.collected.groups.values()
        if any(group.form in finisher.instead_of for group in groups):
            return
        form = finisher.form
        model = self.context.model
        try:
            samples = finisher.read(self.context)
        except UserError as error:
            self.collected.refuse(self.context.line, error)
            return
        for sample in samples:
            self.collected.keep(sample, form, model, finisher.single)
            if finisher.counted:
                self.collected.count(form)
        if samples:
            self.collected.group(form, model).remarks += finisher.remarks(self.context)
