"""Places of the guided tour: rules that find an event in a recording, with the values for the step's text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hsd_viz.stack import StackError, parse
from hsd_viz.trace import CallRow, DraftRow, RoundRow, TokenRow, Trace
from hsd_viz.views.events import events_of
from hsd_viz.words import counted

#: A recording by its name.
Load = Callable[[str], Trace]


@dataclass(frozen=True, slots=True)
class Found:
    """A found place: index of the event in :func:`~hsd_viz.views.events.events_of`, and values for the text."""

    step: int
    figures: Mapping[str, str] = field(default_factory=dict)


#: A rule takes a trace, the recordings' names and a loader; it returns ``None`` if the trace has no such place.
Rule = Callable[[Trace, Sequence[str], Load], Found | None]


def first_draft(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first partly accepted draft of a draft model."""
    for own, rows in _chains(trace):
        if 0 < own.accepted < own.drafted:
            calls = [c for c in trace.call_rows if c.round == own.id]
            drafting, verifying = _time(calls, "draft"), _time(calls, "verify")
            if not drafting or not verifying:
                continue
            kept = next(d for d in rows if d.verdict == "accepted")
            figures = {
                "source": rows[0].source,
                "drafted": counted(len(rows), "token"),
                "tokens": ", ".join(_quoted(d.text) for d in rows),
                "drafting": _duration(drafting),
                "verifying": _duration(verifying),
                "fed": counted(next(c.fed for c in calls if c.kind == "verify"), "token"),
                "kept": _quoted(kept.text),
                "accepted": f"{own.accepted} of {own.drafted}",
            }
            return Found(_step(trace, own.id, "draft"), figures)
    return None


def first_accepted(trace: Trace, names: Sequence[str], load: Load) -> Found | None:
    """Find the first accepted token of the first such greedy round."""
    found = first_draft(trace, names, load)
    if found is None or _temperature(trace):
        return None
    number = events_of(trace)[found.step].round
    return Found(_step(trace, number, "verdict", "accepted"), found.figures)


