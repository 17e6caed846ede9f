"""Databases in one run: matched keys by length, and the savings of each drafter alone."""

from __future__ import annotations

from collections import Counter, defaultdict

from hsd_viz.bench.replay import Alone
from hsd_viz.figures.palette import HUES, label
from hsd_viz.figures.panels import Panel, Row, level_names, range_words, ranges, source_keys
from hsd_viz.trace import Trace
from hsd_viz.words import counted

#: Labels of the replayed drafters.
WORDS = {
    "db[context]": "context database only",
    "db[model]": "model database only",
    "db[statistics]": "statistics database only",
    "db": "all available databases",
    "hd": "Hierarchy Drafting (HD), as published",
    "lookup": "baseline: prompt lookup decoding",
}


def keys_hit(trace: Trace) -> Panel:
    """Build key matches by source and key length, counted at the first verifier."""
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
        "A key is the suffix of the text that a database matched; its length is in tokens. Each round and database "
        "with drafts from a key of that length counts once. Accepted: draft tokens from such keys that the named "
        "verifier accepted, over all its rounds."
    )
    if first < top:
        words += (
            f" {verifier} verifies these drafts first. A text position rejected by a higher level is drafted again, "
            "so the count may exceed the number of text tokens."
        )
    empty = "" if rows else "No database drafted in this run."
    by = [f"accepted by {verifier}", f"by {names[top]}"] if first < top else ["accepted"]
    heads = ("tokens matched", "drafts from such keys", "keys", *by)
    return Panel(
        "Matched keys by length", "Keys that drafts came from", words, heads, tuple(rows), keys, tuple(keys), "", empty
    )


def saved_alone(trace: Trace, results: list[Alone], budget: int) -> Panel:
    """Build tokens per target forward pass of each replayed drafter, and of the measured run."""
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
                (("run", measured, f"{measured:.2f} tokens per forward pass"),),
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
        parts = [("target", mine, f"{mine:.2f} from the target")]
        parts += [
            (s, accepted[s] / rounds, f"{accepted[s] / rounds:.2f} from the {label(s)}") for s in keys if accepted[s]
        ]
        rows.append(Row(result.drafter, tuple(parts), (f"{result.length:.2f}", _fewer(result.length)), note))
    words = (
        "Tokens per target forward pass (mean acceptance length) of each drafter alone on this text: a replay of the "
        f"tokens, without a model, with at most {budget} draft tokens per round and cost stopping off. Saved: share "
        "of plain decoding's forward passes avoided. Not a time saving: verifying more tokens costs more."
    )
    tokens = max((r.replayed.tokens for r in done), default=0)
    foot = (
        f"Replayed: {tokens} of {counted(len(trace.token_rows), 'token')}, databases in the paper's order, cost "
        "stopping off. A run skips drafts whose expected gain is below their cost, so it needs more forward passes "
        "than its replay."
    )
    legend = tuple(key for key in keys if key != "run")
    heads = ("drafter", "tokens per forward pass", "tokens per forward pass", "forward passes saved")
    return Panel(
        "Savings of each drafter alone", "Replay of this text", words, heads, tuple(rows), keys, legend, foot=foot
    )


def _fewer(length: float) -> str:
    return f"{1 - 1 / length:.0%}"
