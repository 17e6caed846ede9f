"""Data of a comparison: whether runs are comparable, whether their texts agree, and whether they must."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hsd_viz.stack import StackError, parse
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.readout import fastest_words, sampling_words
from hsd_viz.views.run_data import number
from hsd_viz.words import counted

MOST = 3
LETTERS = "ABC"
#: Top-2 logit gap below which rounding may decide between two tokens.
NEAR_TIE = 1e-3
#: Meta fields that affect times and rounding.
MACHINE = ("device_name", "device", "dtype", "threads", "runtime")
_NUMBERS = {1: "one run is", 4: "four runs are", 5: "five runs are"}


def refusal(traces: Sequence[Trace]) -> str | None:
    """Return why these runs cannot be compared, or ``None``."""
    if not 2 <= len(traces) <= MOST:
        return count_refusal(len(traces))
    for letter, trace in zip(LETTERS, traces, strict=False):
        if not len(trace) or not any(r.parent is None for r in trace.round_rows):
            return f"Run {letter} ({stack_of(trace)}) has no rounds: it ended before its first token."
    prompts = [
        (t.meta.get("prompt"), bool(t.meta.get("chat", False)), tuple(t.meta.get("prompt_ids") or ())) for t in traces
    ]
    if len({p[:2] for p in prompts}) > 1 or len({p[2] for p in prompts if p[2]}) > 1:
        one, other = next((prompts[0], p) for p in prompts[1:] if p != prompts[0])
        return (
            f"These runs have different prompts, {_prompt(one)} and {_prompt(other)}: their positions do not "
            "correspond."
        )
    targets = [target_of(t) for t in traces]
    if len(set(targets)) > 1:
        one, other = targets[0], next(t for t in targets if t != targets[0])
        return f"These runs have different targets, {one} and {other}: compare runs of one target."
    draws = [sampling_words(t.meta.get("sampling") or {}) for t in traces]
    if len(set(draws)) > 1:
        other = next(d for d in draws if d != draws[0])
        return f"These runs have different sampling, {draws[0]} and {other}: compare runs of one sampling and one seed."
    return None


def count_refusal(n: int) -> str:
    """Return why that many runs cannot be compared."""
    if n == 0:
        return "No runs: select two or three of one prompt."
    what = _NUMBERS.get(n, f"{n} runs are")
    return f"{what.capitalize()} too {'few' if n < 2 else 'many'} to compare: select two or three."


def _prompt(key: tuple[Any, bool, tuple[int, ...]]) -> str:
    text = " ".join(str(key[0] or "").split())
    return f"“{text[:30]}{'…' if len(text) > 30 else ''}”" + (" as a chat turn" if key[1] else "")


def stack_of(trace: Trace) -> str:
    """Return a run's resolved stack."""
    return trace.stack or "an unknown stack"


def target_of(trace: Trace) -> str:
    """Return a run's target: name and, if known, hash of the weights."""
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
    """Whether draft models may have taken part; true for an invalid stack."""
    try:
        return parse(stack_of(trace)).drafts_with_models
    except StackError:
        return True


def must_agree(one: Trace, other: Trace) -> bool:
    """Whether two runs of one prompt, sampling and seed must have equal texts.

    Greedy decoding has one text. Above temperature 0, plain decoding and point-mass drafts (databases, baselines) draw
    each output position with the same random number; draft models use additional ones.
    """
    greedy = not (one.meta.get("sampling") or {}).get("temperature")
    return greedy or not (_drafts_with_models(one) or _drafts_with_models(other))


def first_difference(one: Trace, other: Trace) -> int | None:
    """Return the first output position (from 0) where two texts differ; ``None`` if they agree over their common
    length.

    A text that ended with end-of-sequence differs from a longer one; one cut short (cancelled, or a lower limit) does
    not.
    """
    a, b = one.token_ids, other.token_ids
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return k
    shorter = one if len(a) < len(b) else other
    return min(len(a), len(b)) if len(a) != len(b) and shorter.meta.get("stop_reason") == "eos" else None


