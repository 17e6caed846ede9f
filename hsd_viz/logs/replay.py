"""Replay a log: the rounds that drafters would have needed for the outputs that a server wrote.

Drafts of point masses never change the text (:mod:`hsd_viz.bench.replay`), so the forward passes of the target that
each drafter would have saved follow from the log, exactly as a decode counts them. No model runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.adapters import settings as engine_settings
from hsd_viz.adapters.entries import BrokenEntry, EntryReader
from hsd_viz.bench.replay import Replayed, can_replay
from hsd_viz.bench.replay import replay as replay_text
from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.make import CPU_MARGINAL, FIVEGRAMS, STORED, CostCurve, cost_curve
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import UserError
from hsd_viz.intervals import Estimate, estimate, ratio, resample
from hsd_viz.ladder.load import weights_dir
from hsd_viz.logs.records import LoggedRequest, LogTokenizer, requests
from hsd_viz.native.build import default_build
from hsd_viz.native.decode import native_drafter
from hsd_viz.stack import DraftSource, parse
from hsd_viz.tables import Table, lines
from hsd_viz.terminal import Progress, plain
from hsd_viz.words import MAX_BUDGET, check_budget, check_range, did_you_mean, guided

if TYPE_CHECKING:
    import pandas as pd

#: The default drafters, and those that serving engines have, by their names there.
DRAFTERS = ("db", "db[context]", "hd", "lookup", "sam", "suffix", "ngram-cache")
SERVED = {"lookup": "lookup", "ngram-cache": "lookup", "suffix": "suffix"}
#: Broken entries that are reported one by one, and the seconds between two reports of progress.
EXAMPLES, SHOW = 20, 0.2
#: Resampled units per drafter: requests, in groups where there are more of them.
GROUPS = 200
#: What is counted of a log.
COUNTS = ("requests", "prompt_tokens", "output_tokens", "broken", "cut")
#: Summed by group, and ratios of these sums.
FIELDS = ("tokens", "rounds", "drafted", "accepted", "cost")
RATIOS = {"mean_acceptance_length": (0, 1), "acceptance_rate": (3, 2), "speedup": (0, 4)}
#: Cost curves by name: cost of verifying 0, 1, 2, ... draft tokens, relative to a step without a draft.
PRESETS = {
    "cpu": cost_curve(CPU_MARGINAL).relative,
    "free16": (*(1.0 for _ in range(17)), 1 + 1 / 16),
}


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of :func:`replay`; ``log`` says what was read, ``refused`` why a drafter was not replayed.

    ``drafters`` has a row for each, the best first: tokens per forward pass of the target, accepted per draft token,
    and the predicted speed-up, pooled over all requests, with 95 % intervals (``_ci``). By position k (from 1): rounds
    whose draft reached that depth, and rounds that accepted k or more.
    """

    log: dict[str, Any]
    settings: dict[str, Any]
    drafters: list[dict[str, Any]]
    refused: dict[str, str]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return asdict(self)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per drafter."""
        import pandas as pd

        return pd.DataFrame(self.drafters).set_index("name")

    def __str__(self) -> str:
        settings = [f"  {engine}: {text}" for engine, text in self.flags().items()]
        settings = ["", "Settings to paste:", *settings] if settings else []
        return plain([*self.introduction(), *self.tables(), *settings])

    def flags(self) -> dict[str, str]:
        """Return the settings of the best drafter that serving engines have; off where it does not certainly pay."""
        for row in self.drafters:
            if method := SERVED.get(row["name"].split(",")[0]):
                # The longest draft that is usual: of one round in 20.
                tokens = sum(
                    20 * drafted >= row["rounds"] for drafted in row["drafted_by_position"]
                )
                pays = row["pays"] == "yes"
                return (
                    engine_settings(method, max(1, tokens)) if pays else engine_settings("plain", 0)
                )
        return {}

    def introduction(self) -> list[str]:
        """Return what was read, the best drafter, and what was wrong or is missing."""
        return lines("replay.jinja", it=self)

    def tables(self) -> Iterator[Table]:
        """Yield the tables of the report."""
        if not self.drafters:
            return
        forms = dict.fromkeys(("tokens/forward", "speed-up", "accepted"), ("{:.2f}", 1.0))
        shown = lambda row, name: Estimate(
            row[name], *(row[f"{name}_ci"] or (None, None)), self.log["requests"]
        )
        rows: list[list[Any]] = [["drafter", *forms, "pays", "drafted/forward"]]
        rates: list[list[str]] = []
        for row in self.drafters:
            figures = [
                shown(row, name)
                for name in ("mean_acceptance_length", "speedup", "acceptance_rate")
            ]
            rows.append(
                [row["name"], *figures, row["pays"], f"{row['drafted'] / row['rounds']:.1f}"]
            )
            pairs = zip(row["accepted_by_position"], row["drafted_by_position"], strict=True)
            rates.append([f"{accepted / drafted:.2f}" for accepted, drafted in pairs])
        note = f"predicted speed-up at verification cost '{self.settings['verify_cost']}', drafting not counted:"
        yield Table("Tokens per forward pass", rows, note, forms=forms)
        if depth := min(8, max(map(len, rates))):
            rows = [["accepted at position", *map(str, range(1, depth + 1))]]
            for row, rate in zip(self.drafters, rates, strict=True):
                rows.append([row["name"], *[*rate, *["-"] * depth][:depth]])
            yield Table(
                "Acceptance by position",
                rows,
                "rounds that accepted k or more, of the rounds that drafted k:",
            )


def parse_cost(text: str) -> CostCurve:
    """Return a cost curve: a preset, the relative cost of one more token, or c(0),c(1),... Raises: ValueError."""
    if text in PRESETS:
        return CostCurve(PRESETS[text])
    try:
        numbers = [float(part) for part in text.split(",")]
        for number in numbers:
            check_range("a cost", number, 0.0, 100.0 if len(numbers) == 1 else 1e9)
        return cost_curve(numbers if len(numbers) > 1 else numbers[0])
    except ValueError as error:
        known = f"{', '.join(PRESETS)}, the relative cost of one more token, or costs of 0, 1, 2, ... draft tokens"
        why = f"use {known} as in 1,1.1,1.3 ({error}){did_you_mean(text, PRESETS)}"
        raise UserError(f"'{text}' is not a verification cost: {why}") from None


def open_databases(tokenizer: LogTokenizer, folder: str | Path | None = None) -> SharedDatabases:
    """Return the databases of ``folder``, else the shipped ones; none, with the reason, for another tokenizer."""
    if not tokenizer.vocabulary:
        if folder is not None:
            raise UserError("databases need a tokenizer: give that of their model")
        return SharedDatabases(
            {}, dict.fromkeys((*STORED, FIVEGRAMS), "without a tokenizer there are no databases")
        )
    shipped = weights_dir() / "databases"
    return SharedDatabases.open(folder or shipped, tokenizer.vocabulary, strict=folder is not None)


def replayable(
    drafters: Sequence[str], databases: SharedDatabases
) -> tuple[dict[str, DraftSource], dict[str, str]]:
    """Return the drafters that can be replayed, and the others with the reason. Raises: ValueError: if none can."""
    sources: dict[str, DraftSource] = {}
    refused = {}
    for name in drafters:
        try:
            stack = parse(f"{name} > target")
            if stack.bottom is None or stack.drafts:
                raise UserError(
                    f"a draft model's drafts are not in a log: use {', '.join(DRAFTERS)}"
                )
            source = stack.bottom
            if source.name == "db" and not source.items:
                # Named, so that `db` does not take the logits database, which a log does not have.
                found = ",".join(["context", *(s for s in STORED if s in databases.found)])
                source = parse(f"db[{found}] > target").bottom or source
            if not can_replay(make_drafter(source, databases=databases)):
                raise UserError("it reads the target's probabilities, which a log does not have")
            sources[name] = source
        except ValueError as error:
            refused[name] = str(error)
    if not sources:
        name, why = next(iter(refused.items()))
        raise UserError(f"'{name}' cannot be replayed: {why}")
    return sources, refused


@guided
def replay(
    log: str | Path,
    *,
    drafters: Sequence[str] = DRAFTERS,
    tokenizer: str | Path | None = None,
    databases: str | Path | None = None,
    verify_cost: str | Sequence[float] = "cpu",
    budget: int | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> ReplayReport:
    """Return what ``drafters`` would have brought on a log, without a model. Each request starts cold.

    Args:
        log: a file of requests (:mod:`hsd_viz.logs.records`).
        tokenizer: of the log's model; not needed for a log of token ids.
        databases: a folder of databases with that tokenizer (default: the shipped ones, if they have it).
        verify_cost: cost of verifying 0, 1, 2, ... draft tokens, or its name (:func:`parse_cost`).
        budget: the most draft tokens per round, cost stopping off (default: each drafter's own limit).
        limit: the most requests.
        progress: called with bytes read, bytes in all, and a text; Ctrl-C ends the replay with the requests so far.

    Raises: ValueError: for bad input.
    """
    check_budget(budget)
    if limit is not None:
        check_range("the limit", limit, 1)
    verify_cost = verify_cost if isinstance(verify_cost, str) else ",".join(map(str, verify_cost))
    tokens, path, costs = LogTokenizer(tokenizer), Path(log), parse_cost(verify_cost)
    found = open_databases(tokens, databases)
    sources, refused = replayable(drafters, found)
    options = {"databases": found, "eos": tokens.eos, "costs": costs if budget is None else None}
    tally = _Tally({name: Counter() for name in sources}, dict.fromkeys(COUNTS, 0), [])
    complete, shown = False, 0.0
    with closing(tokens), closing(EntryReader(path)) as reader, suppress(KeyboardInterrupt):
        for request in requests(reader, tokens):
            if isinstance(request, BrokenEntry):
                tally.counts["broken"] += 1
                tally.examples = [*tally.examples, (request.number, request.why)][:EXAMPLES]
                continue
            if tally.counts["requests"] == limit:
                break
            made = {name: make_drafter(source, **options) for name, source in sources.items()}
            tally.add(
                request,
                {name: _replayed(one, request, budget, tokens.eos) for name, one in made.items()},
            )
            if progress and time.monotonic() - shown > SHOW:
                shown, counts = time.monotonic(), tally.counts
                read = f"{counts['output_tokens']:,} tokens of {counts['requests']:,} outputs"
                progress(reader.done, reader.size, read)
        complete = True
    if complete and not tally.counts["requests"]:
        why = "; record {}: {}".format(*tally.examples[0]) if tally.examples else ""
        raise UserError(f"the log {log} has no usable request{why}")
    settings = {
        "drafters": list(drafters),
        "budget": budget,
        "verify_cost": verify_cost,
        "limit": limit,
    }
    settings |= {"tokenizer": tokens.name, "databases": str(databases or "")}
    cost = np.array(costs.tables(MAX_BUDGET)[0])
    rows = [_row(name, shapes, cost) for name, shapes in tally.shapes.items() if shapes]
    rows.sort(key=lambda row: -row["speedup"])
    about = {"name": path.name, **tally.counts, "examples": tally.examples}
    return ReplayReport(about, settings, rows, refused, complete)


@dataclass(slots=True)
class _Tally:
    """Rounds by drafter, by group of requests and shape; counts; and the first broken entries, with their reasons."""

    shapes: dict[str, Counter]
    counts: dict[str, int]
    examples: list[tuple[int, str]]

    def add(self, request: LoggedRequest, done: Mapping[str, Replayed]) -> None:
        """Add a request as a whole: an interrupted replay has whole requests."""
        group = self.counts["requests"] % GROUPS
        for name, one in done.items():
            self.shapes[name].update({(group, *shape): n for shape, n in one.shapes.items()})
        read = (1, len(request.text.prompt), len(request.text.output), 0, request.cut)
        self.counts = {name: self.counts[name] + n for name, n in zip(COUNTS, read, strict=True)}


def _replayed(
    drafter: Drafter, request: LoggedRequest, budget: int | None, eos: frozenset[int]
) -> Replayed:
    """Replay a request, with the native drafter where there is one."""
    build = default_build()
    drafter = native_drafter(drafter, build.library) if build.wait() else drafter
    return replay_text(drafter, request.text, budget or drafter.nodes, eos, request.limit)


def _row(name: str, shapes: Counter, cost: np.ndarray) -> dict[str, Any]:
    """Return the figures of a drafter, from the shapes of its rounds by group of requests."""
    group, tokens, drafted, depth, accepted = np.array(list(shapes)).T
    rounds, units = np.array(list(shapes.values())), int(group.max()) + 1
    counted = [
        np.bincount(group, rounds * value)
        for value in (tokens, 1, drafted, accepted, cost[drafted])
    ]
    sums = resample(units) @ np.column_stack(counted)
    row: dict[str, Any] = {
        "name": name,
        **dict(zip(FIELDS[:-1], map(int, sums[0, :-1]), strict=True)),
    }
    figures = {
        field: estimate(ratio(sums[:, a], sums[:, b]), units) for field, (a, b) in RATIOS.items()
    }
    for field, figure in figures.items():
        row |= figure.named(field)
    low, high = figures["speedup"].interval or (row["speedup"],) * 2
    row["pays"] = "yes" if low > 1 else "no" if high <= 1 else "unclear"
    for field, place in (("drafted_by_position", depth), ("accepted_by_position", accepted)):
        row[field] = [int(rounds[place >= k].sum()) for k in range(1, depth.max() + 1)]
    return row
