"""Replay a log: the rounds that drafters would have needed for the outputs that a server wrote.

Drafts of point masses never change the text (:mod:`hsd_viz.measure.replay.text_replay`), so the
forward passes of the target that each drafter would have saved follow from the log, exactly as a
decode counts them at the same temperature. No model runs. Text is encoded again: a server may have
written the same text in other tokens, and counts are then not exactly those of its decode.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from hsd_viz.drafting.costs import parse_cost
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.hints import guided
from hsd_viz.measure.replay.above import above
from hsd_viz.measure.replay.drafters import (
    DRAFTERS,
    DrafterMaker,
    open_databases,
    replayable,
)
from hsd_viz.measure.replay.figures import ReplaySettings
from hsd_viz.measure.replay.report import ReplayReport
from hsd_viz.measure.replay.requests import LoggedRequest, LogTokenizer, requests
from hsd_viz.measure.replay.tally import Tally
from hsd_viz.measure.replay.text_replay import Replayed
from hsd_viz.measure.replay.text_replay import replay as replay_text
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import native_drafter
from hsd_viz.ranges import MAX_BUDGET, check_budget, check_range
from hsd_viz.records.entries import BrokenEntry, EntryReader
from hsd_viz.terminal import Progress

#: Broken entries before the first request from which a file is not a log.
MOST_BROKEN = 100_000
#: Seconds between two reports of progress.
SHOW = 0.2


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
        log: a file of requests (:mod:`hsd_viz.measure.replay.requests`).
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
    _check(budget, limit, temperature)
    if not isinstance(verify_cost, str):
        verify_cost = ",".join(map(str, verify_cost))
    costs = parse_cost(verify_cost)
    tokens = LogTokenizer(tokenizer)
    shared = open_databases(tokens, databases)
    sources, refused = replayable(drafters, shared)
    stopping = costs if budget is None else None
    maker = DrafterMaker(sources, shared, tokens.eos, stopping, temperature)
    tally = Tally({name: Counter() for name in sources})
    path = Path(log)
    complete = _replay_all(path, tokens, maker, tally, budget, limit, progress)
    if complete and not tally.requests:
        raise _no_request(log, tally)
    settings = ReplaySettings(
        drafters=tuple(drafters),
        budget=budget,
        verify_cost=verify_cost,
        temperature=temperature,
        limit=limit,
        tokenizer=tokens.name,
        databases=str(databases or ""),
    )
    return ReplayReport(
        log=tally.facts(path.name),
        settings=settings,
        drafters=tally.drafters(np.array(costs.tables(MAX_BUDGET)[0])),
        refused=refused,
        complete=complete,
        above=tally.above(),
    )


def _check(budget: int | None, limit: int | None, temperature: float | None) -> None:
    """Raise a UserError for numbers out of range."""
    check_budget(budget)
    if limit is not None:
        check_range("the limit", limit, 1)
    if temperature is not None:
        check_range("the temperature", temperature, 0.0, 100.0)


def _no_request(log: str | Path, tally: Tally) -> BadFile:
    """Return the error of a log without a usable request."""
    where = f" in its first {MOST_BROKEN:,} records" if tally.broken >= MOST_BROKEN else ""
    why = ""
    if tally.examples:
        number, reason = tally.examples[0]
        why = f"; record {number}: {reason}"
    return BadFile(f"the log {log} has no usable request{where}{why}")


def _replay_all(
    path: Path,
    tokens: LogTokenizer,
    maker: DrafterMaker,
    tally: Tally,
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
            replayed = {}
            for name, drafter in maker.drafters_for(request).items():
                replayed[name] = _replayed(drafter, request, budget, tokens.eos)
            tally.add(request, replayed, maker.temperature_of(request))
            _add_above(request, maker, tally)
            if progress and time.monotonic() - shown > SHOW:
                shown = time.monotonic()
                read = f"{tally.output_tokens:,} tokens of {tally.requests:,} outputs"
                progress(reader.done, reader.size, read)
        return True
    return False


def _add_above(request: LoggedRequest, maker: DrafterMaker, tally: Tally) -> None:
    """Add what a database above the recorded drafter of a request would have brought."""
    if not request.served:
        return
    if not request.rounds:
        tally.without_rounds["its record does not report each verification"] += 1
        return
    drafter = maker.database_for(request)
    try:
        bounds = above(drafter, request.text, request.rounds, drafter.nodes, maker.eos)
    except Unsupported as error:
        tally.without_rounds[str(error)] += 1
        return
    tally.recorded.append(bounds)


def _replayed(
    drafter: Drafter, request: LoggedRequest, budget: int | None, eos: frozenset[int]
) -> Replayed:
    """Replay a request, with the native drafter where there is one."""
    build = default_build()
    if build.wait():
        drafter = native_drafter(drafter, build.library) or drafter
    return replay_text(drafter, request.text, budget or drafter.nodes, eos, request.limit)
