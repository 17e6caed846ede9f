"""Read a record of any engine: its series, and what was read, skipped and refused, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hsd_viz.errors import BadFile, UserError
from hsd_viz.records import (
    fastdeploy,
    llama_cpp,
    lm_studio,
    lmdeploy,
    mlc,
    openai,
    prometheus,
    sglang,
    tensorrt_llm,
    tgi,
    vllm,
)
from hsd_viz.records.context import Context, LinePattern
from hsd_viz.records.entries import BrokenEntry
from hsd_viz.records.forms import FORMS, Form, engines_with_forms
from hsd_viz.records.lines import Document, documents, time_of
from hsd_viz.records.sample import Request, Sample, Series
from hsd_viz.words import counted, did_you_mean

#: All patterns of log lines, in the order in which they are tried.
PATTERNS: tuple[LinePattern, ...] = (
    *vllm.LINES,
    *sglang.LINES,
    *llama_cpp.LINES,
    *tensorrt_llm.LINES,
)
#: What reads a response: tried in this order.
RESPONSES = (
    vllm.response,
    sglang.response,
    llama_cpp.response,
    tensorrt_llm.response,
    fastdeploy.response,
    lm_studio.response,
    mlc.response,
    # Last: other engines report more beside these fields.
    openai.response,
)
#: What reads the state of a server or the result of a benchmark.
RESULTS = (sglang.bench_json, sglang.server_info, sglang.batch_result)
#: What reads a scrape of counters, and what reads one of gauges.
COUNTERS = (
    vllm.metrics,
    llama_cpp.metrics,
    tensorrt_llm.metrics,
    lmdeploy.metrics,
    tgi.metrics,
)
GAUGES = (sglang.metrics,)
_COUNTER_NAME = re.compile(r"_total$|spec_decode_num_|skipped_tokens_(?:sum|count|bucket)$")
#: Names of metrics of serving engines.
_METRIC_NAME = re.compile(r"\w:\w|^trtllm_|^tgi_")
#: A line that may be a record of a form that is not known.
_MAY_BE = re.compile(
    r"spec\w*.?decod\w*.{0,40}\d|draft\w* (?:tokens?|acceptance).{0,30}\d|accept\w*.{0,20}\d",
    re.IGNORECASE,
)
#: Lines of an engine that have such words and no figures of a run.
_SETTINGS = re.compile(
    r"speculative_config|SpeculativeConfig|ServerArgs|args|_created\{|# (?:HELP|TYPE)|n-max|n_max"
    r"|Capturing|draft_model|Loading|GET /|POST /",
)
_SUMMARY_HEAD = re.compile(r"={3,} *Serving Benchmark Result")
_SUMMARY_ROW = re.compile(r"^\s*([A-Z][\w ()%/.-]*?):\s+(-?[\d.,]+|inf|nan)\s*$")
#: Lines of which the message quotes the text, and characters of it.
EXAMPLES = 3
_QUOTED = 100
#: Characters of a category, and the largest number that is taken of a request.
MOST_NAME = 40
MOST = 1e12
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


class NoRecord(BadFile):
    """A file without a record of a known form."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file contains.

    Attributes:
        name: the name of the file.
        series: by engine, form and model, in the order of the file.
        lines: lines and JSON values that were read.
        by_form: how many of them were records, by the name of the form.
        other: how many have no figures of speculative decoding.
        superseded: chunks of streams that a later chunk of the same request continues.
        unknown: (line, text) of lines that may be records of an unknown form.
        refused: (line, reason) of records that are damaged or impossible.
    """

    name: str
    series: tuple[Series, ...]
    lines: int = 0
    by_form: Mapping[str, int] = field(default_factory=dict)
    other: int = 0
    superseded: int = 0
    unknown: tuple[tuple[int, str], ...] = ()
    refused: tuple[tuple[int, str], ...] = ()

    def notes(self) -> list[str]:
        """Return what was read, skipped and refused, and the remarks of each series, as lines."""
        remarks = [f"{one.name}: {remark}" for one in self.series for remark in one.remarks]
        return [*self.read_notes(), *remarks]

    def read_notes(self) -> list[str]:
        """Return what was read, skipped and refused, as lines."""
        forms = [f"{n:,} of the form '{form}'" for form, n in self.by_form.items()]
        lines = [f"read {counted(self.lines, 'line')}: {', '.join(forms) or 'no record'}"]
        if self.other:
            lines.append(f"skipped {self.other:,} without figures of speculative decoding")
        if self.superseded:
            chunks = counted(self.superseded, "chunk")
            lines.append(
                f"skipped {chunks} of streams: a later chunk of the request has its counts"
            )
        for number, text in self.unknown[:EXAMPLES]:
            lines.append(f"unknown form, skipped: line {number}: {text[:_QUOTED]}")
        if len(self.unknown) > EXAMPLES:
            lines.append(f"unknown forms: {len(self.unknown)} lines in all")
        for number, why in self.refused[:EXAMPLES]:
            lines.append(f"refused: line {number}: {why}")
        if len(self.refused) > EXAMPLES:
            lines.append(f"refused: {len(self.refused)} records in all")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as JSON data."""
        return {
            "name": self.name,
            "series": [one.to_dict() for one in self.series],
            "lines": self.lines,
            "by_form": dict(self.by_form),
            "other": self.other,
            "superseded": self.superseded,
            "unknown": [list(one) for one in self.unknown],
            "refused": [list(one) for one in self.refused],
        }

    def one(self, model: str | None = None) -> Series:
        """Return the series of a model; without a name, the only one.

        Lines of an older form of the same engine and model are left out, with a remark.

        Raises:
            UserError: if there are several models or engines, or none of this name.
        """
        models = list(dict.fromkeys(one.model for one in self.series))
        if model is not None and model not in models:
            known = ", ".join(name or "(not named)" for name in models)
            hint = did_you_mean(model, models)
            raise UserError(f"{self.name} has no model '{model}': it has {known}{hint}")
        chosen = [one for one in self.series if model is None or one.model == model]
        engines = sorted({one.engine for one in chosen})
        if len(engines) > 1:
            raise UserError(
                f"the records are of several engines ({', '.join(engines)}): choose one of them "
                "with --engine"
            )
        names = list(dict.fromkeys(one.model for one in chosen))
        if len(names) > 1:
            rates = [f"{name or '(not named)'} ({_rate_of(chosen, name)})" for name in names]
            raise UserError(
                f"{self.name} has records of {len(names)} models: {', '.join(rates)}: "
                f"choose one with --model"
            )
        return _richest(chosen)


