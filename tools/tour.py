"""The stops of the page's tour: ``python -m tools.tour`` finds the event of each in its recording,
and writes its number and the values of the run that the words mention into
``hsd_viz/views/tour.json``, which the page reads.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hsd_viz import views
from hsd_viz.disk import write_whole
from hsd_viz.engine.replay import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.trace.tables import DraftRow
from hsd_viz.words import counted

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
    found: list[Event] = []
    for round in (row for row in trace.round_rows if row.parent is None):
        drafts = [row for row in trace.draft_rows if row.round == round.id]
        rejected = sorted(
            (row for row in drafts if row.verdict == "rejected"),
            key=lambda row: (row.depth, row.node),
        )
        own: list[tuple[str, DraftRow | None]] = [("draft", None)] if drafts else []
        for token in (row for row in trace.token_rows if row.round == round.id):
            accepted = token.kind == "accepted"
            while rejected and (not accepted or rejected[0].depth <= token.depth):
                own.append(("verdict", rejected.pop(0)))
            same = ("accepted", token.depth, token.token_id)
            drafted = (
                row for row in drafts if accepted and (row.verdict, row.depth, row.token_id) == same
            )
            own.append(("verdict" if accepted else "token", next(drafted, None)))
        own += [("verdict", row) for row in rejected]
        found += [Event(kind, round.id, row, drafts) for kind, row in own]
    return found


def values(trace: Trace, event: Event) -> dict[str, str]:
    """Return the values of a run, of its event and of the event's round as text."""
    figures, plain, row, drafts = (
        trace.metrics(),
        trace.meta.get("plain"),
        event.draft,
        event.drafts,
    )
    calls = [call for call in trace.call_rows if call.round == event.round]
    total = lambda kind, of: sum(getattr(call, of) for call in calls if call.kind == kind)
    spent = lambda kind: _duration(total(kind, "duration_ns"))
    tokens, number = lambda n: counted(n, "token"), figures["tokens"]
    shares, passes = Counter[str](), Counter[str]()
    for call in sorted(trace.call_rows, key=lambda call: -call.level):
        shares[call.name] += call.duration_ns
        if call.kind in ("draft", "verify") and call.steps:
            passes[call.name] += call.steps
    speed = figures["tokens_per_second"]
    against = f"this run reached {speed:.0f} tokens/s"
    if plain:
        gain = median(plain.get("speedups") or [speed / plain["tokens_per_second"]])
        against += f", plain decoding {plain['tokens_per_second']:.0f}: {gain:.2f} times the speed"
    found = {
        "stack": trace.meta["stack_resolved"],
        "temperature": f"{trace.meta['sampling']['temperature']:g}",
        "length": tokens(number),
        "rounds": counted(figures["target_forwards"], "forward pass"),
        "mean_length": f"{figures['mean_acceptance_length']:.2f}",
        "run_accepted": str(figures["accepted"]),
        "run_drafted": str(figures["drafted"]),
        "rate": f"{figures['acceptance_rate'] or 0:.0%}",
        "speed": f"{speed:.0f}",
        "against": against,
        "sources": ", ".join(f"{n} {name}" for name, n in figures["emitted_by_source"].items()),
        "shares": ", ".join(
            f"{name} {ns / trace.meta['wall_ns']:.0%}" for name, ns in shares.items()
        ),
        "passes": ", ".join(f"{n} of {name}" for name, n in [*passes.items()][::-1]),
        "drafted": tokens(len(drafts)),
        "tokens": ", ".join(_quoted(draft.text) for draft in drafts),
        "accepted": f"{sum(draft.verdict == 'accepted' for draft in drafts)} of {len(drafts)}",
        "unreached": tokens(sum(draft.verdict == "unreached" for draft in drafts)),
        "fed": tokens(total("verify", "fed")),
        "drafting": spent("draft"),
        "verifying": spent("verify"),
        "lookup": spent("lookup"),
    }
    for token in (
        token for token in trace.token_rows if token.round == event.round and token.depth == 0
    ):
        found |= {"token": _quoted(token.text), "p_token": f"{token.p:.0%}"}
    if drafts:
        found["source"] = (row or drafts[0]).source
    if row is not None:
        found |= {
            "draft": _quoted(row.text),
            "key": tokens(row.key_length or 0),
            "position": str(row.position),
        }
        if row.u is not None:
            found |= {
                "p": f"{row.p:.3f}",
                "q": f"{row.q:.3f}",
                "u": f"{row.u:.3f}",
                "uq": f"{row.u * row.q:.3f}",
            }
    return found


def _quoted(text: str) -> str:
    return f"“{text.translate(_GLYPHS)}”"


def _duration(ns: int) -> str:
    value, unit = (ns / 1e6, "ms") if ns >= 1e6 else (ns / 1e3, "µs")
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"


def stops() -> list[dict[str, Any]]:
    """Return the stops of the tour as found in the recordings. Raises: ValueError: if a
    recording lacks an event.
    """
    found = json.loads(PATH.read_text(encoding="utf-8"))
    for stop in found:
        key, trace = stop["key"], load_bundled(stop["recording"])
        passing = [(step, event) for step, event in enumerate(events(trace)) if SHOWN[key](event)]
        if not passing:
            raise ValueError(
                f"the recording '{stop['recording']}' has no event for the stop '{key}' of the tour"
            )
        stop["step"], event = passing[-1 if key in LAST else 0]
        all_values = values(trace, event)
        stop["values"] = {
            name: all_values[name] for name in re.findall(r"{(\w+)}", " ".join(stop["text"]))
        }
    return found


def write_tour() -> Path:
    """Write the stops after new recordings, and return the path; then the page's bundle has to
    be built.
    """
    write_whole(PATH, json.dumps(stops(), indent=1, ensure_ascii=False) + "\n")
    return PATH


if __name__ == "__main__":
    print(write_tour())
