"""Replay a log: the rounds that drafters would have needed for the outputs that a server wrote.

Drafts of point masses never change the text (:mod:`hsd_viz.bench.replay`), so the forward passes of the target that
each drafter would have saved follow from the log, exactly as a decode counts them. No model runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.bench.replay import Replayed, Text, can_replay
from hsd_viz.bench.replay import replay as replay_text
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.estimates import CPU_MARGINAL, CostCurve, cost_curve
from hsd_viz.drafting.index.build import build_database, build_fivegrams
from hsd_viz.drafting.index.corpus import CorpusWriter
from hsd_viz.drafting.index.format import SUFFIX
from hsd_viz.drafting.make import FIVEGRAMS, STORED, remembers
from hsd_viz.drafting.tree import Drafter
from hsd_viz.ladder.load import weights_dir
from hsd_viz.logs.records import BrokenEntry, LogReader
from hsd_viz.logs.tokens import LogTokenizer, TokenizedRequest
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import native_drafter
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import DraftSource, parse
from hsd_viz.words import MAX_BUDGET, check_budget, check_range, did_you_mean

#: The default drafters.
DRAFTERS = ("db", "db[context]", "hd", "lookup", "sam", "suffix", "ngram-cache")
#: Requests that are listed one by one, and characters of a text where texts are included.
MOST_REQUESTS, MOST_TEXT = 10_000, 200
#: Broken entries that are reported one by one, and those in a row after which a file is not a log.
EXAMPLES, MOST_BROKEN = 20, 50_000
#: Resampled units per row: requests, in groups where there are more of them.
GROUPS = 200
#: Categories that are counted on their own; the others are counted together.
CATEGORIES, OTHER = 50, "other"
FIELDS = ("requests", "tokens", "rounds", "drafted", "accepted", "cost")
#: Cost curves by name: cost of verifying 0, 1, 2, ... draft tokens, relative to a step without a draft.
PRESETS = {"cpu": cost_curve(CPU_MARGINAL).relative, "free16": (*(1.0 for _ in range(17)), 1 + 1 / 16)}
#: Seconds between two reports of progress.
SHOW = 0.2
#: Tokens counted together when databases are built, and output tokens counted for the 5-grams: both bound the memory.
PART_TOKENS, FIVEGRAM_TOKENS = 250_000, 500_000
#: Called with bytes read, bytes in all, and a text.
Progress = Callable[[int, int, str], None]


@dataclass(slots=True)
class Facts:
    """What was read of a log: entries, usable requests, their tokens, and what was wrong with the others."""

    entries: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    compared: int = 0
    disagreeing: int = 0
    cut: int = 0
    training_entries: int = 0
    #: Replayed requests of the last entry: a conversation has several.
    part: int = 0


class Tally:
    """The counts of one row: sums by group of requests, in all and by category, the shapes of its rounds, and requests
    by tokens per forward pass, in hundredths.
    """

    def __init__(self) -> None:
        self.groups: dict[str, np.ndarray] = {"": np.zeros((GROUPS, len(FIELDS)))}
        self.shapes: Counter = Counter()
        self.lengths: Counter = Counter()
        self.seconds = 0.0

    def add(self, number: int, category: str, done: Replayed, cost: float, seconds: float) -> None:
        """Add the ``number``-th request."""
        accepted = sum(accepted * n for (_, _, accepted), n in done.shapes.items())
        if category and category not in self.groups and len(self.groups) > CATEGORIES:
            category = OTHER
        for name in {"", category}:
            sums = self.groups.setdefault(name, np.zeros((GROUPS, len(FIELDS))))
            sums[number % GROUPS] += (1, done.tokens, done.rounds, done.drafted, accepted, cost)
        self.shapes.update(done.shapes)
        self.lengths[round(100 * done.tokens / done.rounds)] += 1
        self.seconds += seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON data."""
        groups = {name: sums.tolist() for name, sums in self.groups.items()}
        pairs = lambda counter: list(counter.items())
        return {"groups": groups, "shapes": pairs(self.shapes), "lengths": pairs(self.lengths), "seconds": self.seconds}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tally:
        """Return the inverse of :meth:`to_dict`."""
        tally = cls()
        tally.groups = {name: np.array(sums) for name, sums in data["groups"].items()}
        tally.shapes = Counter({tuple(shape): n for shape, n in data["shapes"]})
        tally.lengths = Counter(dict(data["lengths"]))
        tally.seconds = data["seconds"]
        return tally


