"""The stops of the page's tour, each an event of a recording.

    python -m tools.record.tour

It finds the event of each stop, and writes its number and the values of the run that the words
mention into ``hsd_viz/views/tour.json``, which the page reads.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz import views
from hsd_viz.disk import write_whole
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.text import counted
from hsd_viz.trace import Trace
from hsd_viz.trace.meta import PlainMeta
from hsd_viz.trace.rows import DraftRow, TokenRow
from tools.record.selection import measured

PATH = Path(views.__file__).with_name("tour.json")
#: The least probability of a draft token that is called likely.
LIKELY = 0.5
_GLYPHS = str.maketrans({" ": "␣", "\t": "⇥", "\n": "↵"})


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a target round (``js/lib/run.ts``): its kind, its round, its draft row, and
    all of the round.
    """

    kind: str
    round: int
    draft: DraftRow | None
    drafts: list[DraftRow]

    @property
    def verdicts(self) -> set[str]:
        """The verdicts of the round."""
        return {row.verdict for row in self.drafts}

    def judged(self, verdict: str, source: str | None = None, **least: float) -> bool:
        """Return whether it is this verdict on a draft token of the source with at least these
        values.
        """
        row = self.draft
        if (
            self.kind != "verdict"
            or row is None
            or row.verdict != verdict
            or source not in (None, row.source)
        ):
            return False
        return all((getattr(row, name) or 0) >= value for name, value in least.items())


#: What each stop shows: the first event, or the last, that passes.
SHOWN: dict[str, Callable[[Event], bool]] = {
    "verification": lambda event: (
        event.kind == "draft" and "accepted" in event.verdicts and len(event.verdicts) > 1
    ),
    "rejected": lambda event: event.judged("rejected") and "unreached" in event.verdicts,
    "chance": lambda event: event.judged("rejected", q=LIKELY),
    "databases": lambda event: event.judged("accepted", "context", key_length=2),
    "hierarchy": lambda event: event.judged("accepted", "small"),
    "measures": lambda event: event.kind == "draft",
    "latency": lambda event: event.kind == "draft",
    "lossless": lambda event: True,
}
LAST = {"measures", "latency", "lossless"}


def events(trace: Trace) -> list[Event]:
    """Return the events of a run in the page's order."""
    events_of_run: list[Event] = []
    for round in trace.round_rows:
        if round.parent is None:
            drafts = [row for row in trace.draft_rows if row.round == round.id]
            for kind, row in _events_of(trace, round.id, drafts):
                events_of_run.append(Event(kind, round.id, row, drafts))
    return events_of_run


def _events_of(
    trace: Trace, round_id: int, drafts: list[DraftRow]
) -> Iterator[tuple[str, DraftRow | None]]:
    """Yield kind and draft row of each event of a target round."""
    if drafts:
        yield "draft", None
    rejected = [row for row in drafts if row.verdict == "rejected"]
    rejected.sort(key=lambda row: (row.depth, row.node))
    for token in trace.token_rows:
        if token.round != round_id:
            continue
        accepted = token.kind == "accepted"
        # Before a token come the rejected drafts down to its depth, and all before the last one.
        while rejected and (not accepted or rejected[0].depth <= token.depth):
            yield "verdict", rejected.pop(0)
        if accepted:
            yield "verdict", _accepted_draft(drafts, token)
        else:
            yield "token", None
    for row in rejected:
        yield "verdict", row


def _accepted_draft(drafts: list[DraftRow], token: TokenRow) -> DraftRow | None:
    """Return the draft of an accepted token."""
    for row in drafts:
        same_place = (row.depth, row.token_id) == (token.depth, token.token_id)
        if row.verdict == "accepted" and same_place:
            return row
    return None


def values(trace: Trace, event: Event) -> dict[str, str]:
    """Return the values of a run, of its event and of the event's round as text."""
    return _run_values(trace) | _round_values(trace, event) | _draft_values(event)


def _run_values(trace: Trace) -> dict[str, str]:
    """Return the values of a whole run."""
    figures = trace.metrics()
    speed = measured(figures["tokens_per_second"])
    sources = []
    for name, tokens in measured(figures["emitted_by_source"]).items():
        sources.append(f"{tokens} {name}")
    return {
        "stack": trace.meta["stack_resolved"],
        "temperature": f"{trace.meta['sampling']['temperature']:g}",
        "length": counted(measured(figures["tokens"]), "token"),
        "rounds": counted(measured(figures["target_forwards"]), "forward pass"),
        "mean_length": f"{figures['mean_acceptance_length']:.2f}",
        "run_accepted": str(figures["accepted"]),
        "run_drafted": str(figures["drafted"]),
        "rate": f"{figures['acceptance_rate'] or 0:.0%}",
        "speed": f"{speed:.0f}",
        "against": _against_plain(speed, trace.meta.get("plain")),
        "sources": ", ".join(sources),
    } | _level_values(trace)


