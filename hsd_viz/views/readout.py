"""The run on the page: origin, machine, metrics and progress."""

from __future__ import annotations

from typing import Any

import traitlets

from hsd_viz.figures.theme import LATENCY, LENGTH, RATE, SPEED, SPEEDUP
from hsd_viz.stack import Stack, StackError, parse
from hsd_viz.trace import Stage, Trace
from hsd_viz.views.run_verdict import speedup, verdict
from hsd_viz.views.scripts import Part
from hsd_viz.words import counted


class Readout(Part):
    """The run's badge and facts, a stage line with its progress, and the metric tiles."""

    view = traitlets.Unicode("readout").tag(sync=True)

    origin = traitlets.Dict().tag(sync=True)
    tiles = traitlets.List().tag(sync=True)
    stage = traitlets.Dict().tag(sync=True)
    #: The verdict on the speed, as one line.
    verdict = traitlets.Unicode().tag(sync=True)

    def show(self, trace: Trace, kind: str, *, running: bool = False) -> None:
        """Show a trace's origin and metrics.

        ``kind`` is ``recording``, ``replay`` or ``live``; ``running``: not finished.
        """
        # The meta of an unfinished run has "cancelled", in case no more steps come.
        meta = {**trace.meta, "cancelled": False} if running else trace.meta
        self.origin = origin(meta, "finished" if kind == "live" and not running else kind)
        self.tiles = tiles(trace)
        self.verdict = "" if running else verdict(trace)

    def busy(self, stage: Stage) -> None:
        """Show the current stage."""
        self.stage = {"text": stage.text, "done": stage.done, "total": stage.total}

    def idle(self) -> None:
        """Clear the stage."""
        self.stage = {"text": "", "done": None, "total": None}


BADGES = {"recording": "Recording", "replay": "Replay", "live": "Live run", "finished": "Finished run"}


def origin(meta: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a trace's origin: kind, badge, stack, facts and a note on losslessness."""
    facts = [str(meta.get("device_name") or meta.get("device") or "machine not recorded")]
    device = meta.get("device")
    if device and device != facts[0]:
        facts.append(str(device))
    if meta.get("dtype"):
        facts.append(str(meta["dtype"]))
    if device == "cpu" and meta.get("threads"):
        facts.append(counted(meta["threads"], "thread"))
    if meta.get("runtime"):
        facts.append(runtime_words(meta))
    facts.append(sampling_words(meta.get("sampling") or {}))
    if kind not in ("live", "finished") and meta.get("created"):
        facts.append(f"recorded {str(meta['created'])[:10]}{fastest_words(meta)}")
        if meta.get("clock"):
            facts.append(f"in {meta['clock']}")
    if meta.get("cancelled") and kind == "finished":
        facts.append("cancelled")
    stack = str(meta.get("stack_resolved") or meta.get("stack") or "")
    return {"kind": kind, "badge": BADGES[kind], "stack": stack, "facts": facts, "note": lossless_words(meta)}


def fastest_words(meta: dict[str, Any]) -> str:
    """Return of how many runs a recording is the fastest, if known (:mod:`tools.record`)."""
    return (
        f", fastest of {meta['fastest_of']} runs"
        if isinstance(meta.get("fastest_of"), int) and meta["fastest_of"] > 1
        else ""
    )


def runtime_words(meta: dict[str, Any]) -> str:
    """Return the runtime of the forward passes, and why no faster one was used."""
    why = meta.get("runtime_note")
    return f"{meta['runtime']} runtime" + (f" ({why})" if why else "")


def sampling_words(sampling: dict[str, Any]) -> str:
    """Return the sampling settings as text."""
    temperature = sampling.get("temperature", 0)
    if not temperature:
        return "greedy"
    words = f"temperature {temperature:g}"
    if sampling.get("top_k"):
        words += f", top-k {sampling['top_k']}"
    if sampling.get("top_p", 1) < 1:
        words += f", top-p {sampling['top_p']:g}"
    return f"{words}, seed {sampling.get('seed', 0)}"


def lossless_words(meta: dict[str, Any]) -> str:
    """Return how this run's text relates to plain decoding of its target."""
    stack = _stack(meta)
    if stack is None:
        return ""
    if len(stack.parts) == 1:
        return "Plain decoding: no drafts."
    if not (meta.get("sampling") or {}).get("temperature"):
        return f"Lossless: the output equals plain decoding of {_target_words(stack)}."
    if not stack.drafts_with_models:
        return (
            f"Lossless: the output equals plain sampling of {_target_words(stack)} with the same seed, token for token."
        )
    return (
        f"Lossless in distribution: the same seed may give another text than plain sampling of {_target_words(stack)}."
    )


def _target_words(stack: Stack) -> str:
    """Return the model that a stack decodes for: the target, or another model in its place by name."""
    return "the target" if stack.target.name == "target" else stack.target.name


def tiles(trace: Trace) -> list[dict[str, str]]:
    """Return the metrics of one trace as tiles."""
    m = trace.metrics()
    latency = m["draft_seconds_per_round"]
    rate = f"{m['acceptance_rate']:.0%}" if m["drafted"] else "–"
    return [
        _tile(
            "Speed",
            _number(m["tokens_per_second"], 0),
            "tokens/s",
            f"{counted(m['tokens'], 'token')}, without prefill",
            SPEED,
        ),
        _speedup(trace, m),
        _tile(
            "Mean acceptance length",
            _number(m["mean_acceptance_length"], 2),
            "",
            f"tokens per target forward pass; {counted(m['rounds'], 'pass')}",
            LENGTH,
        ),
        _tile("Acceptance rate", rate, "", f"{m['accepted']} of {counted(m['drafted'], 'draft token')}", RATE),
        _tile(
            "Drafting latency",
            "–" if not latency else f"{latency * 1e6:.0f}",
            "µs",
            "per round, without model forward passes",
            LATENCY,
        ),
    ]


def _speedup(trace: Trace, m: dict[str, Any]) -> dict[str, str]:
    """Return the speed-up over the plain run measured with this one, if any (:func:`hsd_viz.engine.note_plain`)."""
    stack, found = _stack(trace.meta), speedup(trace, m)
    if stack is not None and len(stack.parts) == 1:
        return _tile("Speed-up", "–", "", "this is plain decoding", SPEEDUP)
    if found is None:
        return _tile("Speed-up", "–", "", "plain decoding was not measured", SPEEDUP)
    if found.impossible:
        return _tile("Speed-up", "–", "", "timings disturbed: see below", SPEEDUP)
    plain = trace.meta["plain"]["tokens_per_second"]
    spread = f"median of {found.pairs} pairs, " if found.pairs > 1 else ""
    return _tile("Speed-up", f"{found.value:.2f}", "×", f"{spread}over plain decoding: {plain:.0f} tokens/s", SPEEDUP)


def _stack(meta: dict[str, Any]) -> Stack | None:
    try:
        return parse(str(meta.get("stack_resolved") or meta.get("stack") or ""))
    except StackError:
        return None


def _tile(label: str, value: str, unit: str, note: str, about: str) -> dict[str, str]:
    """Return a tile; ``about`` is the metric's definition."""
    return {"label": label, "value": value, "unit": "" if value == "–" else unit, "note": note, "about": about}


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
