"""Run a decode as a stream of events: stages of the prefill, steps, and the finished trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hsd_viz.decoding.base_loop import BaseLoop
from hsd_viz.decoding.text import TokenText
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.meta import TraceMeta
from hsd_viz.trace.tables import Columns


def step_of(tables: Callable[[], dict[str, Columns]], text: TokenText) -> Step:
    """Return the step of one or more rounds, whose rows are built when they are first read.

    Building them between two forward passes would take several times as long, because forward
    passes evict Python's data from the CPU caches.
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


def decode(loop: BaseLoop, text: TokenText, meta: TraceMeta) -> Iterator[Event]:
    """Run ``loop`` and yield its events; closing the generator cancels the run.

    ``meta`` is updated in place, and it is complete even if the run is cancelled. Its ``wall_ns``
    is the time of the loop and of recording. The time that the consumer takes per event, and that
    of building rows, is not part of it.
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
        # Exclude the time that the consumer spends on an event.
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
