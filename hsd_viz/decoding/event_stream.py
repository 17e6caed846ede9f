"""A decode as events: stages of the prefill, steps of rows, and the whole trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hsd_viz.decoding.decode import Decode
from hsd_viz.decoding.text import TokenText
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.tables import Columns


def step_of(tables: Callable[[], dict[str, Columns]], text: TokenText) -> Step:
    """Return the step of some rounds, made when it is first read: between two forward passes, which
    sweep the caches, Python takes several times as long.
    """

    def make() -> tuple[dict[str, Columns], dict[int, str]]:
        columns = tables()
        tokens = columns["tokens"]
        drafts = columns["drafts"]
        pieces = [text.piece(token) for token in tokens["token_id"]]
        tokens["text"] = [piece for piece, _ in pieces]
        tokens["raw"] = [raw for _, raw in pieces]
        drafts["text"] = [text.piece(token)[0] for token in drafts["token_id"]]
        ids = {*tokens["token_id"], *drafts["token_id"]}
        for name in ("top", "residual_top", "q_top"):
            for likeliest in tokens[name]:
                ids.update(token for token, _ in likeliest or ())
        return columns, text.pieces(sorted(ids))

    return Step(make)


def decode(loop: Decode, text: TokenText, meta: dict[str, Any]) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is completed in place, and is a whole trace's even when the run is cut short.
    ``wall_ns`` is the time of the loop and of recording; rows are made when they are read.
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
            meta |= {
                "stop_reason": "length" if emitted >= meta["max_new_tokens"] else "context",
                "cancelled": False,
            }
    yield Finished(trace)
