"""Select recordings by what was measured: the run that the dashboard opens, and the runs that show
one database each.

Nothing here names a stack or a prompt, so the selection follows the models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from hsd_viz.models.families import CODE
from hsd_viz.trace import Trace
from training.quality import parsed_lines

T = TypeVar("T")

#: A run is readable with at least this share of its lines in valid blocks and at most this share of
#: repeated 8-grams.
PARSED = 0.7
REPEATED = 0.2
#: A stack is clearly faster from this speed-up over plain decoding.
FASTER = 1.2
#: Sources are mixed if two of them supplied at least this share of the tokens each.
MIXED = 0.1


@dataclass(frozen=True, slots=True)
class Facts:
    """What a recorded run shows.

    Attributes:
        speedup: over plain decoding of the same prompt; ``None`` if it was not measured.
        shares: share of the emitted tokens by draft source; the rest is the target's own.
        repeated: share of the tokens that end an 8-gram of the same output.
        parsed: share of the lines of prompt and output that belong to a block accepted by
            ``ast.parse``.
        shipped: all models are as they are shipped.
    """

    temperature: float
    speedup: float | None
    shares: dict[str, float]
    repeated: float
    parsed: float
    shipped: bool = True

    @property
    def own(self) -> float:
        """The share of the tokens that the target added itself."""
        return 1 - sum(self.shares.values())

    @property
    def missing(self) -> tuple[str, ...]:
        """What a run to open the dashboard with should have, and this one lacks."""
        shares = sorted(self.shares.values())
        is_mixed = len(shares) >= 2 and shares[-2] >= MIXED
        tests = {
            "shipped models": self.shipped,
            "sampled": self.temperature > 0,
            "readable": self.parsed >= PARSED and self.repeated <= REPEATED,
            "clearly faster than plain decoding": (self.speedup or 0.0) >= FASTER,
            "mixed sources": is_mixed,
        }
        return tuple(name for name, passed in tests.items() if not passed)


def measured(figure: T | None) -> T:
    """Return a metric of a decode of this process, which measures all of them."""
    assert figure is not None, "only imported traces lack metrics"
    return figure


def speedup(trace: Trace) -> float | None:
    """Return the speed-up over the plain run measured with a trace, or ``None``."""
    plain = (trace.meta.get("plain") or {}).get("tokens_per_second")
    own = trace.metrics()["tokens_per_second"]
    return own / plain if plain and own else None


def facts(trace: Trace) -> Facts:
    """Return what a trace shows."""
    figures = trace.metrics()
    accepted, lines = parsed_lines(trace.meta["prompt"] + trace.text)
    target = trace.meta["models"][-1]["name"]
    shares = {}
    emitted = measured(figures["tokens"])
    for source, tokens in measured(figures["emitted_by_source"]).items():
        if source != target:
            shares[source] = tokens / emitted
    return Facts(
        temperature=float(trace.meta["sampling"]["temperature"]),
        speedup=speedup(trace),
        shares=shares,
        repeated=measured(figures["repetition_share"]),
        parsed=accepted / max(1, lines),
        shipped=all(model["model"] in CODE.names for model in trace.meta["models"]),
    )


def opening(named_runs: Iterable[tuple[str, Facts]]) -> str:
    """Return the name of the run to open with: the fastest of those that lack the least.

    Raises:
        ValueError: if there are no runs.
    """
    runs = list(named_runs)
    if not runs:
        raise ValueError("no runs to select from")
    return max(runs, key=lambda run: (-len(run[1].missing), run[1].speedup or 0.0))[0]


def supplied(facts: Facts, sources: Iterable[str]) -> float:
    """Return how well a run shows ``sources``: their share of the tokens, negative if the run is
    not readable.
    """
    share = sum(facts.shares.get(source, 0.0) for source in sources) if sources else facts.own
    return share - ("readable" in facts.missing)
