"""The rows of a bench, what decodes them, and what one decode measured.

Some drafters learn from run to run: ``suffix`` keeps earlier outputs, ``recycling`` its adjacency matrix,
``ngram-cache`` the counts of earlier texts. A **cold** row has a fresh memory for each decode. A **warm** row has one
memory for the whole suite, so that the order of the prompts is part of what is measured. Every repeat of the suite
starts with an empty memory, which has then seen each earlier prompt once and never the prompt's own output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from statistics import mean, median
from typing import Any

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.drafting import Memory
from hsd_viz.drafting.make import remembers as source_remembers
from hsd_viz.engine import Engine
from hsd_viz.prompts.suites import Prompt
from hsd_viz.prompts.templates import Template
from hsd_viz.stack import HFStack, Stack
from hsd_viz.trace import Trace
from hsd_viz.trace.metrics import target_round_of

#: The stack that all others are compared with.
PLAIN = "target"
STATES = ("cold", "warm", "both")
#: Parts of a profiled round; a forward pass is followed by its model's name.
FORWARD, DRAFTING, REST = "forward ", "drafting", "rest"


@dataclass(frozen=True, slots=True)
class Output:
    """One decode. Times in seconds.

    ``seconds`` start at the end of prefill and yielded ``timed_tokens`` of the ``token_ids``: all of them in our loop,
    whose prefill emits nothing; in transformers' loops all but those of the first forward pass, which is prefill and
    step in one. ``drafted`` and ``accepted`` count draft tokens at the target. ``draft_seconds`` has one entry per
    target round, spent finding drafts and updating databases; ``None`` where a loop does not report it. ``runtime`` is
    what ran the models. ``emitted`` has the tokens of each forward pass of the target. ``first_token_seconds`` counts
    from the start of the decode, prefill included; ``waits`` has, for each later forward pass of the target, the
    seconds since the tokens before and the number of its tokens. ``parts``: nanoseconds of each target round by part
    (:func:`round_parts`), of a profiled bench. ``calls``: forward passes (steps of a launch count each) or look-ups by
    level, as far as a loop reports them. A question is one output, all its turns together.
    """

    token_ids: tuple[int, ...]
    seconds: float
    timed_tokens: int
    prefill_seconds: float
    target_forwards: int
    drafted: int
    accepted: int
    draft_seconds: tuple[float, ...] | None
    runtime: str | None = None
    emitted: tuple[int, ...] = ()
    first_token_seconds: float | None = None
    waits: tuple[tuple[float, int], ...] = ()
    parts: tuple[dict[str, int], ...] = ()
    calls: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """A stack (as written) in a state: ``cold``, ``warm``, or ``None`` where it does not learn from run to run."""

    name: str
    stack: str
    state: str | None = None


#: Decodes one prompt, text or token ids: (prompt, max new tokens, sampling) -> Output.
Decoder = Callable[[str | Sequence[int], int, Sampling], Output]


def rows_of(stacks: dict[str, Stack | HFStack], states: str) -> dict[str, Row]:
    """Return the rows of ``stacks`` by name; ``states``: one of :data:`STATES`. Warm ones end in ``(warm)``."""
    rows = []
    for name, stack in stacks.items():
        if not remembers(stack):
            rows.append(Row(name, name))
            continue
        if states != "warm":
            rows.append(Row(name, name, "cold"))
        if states != "cold":
            rows.append(Row(f"{name} (warm)", name, "warm"))
    return {row.name: row for row in rows}


def remembers(stack: Stack | HFStack) -> bool:
    """Return whether the drafter of ``stack`` learns from run to run."""
    if not isinstance(stack, Stack) or stack.bottom is None:
        return False
    return source_remembers(stack.bottom)


class LoopDecoder:
    """Decode a stack in our own loop. A warm row has a memory from each :meth:`begin` on; before the first, none."""

    def __init__(self, engine: Engine, row: Row, budget: int | None = None, profile: bool = False) -> None:
        self._engine = engine
        self._row = row
        self._profile = profile
        self._options = {} if budget is None else {"budget": budget}

    @property
    def warm(self) -> bool:
        return self._row.state == "warm"

    def begin(self) -> None:
        """Start a repeat of the suite: clear the memory."""
        if self.warm:
            self._options["memory"] = Memory()

    def __call__(self, prompt: str | Sequence[int], max_new_tokens: int, sampling: Sampling) -> Output:
        options = {"max_new_tokens": max_new_tokens, **asdict(sampling), "record": False, **self._options}
        trace = self._engine.run(prompt, self._row.stack, **options)
        output = from_trace(trace)
        return replace(output, parts=round_parts(trace)) if self._profile else output


def ask(decode: Decoder, prompt: Prompt, max_new_tokens: int, sampling: Sampling, template: Template | None) -> Output:
    """Decode a prompt; of a question every turn (``max_new_tokens`` each), with the answers before it in its prompt."""
    if not prompt.turns or template is None:
        return decode(prompt.text, max_new_tokens, sampling)
    answers: list[str] = []
    outputs: list[Output] = []
    for k in range(len(prompt.turns)):
        outputs.append(decode(template.write(prompt.turns[: k + 1], answers), max_new_tokens, sampling))
        answers.append(template.read(outputs[-1].token_ids))
    return joined(outputs)


def from_trace(trace: Trace) -> Output:
    """Return the measures of a decode in our own loop."""
    figures = trace.metrics()
    emitted = Counter(t.round for t in trace.token_rows)
    rounds = [r for r in trace.round_rows if r.parent is None]
    arrivals = [((r.start_ns + r.duration_ns) / 1e9, emitted[r.id]) for r in rounds if emitted[r.id]]
    return Output(
        token_ids=tuple(trace.token_ids),
        timed_tokens=figures["tokens"],
        **{name: figures[name] for name in ("seconds", "prefill_seconds", "target_forwards", "drafted", "accepted")},
        draft_seconds=draft_seconds(trace),
        runtime=trace.meta.get("runtime"),
        emitted=tuple(emitted[r.id] for r in rounds),
        calls=calls_by_level(trace),
        **arrival_times(arrivals),
    )


def calls_by_level(trace: Trace) -> dict[str, int]:
    """Return the forward passes (steps of a launch count each) or look-ups of each level; 0 for one without."""
    found = dict.fromkeys((c.name for c in trace.call_rows), 0)
    for call in trace.call_rows:
        if call.kind in ("draft", "verify", "lookup"):
            found[call.name] += call.steps
    return found


def arrival_times(arrivals: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Return the fields of :class:`Output` about the times at which tokens appear, from (time, number of tokens)."""
    waits = tuple((at - before, tokens) for (before, _), (at, tokens) in pairwise(arrivals))
    return {"first_token_seconds": arrivals[0][0] if arrivals else None, "waits": waits}


