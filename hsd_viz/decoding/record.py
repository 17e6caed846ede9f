"""A decode as events: what both loops share, and the steps of a trace made of what they report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.text import TokenText
from hsd_viz.drafting.tree import Drafter
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.tables import Columns

#: How many of the likeliest tokens are recorded for a row.
TOP = 5


@dataclass(slots=True)
class Level:
    """A model in the stack; it proposes at least ``lookahead`` tokens at a time (``None`` at the target)."""

    name: str
    session: Session
    lookahead: int | None = None


class Decoding(ABC):
    """One decode by ``levels``, the target last, with ``drafter``, a database or baseline, below them, if any: by
    :class:`~hsd_viz.decoding.loop.Loop`, or by the compiled loop, which decodes many rounds at a time
    (:class:`hsd_viz.native.decode.NativeDecode`).

    ``eos`` ends the text, as do ``max_new_tokens`` emitted tokens and ``positions`` tokens of text. ``budget`` bounds
    the nodes of a database's draft (``None``: the drafter's own default). With ``details`` > 0 the target describes its
    rows, with so many of the likeliest tokens. Times are nanoseconds from the start of the decode. Native
    forward passes have up to ``threads`` threads.
    """

    def __init__(
        self,
        levels: Sequence[Level],
        drafter: Drafter | None,
        sampling: Sampling,
        prompt: Sequence[int],
        *,
        max_new_tokens: int,
        positions: int | None = None,
        eos: frozenset[int] = frozenset(),
        budget: int | None = None,
        details: int = 0,
        threads: int = 1,
    ) -> None:
        assert prompt and levels and max_new_tokens > 0
        self.drafter, self.sampling, self.text, self.eos, self.details = drafter, sampling, list(prompt), eos, details
        self.limit = min(len(prompt) + max_new_tokens, positions or len(prompt) + max_new_tokens)
        self.budget = budget if budget is not None or drafter is None else drafter.nodes
        self.threads, self._zero = threads, perf_counter_ns()
        # With a drafter, level 0 is the drafter's and levels[i] stays the model of level i.
        self.levels: list[Level | None] = [*([None] if drafter else []), *levels]
        self.top = len(self.levels) - 1

    @abstractmethod
    def prefill(self) -> Iterator[tuple[str, int, int]]:
        """Feed all of the prompt but its last token to every model; yields (name, tokens done, tokens in all)."""

    @abstractmethod
    def rounds(self) -> Iterator[object]:
        """Decode to the end; yields after some rounds, by whose tokens ``text`` has grown."""

    @abstractmethod
    def take(self) -> Callable[[], dict[str, Columns]]:
        """Return what makes the tables of the rounds since the last call, without the texts of tokens."""

    def now(self) -> int:
        return perf_counter_ns() - self._zero

    def resume_at(self, now: int) -> None:
        """Set the time to ``now`` (from :meth:`now`): what passed since then is not the decode's."""
        self._zero = perf_counter_ns() - now


def step_of(tables: Callable[[], dict[str, Columns]], text: TokenText) -> Step:
    """Return the step of some rounds, made when it is first read: between two forward passes, which sweep the weights
    through the processor's caches, Python takes several times as long as in a loop of its own.
    """

    def make() -> tuple[dict[str, Columns], dict[int, str]]:
        columns = tables()
        tokens, drafts = columns["tokens"], columns["drafts"]
        pieces = [text.piece(token) for token in tokens["token_id"]]
        tokens["text"], tokens["raw"] = [piece for piece, _ in pieces], [raw for _, raw in pieces]
        drafts["text"] = [text.piece(token)[0] for token in drafts["token_id"]]
        ids = {*tokens["token_id"], *drafts["token_id"]}
        for name in ("top", "residual_top", "q_top"):
            ids.update(token for top in tokens[name] if top for token, _ in top)
        return columns, text.pieces(sorted(ids))

    return Step(make)


def decode(loop: Decoding, text: TokenText, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place: ``prompt_ids``, ``prefill_ns``, ``wall_ns``, ``stop_reason`` and ``cancelled``; it
    is a whole trace's meta even when the run is cut short. ``wall_ns`` is the time of the loop and of recording; rows
    are made when they are read.
    """
    prompt = list(loop.text)
    meta |= {"prompt_ids": prompt, "stop_reason": "cancelled", "cancelled": True}
    meta |= {"prefill_ns": 0, "wall_ns": 0, "detailed": loop.details > 0}
    pieces = text.pieces(prompt)
    trace = Trace(meta, pieces)
    try:
        for name, done, total in loop.prefill():
            yield Stage(f"prefill {name}", done, total)
        meta["prefill_ns"] = meta["wall_ns"] = loop.now()
        yield Started(meta, pieces)
        # The time that a consumer spends on an event is not the decode's.
        loop.resume_at(meta["prefill_ns"])
        for _ in loop.rounds():
            step = step_of(loop.take(), text)
            trace.append(step)
            meta["wall_ns"] = loop.now()
            yield step
            loop.resume_at(meta["wall_ns"])
    finally:
        emitted = len(loop.text) - len(prompt)
        if emitted and loop.text[-1] in loop.eos:
            meta |= {"stop_reason": "eos", "cancelled": False}
        elif len(loop.text) >= loop.limit:
            meta |= {"stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context", "cancelled": False}
    yield Finished(trace)
