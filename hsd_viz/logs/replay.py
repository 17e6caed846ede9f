"""Replay a log: the rounds that drafters would have needed for the outputs that a server wrote.

Drafts of point masses never change the text (:mod:`hsd_viz.bench.replay`), so the forward passes of the target that
each drafter would have saved follow from the log, exactly as a decode counts them. No model runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.adapters import settings as engine_settings
from hsd_viz.adapters.entries import BrokenEntry, EntryReader
from hsd_viz.bench.replay import can_replay
from hsd_viz.bench.replay import replay as replay_text
from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.estimates import CPU_MARGINAL, CostCurve, cost_curve
from hsd_viz.drafting.make import FIVEGRAMS, STORED, remembers
from hsd_viz.drafting.tree import Drafter
from hsd_viz.intervals import Estimate, estimate, ratio, resample
from hsd_viz.ladder.load import weights_dir
from hsd_viz.logs.records import LogTokenizer, Request, requests
from hsd_viz.native.build import default_build
from hsd_viz.native.decode import native_drafter
from hsd_viz.serialize import to_dict
from hsd_viz.stack import DraftSource, parse
from hsd_viz.tables import Table, lines, show
from hsd_viz.terminal import plain
from hsd_viz.words import MAX_BUDGET, check_budget, check_range, did_you_mean, guided

if TYPE_CHECKING:
    import pandas as pd

#: The default drafters, and drafters with their names in serving engines.
DRAFTERS = ("db", "db[context]", "hd", "lookup", "sam", "suffix", "ngram-cache")
SERVED = {"lookup": "lookup", "suffix": "suffix", "ngram-cache": "lookup"}
#: Broken entries that are reported one by one, and those in a row after which a file is not a log.
EXAMPLES, MOST_BROKEN = 20, 50_000
#: Resampled units per drafter: requests, in groups where there are more of them.
GROUPS = 200
#: Categories that are counted on their own; the others are counted together.
CATEGORIES, OTHER = 50, "other"
FIELDS = ("requests", "tokens", "rounds", "drafted", "accepted", "cost")
RATIOS = {"mean_acceptance_length": (1, 2), "acceptance_rate": (4, 3), "speedup": (1, 5)}
#: Cost curves by name: cost of verifying 0, 1, 2, ... draft tokens, relative to a step without a draft.
PRESETS = {"cpu": cost_curve(CPU_MARGINAL).relative, "free16": (*(1.0 for _ in range(17)), 1 + 1 / 16)}
#: Seconds between two reports of progress.
SHOW = 0.2
#: Called with bytes read, bytes in all, and a text.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class DrafterReport:
    """One drafter: tokens per forward pass of the target, accepted per draft token, and the predicted speed-up, pooled
    over all requests or those of a category. By position k (from 1): rounds whose draft reached that depth, and rounds
    that accepted k or more.
    """

    name: str
    requests: int
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    mean_acceptance_length: Estimate
    acceptance_rate: Estimate
    speedup: Estimate
    drafted_by_position: tuple[int, ...]
    accepted_by_position: tuple[int, ...]
    by_category: dict[str, DrafterReport] = field(default_factory=dict)

    def bounds(self) -> tuple[float, float]:
        """Return the interval of the speed-up, without one twice its value."""
        return self.speedup.interval or (self.speedup.value or 0.0,) * 2

    def positions(self, depth: int) -> list[str]:
        """Return the acceptance at the first ``depth`` positions as text."""
        pairs = zip(self.accepted_by_position, self.drafted_by_position, strict=True)
        cells = [f"{accepted / drafted:.2f}" if drafted else "-" for accepted, drafted in pairs]
        return [*cells, *["-"] * depth][:depth]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of :func:`replay`; ``log`` says what was read, ``refused`` why a drafter was not replayed, and
    ``complete`` is False if it was interrupted.
    """

    log: dict[str, Any]
    settings: dict[str, Any]
    drafters: tuple[DrafterReport, ...]
    refused: dict[str, str]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return to_dict(self)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per drafter."""
        import pandas as pd

        rows = pd.DataFrame([to_dict(row) for row in self.drafters]).set_index("name")
        return rows.drop(columns=["by_category", "drafted_by_position", "accepted_by_position"])

    def __str__(self) -> str:
        parts: list[Any] = [*self.introduction(), *self.tables()]
        if flags := self.flags():
            parts += ["", "Settings to paste:", *(f"  {engine}: {text}" for engine, text in flags.items())]
        return plain(parts)

    def _best(self, names: Sequence[str] | None = None) -> DrafterReport | None:
        rows = [row for row in self.drafters if names is None or row.name.split(",")[0] in names]
        return max(rows, key=lambda row: row.speedup.value or 0.0, default=None)

    def flags(self) -> dict[str, str]:
        """Return the settings of the best drafter that serving engines have; off where none certainly pays."""
        if (best := self._best(tuple(SERVED))) is None:
            return {}
        if best.bounds()[0] <= 1:
            return engine_settings("plain", 0)
        # The longest draft that is usual: of one round in 20.
        tokens = sum(20 * drafted >= best.rounds for drafted in best.drafted_by_position)
        return engine_settings(SERVED[best.name.split(",")[0]], max(1, tokens))

    def answer(self) -> Iterator[tuple[str, bool]]:
        """Yield the result as one line: parts of its text, and whether a part is emphasized."""
        if (best := self._best()) is None:
            return
        yield best.name, True
        yield (" pays most" if best.bounds()[0] > 1 else " comes first, and does not certainly pay"), False
        yield f": {show(best.mean_acceptance_length, '{:.2f}')} tokens per forward pass, predicted speed-up ", False
        yield f"{best.speedup.value:.2f}\u00d7", True
        yield f" at verification cost '{self.settings['verify_cost']}', drafting not counted.", False

    def introduction(self) -> list[str]:
        """Return what was read, and the notes."""
        return lines("replay.jinja", it=self)

    def notes(self) -> list[str]:
        """Return what was wrong with the log, and what is missing."""
        return self.introduction()[1:]

    def tables(self) -> Iterator[Table]:
        """Yield the tables of the report."""
        ranked = sorted(self.drafters, key=lambda row: -(row.mean_acceptance_length.value or 0))
        if not ranked:
            return
        rows = [["drafter", "tokens/forward", "speed-up", "pays", "accepted", "drafted/forward"]]
        for row in ranked:
            low, high = row.bounds()
            pays = "yes" if low > 1 else "no" if high <= 1 else "unclear"
            figures = [show(row.mean_acceptance_length, "{:.2f}"), show(row.speedup, "{:.2f}"), pays]
            figures += [show(row.acceptance_rate, "{:.2f}"), f"{row.drafted / row.rounds:.1f}"]
            rows.append([row.name, *figures])
        note = f"predicted speed-up at verification cost '{self.settings['verify_cost']}', drafting not counted:"
        yield Table("Tokens per forward pass", rows, note)
        if depth := min(8, max(len(row.accepted_by_position) for row in ranked)):
            rows = [["accepted at position", *map(str, range(1, depth + 1))]]
            rows += [[row.name, *row.positions(depth)] for row in ranked]
            yield Table("Acceptance by position", rows, "rounds that accepted k or more, of the rounds that drafted k:")
        names = list(dict.fromkeys(name for row in ranked for name in row.by_category))
        if len(names) > 1:
            length = lambda counts: show(counts.mean_acceptance_length, "{:.2f}") if counts else "-"
            rows = [["tokens/forward by category", *names]]
            rows += [[row.name, *(length(row.by_category.get(name)) for name in names)] for row in ranked]
            yield Table("By category", rows)


class Tally:
    """Counts of a drafter: sums by group of requests, and the shapes of its rounds."""

    def __init__(self) -> None:
        self.groups = np.zeros((GROUPS, len(FIELDS)))
        self.shapes: Counter = Counter()

    def report(self, name: str, by_category: dict[str, DrafterReport]) -> DrafterReport:
        """Return the figures."""
        deepest = max((depth for _, depth, _ in self.shapes), default=0)
        drafted, accepted = np.zeros(deepest + 1, int), np.zeros(deepest + 1, int)
        for (_, depth, taken), n in self.shapes.items():
            drafted[depth] += n
            accepted[taken] += n
        used = self.groups[self.groups[:, 0] > 0]
        sums = resample(len(used)) @ used
        counts = {field: int(n) for field, n in zip(FIELDS[:-1], sums[0, :-1], strict=True)}
        figures = {field: estimate(ratio(sums[:, a], sums[:, b]), len(used)) for field, (a, b) in RATIOS.items()}
        at_least = lambda by_depth: tuple(np.cumsum(by_depth[::-1])[::-1][1:].tolist())
        return DrafterReport(
            name,
            **counts,
            **figures,
            drafted_by_position=at_least(drafted),
            accepted_by_position=at_least(accepted),
            by_category=by_category,
        )


class Candidate:
    """A drafter of a replay and its counts, in all ("") and by category. With a ``memory`` it learns from earlier
    requests.
    """

    def __init__(self, name: str, source: DraftSource, memory: Memory | None = None) -> None:
        self.name, self.source, self.memory = name, source, memory
        self.tallies = {"": Tally()}

    def add(self, number: int, category: str, sums: Sequence[float], shapes: Counter) -> None:
        """Add the ``number``-th request."""
        if category and category not in self.tallies and len(self.tallies) > CATEGORIES:
            category = OTHER
        for name in {"", category}:
            tally = self.tallies.setdefault(name, Tally())
            tally.groups[number % GROUPS] += sums
            tally.shapes.update(shapes)

    def report(self) -> DrafterReport:
        """Return the figures."""
        named = sorted((name, tally) for name, tally in self.tallies.items() if name)
        return self.tallies[""].report(self.name, {name: tally.report(name, {}) for name, tally in named})


def parse_cost(text: str) -> CostCurve:
    """Return the cost curve that ``text`` names: a preset, the relative cost of one more token, or c(0),c(1),...
    Raises: ValueError: if it is none of these.
    """
    if text in PRESETS:
        return CostCurve(PRESETS[text])
    try:
        numbers = [float(part) for part in text.split(",")]
        if len(numbers) == 1:
            check_range("the cost of a token", numbers[0], 0.0, 100.0)
        return cost_curve(numbers if len(numbers) > 1 else numbers[0])
    except ValueError as error:
        raise ValueError(
            f"'{text}' is not a verification cost: use {', '.join(PRESETS)}, the relative cost of one more "
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


def candidates(
    drafters: Sequence[str], databases: SharedDatabases, state: str
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the drafters that can be replayed, and the others with the reason. Raises: ValueError: if none can."""
    rows, refused = [], {}
    for name in dict.fromkeys(drafters):
        try:
            stack = parse(f"{name} > target")
            if stack.bottom is None or stack.drafts:
                raise ValueError(f"a draft model's drafts are not in a log: use {', '.join(DRAFTERS)}")
            source = stack.bottom
            if source.name == "db" and not source.items:
                # Named, so that `db` does not take the logits database, which a log does not have.
                found = ",".join(["context", *(s for s in STORED if s in databases.found)])
                source = parse(f"db[{found}] > target").bottom or source
            if not can_replay(make_drafter(source, databases=databases)):
                raise ValueError("it reads the target's probabilities, which a log does not have")
        except ValueError as error:
            refused[name] = str(error)
            continue
        learns = remembers(source)
        if not (learns and state == "warm"):
            rows.append(Candidate(name, source))
        if learns and state != "cold":
            rows.append(Candidate(f"{name}, warm", source, Memory()))
    if not rows:
        name, why = next(iter(refused.items()))
        raise ValueError(f"'{name}' cannot be replayed: {why}")
    return rows, refused