def _rate_of(series: Sequence[Series], model: str) -> str:
    """Return the acceptance of a model as text."""
    for one in series:
        whole = one.pooled()
        if one.model == model and whole.rate is not None:
            return f"{whole.rate:.1%} accepted"
    return "acceptance not reported"


def _richest(series: Sequence[Series]) -> Series:
    """Return the series with most samples that report positions; the others become remarks."""
    if len(series) == 1:
        return series[0]

    def worth(one: Series) -> tuple[bool, int]:
        positions = any(sample.by_position is not None for sample in one.samples)
        return positions, len(one.samples)

    best = max(series, key=worth)
    remarks = list(best.remarks)
    for one in series:
        if one is not best:
            rate = one.pooled().rate
            accepted = "" if rate is None else f", {rate:.1%} accepted"
            records = counted(len(one.samples), "record")
            remarks.append(f"{records} of the form '{one.form}' left out{accepted}")
    return replace(best, remarks=tuple(remarks))


def read(path: str | Path, engine: str | None = None, since: str | Path | None = None) -> Reading:
    """Return the series of a file.

    Args:
        path: responses, a log, a stream, a summary or a copy of ``/metrics``.
        engine: only this engine.
        since: an earlier copy of ``/metrics`` of the same server: counters are counted from it.

    Raises:
        UserError: if the engine is unknown.
        BadFile: if the file has no record of a known form, or only damaged ones.
    """
    known = engines_with_forms()
    if engine is not None and engine not in known:
        hint = did_you_mean(engine, known)
        raise UserError(f"unknown engine '{engine}': use {', '.join(known)}{hint}")
    reader = _Reader()
    reader.read(Path(path))
    before = None
    if since is not None:
        before = _Reader()
        before.read(Path(since))
        if not before.scrapes.scrapes:
            raise BadFile(f"{since} is not a copy of /metrics: --since needs an earlier one")
        if not reader.scrapes.scrapes:
            raise BadFile(f"{path} is not a copy of /metrics: --since is for counters")
    series = reader.finished(None if before is None else before.scrapes)
    if engine is not None:
        series = [one for one in series if one.engine == engine]
    if not series:
        raise _nothing(Path(path), reader, engine)
    return Reading(
        name=Path(path).name,
        series=tuple(series),
        lines=reader.lines,
        by_form=dict(reader.by_form),
        other=reader.other,
        superseded=reader.superseded,
        unknown=tuple(reader.unknown),
        refused=(*reader.refused, *reader.broken),
    )


