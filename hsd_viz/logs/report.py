"""The report of a replay: estimates with intervals, tables, a DataFrame, and a file that an interrupted run resumes."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.adapters import settings as engine_settings
from hsd_viz.cluster import sweep
from hsd_viz.drafting.estimates import CostCurve
from hsd_viz.intervals import Estimate, estimate, ratio, resample
from hsd_viz.journal import Journal
from hsd_viz.logs.replay import (
    DRAFTERS,
    FIELDS,
    LogReplay,
    Progress,
    ReplaySettings,
    Tally,
    build_from_log,
    open_databases,
    parse_cost,
)  # fmt: skip
from hsd_viz.logs.tokens import LogTokenizer
from hsd_viz.serialize import to_dict
from hsd_viz.tables import Table, show
from hsd_viz.terminal import plain
from hsd_viz.words import counted, guided

if TYPE_CHECKING:
    import pandas as pd

#: Seconds between two writes of the state, and the least ratio of that time to the time of a write.
PAUSE, RATIO = 5.0, 50
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Drafter -> the same of serving engines.
SERVED = {"lookup": "lookup", "suffix": "suffix", "ngram-cache": "lookup"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Pooled figures: tokens per forward pass of the target, accepted per draft token, and the predicted speed-up."""

    requests: int
    tokens: int
    rounds: int
    drafted: int
    accepted: int
    mean_acceptance_length: Estimate
    acceptance_rate: Estimate
    speedup: Estimate

    def bounds(self) -> tuple[float, float]:
        """Return the interval of the speed-up, without one twice its value."""
        return self.speedup.interval or (self.speedup.value or 0.0,) * 2


@dataclass(frozen=True, slots=True)
class DrafterReport(Counts):
    """One row. By position k (from 1): rounds whose draft reached that depth, and rounds that accepted k or more.
    ``by_request`` has quantiles of the requests' tokens per forward pass, ``seconds`` is processor time.
    """

    drafted_by_position: tuple[int, ...]
    accepted_by_position: tuple[int, ...]
    by_request: dict[str, float]
    by_category: dict[str, Counts]
    seconds: float
    name: str = field(metadata={"first": True})

    def positions(self, depth: int) -> list[str]:
        """Return the acceptance at the first ``depth`` positions as text."""
        pairs = zip(self.accepted_by_position, self.drafted_by_position, strict=True)
        cells = [f"{accepted / drafted:.2f}" if drafted else "-" for accepted, drafted in pairs]
        return [*cells, *["-"] * depth][:depth]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of :func:`replay`; ``complete`` is False if it was interrupted. ``requests`` lists the first requests
    with the tokens per forward pass of each drafter.
    """

    log: dict[str, Any]
    settings: dict[str, Any]
    drafters: tuple[DrafterReport, ...]
    refused: dict[str, str]
    requests: tuple[dict[str, Any], ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        return to_dict(self)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per drafter."""
        import pandas as pd

        rows = pd.DataFrame([to_dict(row) for row in self.drafters]).set_index("name")
        return rows.drop(columns=["by_category", "by_request", "drafted_by_position", "accepted_by_position"])

    def __str__(self) -> str:
        parts: list[Any] = [*self.introduction()]
        for table in self.tables():
            parts += ["", *([table.note] if table.note else []), table.rows]
        if flags := self.flags():
            parts += ["", "Settings to paste:", *(f"  {engine}: {text}" for engine, text in flags.items())]
        return plain(parts)

    def _best(self, names: Sequence[str] | None = None) -> DrafterReport | None:
        rows = [row for row in self.drafters if names is None or row.name.split()[0] in names]
        return max(rows, key=lambda row: row.speedup.value or 0.0, default=None)

    def flags(self) -> dict[str, str]:
        """Return the settings of the best drafter that serving engines have; off where none certainly pays."""
        if (best := self._best(tuple(SERVED))) is None:
            return {}
        if best.bounds()[0] <= 1:
            return engine_settings("plain", 0)
        # The longest draft that is usual: of one round in 20.
        tokens = sum(20 * drafted >= best.rounds for drafted in best.drafted_by_position)
        return engine_settings(SERVED[best.name.split()[0]], max(1, tokens))

    def answer(self) -> Iterator[tuple[str, bool]]:
        """Yield the result as one line: parts of its text, and whether a part is emphasized."""
        if (best := self._best()) is None:
            return
        yield best.name, True
        yield (" pays most" if best.bounds()[0] > 1 else " comes first, and does not certainly pay"), False
        yield f": {show(best.mean_acceptance_length, '{:.2f}')} tokens per forward pass, predicted speed-up ", False
        yield f"{best.speedup.value:.2f}\u00d7", True
        yield f" at verification cost '{self.settings['verify_cost']}', drafting not counted.", False

    def introduction(self) -> Iterator[str]:
        """Yield what was read and what a reader has to know."""
        log, tokenizer = self.log, self.settings["tokenizer"] or "not given"
        tokens = f"{log['prompt_tokens']:,} prompt and {log['output_tokens']:,} output tokens"
        yield f"{log['name']}: {counted(log['requests'], 'request')}, {tokens}; tokenizer {tokenizer}"
        yield from self.notes()

    def notes(self) -> Iterator[str]:
        """Yield what was wrong with the log, and what is missing."""
        log = self.log
        if log["training_entries"]:
            yield f"The first {counted(log['training_entries'], 'record')} built the databases and are not judged"
        if log["broken"]:
            number, why = log["examples"][0]
            yield f"{counted(log['broken'], 'broken record')} skipped; the first is record {number}: {why}"
        if log["disagreeing"]:
            yield (
                f"Ids and text disagree in {log['disagreeing']} of {log['compared']} outputs (ids were used): "
                "is this the tokenizer of the log?"
            )
        if log["cut"]:
            yield f"{counted(log['cut'], 'request')} longer than the limit were cut"
        if not self.complete:
            yield "Interrupted: only the requests so far are counted"
        for name, why in self.refused.items():
            yield f"Not replayed: {name}: {why}"

    def tables(self) -> Iterator[Table]:
        """Yield the tables of the report."""
        ranked = sorted(self.drafters, key=lambda row: -(row.mean_acceptance_length.value or 0))
        if not ranked:
            return
        rows = [["drafter", "tokens/forward", "speed-up", "pays", "accepted", "drafted/forward", "M tokens/min"]]
        for row in ranked:
            low, high = row.bounds()
            pays = "yes" if low > 1 else "no" if high <= 1 else "unclear"
            rate = (self.log["prompt_tokens"] + row.tokens) / row.seconds * 60e-6 if row.seconds else 0.0
            figures = [show(row.mean_acceptance_length, "{:.2f}"), show(row.speedup, "{:.2f}"), pays]
            figures += [show(row.acceptance_rate, "{:.2f}"), f"{row.drafted / row.rounds:.1f}", f"{rate:.1f}"]
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
        rows = [["tokens/forward by request", *(f"{100 * q:.0f} %" for q in QUANTILES)]]
        rows += [[row.name, *(f"{value:.2f}" for value in row.by_request.values())] for row in ranked]
        yield Table("By request", rows)