def tokenized(reader: EntryReader, tokenizer: LogTokenizer, log: dict[str, Any]) -> Iterator[Request]:
    """Yield the usable requests of a log as token ids; what is broken is counted in ``log``. Raises: ValueError: for
    :data:`MOST_BROKEN` broken entries in a row.
    """
    in_a_row = 0
    for item in requests(reader):
        request, why = None, item.why if isinstance(item, BrokenEntry) else ""
        if not isinstance(item, BrokenEntry):
            try:
                request = tokenizer.tokenize(item)
            except ValueError as error:
                why = str(error)
        in_a_row = 0 if request is not None else in_a_row + 1
        if request is not None:
            yield request
            continue
        if in_a_row >= MOST_BROKEN:
            raise ValueError(
                f"{reader.path} is not a log: {in_a_row:,} records in a row cannot be used, the last: {why}"
            )
        log["broken"] += 1
        log["examples"] = [*log["examples"], (item.number, why)][:EXAMPLES]


@guided("replay")
def replay(
    log: str | Path,
    *,
    drafters: Sequence[str] = DRAFTERS,
    tokenizer: str | Path | None = None,
    databases: str | Path | None = None,
    verify_cost: str | Sequence[float] = "cpu",
    state: str = "cold",
    budget: int | None = None,
    temperature: float = 0.0,
    limit: int | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> ReplayReport:
    """Return what ``drafters`` would have brought on a log, without a model.

    Args:
        log: a file of requests (:mod:`hsd_viz.logs.records`).
        tokenizer: of the log's model; not needed for a log of token ids.
        databases: a folder of databases with that tokenizer (default: the shipped ones, if they have it).
        verify_cost: cost of verifying 0, 1, 2, ... draft tokens, or its name (:func:`parse_cost`).
        state: for drafters that learn from request to request, ``cold`` (each request alone), ``warm`` or ``both``.
        budget: the most draft tokens per round, cost stopping off (default: each drafter's own limit, and ``db`` stops
            by ``verify_cost``).
        temperature: of the log: the initial trust of ``db`` in its drafts.
        limit: the most requests.
        cancelled: polled after each request; the report then has the requests so far, as after Ctrl-C.

    Raises: ValueError: for bad input.
    """
    if state not in ("cold", "warm", "both"):
        raise ValueError(f"unknown state '{state}': use cold, warm or both")
    check_budget(budget)
    check_range("the temperature", temperature, 0.0, 100.0)
    if limit is not None:
        check_range("the limit", limit, 1)
    verify_cost = verify_cost if isinstance(verify_cost, str) else ",".join(map(str, verify_cost))
    tokens, log, costs = LogTokenizer(tokenizer), Path(log), parse_cost(verify_cost)
    found = open_databases(tokens, databases)
    rows, refused = candidates(drafters, found, state)
    build, at = default_build(), costs.tables(MAX_BUDGET)[0]
    library = build.library if build.wait() else None

    def drafter(row: Candidate) -> Drafter:
        options: dict[str, Any] = {"eos": tokens.eos, "temperature": temperature, "memory": row.memory}
        made = make_drafter(row.source, databases=found, costs=None if budget is not None else costs, **options)
        return native_drafter(made, library) if library is not None else made

    def run(row: Candidate, request: Request) -> tuple[Sequence[float], Counter]:
        drafting = drafter(row)
        done = replay_text(drafting, request.text, budget or drafting.nodes, tokens.eos, request.limit)
        accepted, cost = (
            sum(n * f(shape) for shape, n in done.shapes.items()) for f in (lambda s: s[2], lambda s: at[s[0]])
        )
        return (1, done.tokens, done.rounds, done.drafted, accepted, cost), done.shapes

    counts = ("requests", "prompt_tokens", "output_tokens", "broken", "compared", "disagreeing", "cut")
    facts: dict[str, Any] = {"name": log.name, **dict.fromkeys(counts, 0), "examples": []}
    reader, complete, shown = EntryReader(log), True, 0.0
    try:
        for request in tokenized(reader, tokens, facts):
            if limit is not None and facts["requests"] >= limit:
                break
            text, results = request.text, [run(row, request) for row in rows]
            # The counts change together: an interrupted replay has whole requests.
            for row, result in zip(rows, results, strict=True):
                row.add(facts["requests"], text.category, *result)
            agrees = request.agrees
            read = (1, len(text.prompt), len(text.output), 0, agrees is not None, agrees is False, request.cut > 0)
            facts |= {name: facts[name] + n for name, n in zip(counts, read, strict=True)}
            if progress and time.monotonic() - shown > SHOW:
                shown = time.monotonic()
                about = f"{facts['output_tokens']:,} tokens of {facts['requests']:,} outputs"
                progress(reader.done, reader.size, about)
            if cancelled():
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        complete = False
    finally:
        reader.close()
    if not facts["requests"] and complete:
        why = "; record {}: {}".format(*facts["examples"][0]) if facts["examples"] else ""
        raise ValueError(f"the log {log} has no usable request{why}")
    settings = {"drafters": list(drafters), "state": state, "budget": budget, "verify_cost": verify_cost}
    settings |= {"temperature": temperature, "limit": limit}
    settings |= {"tokenizer": tokens.name, "databases": str(databases or "")}
    reports = tuple(row.report() for row in rows) if facts["requests"] else ()
    return ReplayReport(facts, settings, reports, refused, complete)
