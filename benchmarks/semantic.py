"""Time a look-up of the semantic database by the length of the text.

    python -m benchmarks.semantic [--width 576] [--looks 400] [--json
    docs/bench/semantic-lookup.json]

The text is made of recorded answers, one after the other, with random states of ``width`` numbers.
Look-ups are those of the native drafter at places spread over the end of the text, interleaved over
the drafters; ``occurrences`` is how many earlier places of the last token there are, at most.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.harness import arguments, command, write
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.drafting.semantic_database import SemanticDatabase
from hsd_viz.engine.recordings import ANSWERS, bundled, load_bundled
from hsd_viz.machine import describe
from hsd_viz.native.build import default_build
from hsd_viz.native.drafter import NativeDatabaseDrafter

LENGTHS = (250, 500, 1000, 2000, 4000, 8000)
DRAFTERS = (("semantic",), ("context",), ("context", "semantic"))
#: The budget of a draft.
NODES = 8
SEED = 0


def recorded_text(length: int) -> list[int]:
    """Return the first ``length`` tokens of the recorded answers, which follow one another."""
    tokens: list[int] = []
    while len(tokens) < length:
        for recording in bundled(ANSWERS):
            trace = load_bundled(recording.name, ANSWERS)
            tokens += [*trace.meta["prompt_ids"], *trace.token_ids]
    return tokens[:length]


def measure(length: int, width: int, looks: int) -> dict[str, object]:
    """Return the median seconds of a draft of each drafter at the end of a text."""
    text = recorded_text(length)
    draw = np.random.default_rng(SEED)
    states = draw.integers(-127, 128, (length, width)).astype(np.int8)
    drafters = {}
    for sources in DRAFTERS:
        reference = DatabaseDrafter(sources, {}, costs=None)
        drafters[sources] = NativeDatabaseDrafter(default_build().library, reference)
        drafters[sources].start(text[: length - looks])
        drafters[sources].observe_states(states[: length - looks - 1])
    seconds: dict[tuple[str, ...], list[float]] = {sources: [] for sources in DRAFTERS}
    for place in range(length - looks, length):
        for sources, drafter in drafters.items():
            begun = perf_counter()
            drafter.draft(text[:place], NODES)
            seconds[sources].append(perf_counter() - begun)
            drafter.observe_states(states[place - 1 : place])
            drafter.extend(text[place : place + 1])
    return {
        "length": length,
        "occurrences": min(SemanticDatabase.scanned, max(Counter(text).values())),
        **{f"db[{','.join(sources)}]": median(times) for sources, times in seconds.items()},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""

    def work(options) -> None:
        rows = []
        for length in LENGTHS:
            looks = min(options.looks, length // 2)
            rows.append(measure(length, options.width, looks))
            print(*(f"{name} {value:.3g}" for name, value in rows[-1].items()), flush=True)
        report = {
            "format": "hsd_viz semantic look-up",
            "machine": describe(),
            "settings": {"width": options.width, "looks": options.looks, "budget": NODES},
            "rows": rows,
        }
        write(options.json, report, "rows")

    return command(arguments("semantic", __doc__, width=576, looks=400), argv, work)


if __name__ == "__main__":
    sys.exit(main())