def draft_seconds(trace: Trace) -> tuple[float, ...]:
    """Return per target round the seconds of its look-ups and database updates, those of nested rounds included."""
    owner = target_round_of(trace.round_rows)
    spent = {r.id: 0 for r in trace.round_rows if r.parent is None}
    for call in trace.call_rows:
        if call.kind in ("lookup", "update") and call.round in owner:
            spent[owner[call.round]] += call.duration_ns
    return tuple(ns / 1e9 for ns in spent.values())


def round_parts(trace: Trace) -> tuple[dict[str, int], ...]:
    """Return the nanoseconds of each target round by part: ``forward NAME`` by model, ``drafting`` (look-ups and
    updates) and ``rest``. The parts sum to the time from one round's end to the next.
    """
    owner = target_round_of(trace.round_rows)
    rounds = [r for r in trace.round_rows if r.parent is None]
    parts: dict[int, Counter[str]] = {r.id: Counter() for r in rounds}
    for call in trace.call_rows:
        if call.round in owner:
            part = FORWARD + call.name if call.kind in ("draft", "verify") else DRAFTING
            parts[owner[call.round]][part] += call.duration_ns
    for r in rounds:
        parts[r.id][REST] = max(0, r.duration_ns - parts[r.id].total())
    return tuple(map(dict, parts.values()))


def joined(outputs: Sequence[Output]) -> Output:
    """Return the turns of a question as one output: times and counts summed, sequences concatenated. The time to the
    first token is the mean over the turns.
    """
    names = ("seconds", "timed_tokens", "prefill_seconds", "target_forwards", "drafted", "accepted")
    reported = all(o.draft_seconds is not None for o in outputs)
    first = [o.first_token_seconds for o in outputs if o.first_token_seconds is not None]
    return Output(
        **{name: sum(getattr(o, name) for o in outputs) for name in names},
        token_ids=tuple(t for o in outputs for t in o.token_ids),
        draft_seconds=tuple(s for o in outputs for s in o.draft_seconds or ()) if reported else None,
        runtime=outputs[0].runtime,
        emitted=tuple(n for o in outputs for n in o.emitted),
        first_token_seconds=mean(first) if first else None,
        waits=tuple(wait for o in outputs for wait in o.waits),
        parts=tuple(part for o in outputs for part in o.parts),
        calls=dict(sum((Counter(o.calls) for o in outputs), Counter())),
    )


def median_of(outputs: Sequence[Output]) -> Output:
    """Return repeats of a decode as one: median times, drafting times and waits of all, the rest of the first."""
    first = outputs[0]
    pooled = None if first.draft_seconds is None else tuple(s for o in outputs for s in o.draft_seconds or ())
    arrived = [o.first_token_seconds for o in outputs if o.first_token_seconds is not None]
    return replace(
        first,
        first_token_seconds=median(arrived) if arrived else None,
        waits=tuple(wait for o in outputs for wait in o.waits),
        seconds=median(o.seconds for o in outputs),
        prefill_seconds=median(o.prefill_seconds for o in outputs),
        draft_seconds=pooled,
        parts=tuple(part for o in outputs for part in o.parts),
    )