def agreement(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """Compare each run after the first with a reference run: first difference and its meaning.

    The reference is the first earlier run with which it must agree, else the first. ``state`` is ``same``, ``apart``
    (allowed) or ``broken`` (not allowed); ``at`` an output position from 0 or ``None``; ``words`` the result, ``why``
    the reason.
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
        if len(one) != len(other):
            far = f"token for token over the common length ({min(len(one), len(other))} tokens)"
        if not must:
            return f"{b} has the same text as {a}, {far}.", "With draft models only the distribution must agree."
        why = (
            "greedy decoding has one text"
            if greedy
            else "without a draft model each output position is drawn with the same random number"
        )
        return f"{b} has the same text as {a}, {far}.", f"Required: {why}."
    x, y = (_said(t, at) for t in (one, other))
    differ = f"{b} differs from {a} from output position {at + 1}: {a} {x}, {b} {y}."
    if must:
        return (
            f"{differ} Not allowed: {'both use greedy decoding' if greedy else 'neither has a draft model'}.",
            _cause(one, other, at),
        )
    return differ, (
        "Expected: above temperature 0, lossless means equal in distribution. Draft models use additional random "
        "numbers, so one seed gives different texts."
    )


def _said(trace: Trace, at: int) -> str:
    return f"has “{_glyphs(trace.token_rows[at].text)}”" if at < len(trace) else "has ended"


def _glyphs(text: str) -> str:
    return text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")


def _cause(one: Trace, other: Trace, at: int) -> str:
    """Return a possible cause of a difference that is not allowed."""
    row = one.token_rows[at] if at < len(one) else other.token_rows[at]
    top = row.top or ()
    if len(top) > 1 and top[0][1] > 0 and top[1][1] > 0 and (gap := math.log(top[0][1] / top[1][1])) < NEAR_TIE:
        return f"The target’s top-2 logit gap there is {gap:.0e}: a near-tie, decided by rounding."
    unlike = [name.replace("_", " ") for name in MACHINE if one.meta.get(name) != other.meta.get(name)]
    if unlike:
        return f"The runs differ in {' and '.join(unlike)}, which changes rounding."
    return "Not a near-tie of the target, and both ran in the same way: this is a bug."


def machine_note(traces: Sequence[Trace]) -> str:
    """Return a warning if the runs' machines differ, or ""."""
    for name in MACHINE:
        values = [str(t.meta.get(name, "not recorded")) for t in traces]
        if len(set(values)) > 1:
            found = ", ".join(f"{letter}: {value}" for letter, value in zip(LETTERS, values, strict=False))
            return f"Times are not comparable: the runs differ in {name.replace('_', ' ')} ({found})."
    return ""


def facts(trace: Trace) -> list[str]:
    """Return facts of the first run."""
    meta = trace.meta
    threads = meta.get("threads") if meta.get("device") == "cpu" else None
    found = [
        f"one prompt, {counted(len(trace), 'token')}",
        sampling_words(meta.get("sampling") or {}),
        meta.get("device_name") or meta.get("device"),
        meta.get("dtype"),
        threads and counted(threads, "thread"),
        meta.get("runtime") and f"{meta['runtime']} runtime",
        meta.get("created") and f"run on {str(meta['created'])[:10]}{fastest_words(meta)}",
    ]
    return [str(f) for f in found if f]


def run_of(trace: Trace, letter: str, title: str) -> dict[str, Any]:
    """Return a run as sent to the browser: its whole trace, and what the race shows beside it."""
    return {
        "letter": letter,
        "title": title,
        "stack": stack_of(trace),
        "tokens_per_second": number(trace.metrics()["tokens_per_second"]),
        "run": {"run": letter, "seq": 1, **run_data.snapshot(trace)},
    }
