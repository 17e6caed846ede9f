"""Databases in one run: the keys they found, by length, and what each would have saved alone."""

from __future__ import annotations

from collections import Counter, defaultdict

from hsd_viz.bench.replay import Alone
from hsd_viz.trace import Trace
from hsd_viz.views.palette import HUES, label
from hsd_viz.views.panels import Panel, Row, range_words, ranges, source_keys
from hsd_viz.views.payload import level_names

#: The drafters of a replay in words.
WORDS = {
    "db[context]": "the context database alone",
    "db[model]": "the model database alone",
    "db[statistics]": "the statistics database alone",
    "db": "all databases at hand",
    "hd": "Hierarchy Drafting as published",
    "lookup": "prompt lookup, a rival",
}


def keys_hit(trace: Trace) -> Panel:
    """How often each source found a key of each length, where drafts are first verified."""
    matched = [d for d in trace.draft_rows if d.key_length is not None]
    first = min((d.level for d in matched), default=0)
    here = [d for d in matched if d.level == first]
    found: dict[int, Counter] = defaultdict(Counter)
    for _, source, length in {(d.round, d.source, d.key_length) for d in here}:
        found[length][source] += 1
    kept = Counter(d.key_length for d in here if d.verdict == "accepted")
    top = max((r.level for r in trace.round_rows), default=first)
    last = Counter(d.key_length for d in matched if d.level == top and d.verdict == "accepted")
    names = level_names(trace.meta)
    verifier = names[first] if first < len(names) else f"level {first}"
    keys = source_keys(d.source for d in here)
    rows = []
    for lengths in ranges(found):
        counts = sum((found[k] for k in lengths), Counter())
        if counts:
            parts = tuple((s, float(counts[s]), f"{label(s)}: {counts[s]}") for s in keys if counts[s])
            accepted = [str(sum(by[k] for k in lengths)) for by in ((kept, last) if first < top else (kept,))]
            rows.append(Row(range_words(lengths), parts, (str(counts.total()), *accepted)))
    words = (
        "A key is the end of the text that a database knew already; its length is in tokens. Counted once for each round and database "
        "in which drafts came from a key of that length. Accepted: the draft tokens from such keys that the verifier named kept, over all "
        "of its rounds."
    )
    if first < top:
        words += (
            f" Drafts come to {verifier} first. A place of the text that is turned down further up is drafted and accepted there again, so "
            "its count may exceed the tokens of the text; what the target accepted stands in it."
        )
    empty = "" if rows else "No database drafted in this run, so no key was found."
    by = [f"accepted by {verifier}", f"by {names[top]}"] if first < top else ["accepted"]
    heads = ("tokens matched", "times such a key was drafted from", "keys", *by)
    return Panel(
        "Keys found, by length", "Keys that drafts came from", words, heads, tuple(rows), keys, tuple(keys), "", empty
    )


def saved_alone(trace: Trace, results: list[Alone], budget: int) -> Panel:
    """Tokens per forward of each drafter on this text, with what was measured in the run above."""
    measured = trace.metrics()["mean_acceptance_length"]
    own = HUES["target"]
    keys = {"target": {"label": "target's own", "light": own.light, "dark": own.dark, "shape": "pale"}}
    done = [r for r in results if r.replayed is not None]
    keys |= source_keys(source for r in done for source, _ in r.replayed.accepted)
    rows = []
    if measured:
        keys["run"] = {"label": "measured", "shape": "neutral"}
        stack = str(trace.meta.get("stack_resolved") or trace.meta.get("stack"))
        rows.append(
            Row(
                "this run, measured",
                (("run", measured, f"{measured:.2f} tokens a forward"),),
                (f"{measured:.2f}", _fewer(measured)),
                stack,
            )
        )
    for result in results:
        note = result.why or WORDS[result.drafter]
        if result.replayed is None:
            rows.append(Row(result.drafter, (), ("–", "–"), note))
            continue
        accepted: Counter = Counter()
        for (source, _), n in result.replayed.accepted.items():
            accepted[source] += n
        rounds = result.replayed.rounds
        mine = result.length - accepted.total() / rounds
        parts = [("target", mine, f"{mine:.2f} of the target's own")]
        parts += [
            (s, accepted[s] / rounds, f"{accepted[s] / rounds:.2f} from the {label(s)}") for s in keys if accepted[s]
        ]
        rows.append(Row(result.drafter, tuple(parts), (f"{result.length:.2f}", _fewer(result.length)), note))
    words = (
        f"Tokens per forward of the target (mean acceptance length) had each drafter served this very text alone: a replay of its tokens, "
        f"without a model, {budget} draft tokens a round at the most, and nothing left undrafted for its cost. Saved: the share of plain "
        "decoding's forwards that would not have been needed. It says nothing of time: verifying more tokens costs more."
    )
    tokens = max((r.replayed.tokens for r in done), default=0)
    foot = (
        f"Replayed: {tokens} of the {len(trace.token_rows)} tokens of this run, databases in the order of the paper, cost stopping off: "
        "a run leaves out drafts that cost more to verify than they promise to bring, and needs more forwards than its replay."
    )
    legend = tuple(key for key in keys if key != "run")
    heads = ("drafter", "tokens per forward", "tokens per forward", "forwards saved")
    return Panel(
        "What each would have saved alone", "A replay of this text", words, heads, tuple(rows), keys, legend, foot=foot
    )


def _fewer(length: float) -> str:
    return f"{1 - 1 / length:.0%}"
