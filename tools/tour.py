"""The events at which the page's tour stops, found in the bundled recordings: ``python -m tools.tour`` writes their
numbers into ``hsd_viz/views/tour.json``, which the page reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz import views
from hsd_viz.disk import write_whole
from hsd_viz.engine.replay import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import DraftRow

PATH = Path(views.__file__).with_name("tour.json")
#: The least probability of a draft token that is called likely.
LIKELY = 0.5


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a target round (``js/lib/run.ts``): its kind, its draft row, and the verdicts of the round."""

    kind: str
    draft: DraftRow | None
    verdicts: set[str]

    def judged(self, verdict: str, **least: Any) -> bool:
        """Return whether it is this verdict on a draft token with these values; numbers are the least allowed."""
        if self.kind != "verdict" or self.draft is None or self.draft.verdict != verdict:
            return False
        own = {name: getattr(self.draft, name) for name in least}
        return all(own[k] == v if isinstance(v, str) else own[k] is not None and own[k] >= v for k, v in least.items())


#: What each stop shows: the first event, or the last, that passes.
SHOWN: dict[str, Callable[[Event], bool]] = {
    "verification": lambda event: event.kind == "draft" and "accepted" in event.verdicts and len(event.verdicts) > 1,
    "rejected": lambda event: event.judged("rejected") and "unreached" in event.verdicts,
    "chance": lambda event: event.judged("rejected", q=LIKELY),
    "databases": lambda event: event.judged("accepted", source="context", key_length=2),
    "hierarchy": lambda event: event.judged("accepted", source="small"),
    "measures": lambda event: event.kind == "draft",
    "latency": lambda event: event.kind == "draft",
    "lossless": lambda event: True,
}
LAST = {"measures", "latency", "lossless"}


def events(trace: Trace) -> list[Event]:
    """Return the events of a run in the page's order."""
    found: list[Event] = []
    for round in (row for row in trace.round_rows if row.parent is None):
        drafts = [row for row in trace.draft_rows if row.round == round.id]
        verdicts = {row.verdict for row in drafts}
        rejected = sorted((row for row in drafts if row.verdict == "rejected"), key=lambda row: (row.depth, row.node))
        own: list[tuple[str, DraftRow | None]] = [("draft", None)] if drafts else []
        for token in (row for row in trace.token_rows if row.round == round.id):
            accepted = token.kind == "accepted"
            while rejected and (not accepted or rejected[0].depth <= token.depth):
                own.append(("verdict", rejected.pop(0)))
            same = ("accepted", token.depth, token.token_id)
            drafted = (row for row in drafts if accepted and (row.verdict, row.depth, row.token_id) == same)
            own.append(("verdict" if accepted else "token", next(drafted, None)))
        own += [("verdict", row) for row in rejected]
        found += [Event(kind, row, verdicts) for kind, row in own]
    return found


def stops() -> list[dict[str, Any]]:
    """Return the stops of the tour with the numbers of their events. Raises: ValueError: if a recording lacks one."""
    found = json.loads(PATH.read_text(encoding="utf-8"))
    for stop in found:
        key = stop["key"]
        passing = [k for k, event in enumerate(events(load_bundled(stop["recording"]))) if SHOWN[key](event)]
        if not passing:
            raise ValueError(f"the recording '{stop['recording']}' has no event for the stop '{key}' of the tour")
        stop["step"] = passing[-1 if key in LAST else 0]
    return found


def write_tour() -> Path:
    """Write the numbers of the events, after new recordings, and return the path; then build the page's bundle."""
    write_whole(PATH, json.dumps(stops(), indent=1, ensure_ascii=False) + "\n")
    return PATH


if __name__ == "__main__":
    print(write_tour())