@dataclass(frozen=True, slots=True)
class Row:
    """A drafter of the report; ``warm`` rows keep one memory through the log."""

    name: str
    source: DraftSource
    warm: bool = False


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """The settings of a replay.

    ``state``: for drafters that learn from request to request, ``cold`` (each request alone), ``warm`` or ``both``.
    ``budget``: the most draft tokens per round, cost stopping off (default: each drafter's own limit, and ``db`` stops
    by ``verify_cost``). ``strict``: a broken record is an error. ``limit``: the most requests. ``include_text`` lists
    the start of the requests' texts, which reports do not hold otherwise. ``suite`` has the questions of answer files.
    """

    drafters: tuple[str, ...] = DRAFTERS
    state: str = "cold"
    budget: int | None = None
    verify_cost: str = "cpu"
    temperature: float = 0.0
    strict: bool = False
    limit: int | None = None
    include_text: bool = False
    suite: str | None = None

    def __post_init__(self) -> None:
        if self.state not in ("cold", "warm", "both"):
            raise ValueError(f"unknown state '{self.state}': use cold, warm or both")
        check_budget(self.budget)
        check_range("the temperature", self.temperature, 0.0, 100.0)
        if self.limit is not None:
            check_range("the limit", self.limit, 1)


def parse_cost(text: str) -> CostCurve:
    """Return the cost curve that ``text`` names: a preset, the relative cost of one more token, or c(0),c(1),...
    ``measured`` times the forward passes of the ladder's target on this machine. Raises: ValueError: if it is none of
    these.
    """
    if text in PRESETS:
        return CostCurve(PRESETS[text])
    if text == "measured":
        from hsd_viz.calibration.forwards import draft_costs
        from hsd_viz.engine.local import load_engine

        engine = load_engine()
        engine.wait_ready()
        return cost_curve(draft_costs(engine.model()))
    try:
        numbers = [float(part) for part in text.split(",")]
        if len(numbers) == 1:
            check_range("the cost of a token", numbers[0], 0.0, 100.0)
        return cost_curve(numbers if len(numbers) > 1 else numbers[0])
    except ValueError as error:
        raise ValueError(
            f"'{text}' is not a verification cost: use {', '.join(PRESETS)}, measured, the relative cost of one more "
            f"token, or costs of 0, 1, 2, ... draft tokens as in 1,1.1,1.3 ({error}){did_you_mean(text, PRESETS)}"
        ) from None


def open_databases(tokenizer: LogTokenizer, folder: str | Path | None = None) -> SharedDatabases:
    """Return the databases of ``folder``, else the shipped ones; none, with the reason, for another tokenizer. Raises:
    ValueError: if a named folder has no database of the tokenizer.
    """
    if folder is not None:
        if not tokenizer.vocabulary:
            raise ValueError("databases need a tokenizer: give that of their model")
        return SharedDatabases.require(folder, tokenizer.vocabulary)
    if not tokenizer.vocabulary:
        return SharedDatabases({}, dict.fromkeys((*STORED, FIVEGRAMS), "without a tokenizer there are no databases"))
    return SharedDatabases.open(weights_dir() / "databases", tokenizer.vocabulary)