def _against_plain(speed: float, plain: PlainMeta | None) -> str:
    """Return the speed of a run beside that of plain decoding, where it was measured."""
    words = f"this run reached {speed:.0f} tokens/s"
    if not plain:
        return words
    plain_speed = measured(plain["tokens_per_second"])
    gain = median(plain.get("speedups") or [speed / plain_speed])
    return f"{words}, plain decoding {plain_speed:.0f}: {gain:.2f} times the speed"


def _level_values(trace: Trace) -> dict[str, str]:
    """Return the shares of the time by level, the highest first, and the passes, the lowest
    first.
    """
    durations = Counter[str]()
    passes = Counter[str]()
    for call in sorted(trace.call_rows, key=lambda call: -call.level):
        durations[call.name] += call.duration_ns
        if call.kind in ("draft", "verify") and call.steps:
            passes[call.name] += call.steps
    shares = []
    for name, duration in durations.items():
        shares.append(f"{name} {duration / trace.meta['wall_ns']:.0%}")
    counts = [f"{count} of {name}" for name, count in passes.items()]
    return {"shares": ", ".join(shares), "passes": ", ".join(reversed(counts))}


def _round_values(trace: Trace, event: Event) -> dict[str, str]:
    """Return the values of the event's round."""
    drafts = event.drafts
    verdicts = Counter(draft.verdict for draft in drafts)
    durations = Counter[str]()
    fed = Counter[str]()
    for call in trace.call_rows:
        if call.round == event.round:
            durations[call.kind] += call.duration_ns
            fed[call.kind] += call.fed
    values = {
        "drafted": counted(len(drafts), "token"),
        "tokens": ", ".join(_quoted(draft.text) for draft in drafts),
        "accepted": f"{verdicts['accepted']} of {len(drafts)}",
        "unreached": counted(verdicts["unreached"], "token"),
        "fed": counted(fed["verify"], "token"),
        "drafting": _duration(durations["draft"]),
        "verifying": _duration(durations["verify"]),
        "lookup": _duration(durations["lookup"]),
    }
    for token in trace.token_rows:
        if token.round == event.round and token.depth == 0:
            values |= {"token": _quoted(token.text), "p_token": f"{token.p:.0%}"}
    return values


def _draft_values(event: Event) -> dict[str, str]:
    """Return the values of the event's draft token."""
    row = event.draft
    if row is None:
        return {"source": event.drafts[0].source} if event.drafts else {}
    values = {
        "source": row.source,
        "draft": _quoted(row.text),
        "key": counted(row.key_length or 0, "token"),
        "position": str(row.position),
    }
    if row.u is not None and row.q is not None:
        values |= {
            "p": f"{row.p:.3f}",
            "q": f"{row.q:.3f}",
            "u": f"{row.u:.3f}",
            "uq": f"{row.u * row.q:.3f}",
        }
    return values


def _quoted(text: str) -> str:
    return f"“{text.translate(_GLYPHS)}”"


def _duration(ns: int) -> str:
    value, unit = (ns / 1e6, "ms") if ns >= 1e6 else (ns / 1e3, "µs")
    if value >= 100:
        decimals = 0
    elif value >= 10:
        decimals = 1
    else:
        decimals = 2
    return f"{value:.{decimals}f} {unit}"


def stops() -> list[dict[str, Any]]:
    """Return the stops of the tour as found in the recordings.

    Raises:
        ValueError: if a recording lacks an event.
    """
    texts = json.loads(PATH.read_text(encoding="utf-8"))
    for stop in texts:
        key = stop["key"]
        trace = load_bundled(stop["recording"])
        passing = [(step, event) for step, event in enumerate(events(trace)) if SHOWN[key](event)]
        if not passing:
            raise ValueError(
                f"the recording '{stop['recording']}' has no event for the stop '{key}' of the tour"
            )
        stop["step"], event = passing[-1 if key in LAST else 0]
        all_values = values(trace, event)
        mentioned = re.findall(r"{(\w+)}", " ".join(stop["text"]))
        stop["values"] = {name: all_values[name] for name in mentioned}
    return texts


def write_tour() -> Path:
    """Write the stops after new recordings, and return the path; then the page's bundle has to
    be built.
    """
    write_whole(PATH, json.dumps(stops(), indent=1, ensure_ascii=False) + "\n")
    return PATH


if __name__ == "__main__":
    print(write_tour())