def counts(table: np.ndarray) -> dict[str, Any]:
    """Return the fields of :class:`Counts` from sums by group, ``[groups, fields]``."""
    used = table[table[:, 0] > 0]
    column = dict(zip(FIELDS, (resample(len(used)) @ used).T, strict=True))
    ratios = {
        "mean_acceptance_length": ("tokens", "rounds"),
        "acceptance_rate": ("accepted", "drafted"),
        "speedup": ("tokens", "cost"),
    }
    figures = {name: estimate(ratio(column[a], column[b]), len(used)) for name, (a, b) in ratios.items()}
    return {name: int(column[name][0]) for name in FIELDS[:-1]} | figures


def drafter_report(name: str, tally: Tally) -> DrafterReport:
    """Return the figures of one row."""
    deepest = max((depth for _, depth, _ in tally.shapes), default=0)
    drafted, accepted = np.zeros(deepest + 1, int), np.zeros(deepest + 1, int)
    for (_, depth, taken), n in tally.shapes.items():
        drafted[depth] += n
        accepted[taken] += n
    lengths = np.array(sorted(tally.lengths))
    cumulated = np.cumsum([tally.lengths[length] for length in lengths.tolist()])
    at: Any = np.searchsorted(cumulated, [q * cumulated[-1] for q in QUANTILES]) if len(lengths) else []
    at_least = lambda by_depth: tuple(np.cumsum(by_depth[::-1])[::-1][1:].tolist())
    return DrafterReport(
        **counts(tally.groups[""]),
        drafted_by_position=at_least(drafted),
        accepted_by_position=at_least(accepted),
        by_request={f"{q:g}": float(lengths[k]) / 100 for q, k in zip(QUANTILES, at, strict=False)},
        by_category={category: Counts(**counts(t)) for category, t in sorted(tally.groups.items()) if category},
        seconds=tally.seconds,
        name=name,
    )