def _nothing(path: Path, reader: _Reader, engine: str | None) -> BadFile:
    """Return the error of a file without a usable record."""
    if reader.refused:
        number, why = reader.refused[0]
        return BadFile(f"{path} has no usable record: line {number}: {why}")
    who = engine or "a known engine"
    engines = engines_with_forms() if engine is None else [engine]
    looked = []
    for name in engines:
        names = [form.name for form in FORMS if form.engine == name]
        looked.append(f"{name}: {', '.join(names)}")
    forms = "; ".join(looked)
    message = f"{path} has no record of speculative decoding by {who}; looked for {forms}"
    if reader.broken:
        number, why = reader.broken[0]
        message += f"; line {number}: {why}"
    elif reader.unknown:
        number, text = reader.unknown[0]
        message += f"; line {number} may be one of an unknown form: {text[:_QUOTED]}"
    return NoRecord(message)


@dataclass(slots=True)
class _Group:
    """The samples of one series so far."""

    form: Form
    single: bool
    model: str
    method: str | None = None
    draft_model: str = ""
    samples: list[Sample] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class _Reader:
    """Reads one file."""

    def __init__(self) -> None:
        self.context = Context()
        self.groups: dict[tuple[str, str, str], _Group] = {}
        self.scrapes = prometheus.Scrapes()
        self.lines = 0
        self.by_form: Counter[str] = Counter()
        self.other = 0
        self.used = 0
        self.superseded = 0
        self.unknown: list[tuple[int, str]] = []
        self.broken: list[tuple[int, str]] = []
        self.refused: list[tuple[int, str]] = []
        #: The last chunk of every stream: sample, form and model by the id of the request.
        self.streams: dict[str, tuple[Sample, Form, str]] = {}
        self.summary: dict[str, str] | None = None

    def read(self, path: Path) -> None:
        """Read a file. Raises: BadFile: if it cannot be opened."""
        try:
            for document in documents(path):
                self.lines += 1
                if isinstance(document, BrokenEntry):
                    self.broken.append((document.number, document.why))
                elif document.value is None:
                    self._line(document)
                else:
                    self._value(document)
        except BadFile as error:
            raise BadFile(str(error).replace("cannot read the log", "cannot read")) from None
        self._end_summary()
        for sample, form, model in self.streams.values():
            self._keep(sample, form, model, single=True)

    # --- lines

    def _line(self, document: Document) -> None:
        text = document.text
        if not text.strip():
            return
        context = self.context
        context.line = document.line
        context.time, context.clock = time_of(document.clock or text)
        if self._summary_line(text):
            return
        metric = prometheus.metric_of(text)
        if metric is not None and _METRIC_NAME.search(metric[0]):
            self.scrapes.add(*metric, document.line)
            return
        matched = False
        for pattern in PATTERNS:
            found = pattern.regex.search(text)
            if found is None:
                continue
            matched = True
            self._matched(pattern, found)
            if pattern.form is not None:
                return
        if not matched:
            self._unmatched(document)
        else:
            self.used += 1

    def _matched(self, pattern: LinePattern, found: re.Match[str]) -> None:
        context = self.context
        try:
            sample = pattern.read(found, context)
        except (BadFile, ValueError) as error:
            self.refused.append((context.line, str(error)))
            return
        if pattern.form is None:
            return
        self.by_form[pattern.form.name] += 1
        if sample is not None:
            sample = replace(sample, line=context.line, time=context.time, clock=context.clock)
            single = pattern.form in (llama_cpp.LINE, llama_cpp.SIMPLE, sglang.FINISHED)
            self._keep(sample, pattern.form, context.model, single=single, count=False)

    def _unmatched(self, document: Document) -> None:
        text = document.text
        if _MAY_BE.search(text) and not _SETTINGS.search(text):
            self.unknown.append((document.line, text.strip()))
        else:
            self.other += 1

    # --- printed summaries

    def _summary_line(self, text: str) -> bool:
        """Return whether a line belongs to a printed summary."""
        if _SUMMARY_HEAD.search(text):
            self._end_summary()
            self.summary = {}
            return True
        if self.summary is None:
            return False
        if row := _SUMMARY_ROW.match(text):
            self.summary[row[1].strip()] = row[2]
            return True
        if text.strip().startswith("====="):
            self._end_summary()
            return True
        return text.strip().startswith("---") or "Per-position" in text

    def _end_summary(self) -> None:
        rows = self.summary
        self.summary = None
        if not rows:
            return
        try:
            if (sample := vllm.summary_rows(rows)) is not None:
                self._keep(sample, vllm.BENCH, self.context.model)
            elif (sample := sglang.summary_rows(rows)) is not None:
                self._keep(sample, sglang.BENCH, self.context.model)
        except (BadFile, ValueError) as error:
            self.refused.append((self.context.line, str(error)))

    # --- JSON values

    def _value(self, document: Document) -> None:
        self.context.line = document.line
        value = document.value
        if not isinstance(value, Mapping):
            self.other += 1
            return
        try:
            if not self._iteration(value) and not self._response(value, document.event):
                self.other += 1
        except (BadFile, ValueError) as error:
            self.refused.append((document.line, str(error)))
        except (TypeError, KeyError, AttributeError) as error:
            why = f"unexpected form ({type(error).__name__})"
            self.refused.append((document.line, why))

    def _iteration(self, value: Mapping[str, Any]) -> bool:
        entry = _inner(value)
        if "specDecodingStats" not in entry:
            return False
        sample = tensorrt_llm.iteration(entry)
        self.by_form[tensorrt_llm.ITERATION.name] += 1
        if sample is not None:
            time, clock = time_of(str(entry.get("timestamp", "")))
            sample = replace(sample, line=self.context.line, time=time, clock=clock)
            self._keep(sample, tensorrt_llm.ITERATION, "", count=False)
        return True

    def _response(self, value: Mapping[str, Any], event: bool) -> bool:
        entry = _inner(value)
        request = request_of({**value, **entry})
        found = None
        for reads in RESPONSES:
            if (found := reads(entry, request)) is not None:
                break
        if found is None:
            results = (reads(entry) for reads in RESULTS)
            found = next((one for one in results if one is not None), None)
        if found is None:
            return False
        sample, form = found
        self.by_form[form.name] += 1
        sample = replace(sample, line=self.context.line)
        model = str(entry.get("model") or value.get("model") or "")
        if event or _is_chunk(entry):
            self._chunk(sample, form, model, entry)
            return True
        if self.streams.pop(_id_of(entry) or "-", None) is not None:
            self.superseded += 1
        single = form.kind == "response"
        self._keep(sample, form, model, single=single, count=False)
        return True

    def _chunk(self, sample: Sample, form: Form, model: str, entry: Mapping[str, Any]) -> None:
        """Keep the last chunk of every stream: their counts are cumulative."""
        name = _id_of(entry)
        before = self.streams.get(name)
        if before is not None:
            if name or _continues(before[0], sample):
                self.superseded += 1
            else:
                self._keep(*before, single=True, count=False)
        self.streams[name] = (sample, form, model)

    # --- series

    def _keep(
        self, sample: Sample, form: Form, model: str, single: bool = False, count: bool = True
    ) -> None:
        key = (form.engine, form.name, model)
        group = self.groups.setdefault(key, _Group(form, single, model))
        group.samples.append(sample)
        group.method = self.context.method or group.method
        group.draft_model = self.context.draft_model or group.draft_model
        if count and form.kind == "summary":
            self.by_form[form.name] += 1

    def finished(self, before: prometheus.Scrapes | None) -> list[Series]:
        """Return the series; counters are counted from the last scrape of ``before``."""
        self._count_scrapes(before)
        for sample in llama_cpp.unfinished(self.context):
            self._keep(sample, llama_cpp.ROUND, self.context.model, single=True)
        self._keep_statistics()
        self._keep_blocks(vllm.examples, vllm.EXAMPLE)
        self._keep_blocks(tensorrt_llm.benches, tensorrt_llm.BENCH)
        found = []
        for group in self.groups.values():
            samples = group.samples
            if group.form is sglang.LINE:
                samples = sglang.with_draft_length(samples)
            if not any(one.drafted or one.length or one.drafts for one in samples):
                continue
            form = group.form
            if form.engine == llama_cpp.NAME:
                samples = llama_cpp.with_drafting(samples, self.context)
            version = self.context.versions.get(form.engine) or f"form seen in {form.seen_in}"
            found.append(
                Series(
                    engine=form.engine,
                    version=version,
                    form=form.name,
                    samples=tuple(samples),
                    single=group.single,
                    model=group.model,
                    method=group.method or self.context.method,
                    draft_model=group.draft_model or self.context.draft_model,
                    remarks=tuple(group.remarks),
                )
            )
        return found

    def _keep_statistics(self) -> None:
        """Keep the statistics of llama-server where its log has no line of a request."""
        requests = (llama_cpp.LINE, llama_cpp.ROUND)
        if any(group.form in requests for group in self.groups.values()):
            return
        form = llama_cpp.STATISTICS
        try:
            samples, remarks = llama_cpp.by_statistics(self.context)
        except BadFile as error:
            self.refused.append((self.context.line, str(error)))
            return
        for sample in samples:
            self._keep(sample, form, self.context.model)
            self.by_form[form.name] += 1
        if samples:
            self.groups[form.engine, form.name, self.context.model].remarks += remarks

    def _keep_blocks(self, samples_of: Callable[[Context], list[Sample]], form: Form) -> None:
        """Keep the printed blocks of a form, whose end is not marked."""
        try:
            for sample in samples_of(self.context):
                self._keep(sample, form, self.context.model)
        except BadFile as error:
            self.refused.append((self.context.line, str(error)))

    def _count_scrapes(self, before: prometheus.Scrapes | None) -> None:
        """Add the series of ``/metrics``: one scrape, or what was counted between scrapes."""
        models = [name for name in self.scrapes.models() if name] or [""]
        for model in models:
            scrapes = [prometheus.of_model(one, model) for one in self.scrapes.scrapes]
            scrapes = [one for one in scrapes if one]
            lines = [one.first_line for one in self.scrapes.scrapes]
            earlier = None
            if before is not None:
                earlier = prometheus.of_model(before.scrapes[-1], model)
            for reads in GAUGES:
                self._gauges(reads, scrapes, lines, model)
            for reads in COUNTERS:
                self._counters(reads, scrapes, lines, model, earlier)

    def _gauges(self, reads: Any, scrapes: Sequence[Any], lines: Sequence[int], model: str) -> None:
        for line, values in zip(lines, scrapes, strict=False):
            found = self._read_scrape(reads, values, line)
            if found is not None:
                self._keep(replace(found[0], line=line), found[1], model, count=False)
                self.by_form[found[1].name] += 1

    def _counters(
        self,
        reads: Any,
        scrapes: Sequence[Mapping[prometheus.Key, float]],
        lines: Sequence[int],
        model: str,
        earlier: Mapping[prometheus.Key, float] | None,
    ) -> None:
        """Add what counters counted: since the start in one scrape, else between scrapes."""
        chain = list(scrapes) if earlier is None else [earlier, *scrapes]
        chain = [one for one in chain if self._read_scrape(reads, one, 0) is not None]
        if not chain:
            return
        if len(chain) == 1:
            found = self._read_scrape(reads, chain[0], lines[0] if lines else 0)
            if found is not None:
                self._keep(replace(found[0], line=lines[0]), found[1], model, count=False)
                self.by_form[found[1].name] += 1
            return
        form: Form | None = None
        remarks = []
        first = self._read_scrape(reads, chain[0], 0)
        for number, (later, previous) in enumerate(zip(chain[1:], chain, strict=False)):
            counters, reset = prometheus.difference(_counters_of(previous), _counters_of(later))
            found = self._read_scrape(reads, {**later, **counters}, 0)
            if reset:
                remarks.append(
                    f"the counters were reset before scrape {number + 2}: the server restarted, "
                    "and the later counts are those since then"
                )
            if found is not None:
                form = found[1]
                self._keep(found[0], form, model, count=False)
                self.by_form[form.name] += 1
        if form is None:
            return
        group = self.groups[form.engine, form.name, model]
        if first is not None and earlier is None:
            rate = first[0].rate
            accepted = "" if rate is None else f", {rate:.1%} accepted"
            remarks.insert(
                0,
                f"{len(chain)} scrapes of one server: counted is what "
                "was added between them; before "
                f"the first one {first[0].drafted or 0:,.0f} draft tokens{accepted}",
            )
        group.remarks += remarks

    def _read_scrape(
        self, reads: Any, values: Mapping[prometheus.Key, float], line: int
    ) -> tuple[Sample, Form] | None:
        try:
            return reads(values)
        except (BadFile, ValueError) as error:
            self.refused.append((line, str(error)))
            return None


