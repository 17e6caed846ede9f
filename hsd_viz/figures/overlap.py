"""Simulate look-ups that run while the target verifies, as SSD does with a draft model (2026, arXiv 2603.03251).

With a second core, or a device for the model, the look-ups for the likely outcomes of a verification can be made
meanwhile: an outcome is a place of the draft and the target's own token there. If the real outcome was among them, the
next draft is ready when the verification ends. This is a simulation over a recorded run: which outcomes are foreseen
follows from the recorded text, what they save from the recorded times, or from those of another device.

>>> import hsd_viz as hsd
>>> found = overlap(hsd.load_bundled("databases"))
>>> 0 <= found.foreseen <= found.rounds and found.gain >= 0
True
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from hsd_viz.drafting.context import ContextDatabase, spell
from hsd_viz.trace import CallRow, Trace
from hsd_viz.words import check_range


@dataclass(frozen=True, slots=True)
class Overlap:
    """A simulated run: of ``rounds`` look-ups ``foreseen`` were made during the verification before. ``gain`` is the
    speed-up of the decode after prefill less 1, ``trace`` the run with its calls at their new times, for the timeline;
    its meta has ``simulated``.
    """

    rounds: int
    foreseen: int
    gain: float
    trace: Trace


def overlap(
    trace: Trace, *, forward_ms: float | None = None, lookup_us: float | None = None, guesses: int = 4
) -> Overlap:
    """Simulate overlapped look-ups in a run of databases or a baseline directly below the target.

    Up to ``guesses`` next tokens are tried at each place of a draft, places in the order of the draft, as many
    look-ups as fit into the verification. The tokens tried are the most frequent ones of the context database that the
    draft does not have there. ``forward_ms`` and ``lookup_us`` scale the verifications and look-ups to the medians of
    another device; other times remain.

    Raises:
        ValueError: if the run has no such look-ups, or a number is out of range.
    """
    check_range("the number of guesses", guesses, 1, 64)
    kinds = {"verify": [c for c in trace.call_rows if c.kind == "verify"]}
    kinds["lookup"] = [c for c in trace.call_rows if c.kind == "lookup"]
    if not kinds["lookup"] or any(c.level != 1 for c in kinds["verify"]):
        raise ValueError("the run has no look-ups directly below the target: use a stack such as 'db > target'")
    scales = {}
    for kind, wanted in (("verify", forward_ms and forward_ms * 1e6), ("lookup", lookup_us and lookup_us * 1e3)):
        if wanted is not None and not wanted > 0:
            raise ValueError(f"a time of {wanted:g} ns per {kind} is out of range: use a number above 0")
        scales[kind] = 1.0 if wanted is None else wanted / max(1, median(c.duration_ns for c in kinds[kind]))
    took = {kind: {c.round: round(c.duration_ns * scales[kind]) for c in rows} for kind, rows in kinds.items()}
    ready = _foreseen(trace, took["verify"], median(took["lookup"].values()), guesses)
    plain, _ = _moved(trace, took, frozenset())
    end, calls = _moved(trace, took, ready)
    found = Trace({**trace.meta, "simulated": "overlapped look-ups", "wall_ns": end})
    found.pieces = dict(trace.pieces)
    found.token_rows, found.draft_rows = trace.token_rows, trace.draft_rows
    found.call_rows = [c._replace(name=f"{c.name} (simulated)") if c.level == 0 else c for c in calls]
    spans = {
        r.id: [c for c in calls if c.round == r.id and not (c.kind == "lookup" and r.id in ready)]
        for r in trace.round_rows
    }
    for row in trace.round_rows:
        first, last = spans[row.id][0], spans[row.id][-1]
        spent = last.start_ns + last.duration_ns - first.start_ns
        found.round_rows.append(row._replace(start_ns=first.start_ns, duration_ns=spent))
    begin = trace.meta["prefill_ns"]
    return Overlap(len(trace.round_rows), len(ready), (plain - begin) / (end - begin) - 1, found)


def _foreseen(trace: Trace, verify: dict[int, int], lookup: float, guesses: int) -> frozenset[int]:
    """Return the rounds whose look-up was among those made during the verification before."""
    context, ready = ContextDatabase(), set()
    context.extend(trace.meta["prompt_ids"])
    emitted: dict[int, list] = defaultdict(list)
    drafts: dict[int, list] = defaultdict(list)
    for rows, found in ((trace.token_rows, emitted), (trace.draft_rows, drafts)):
        for row in rows:
            found[row.round].append(row)
    rounds = [r.id for r in trace.round_rows]
    for this, following in itertools.pairwise(rounds):
        tokens, tree = emitted[this], drafts[this]
        if tokens and tokens[-1].kind != "accepted":
            *walked, own = [t.token_id for t in tokens]
            place = max((d.node for d in tree if d.verdict == "accepted"), default=-1)
            taken = {d.token_id for d in tree if d.parent == place}
            match = context.lookup(context.text[-context.longest :] + spell(walked))
            likely = [t for t, _, _ in match[2] if t not in taken][:guesses] if match else []
            room = verify.get(this, 0) / max(1.0, lookup)
            if own in likely and (place + 1) * guesses + likely.index(own) < room:
                ready.add(following)
        context.extend(t.token_id for t in tokens)
    return frozenset(ready)


def _moved(trace: Trace, took: dict[str, dict[int, int]], ready: frozenset[int]) -> tuple[int, list[CallRow]]:
    """Return the end of the run and its calls, with the look-ups of ``ready`` beside the verification before."""
    shift, beside, calls = 0, 0, []
    for call in sorted(trace.call_rows, key=lambda c: c.start_ns):
        spent = took.get(call.kind, {}).get(call.round, call.duration_ns)
        if call.kind == "lookup" and call.round in ready:
            calls.append(call._replace(start_ns=beside, duration_ns=spent))
            shift -= call.duration_ns
            continue
        start = call.start_ns + shift
        calls.append(call._replace(start_ns=start, duration_ns=spent))
        shift += spent - call.duration_ns
        beside = start if call.kind == "verify" else beside
    return trace.meta["wall_ns"] + shift, calls
