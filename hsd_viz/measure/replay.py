"""Replay a log: the rounds that drafters would have needed for the outputs that a server wrote.

Drafts of point masses never change the text (:mod:`hsd_viz.measure.text_replay`), so the forward
passes of the target that each drafter would have saved follow from the log, exactly as a decode
counts them at the same temperature. No model runs. Text is encoded again: a server may have written
the same text in other tokens, and counts are then not exactly those of its decode.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.make import CPU_MARGINAL, FIVEGRAMS, STORED, CostCurve, cost_curve
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import BadFile, Unsupported, UserError
from hsd_viz.measure.above import Above, above
from hsd_viz.measure.requests import LoggedRequest, LogTokenizer, requests
from hsd_viz.measure.text_replay import Replayed, can_replay
from hsd_viz.measure.text_replay import replay as replay_text
from hsd_viz.models.families import FAMILIES
from hsd_viz.native.build import default_build
from hsd_viz.native.decode import native_drafter
from hsd_viz.records.entries import BrokenEntry, EntryReader
from hsd_viz.records.settings import settings as engine_settings
from hsd_viz.results.estimate import LEAST, Estimate, estimate, ratio, resample
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table
from hsd_viz.stack import DraftSource, parse
from hsd_viz.terminal import Progress
from hsd_viz.words import MAX_BUDGET, check_budget, check_range, counted, did_you_mean, guided

if TYPE_CHECKING:
    import pandas as pd

#: The default drafters, and those that serving engines have, by their names there.
DRAFTERS = ("db", "db[context]", "hd", "lookup", "sam", "suffix", "ngram-cache")
SERVED = {"lookup": "lookup", "ngram-cache": "lookup", "suffix": "suffix"}
#: Broken entries that are reported one by one.
EXAMPLES = 20
#: Broken entries before the first request from which a file is not a log.
MOST_BROKEN = 100_000
#: Seconds between two reports of progress.
SHOW = 0.2
#: Resampled units per drafter: requests, in groups where there are more of them.
GROUPS = 200
#: Ratios of sums by group: numerator and denominator.
RATIOS = {
    "mean_acceptance_length": ("tokens", "rounds"),
    "acceptance_rate": ("accepted", "drafted"),
    "speedup": ("tokens", "cost"),
}
#: A setting of an engine drafts as many tokens as one round in so many reaches.
USUAL = 20
#: Positions of a table of acceptance.
MOST_POSITIONS = 8
#: Cost curves by name: cost of verifying 0, 1, 2, ... draft tokens, relative to a step without.
PRESETS = {
    "cpu": cost_curve(CPU_MARGINAL).relative,
    "free16": (*(1.0 for _ in range(17)), 1 + 1 / 16),
}


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What was read of a log.

    Attributes:
        name: the name of the file.
        requests: requests that were replayed.
        prompt_tokens: tokens of their prompts.
        output_tokens: tokens of their outputs.
        broken: entries that could not be used.
        cut: requests longer than the limit.
        encoded: outputs that were text and were encoded again.
        sampled: requests of a temperature above 0.
        parts: outputs with ``reasoning`` and with ``tool calls``.
        examples: the first broken entries: number and reason.
    """

    name: str
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    cut: int = 0
    encoded: int = 0
    sampled: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayReport(Result):
    """The result of :func:`replay`.

    Attributes:
        log: what was read.
        settings: how it was replayed.
        drafters: a row for each, the best first: tokens per forward pass of the target, accepted
            per draft token, and the predicted speed-up, pooled over all requests, with 95 %
            intervals (``_ci``). By position k (from 1): rounds whose draft reached that depth, and
            rounds that accepted k or more.
        refused: why a drafter was not replayed.
        complete: whether the whole log was replayed.
        above: tokens per forward pass of the requests whose verifications are recorded, and with a
            database above their drafter: at least and at most (:mod:`hsd_viz.measure.above`).
    """

    log: dict[str, Any]
    settings: dict[str, Any]
    drafters: list[dict[str, Any]]
    refused: dict[str, str]
    complete: bool
    above: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of a page."""
        return f"Replay of {self.log['name']}"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return asdict(self)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per drafter."""
        import pandas as pd

        return pd.DataFrame(self.drafters).set_index("name")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per drafter."""
        return self.frame

    @property
    def flags(self) -> dict[str, str]:
        """Return the settings of the best drafter that serving engines have; off where it does not
        certainly pay.
        """
        for row in self.drafters:
            method = SERVED.get(row["name"].split(",")[0])
            if method is None:
                continue
            if row["pays"] != "yes":
                return engine_settings("plain", 0)
            usual = [
                drafted
                for drafted in row["drafted_by_position"]
                if USUAL * drafted >= row["rounds"]
            ]
            return engine_settings(method, max(1, len(usual)))
        return {}

    def headline(self) -> str:
        """Return the best drafter as a sentence."""
        if not self.drafters:
            return "no drafter was replayed"
        best = self.drafters[0]
        pays = "pays most" if best["pays"] == "yes" else "comes first, and does not certainly pay"
        few = ""
        if self.log["requests"] < LEAST:
            few = f" ({counted(self.log['requests'], 'request')}: too few for an interval)"
        return (
            f"{best['name']} {pays}: {best['mean_acceptance_length']:.2f} tokens per forward pass, "
            f"predicted speed-up {best['speedup']:.2f}{few}"
        )

    def lines(self) -> list[str]:
        """Return what was read, the best drafter, and what was wrong or is missing."""
        log = self.log
        lines = [
            f"{log['name']}: {counted(log['requests'], 'request')}, "
            f"{log['prompt_tokens']:,} prompt "
            f"and {log['output_tokens']:,} output tokens; tokenizer "
            f"{self.settings['tokenizer'] or 'not given'}"
        ]
        if self.drafters:
            lines.append(self.headline())
        lines += self._about_outputs()
        lines += self._about_recorded_drafts()
        if log["broken"]:
            number, why = log["examples"][0]
            broken = counted(log["broken"], "broken record")
            lines.append(f"{broken} skipped; the first is record {number}: {why}")
        if log["cut"]:
            lines.append(f"{counted(log['cut'], 'request')} longer than the limit were cut")
        if not self.complete:
            lines.append("Interrupted: only the requests so far are counted")
        lines += [f"Not replayed: {name}: {why}" for name, why in self.refused.items()]
        return lines

    def _about_outputs(self) -> list[str]:
        """Return what the outputs consist of, and whether counts are exact."""
        log = self.log
        lines = [
            f"{counted(n, 'output')} with {part}, which the engine decoded, too"
            for part, n in log["parts"].items()
            if part != "text" and n
        ]
        if log["encoded"]:
            lines.append(
                f"{counted(log['encoded'], 'output')} encoded again from text: the server may have "
                "written other tokens, so counts are not exactly those of its decode"
            )
        temperature = self.settings["temperature"]
        if temperature is not None:
            lines.append(f"drafters made for temperature {temperature:g}, as given")
        elif log["sampled"]:
            lines.append(
                f"{counted(log['sampled'], 'request')} sampled: their drafters are made for their "
                "temperature"
            )
        return lines

    def _about_recorded_drafts(self) -> list[str]:
        """Return what a database above the recorded drafter would bring."""
        found = self.above
        if not found:
            return []
        lines = []
        if found["requests"]:
            recorded = found["recorded"]
            least = found["least"]
            most = found["most"]
            lines.append(
                f"What if a database were asked before the recorded drafter: {least:.2f} to "
                f"{most:.2f} tokens per forward pass instead of {recorded:.2f} in "
                f"{counted(found['requests'], 'request')}; the database drafts in "
                f"{found['by_database']:.0%} of the rounds"
            )
        if found["refused"]:
            lines.append(
                f"A database above the recorded drafter is not known for "
                f"{counted(found['refused'], 'request')}: {found['why']}"
            )
        return lines

    def _above_table(self) -> Table:
        found = self.above
        rows: list[list[Any]] = [["setting", "tokens/forward"]]
        names = {
            "recorded": "as recorded",
            "least": "database above, at least",
            "most": "database above, at most",
        }
        for key, name in names.items():
            low, high = found[f"{key}_ci"] or (None, None)
            rows.append([name, Estimate(found[key], low, high, found["requests"])])
        note = (
            "by the recorded rounds and the text; inside a recorded round the drafter is accepted "
            "at least for its rest, at most as a whole:"
        )
        forms = {"tokens/forward": ("{:.2f}", 1.0)}
        return Table("What if: a database above the recorded drafter", rows, note, forms=forms)

    def tables(self) -> Iterator[Table]:
        """Yield the tables of the report."""
        if self.above.get("requests"):
            yield self._above_table()
        if not self.drafters:
            return
        names = ("tokens/forward", "speed-up", "accepted")
        fields = ("mean_acceptance_length", "speedup", "acceptance_rate")
        forms = dict.fromkeys(names, ("{:.2f}", 1.0))
        rows: list[list[Any]] = [["drafter", *names, "pays", "drafted/forward"]]
        for row in self.drafters:
            figures = [self._estimate(row, name) for name in fields]
            drafted = f"{row['drafted'] / row['rounds']:.1f}"
            rows.append([row["name"], *figures, row["pays"], drafted])
        cost = self.settings["verify_cost"]
        note = f"predicted speed-up at verification cost '{cost}', drafting not counted:"
        yield Table("Tokens per forward pass", rows, note, forms=forms)
        yield from self._positions()

    def _estimate(self, row: Mapping[str, Any], name: str) -> Estimate:
        low, high = row[f"{name}_ci"] or (None, None)
        return Estimate(row[name], low, high, self.log["requests"])

    def _positions(self) -> Iterator[Table]:
        """Yield acceptance by position; nothing where no drafter drafted."""
        depth = max(len(row["accepted_by_position"]) for row in self.drafters)
        depth = min(MOST_POSITIONS, depth)
        if not depth:
            return
        rows = [["accepted at position", *(str(k) for k in range(1, depth + 1))]]
        for row in self.drafters:
            pairs = zip(row["accepted_by_position"], row["drafted_by_position"], strict=True)
            rates = [f"{accepted / drafted:.2f}" for accepted, drafted in pairs]
            rows.append([row["name"], *[*rates, *["-"] * depth][:depth]])
        note = "rounds that accepted k or more, of the rounds that drafted k:"
        yield Table("Acceptance by position", rows, note)


def parse_cost(text: str) -> CostCurve:
    """Return a cost curve: a preset, the relative cost of one more token, or c(0),c(1),...

    Raises:
        UserError: if it is none of these.
    """
    if text in PRESETS:
        return CostCurve(PRESETS[text])
    try:
        numbers = [float(part) for part in text.split(",")]
        most = 100.0 if len(numbers) == 1 else 1e9
        for number in numbers:
            check_range("a cost", number, 0.0, most)
        return cost_curve(numbers if len(numbers) > 1 else numbers[0])
    except ValueError as error:
        known = (
            f"{', '.join(PRESETS)}, the relative cost of one more token, or costs of 0, 1, 2, ... "
            "draft tokens"
        )
        hint = did_you_mean(text, PRESETS)
        raise UserError(
            f"'{text}' is not a verification cost: use {known} as in 1,1.1,1.3 ({error}){hint}"
        ) from None


def open_databases(tokenizer: LogTokenizer, folder: str | Path | None = None) -> SharedDatabases:
    """Return the databases of ``folder``, else those of the family that has this tokenizer; none,
    with the reason, if no family has it.
    """
    if not tokenizer.vocabulary:
        if folder is not None:
            raise UserError("databases need a tokenizer: give that of their model")
        why = "without a tokenizer there are no databases"
        return SharedDatabases({}, dict.fromkeys((*STORED, FIVEGRAMS), why))
    if folder is not None:
        return SharedDatabases.open(folder, tokenizer.vocabulary, strict=True)
    opened = [
        SharedDatabases.open(family.databases, tokenizer.vocabulary) for family in FAMILIES.values()
    ]
    # No two families have the same tokenizer. The reasons of the default one are shown otherwise.
    return next((each for each in opened if each.found), opened[0])


def replayable(
    drafters: Sequence[str], databases: SharedDatabases
) -> tuple[dict[str, DraftSource], dict[str, str]]:
    """Return the drafters that can be replayed, and the others with the reason.

    Raises:
        UserError: if none can.
    """
    sources: dict[str, DraftSource] = {}
    refused = {}
    for name in drafters:
        try:
            sources[name] = _source(name, databases)
        except ValueError as error:
            refused[name] = str(error)
    if not sources:
        name, why = next(iter(refused.items()))
        raise UserError(f"'{name}' cannot be replayed: {why}")
    return sources, refused


def _source(name: str, databases: SharedDatabases) -> DraftSource:
    """Return a drafter. Raises: ValueError: if it cannot be replayed."""
    stack = parse(f"{name} > target")
    source = stack.bottom
    if source is None or stack.drafts:
        raise UserError(f"a draft model's drafts are not in a log: use {', '.join(DRAFTERS)}")
    if source.name == "db" and not source.items:
        # Named, so that `db` does not take the logits database, which a log does not have.
        stored = [name for name in STORED if name in databases.found]
        source = DraftSource("db", ("context", *stored))
    if not can_replay(make_drafter(source, databases=databases)):
        raise UserError("it reads the target's probabilities or states, which a log does not have")
    return source


@guided
def replay(
    log: str | Path,
    *,
    drafters: Sequence[str] = DRAFTERS,
    tokenizer: str | Path | None = None,
    databases: str | Path | None = None,
    verify_cost: str | Sequence[float] = "cpu",
    budget: int | None = None,
    temperature: float | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> ReplayReport:
    """Return what ``drafters`` would have brought on a log, without a model. Each request starts
    cold.

    Args:
        log: a file of requests (:mod:`hsd_viz.measure.requests`).
        drafters: draft sources, as in a stack.
        tokenizer: of the log's model; not needed for a log of token ids.
        databases: a folder of databases with that tokenizer (default: the shipped ones, if they
            have it).
        verify_cost: cost of verifying 0, 1, 2, ... draft tokens, or its name (:func:`parse_cost`).
        budget: the most draft tokens per round, cost stopping off (default: each drafter's own).
        temperature: of the sampling (default: of each request, else 0).
        limit: the most requests.
        progress: called with bytes read, bytes in all, and a text; Ctrl-C ends the replay with the
            requests so far.

    Raises:
        UserError: for bad input.
    """
    check_budget(budget)
    if limit is not None:
        check_range("the limit", limit, 1)
    if temperature is not None:
        check_range("the temperature", temperature, 0.0, 100.0)
    if not isinstance(verify_cost, str):
        verify_cost = ",".join(map(str, verify_cost))
    costs = parse_cost(verify_cost)
    tokens = LogTokenizer(tokenizer)
    shared = open_databases(tokens, databases)
    sources, refused = replayable(drafters, shared)
    maker = _Maker(sources, shared, tokens.eos, costs if budget is None else None, temperature)
    tally = _Tally({name: Counter() for name in sources})
    path = Path(log)
    complete = _replay_all(path, tokens, maker, tally, budget, limit, progress)
    if complete and not tally.requests:
        why = "; record {}: {}".format(*tally.examples[0]) if tally.examples else ""
        where = f" in its first {MOST_BROKEN:,} records" if tally.broken >= MOST_BROKEN else ""
        raise BadFile(f"the log {log} has no usable request{where}{why}")
    cost = np.array(costs.tables(MAX_BUDGET)[0])
    rows = [_row(name, shapes, cost) for name, shapes in tally.shapes.items() if shapes]
    rows.sort(key=lambda row: -row["speedup"])
    settings = {
        "drafters": list(drafters),
        "budget": budget,
        "verify_cost": verify_cost,
        "temperature": temperature,
        "limit": limit,
        "tokenizer": tokens.name,
        "databases": str(databases or ""),
    }
    facts = asdict(tally.facts(path.name))
    return ReplayReport(facts, settings, rows, refused, complete, tally.above())


def _replay_all(
    path: Path,
    tokens: LogTokenizer,
    maker: _Maker,
    tally: _Tally,
    budget: int | None,
    limit: int | None,
    progress: Progress | None,
) -> bool:
    """Replay all requests of a log; return whether it was not interrupted."""
    shown = 0.0
    with closing(tokens), closing(EntryReader(path)) as reader, suppress(KeyboardInterrupt):
        for request in requests(reader, tokens):
            if isinstance(request, BrokenEntry):
                tally.add_broken(request)
                if not tally.requests and tally.broken >= MOST_BROKEN:
                    break
                continue
            if tally.requests == limit:
                break
            made = maker.drafters_for(request)
            done = {
                name: _replayed(drafter, request, budget, tokens.eos)
                for name, drafter in made.items()
            }
            tally.add(request, done, maker.temperature_of(request))
            _add_above(request, maker, tally)
            if progress and time.monotonic() - shown > SHOW:
                shown = time.monotonic()
                read = f"{tally.output_tokens:,} tokens of {tally.requests:,} outputs"
                progress(reader.done, reader.size, read)
        return True
    return False


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the drafters of a request.

    Attributes:
        sources: by name.
        databases: shared by all.
        eos: the tokens that end a text.
        costs: of verification; ``None``: cost stopping off.
        temperature: of all requests; ``None``: of each.
    """

    sources: Mapping[str, DraftSource]
    databases: SharedDatabases
    eos: frozenset[int]
    costs: CostCurve | None
    temperature: float | None

    def temperature_of(self, request: LoggedRequest) -> float:
        """Return the temperature of a request, 0 where nothing states it."""
        if self.temperature is not None:
            return self.temperature
        return request.temperature or 0.0

    def database_for(self, request: LoggedRequest) -> Drafter:
        """Return a new drafter of all databases, made for the temperature of the request."""
        return make_drafter(
            _source("db", self.databases),
            databases=self.databases,
            eos=self.eos,
            costs=self.costs,
            temperature=self.temperature_of(request),
        )

    def drafters_for(self, request: LoggedRequest) -> dict[str, Drafter]:
        """Return a new drafter of each source, made for the temperature of the request."""
        temperature = self.temperature_of(request)
        return {
            name: make_drafter(
                source,
                databases=self.databases,
                eos=self.eos,
                costs=self.costs,
                temperature=temperature,
            )
            for name, source in self.sources.items()
        }


@dataclass(slots=True)
class _Tally:
    """Counts so far.

    Attributes:
        shapes: rounds by drafter, by group of requests and shape.
    """

    shapes: dict[str, Counter]
    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    broken: int = 0
    cut: int = 0
    encoded: int = 0
    sampled: int = 0
    parts: Counter = field(default_factory=Counter)
    examples: list[tuple[int, str]] = field(default_factory=list)
    recorded: list[Above] = field(default_factory=list)
    without_rounds: Counter = field(default_factory=Counter)

    def above(self) -> dict[str, Any]:
        """Return the figures of a database above the recorded drafter; {} where nothing of it is
        recorded.
        """
        refused = sum(self.without_rounds.values())
        if not self.recorded and not refused:
            return {}
        found: dict[str, Any] = {"requests": len(self.recorded), "refused": refused}
        if refused:
            found["why"] = self.without_rounds.most_common(1)[0][0]
        if not self.recorded:
            return found
        weights = resample(len(self.recorded))
        tokens = weights @ np.array([one.tokens for one in self.recorded])
        rounds = {
            "recorded": [one.recorded for one in self.recorded],
            "least": [one.most for one in self.recorded],
            "most": [one.fewest for one in self.recorded],
        }
        for key, values in rounds.items():
            lengths = ratio(tokens, weights @ np.array(values))
            found |= estimate(lengths, len(self.recorded)).named(key)
        drafted = sum(one.by_database for one in self.recorded)
        found["by_database"] = drafted / sum(one.most for one in self.recorded)
        return found

    def add_broken(self, entry: BrokenEntry) -> None:
        """Count an entry that could not be used."""
        self.broken += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append((entry.number, entry.why))

    def add(self, request: LoggedRequest, done: Mapping[str, Replayed], temperature: float) -> None:
        """Add a request as a whole: an interrupted replay has whole requests."""
        group = self.requests % GROUPS
        for name, one in done.items():
            self.shapes[name].update({(group, *shape): n for shape, n in one.shapes.items()})
        self.requests += 1
        self.prompt_tokens += len(request.text.prompt)
        self.output_tokens += len(request.text.output)
        self.cut += request.cut
        self.encoded += request.encoded
        self.sampled += temperature > 0
        self.parts.update(request.parts)

    def facts(self, name: str) -> LogFacts:
        """Return what was read of the log."""
        return LogFacts(
            name=name,
            requests=self.requests,
            prompt_tokens=self.prompt_tokens,
            output_tokens=self.output_tokens,
            broken=self.broken,
            cut=self.cut,
            encoded=self.encoded,
            sampled=self.sampled,
            parts=dict(self.parts),
            examples=tuple(self.examples),
        )


def _add_above(request: LoggedRequest, maker: _Maker, tally: _Tally) -> None:
    """Add what a database above the recorded drafter of a request would have brought."""
    if not request.served:
        return
    if not request.rounds:
        tally.without_rounds["its record does not report each verification"] += 1
        return
    drafter = maker.database_for(request)
    try:
        one = above(drafter, request.text, request.rounds, drafter.nodes, maker.eos)
    except Unsupported as error:
        tally.without_rounds[str(error)] += 1
        return
    tally.recorded.append(one)


def _replayed(
    drafter: Drafter, request: LoggedRequest, budget: int | None, eos: frozenset[int]
) -> Replayed:
    """Replay a request, with the native drafter where there is one."""
    build = default_build()
    if build.wait():
        drafter = native_drafter(drafter, build.library) or drafter
    return replay_text(drafter, request.text, budget or drafter.nodes, eos, request.limit)


def _row(name: str, shapes: Counter, cost: np.ndarray) -> dict[str, Any]:
    """Return the figures of a drafter, from the shapes of its rounds by group of requests."""
    group, tokens, drafted, depth, accepted = np.array(list(shapes)).T
    rounds = np.array(list(shapes.values()))
    units = int(group.max()) + 1
    values = {
        "tokens": tokens,
        "rounds": np.ones_like(tokens),
        "drafted": drafted,
        "accepted": accepted,
        # A round costs what verifying all of its draft costs.
        "cost": cost[drafted],
    }
    by_group = {key: np.bincount(group, rounds * value) for key, value in values.items()}
    weights = resample(units)
    sums = {key: weights @ value for key, value in by_group.items()}
    row: dict[str, Any] = {"name": name}
    for key in ("tokens", "rounds", "drafted", "accepted"):
        row[key] = int(sums[key][0])
    for key, (numerator, denominator) in RATIOS.items():
        figure = estimate(ratio(sums[numerator], sums[denominator]), units)
        row |= figure.named(key)
        if key == "speedup":
            row["pays"] = _pays(figure)
    for key, place in (("drafted_by_position", depth), ("accepted_by_position", accepted)):
        places = range(1, depth.max() + 1)
        row[key] = [int(rounds[place >= k].sum()) for k in places]
    return row


def _pays(speedup: Estimate) -> str:
    """Return whether a drafter pays: ``yes`` only where the whole interval is above 1.

    Few requests have no interval: then it is ``no`` or ``unclear``.
    """
    if speedup.interval is None:
        return "unclear" if (speedup.value or 0.0) > 1 else "no"
    low, high = speedup.interval
    if low > 1:
        return "yes"
    return "no" if high <= 1 else "unclear"