def _counters_of(values: Mapping[prometheus.Key, float]) -> dict[prometheus.Key, float]:
    return {key: value for key, value in values.items() if _COUNTER_NAME.search(key[0])}


def _inner(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the response of an entry that has the request beside it."""
    response = value.get("response")
    if isinstance(response, Mapping):
        body = response.get("body")
        return body if isinstance(body, Mapping) else response
    return value


def response_of(value: Mapping[str, Any]) -> Sample | None:
    """Return what a response says of speculative decoding, ``None`` if it says nothing.

    Raises:
        BadFile: if its figures are impossible.
    """
    entry = _inner(value)
    for reads in RESPONSES:
        if (found := reads(entry, Request())) is not None:
            return found[0]
    return None


def _is_chunk(entry: Mapping[str, Any]) -> bool:
    """Return whether a JSON value is a part of a streamed response that is not finished."""
    if str(entry.get("object", "")).endswith(".chunk"):
        return True
    if entry.get("stop") is False and "content" in entry:
        return True
    meta = entry.get("meta_info")
    return isinstance(meta, Mapping) and "finish_reason" in meta and meta["finish_reason"] is None


def _id_of(entry: Mapping[str, Any]) -> str:
    """Return the id of the request of a response, "" without one."""
    meta = entry.get("meta_info")
    inner = meta.get("id") if isinstance(meta, Mapping) else None
    return str(entry.get("id") or inner or "")


def _continues(before: Sample, after: Sample) -> bool:
    """Return whether a chunk without an id continues the one before: no count is smaller."""
    pairs = [(getattr(before, name), getattr(after, name)) for name in ("tokens", "drafted")]
    grown = all((a or 0) <= (b or 0) for a, b in pairs)
    return grown and before.prefill_seconds == after.prefill_seconds


def request_of(entry: Mapping[str, Any]) -> Request:
    """Return what a record says of its request; what is not a usable value is left out."""
    numbers: dict[str, float] = {}
    category = ""
    for name, places in REQUEST.items():
        for place in places:
            value = _at(entry, place)
            if name == "category":
                category = category or (value[:MOST_NAME] if isinstance(value, str) else "")
            elif isinstance(value, int | float) and 0 <= value < MOST:
                numbers.setdefault(name, value)
    context = numbers.get("context")
    if context is not None and "timings" in entry:
        # llama.cpp counts the tokens of the prompt that it computed.
        context += numbers.get("cached", 0)
    return Request(
        context=context,
        cached=numbers.get("cached"),
        temperature=numbers.get("temperature"),
        category=category,
    )


def _at(entry: Any, place: str) -> Any:
    for key in place.split("."):
        entry = entry.get(key) if isinstance(entry, Mapping) else None
    return entry


def known_forms(engine: str | None = None) -> Iterable[Form]:
    """Return the forms that are read, of one engine or of all."""
    return [form for form in FORMS if engine in (None, form.engine)]