class LogReplay:
    """Replays a log. ``rows`` and ``refused`` (name -> reason) say what is replayed; ``tallies`` has the counts.
    ``first`` is the number of leading entries that are not judged (training). Raises: ValueError: if no drafter can be
    replayed.
    """

    def __init__(
        self,
        settings: ReplaySettings,
        tokenizer: LogTokenizer,
        databases: SharedDatabases,
        costs: CostCurve,
        first: int = 0,
    ) -> None:
        self.settings, self.tokenizer, self.databases, self.costs = settings, tokenizer, databases, costs
        self._at = costs.tables(MAX_BUDGET)[0]
        build = default_build()
        self._library = build.library if build.wait() else None
        self.rows: list[Row] = []
        self.refused: dict[str, str] = {}
        for name in dict.fromkeys(settings.drafters):
            self._admit(name)
        if not self.rows:
            name, why = next(iter(self.refused.items()))
            raise ValueError(f"'{name}' cannot be replayed: {why}")
        self.facts = Facts(entries=first, training_entries=first)
        self.tallies = [Tally() for _ in self.rows]
        #: The first requests, with the tokens per forward pass of each drafter.
        self.listed: list[dict[str, Any]] = []
        self._memories = [Memory() if row.warm else None for row in self.rows]

    def _admit(self, name: str) -> None:
        """Add the rows of a drafter, or the reason why it cannot be replayed."""
        try:
            stack = parse(f"{name} > target")
            if stack.bottom is None or stack.drafts:
                raise ValueError(f"a draft model's drafts are not in a log: use {', '.join(DRAFTERS)}")
            source = stack.bottom
            if source.name == "db" and not source.items:
                # Named, so that `db` does not take the logits database, which a log does not have.
                found = ",".join(["context", *(s for s in STORED if s in self.databases.found)])
                source = parse(f"db[{found}] > target").bottom or source
            if not can_replay(make_drafter(source, databases=self.databases)):
                raise ValueError("it reads the target's probabilities, which a log does not have")
        except ValueError as error:
            self.refused[name] = str(error)
            return
        learns = remembers(source)
        if not (learns and self.settings.state == "warm"):
            self.rows.append(Row(name, source))
        if learns and self.settings.state != "cold":
            self.rows.append(Row(f"{name}, warm", source, warm=True))

    def drafter(self, row: Row, memory: Memory | None) -> Drafter:
        """Return the drafter of a row for one request."""
        costs = None if self.settings.budget is not None else self.costs
        options: dict[str, Any] = {"eos": self.tokenizer.eos, "temperature": self.settings.temperature}
        found = make_drafter(row.source, databases=self.databases, memory=memory, costs=costs, **options)
        return native_drafter(found, self._library) if self._library is not None else found

    def run(self, path: str | Path, progress: Progress | None = None) -> Iterator[TokenizedRequest]:
        """Yield each request when it was replayed, from where the counts end. Raises: ValueError: for a broken entry,
        if the settings are strict.
        """
        facts, warm, settings = self.facts, any(row.warm for row in self.rows), self.settings
        resumed, part, known, shown = facts.entries, facts.part, 0, 0.0
        prompts = () if settings.suite is None else load_suite(settings.suite).prompts
        questions = {prompt.id: (prompt.category, prompt.turns or (prompt.text,)) for prompt in prompts}
        skip = facts.training_entries if warm else max(0, resumed - (part > 0))
        reader = LogReader(path, skip, questions)
        try:
            for request in tokenized(reader, self.tokenizer, facts, settings.strict, resumed):
                number = request.request.number
                known += number == resumed
                if number < resumed or (number == resumed and known <= part):
                    self._remember(request.text)
                    continue
                if settings.limit is not None and facts.requests >= settings.limit:
                    return
                self._count(request)
                if progress and time.monotonic() - shown > SHOW:
                    shown = time.monotonic()
                    progress(reader.done, reader.size, f"{facts.output_tokens:,} tokens of {facts.requests:,} outputs")
                yield request
        finally:
            reader.close()

    def _remember(self, text: Text) -> None:
        """Give warm drafters what an interrupted run had replayed."""
        for row, memory in zip(self.rows, self._memories, strict=True):
            if memory is not None:
                drafter = self.drafter(row, memory)
                drafter.start(text.prompt)
                drafter.extend(text.output)

    def _count(self, request: TokenizedRequest) -> None:
        """Replay one request with all rows; the counts change when all are done."""
        facts, text, found = self.facts, request.text, []
        for row, memory in zip(self.rows, self._memories, strict=True):
            drafter, started = self.drafter(row, memory), time.process_time()
            budget = self.settings.budget or drafter.nodes
            done = replay_text(drafter, text, budget, self.tokenizer.eos, request.limit)
            cost = sum(self._at[m] * n for (m, _, _), n in done.shapes.items())
            found.append((done, cost, time.process_time() - started))
        if len(self.listed) < MOST_REQUESTS:
            self._list(request, [done.tokens / done.rounds for done, _, _ in found])
        for tally, (done, cost, seconds) in zip(self.tallies, found, strict=True):
            tally.add(facts.requests, text.category, done, cost, seconds)
        facts.part = facts.part + 1 if facts.entries == request.request.number else 1
        facts.entries = request.request.number
        facts.requests += 1
        facts.prompt_tokens += len(text.prompt)
        facts.output_tokens += len(text.output)
        facts.cut += request.cut > 0

    def _list(self, request: TokenizedRequest, lengths: list[float]) -> None:
        row: dict[str, Any] = {"record": request.request.number, "category": request.text.category}
        row |= {"prompt_tokens": len(request.text.prompt), "output_tokens": len(request.text.output)}
        if self.settings.include_text:
            prompt, output = request.request.prompt, request.request.output
            row |= {"prompt": str(prompt or "")[:MOST_TEXT], "output": (output or "")[:MOST_TEXT]}
        lengths = [round(length, 4) for length in lengths]
        self.listed.append(row | dict(zip([r.name for r in self.rows], lengths, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON data, to resume from."""
        tallies = [tally.to_dict() for tally in self.tallies]
        return {"facts": asdict(self.facts), "costs": self.costs.relative, "tallies": tallies, "listed": self.listed}

    def restore(self, data: dict[str, Any]) -> None:
        """Continue from the state of :meth:`to_dict`."""
        self.facts = Facts(**data["facts"])
        self.facts.examples = [(number, why) for number, why in self.facts.examples]
        self.tallies = [Tally.from_dict(tally) for tally in data["tallies"]]
        self.listed = data["listed"]


def tokenized(
    reader: LogReader, tokenizer: LogTokenizer, facts: Facts | None = None, strict: bool = False, after: int = 0
) -> Iterator[TokenizedRequest]:
    """Yield the usable requests of a log as token ids; what is broken after entry ``after`` is counted in ``facts``.
    Raises: ValueError: for a broken entry if ``strict``, and for :data:`MOST_BROKEN` in a row.
    """
    facts, in_a_row = Facts() if facts is None else facts, 0
    for item in reader:
        request, why = None, item.why if isinstance(item, BrokenEntry) else ""
        if not isinstance(item, BrokenEntry):
            try:
                request = tokenizer.tokenize(item)
            except ValueError as error:
                why = str(error)
        if request is None and strict:
            raise ValueError(f"{reader.path}, record {item.number}: {why}")
        in_a_row = 0 if request is not None else in_a_row + 1
        if in_a_row >= MOST_BROKEN:
            raise ValueError(
                f"{reader.path} is not a log: {in_a_row:,} records in a row cannot be used, the last: {why}"
            )
        if item.number > after and request is None:
            facts.broken += 1
            facts.examples = [*facts.examples, (item.number, why)][:EXAMPLES]
            facts.part = facts.part if facts.entries == item.number else 0
            facts.entries = max(facts.entries, item.number)
        if item.number > after and request is not None and request.agrees is not None:
            facts.compared += 1
            facts.disagreeing += not request.agrees
        if request is not None:
            yield request


def build_from_log(
    log: Path, tokenizer: LogTokenizer, folder: str | Path, share: float, progress: Progress | None = None
) -> int:
    """Build the model, statistics and 5-gram databases in ``folder`` from the first ``share`` of the log.

    The model database and the 5-grams count outputs, the statistics database prompts and outputs. Returns the number
    of records used: a log is in the order of time, so none of the rest can have been seen.

    Raises: ValueError: if there is no tokenizer or the part has no usable request.
    """
    check_range("the training share", share, 0.01, 0.99)
    if not tokenizer.vocabulary:
        raise ValueError("databases need a tokenizer: give that of the log's model")
    identity: dict[str, Any] = {"vocabulary_size": tokenizer.size, "vocabulary_hash": tokenizer.hash}
    last, about = int(share * LogReader(log).count()), {"from": log.name}

    def texts() -> Iterator[Text]:
        reader = LogReader(log)
        try:
            for request in tokenized(reader, tokenizer):
                if request.request.number > last:
                    return
                yield request.text
                if progress:
                    progress(reader.done, reader.size, "building databases")
        finally:
            reader.close()

    def write(writer: CorpusWriter, prompts: bool) -> dict[str, Any]:
        for text in texts():
            if prompts:
                writer.add(text.prompt)
            writer.add(text.output)
            writer.end()
        return about

    for kind in ("model", "statistics"):
        feed = partial(write, prompts=kind == "statistics")
        build_database(feed, Path(folder) / f"{kind}{SUFFIX}", kind=kind, part_tokens=PART_TOKENS, **identity)
    outputs, tokens = [], 0
    for text in texts():
        outputs.append(text.output)
        tokens += len(text.output)
        if tokens >= FIVEGRAM_TOKENS:
            break
    build_fivegrams(outputs, Path(folder) / f"{FIVEGRAMS}{SUFFIX}", **identity, meta=about)
    return last