@guided("replay")
def replay(
    log: str | Path,
    *,
    drafters: Sequence[str] = DRAFTERS,
    tokenizer: str | Path | None = None,
    databases: str | Path | None = None,
    build_databases: str | Path | None = None,
    train_share: float = 0.5,
    verify_cost: str | Sequence[float] = "cpu",
    eos: int | None = None,
    state_file: str | Path | None = None,
    restart: bool = False,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> ReplayReport:
    """Return what ``drafters`` would have brought on a log, without a model.

    Args:
        log: a file of requests (:mod:`hsd_viz.logs.records`).
        tokenizer: of the log's model; not needed for a log of token ids. ``eos`` replaces its end-of-text token.
        databases: a folder of databases with that tokenizer (default: the shipped ones, if they have it).
        build_databases: build them in this folder from the first ``train_share`` of the log, and judge the rest.
        verify_cost: cost of verifying 0, 1, 2, ... draft tokens, or its name (:func:`~hsd_viz.logs.replay.parse_cost`).
        state_file: where an interrupted replay is stored and resumed from; ``restart`` ignores what it holds.
        cancelled: polled after each request; the report then has the requests so far, as after Ctrl-C.
        settings: fields of :class:`~hsd_viz.logs.replay.ReplaySettings`.

    Raises: ValueError: for bad input.
    """
    verify_cost = verify_cost if isinstance(verify_cost, str) else ",".join(map(str, verify_cost))
    chosen = ReplaySettings(drafters=tuple(drafters), verify_cost=verify_cost, **settings)
    tokens, log = LogTokenizer(tokenizer, eos), Path(log)
    share = None if build_databases is None else train_share
    about = asdict(chosen) | {"tokenizer": tokens.name, "databases": str(databases or build_databases or "")}
    about["train_share"] = share
    state = None if state_file is None else Path(state_file)
    journal = Journal(state, {"log": identity(log), "settings": about}, restart)
    stored = journal.entries[-1] if journal.entries else None
    costs = CostCurve(tuple(stored["costs"])) if stored else parse_cost(verify_cost)
    first = stored["facts"]["training_entries"] if stored else 0
    if build_databases is not None and not stored:
        first = build_from_log(log, tokens, build_databases, train_share, progress)
    work = LogReplay(chosen, tokens, open_databases(tokens, build_databases or databases), costs, first)
    if stored:
        work.restore(stored)
    complete, due = True, time.monotonic() + PAUSE
    try:
        for _ in work.run(log, progress):
            if cancelled():
                raise KeyboardInterrupt
            if journal.path is not None and (started := time.monotonic()) >= due:
                journal.replace(work.to_dict())
                ended = time.monotonic()
                due = ended + max(PAUSE, RATIO * (ended - started))
        journal.remove()
    except KeyboardInterrupt:
        complete = False
        journal.replace(work.to_dict())
    facts = asdict(work.facts)
    del facts["part"]
    rows = [drafter_report(row.name, tally) for row, tally in zip(work.rows, work.tallies, strict=True) if tally.shapes]
    if not rows and complete:
        why = "; record {}: {}".format(*facts["examples"][0]) if facts["examples"] else ""
        raise ValueError(f"the log {log} has no usable request{why}")
    return ReplayReport({"name": log.name, **facts}, about, tuple(rows), work.refused, tuple(work.listed), complete)


def replay_sharded(
    log: str | Path,
    *,
    address: str,
    drafters: Sequence[str] = DRAFTERS,
    build_databases: str | Path | None = None,
    state_file: Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ReplayReport:
    """Replay as :func:`replay` on the nodes of a Ray cluster, one drafter a task; all nodes read the same log. Each
    task stores its own state beside ``state_file`` and resumes from it. Raises: ValueError: for bad input.
    """
    if build_databases is not None:
        raise ValueError("databases are built on one machine: build them first, then use --databases with --ray")
    parts = [
        {**options, "log": str(log), "drafters": [name], "state_file": state_file and f"{state_file}-{number}"}
        for number, name in enumerate(drafters)
    ]
    finished: dict[int, ReplayReport] = {}
    with suppress(KeyboardInterrupt), closing(sweep(_replay_part, parts, address)) as results:  # type: ignore[type-var]
        for part in results:
            finished[part.number] = part.result
            if progress is not None:
                progress(len(finished), len(parts), f"{part.node}: {drafters[part.number]}")
    if not finished:
        raise KeyboardInterrupt
    ordered = [finished[number] for number in sorted(finished)]
    return replace(
        ordered[0],
        settings=ordered[0].settings | {"drafters": list(drafters)},
        drafters=tuple(row for one in ordered for row in one.drafters),
        refused={name: why for one in ordered for name, why in one.refused.items()},
        requests=tuple(functools.reduce(or_, lines) for lines in zip(*(one.requests for one in ordered), strict=True)),
        complete=len(finished) == len(parts) and all(one.complete for one in ordered),
    )


def _replay_part(part: dict[str, Any]) -> ReplayReport:
    return replay(**part)


def identity(path: Path) -> dict[str, Any]:
    """Return the identity of a log: name, size and a hash of its beginning. Raises: ValueError: if unreadable."""
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256(file.read(2**20)).hexdigest()
        return {"name": path.name, "bytes": path.stat().st_size, "sha256_of_first_mib": digest}
    except OSError as error:
        raise ValueError(f"cannot read the log {path}: {error.strerror or error}") from None