def first_rejected(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first greedy round with a rejected token before the draft's end."""
    if _temperature(trace):
        return None
    for own, rows in _chains(trace):
        refused = [d for d in rows if d.verdict == "rejected"]
        unreached = [d for d in rows if d.verdict == "unreached"]
        token = _own_token(trace, own.id)
        if refused and unreached and token is not None and token.kind == "correction" and token.p is not None:
            figures = {
                "source": rows[0].source,
                "refused": _quoted(refused[0].text),
                "token": _quoted(token.text),
                "p": f"{token.p:.0%}",
                "unreached": counted(len(unreached), "token"),
            }
            return Found(_step(trace, own.id, "verdict", "rejected"), figures)
    return None


def first_residual(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first sampled draft token that token verification rejected by u although p > 0."""
    temperature = _temperature(trace)
    if not temperature:
        return None
    for own, rows in _chains(trace):
        refused = next((d for d in rows if d.verdict == "rejected"), None)
        token = _own_token(trace, own.id)
        if refused is None or token is None or token.residual_top is None:
            continue
        if own.rule != "token" or refused.p is None or refused.q is None or refused.u is None or refused.p < 0.005:
            continue
        figures = {
            "temperature": f"{temperature:g}",
            "source": refused.source,
            "refused": _quoted(refused.text),
            "token": _quoted(token.text),
            "p": f"{refused.p:.3f}",
            "q": f"{refused.q:.3f}",
            "u": f"{refused.u:.3f}",
            "uq": f"{refused.u * refused.q:.3f}",
        }
        return Found(_step(trace, own.id, "verdict", "rejected"), figures)
    return None


def first_bonus(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first fully accepted draft of several tokens."""
    for own, rows in _chains(trace):
        token = _own_token(trace, own.id)
        if own.outcome == "bonus" and own.drafted == own.accepted > 1 and token is not None:
            figures = {
                "source": rows[0].source,
                "drafted": str(len(rows)),
                "token": _quoted(token.text),
                "emitted": counted(own.accepted + 1, "token"),
            }
            return Found(_step(trace, own.id, "token"), figures)
    return None


def first_copy(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first token copied by the context database after a match of several tokens."""
    events = events_of(trace)
    for step, event in enumerate(events):
        row = event.draft
        if (
            row is None
            or row.verdict != "accepted"
            or row.source != "context"
            or row.position is None
            or (row.key_length or 0) < 2
        ):
            continue
        looks = [c.duration_ns for c in trace.call_rows if c.round == event.round and c.kind == "lookup"]
        emitted = trace.metrics()["emitted_by_source"]
        if not looks or not {"context", "target"} <= set(emitted):
            continue
        stored = [
            f"{emitted[name]} from the {name} database"
            for name in ("context", "model", "statistics", "logits")
            if name in emitted
        ]
        figures = {
            "token": _quoted(row.text),
            "key": counted(row.key_length or 0, "token"),
            "position": str(row.position),
            "lookup": _duration(sum(looks)),
            "tokens": counted(len(trace.token_rows), "token"),
            "stored": " and ".join([", ".join(stored[:-1]), stored[-1]] if len(stored) > 1 else stored),
            "target": str(emitted["target"]),
        }
        return Found(step, figures)
    return None


def middle_token(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find the first token added by a middle model and accepted by the target."""
    names = _models(trace)
    if len(names) < 3:
        return None
    for step, event in enumerate(events_of(trace)):
        row = event.draft
        if row is None or row.verdict != "accepted" or row.source not in names[1:-1]:
            continue
        passes = {
            name: sum(c.steps for c in trace.call_rows if c.name == name and c.kind in ("draft", "verify"))
            for name in names
        }
        figures = {
            "token": _quoted(row.text),
            "middle": row.source,
            "below": names[names.index(row.source) - 1],
            "passes": ", ".join(f"{count} of {name}" for name, count in passes.items()),
            "tokens": counted(len(trace.token_rows), "token"),
        }
        return Found(step, figures)
    return None


def figures_of_run(trace: Trace, _names: Sequence[str], _load: Load) -> Found | None:
    """Find a run with databases below draft models and a low acceptance rate."""
    m = trace.metrics()
    stack = parse(trace.stack)
    if stack.bottom is None or not stack.drafts or not m["drafted"] or not m["target_forwards"]:
        return None
    wall = trace.meta.get("wall_ns") or sum(c.duration_ns for c in trace.call_rows)
    shares = []
    for name in dict.fromkeys(c.name for c in sorted(trace.call_rows, key=lambda c: -c.level)):
        own = sum(c.duration_ns for c in trace.call_rows if c.name == name)
        shares.append(f"{name} {100 * own / wall:.{0 if own / wall >= 0.0995 else 1}f}%")
    longest = max(trace.round_rows, key=lambda r: (r.parent is None, r.accepted))
    figures = {
        "accepted": str(m["accepted"]),
        "drafted": str(m["drafted"]),
        "rate": f"{m['acceptance_rate']:.0%}",
        "tokens": counted(m["tokens"], "token"),
        "rounds": counted(m["target_forwards"], "forward pass"),
        "length": f"{m['mean_acceptance_length']:.2f}",
        "shares": ", ".join(shares),
        "speed": f"{m['tokens_per_second']:.0f}",
        "against": _against_plain(trace, m["tokens_per_second"]),
    }
    return Found(_step(trace, longest.id, "draft"), figures)


def _against_plain(trace: Trace, speed: float) -> str:
    """Return the run's speed, compared with plain decoding if measured."""
    here = f"this run reached {speed:.0f} tokens/s"
    plain = (trace.meta.get("plain") or {}).get("tokens_per_second")
    if not plain:
        return f"{here}; plain decoding was not measured"
    return f"{here}, plain decoding {plain:.0f}: {speed / plain:.2f} times the speed"


def same_text(trace: Trace, names: Sequence[str], load: Load) -> Found | None:
    """Find a run with drafts and a plain run of the same prompt and sampling with the same text."""
    if not trace.draft_rows:
        return None
    for name in names:
        plain = load(name)
        if plain.draft_rows or any(plain.meta.get(key) != trace.meta.get(key) for key in ("prompt", "sampling")):
            continue
        ours, theirs = [t.token_id for t in trace.token_rows], [t.token_id for t in plain.token_rows]
        if ours != theirs:
            return None
        figures = {
            "tokens": counted(len(ours), "token"),
            "passes": counted(trace.metrics()["target_forwards"], "forward pass"),
            "plain": counted(plain.metrics()["target_forwards"], "forward pass"),
            "stack": trace.stack,
        }
        return Found(len(events_of(trace)) - 1, figures)
    return None


# --- parts ------------------------------------------------------------------------------------------------------------


def _chains(trace: Trace) -> list[tuple[RoundRow, list[DraftRow]]]:
    """Return target rounds with a chain drafted by a single draft model, with the draft."""
    drafts: dict[int, list[DraftRow]] = {}
    for row in trace.draft_rows:
        drafts.setdefault(row.round, []).append(row)
    models = _models(trace)
    found = []
    for own in trace.round_rows:
        rows = sorted(drafts.get(own.id, []), key=lambda d: d.depth)
        chain = [d.depth for d in rows] == list(range(1, len(rows) + 1))
        if own.parent is None and rows and chain and {d.source for d in rows} <= set(models[:1]):
            found.append((own, rows))
    return found


def _models(trace: Trace) -> list[str]:
    """Return the models of a run's stack, smallest first; empty if the stack is invalid."""
    try:
        return [m.name for m in parse(trace.stack).models]
    except StackError:
        return []


def _step(trace: Trace, number: int, kind: str, verdict: str | None = None) -> int:
    """Return the first event of a round of that kind (and verdict)."""
    for step, event in enumerate(events_of(trace)):
        if (event.round, event.kind) == (number, kind) and verdict in (None, event.draft and event.draft.verdict):
            return step
    raise AssertionError(f"round {number} has no {verdict or ''} {kind}")


def _own_token(trace: Trace, number: int) -> TokenRow | None:
    return next((t for t in trace.token_rows if t.round == number and t.depth == 0), None)


def _temperature(trace: Trace) -> float:
    return float((trace.meta.get("sampling") or {}).get("temperature") or 0)


def _time(calls: Sequence[CallRow], kind: str) -> int:
    return sum(c.duration_ns for c in calls if c.kind == kind)


def _quoted(text: str) -> str:
    """Quote a token with visible blanks."""
    shown = text.replace(" ", "␣").replace("\t", "⇥").replace("\n", "↵")
    return f"“{shown}”"


def _duration(ns: float) -> str:
    """Format nanoseconds: 12.3 ms, 45.0 µs."""
    value, unit = (ns / 1e6, "ms") if ns >= 1e6 else (ns / 1e3, "µs")
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
