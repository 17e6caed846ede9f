"""Two or three runs of one prompt, made ready to lie side by side: may they be compared, do their texts agree, and must they?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hsd_viz.stack import StackError, parse
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import target_round_of
from hsd_viz.views.payload import number
from hsd_viz.views.readout import fastest_words, sampling_words
from hsd_viz.words import counted

MOST = 3
LETTERS = "ABC"
#: Top-2 logit gap below which rounding may decide between two tokens.
NEAR_TIE = 1e-3
#: What of a trace's meta its times and the rounding of its numbers depend on.
MACHINE = ("device_name", "device", "dtype", "threads", "runtime")
_NUMBERS = {1: "one run is", 4: "four runs are", 5: "five runs are"}


def refusal(traces: Sequence[Trace]) -> str | None:
    """Why these runs cannot lie side by side, in one sentence; ``None`` where they can."""
    if not 2 <= len(traces) <= MOST:
        return count_refusal(len(traces))
    for letter, trace in zip(LETTERS, traces, strict=False):
        if not trace.token_rows or not any(r.parent is None for r in trace.round_rows):
            return f"Run {letter} ({stack_of(trace)}) has no rounds, so there is nothing to align: it ended before its first token."
    prompts = [
        (t.meta.get("prompt"), bool(t.meta.get("chat", False)), tuple(t.meta.get("prompt_ids") or ())) for t in traces
    ]
    if len({p[:2] for p in prompts}) > 1 or len({p[2] for p in prompts if p[2]}) > 1:
        one, other = next((prompts[0], p) for p in prompts[1:] if p != prompts[0])
        return f"These runs have different prompts, {_prompt(one)} and {_prompt(other)}: positions of their texts do not correspond."
    targets = [target_of(t) for t in traces]
    if len(set(targets)) > 1:
        one, other = targets[0], next(t for t in targets if t != targets[0])
        return f"These runs have different targets, {one} and {other}: only runs of one target can be told apart by how they draft."
    draws = [sampling_words(t.meta.get("sampling") or {}) for t in traces]
    if len(set(draws)) > 1:
        other = next(d for d in draws if d != draws[0])
        return f"These runs draw their tokens differently, {draws[0]} and {other}: side by side stand runs of one sampling and one seed."
    return None


def count_refusal(n: int) -> str:
    """Why that many runs cannot lie side by side."""
    if n == 0:
        return "There is no run to show: give two or three of one prompt."
    what = _NUMBERS.get(n, f"{n} runs are")
    return f"{what.capitalize()} too {'few' if n < 2 else 'many'} to lie side by side: give two or three."


def _prompt(key: tuple[Any, bool, tuple[int, ...]]) -> str:
    text = " ".join(str(key[0] or "").split())
    return f"“{text[:30]}{'…' if len(text) > 30 else ''}”" + (" as a chat turn" if key[1] else "")


def stack_of(trace: Trace) -> str:
    """The stack of a run as it was resolved."""
    return str(trace.meta.get("stack_resolved") or trace.meta.get("stack") or "an unknown stack")


def target_of(trace: Trace) -> str:
    """The target of a run in words: its name and, where they are known, the hash of its weights."""
    models = trace.meta.get("models") or []
    if models:
        last = models[-1]
        weights = last.get("weights")
        return str(last.get("model") or last.get("name")) + (f" (weights {weights})" if weights else "")
    try:
        return parse(stack_of(trace)).target.name
    except StackError:
        return "unknown"


def _drafts_with_models(trace: Trace) -> bool:
    """Whether draft models may have taken part; where the stack cannot be read, they may."""
    try:
        return parse(stack_of(trace)).drafts_with_models
    except StackError:
        return True


def must_agree(one: Trace, other: Trace) -> bool:
    """Whether the texts of two runs of one prompt, sampling and seed have to be the same, token for token.

    Greedy decoding has one text. Above temperature 0, plain decoding and point-mass drafts (databases, rivals) draw each place of
    the output with the same number; draft models draw numbers of their own.
    """
    greedy = not (one.meta.get("sampling") or {}).get("temperature")
    return greedy or not (_drafts_with_models(one) or _drafts_with_models(other))


def first_difference(one: Trace, other: Trace) -> int | None:
    """The first output position (from 0) at which two texts differ; ``None`` where they agree as far as both go.

    A text that ended by itself differs from one that goes on; one that was cut short (cancelled, or a lower limit) does not.
    """
    a, b = one.token_ids, other.token_ids
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return k
    shorter = one if len(a) < len(b) else other
    return min(len(a), len(b)) if len(a) != len(b) and shorter.meta.get("stop_reason") == "eos" else None


def agreement(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """For each run after the first: against which one it is held, where they first differ, and what that means.

    A run is held against the first one before it with which it must agree, else against the first. ``state`` is ``same``,
    ``apart`` (as may be) or ``broken`` (as must not be); ``at`` an output position from 0 or ``None``; ``words`` a sentence, ``why``
    what makes it right or could have made it wrong.
    """
    out = []
    for k in range(1, len(traces)):
        against = next((j for j in range(k) if must_agree(traces[j], traces[k])), 0)
        one, other = traces[against], traces[k]
        must, at = must_agree(one, other), first_difference(one, other)
        state = "same" if at is None else "broken" if must else "apart"
        words, why = _agreement_words(one, other, LETTERS[against], LETTERS[k], at, must)
        out.append({"run": k, "against": against, "at": at, "state": state, "words": words, "why": why})
    return out


def _agreement_words(one: Trace, other: Trace, a: str, b: str, at: int | None, must: bool) -> tuple[str, str]:
    greedy = not (one.meta.get("sampling") or {}).get("temperature")
    if at is None:
        far = "token for token"
        if len(one.token_rows) != len(other.token_rows):
            far = f"token for token as far as both go ({min(len(one.token_rows), len(other.token_rows))} tokens)"
        if not must:
            return f"{b} happens to write {a}’s text, {far}.", "With draft models only the distribution has to agree."
        why = (
            "greedy decoding has one text"
            if greedy
            else "without a draft model each place of the output is drawn with the same number"
        )
        return f"{b} writes {a}’s text, {far}.", f"So it must be: {why}."
    x, y = (_said(t, at) for t in (one, other))
    differ = f"{b}’s text differs from {a}’s from output position {at + 1} on: {a} {x}, {b} {y}."
    if must:
        return f"{differ} It must not: {'both decode greedily' if greedy else 'neither has a draft model'}.", _cause(
            one, other, at
        )
    return differ, (
        "That is as it should be: above temperature 0, lossless means the distribution. Every text is as likely under either stack, "
        "but draft models draw with numbers of their own, so one seed gives two texts."
    )


def _said(trace: Trace, at: int) -> str:
    return f"writes “{_glyphs(trace.token_rows[at].text)}”" if at < len(trace.token_rows) else "has ended"


def _glyphs(text: str) -> str:
    return text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")


def _cause(one: Trace, other: Trace, at: int) -> str:
    """What is known of a difference that must not be."""
    row = one.token_rows[at] if at < len(one.token_rows) else other.token_rows[at]
    top = row.top or ()
    if len(top) > 1 and top[0][1] > 0 and top[1][1] > 0 and (gap := math.log(top[0][1] / top[1][1])) < NEAR_TIE:
        return f"The target’s two likeliest tokens there are {gap:.0e} apart in their logits: a near-tie, which rounding decides."
    unlike = [name.replace("_", " ") for name in MACHINE if one.meta.get(name) != other.meta.get(name)]
    if unlike:
        return f"The runs differ in {' and '.join(unlike)}, and so does their rounding."
    return "It is no near-tie of the target, and both ran in the same way: this is a defect."


def machine_note(traces: Sequence[Trace]) -> str:
    """In what the runs' machines differ, where they do: their times then say nothing of their stacks."""
    for name in MACHINE:
        values = [str(t.meta.get(name, "not recorded")) for t in traces]
        if len(set(values)) > 1:
            told = ", ".join(f"{letter}: {value}" for letter, value in zip(LETTERS, values, strict=False))
            return f"These runs’ times cannot be compared: they differ in {name.replace('_', ' ')} ({told})."
    return ""


