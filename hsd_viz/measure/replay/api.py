"""The function ``hsd.replay``: the rounds that drafters would have needed for the outputs of a log.

Drafts of point masses never change the text (:mod:`hsd_viz.measure.replay.text_replay`), so the
forward passes of the target that each drafter would have saved follow from the log, exactly as a
decode counts them at the same temperature. No model runs. Text is encoded again: a server may have
written the same text in other tokens, and counts are then not exactly those of its decode.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from hsd_viz.drafting.costs import parse_cost
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import BadFile, Unsupported
from hsd_viz.measure.replay.above import above
from hsd_viz.measure.replay.drafters import (
    DRAFTERS,
    DrafterMaker,
    open_databases,
    replayable,
)
from hsd_viz.measure.replay.facts import LogFacts
from hsd_viz.measure.replay.figures import ReplaySettings
from hsd_viz.measure.replay.log_tokenizer import LogTokenizer
from hsd_viz.measure.replay.options import ReplayOptions
from hsd_viz.measure.replay.report import ReplayReport
from hsd_viz.measure.replay.requests import LoggedRequest, requests
from hsd_viz.measure.replay.tally import Tally
from hsd_viz.measure.replay.text_replay import Replayed, replay_text
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import native_drafter
from hsd_viz.records.entries import BrokenEntry, EntryReader
from hsd_viz.settings.keywords import keywords_from
from hsd_viz.settings.ranges import MAX_BUDGET
from hsd_viz.terminal import Progress, ignore_progress, progress_bar

#: Broken entries before the first request from which a file is not a log.
MAX_BROKEN = 100_000
#: Seconds between two reports of progress.
SHOW = 0.2


@keywords_from(ReplayOptions)
def replay(options: ReplayOptions) -> ReplayReport:
    """Replay drafters on a log without a model. Drafters start each request with an empty memory.

    Raises:
        UserError: for bad input.
    """
    with progress_bar() as update:
        return run(options, update)


def run(options: ReplayOptions, progress: Progress = ignore_progress) -> ReplayReport:
    """Replay a log (:mod:`hsd_viz.measure.replay.requests` reads it) and return the report.

    Args:
        options: what is replayed.
        progress: called with bytes read, bytes in all, and a text; Ctrl-C, or a KeyboardInterrupt
            that it raises, ends the replay with the requests so far.

    Raises:
        UserError: for bad input.
    """
    verify_cost = options.verify_cost
    if not isinstance(verify_cost, str):
        verify_cost = ",".join(map(str, verify_cost))
    costs = parse_cost(verify_cost)
    drafters = tuple(options.drafters) or DRAFTERS
    tokens = LogTokenizer(options.tokenizer)
    shared = open_databases(tokens, options.databases)
    sources, refused = replayable(drafters, shared)
    stopping = costs if options.budget is None else None
    maker = DrafterMaker(sources, shared, tokens.eos, stopping, options.temperature)
    tally = Tally(LogFacts(Path(options.log).name), {name: Counter() for name in sources})
    complete = _replay_all(options, tokens, maker, tally, progress)
    if complete and not tally.log.requests:
        raise _no_request(options.log, tally.log)
    settings = ReplaySettings(
        drafters=drafters,
        budget=options.budget,
        verify_cost=verify_cost,
        temperature=options.temperature,
        limit=options.limit,
        tokenizer=tokens.name,
        databases=str(options.databases or ""),
    )
    return ReplayReport(
        log=tally.log,
        settings=settings,
        drafters=tally.drafters(np.array(costs.tables(MAX_BUDGET)[0])),
        refused=refused,
        complete=complete,
        above=tally.above(),
    )


def _no_request(log: str | Path, facts: LogFacts) -> BadFile:
    """Return the error of a log without a usable request."""
    where = f" in its first {MAX_BROKEN:,} records" if facts.broken >= MAX_BROKEN else ""
    why = ""
    if facts.examples:
        number, reason = facts.examples[0]
        why = f"; record {number}: {reason}"
    return BadFile(f"the log {log} has no usable request{where}{why}")


def _replay_all(
    options: ReplayOptions,
    tokens: LogTokenizer,
    maker: DrafterMaker,
    tally: Tally,
    progress: Progress,
) -> bool:
    """Replay all requests of a log; return whether the replay finished without interruption."""
    facts = tally.log
    shown = 0.0
    path = Path(options.log)
    with closing(tokens), closing(EntryReader(path)) as reader, suppress(KeyboardInterrupt):
        for request in requests(reader, tokens):
            if isinstance(request, BrokenEntry):
                facts.add_broken(request)
                if not facts.requests and facts.broken >= MAX_BROKEN:
                    break
                continue
            if facts.requests == options.limit:
                break
            replayed = {}
            for name, drafter in maker.drafters_for(request).items():
                replayed[name] = _replayed(drafter, request, options.budget, tokens.eos)
            tally.add(request, replayed, maker.temperature_of(request))
            _add_above(request, maker, tally)
            if time.monotonic() - shown > SHOW:
                shown = time.monotonic()
                read = f"{facts.output_tokens:,} tokens of {facts.requests:,} outputs"
                progress(reader.done, reader.size, read)
        return True
    return False


def _add_above(request: LoggedRequest, maker: DrafterMaker, tally: Tally) -> None:
    """Add the rounds of a request with a database above its recorded drafter."""
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
    """Replay a request, with the native drafter if there is one."""
    build = default_build()
    if build.wait():
        drafter = native_drafter(drafter, build.library)
    return replay_text(drafter, request.text, budget or drafter.nodes, eos, request.limit)