def facts(trace: Trace) -> list[str]:
    """How the runs were made, from the first of them."""
    meta = trace.meta
    threads = meta.get("threads") if meta.get("device") == "cpu" else None
    found = [
        f"one prompt, {counted(len(trace.token_rows), 'token')}",
        sampling_words(meta.get("sampling") or {}),
        meta.get("device_name") or meta.get("device"),
        meta.get("dtype"),
        threads and counted(threads, "thread"),
        meta.get("runtime") and f"{meta['runtime']} runtime",
        meta.get("created") and f"run on {str(meta['created'])[:10]}{fastest_words(meta)}",
    ]
    return [str(f) for f in found if f]


def run_of(trace: Trace, letter: str, title: str) -> dict[str, Any]:
    """One run as the page gets it. Times are ns from the end of prefill; rounds are the target's, in order.

    ``tokens``: [text, kind, source, round (its place in ``rounds``), p, entropy]. ``rounds``: [first token, tokens, drafted, deepest
    draft, accepted, why no draft, target forwards up to and with it, start, end, {level below: its forwards}].
    """
    m = trace.metrics()
    owner = target_round_of(trace.round_rows)
    top = [r for r in trace.round_rows if r.parent is None]
    place = {r.id: k for k, r in enumerate(top)}
    emitted = Counter(t.round for t in trace.token_rows)
    depth: dict[int, int] = {}
    for d in trace.draft_rows:
        depth[d.round] = max(depth.get(d.round, 0), d.depth)
    level = max(r.level for r in top)
    forwards: Counter[int] = Counter()
    below: dict[int, Counter[str]] = {r.id: Counter() for r in top}
    for c in trace.call_rows:
        if c.kind not in ("verify", "draft") or c.round not in owner:
            continue
        if c.level == level:
            forwards[owner[c.round]] += 1
        else:
            below[owner[c.round]][c.name] += c.steps
    prefill = trace.meta.get("prefill_ns") or 0
    rounds, first, spent = [], 0, 0
    for r in top:
        spent += forwards[r.id]
        start = r.start_ns - prefill
        times = (start, start + r.duration_ns)
        counts = (r.drafted, depth.get(r.id, 0), r.accepted, r.why_no_draft, spent)
        rounds.append([first, emitted[r.id], *counts, *times, dict(below[r.id])])
        first += emitted[r.id]
    tokens = [[t.text, t.kind, t.source, place[t.round], number(t.p), number(t.entropy)] for t in trace.token_rows]
    return {
        "letter": letter,
        "title": title,
        "stack": stack_of(trace),
        "prefill_ns": prefill,
        "tokens_per_second": number(m["tokens_per_second"]),
        "tokens": tokens,
        "rounds": rounds,
    }
