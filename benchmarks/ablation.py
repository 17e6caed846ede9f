"""What each database brings, and what the order in which they are asked does: every subset, every order, of ``db`` and ``hd``.

    python -m benchmarks.ablation [--prompts 12] [--tokens 48] [--json docs/bench/ablation.json]

Every stack decodes the same prompts, greedily and at temperatures 0.7 and 1, on the shipped target with one thread; beside the two
drafters stand the others that need no training. A drafter that proposes tokens, and not distributions, leaves the text as it is,
token for token: all stacks of a temperature write the same text, and only the rounds that they need differ. Who supplied which
token does not depend on what else the machine does; times do, so the load average stands beside them. Every decode is cold: a drafter
remembers nothing of other decodes, or the first stack to ask would pay for what the next ones find ready.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from hsd_viz.bench.output import draft_seconds
from hsd_viz.disk import write_whole
from hsd_viz.drafting import Memory
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.stack import DATABASES

if TYPE_CHECKING:
    from hsd_viz.engine import Engine
    from hsd_viz.trace import Trace

FORMAT, SCHEMA = "hsd_viz ablation", 1
TEMPERATURES = (0.0, 0.7, 1.0)
#: Drafters without training that the two stand among, with their published settings.
OTHERS = (
    "hd[context,model,statistics,window] > target",
    "lookup > target",
    "sam > target",
    "suffix > target",
    "recycling > target",
    "retrieval > target",
    "ngram-cache > target",
)
SUITE, PROMPTS, TOKENS, SEED = "python", 12, 48, 0
WARM_UP_TOKENS = 8


def ablation_stacks() -> tuple[str, ...]:
    """Plain decoding, ``db`` and ``hd`` with every subset of the databases in every order, and :data:`OTHERS`."""
    orders = [order for n in range(1, len(DATABASES) + 1) for order in itertools.permutations(DATABASES, n)]
    return ("target", *(f"{name}[{','.join(order)}] > target" for name in ("db", "hd") for order in orders), *OTHERS)


def run_ablation(
    engine: Engine,
    suite: Suite,
    stacks: Sequence[str] | None = None,
    *,
    temperatures: Iterable[float] = TEMPERATURES,
    max_new_tokens: int = TOKENS,
    seed: int = SEED,
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """One row for each temperature and stack, as :func:`row_of` has it. Stacks take turns on each prompt, after a warm-up."""
    stacks = ablation_stacks() if stacks is None else stacks

    def run(stack: str, text: str, temperature: float, tokens: int) -> Trace:
        return engine.run(
            text, stack, max_new_tokens=tokens, temperature=temperature, seed=seed, record=False, memory=Memory()
        )

    for stack in stacks:
        run(stack, suite.prompts[0].text, 0.0, WARM_UP_TOKENS)
    rows = []
    for temperature in temperatures:
        traces: dict[str, list[tuple[str, Trace]]] = {stack: [] for stack in stacks}
        for number, prompt in enumerate(suite.prompts, start=1):
            progress(f"temperature {temperature:g}: prompt {number} of {len(suite.prompts)}")
            for stack in stacks:
                traces[stack].append((prompt.category, run(stack, prompt.text, temperature, max_new_tokens)))
        rows += [row_of(stack, temperature, found) for stack, found in traces.items()]
    return rows


def row_of(stack: str, temperature: float, traces: Sequence[tuple[str, Trace]]) -> dict[str, Any]:
    """The sums over the traces of one stack, each with its category.

    ``draft_seconds_median`` is the drafting latency of the median target round: a mean would be of what else the machine does. It hides
    the rounds in which alone a slow database was asked. ``accepted_by_source`` counts emitted tokens by
    who proposed them first, ``drafted_by_source`` what was put before the target. ``tokens_in_rounds_of_several`` counts those from
    rounds that emitted more than one: over ``tokens`` it is the acceptance ratio of the authors of Hierarchy Drafting.
    """
    accepted, drafted, rounds = Counter(), Counter(), []
    categories: dict[str, Counter] = {}
    tokens = forwards = several = 0
    seconds = 0.0
    for category, trace in traces:
        figures = trace.metrics()
        accepted.update(figures["accepted_by_source"])
        drafted.update(figures["drafted_by_source"])
        rounds += draft_seconds(trace)
        several += sum(n for n in Counter(t.round for t in trace.token_rows).values() if n > 1)
        tokens, forwards, seconds = (
            tokens + figures["tokens"],
            forwards + figures["target_forwards"],
            seconds + figures["seconds"],
        )
        categories.setdefault(category, Counter()).update(
            tokens=figures["tokens"], target_forwards=figures["target_forwards"]
        )
    return {
        "stack": stack,
        "temperature": temperature,
        "tokens": tokens,
        "target_forwards": forwards,
        "tokens_in_rounds_of_several": several,
        "mean_acceptance_length": tokens / forwards if forwards else None,
        "tokens_per_second": tokens / seconds if seconds else None,
        "draft_seconds_median": median(rounds) if rounds else None,
        "drafted_by_source": dict(drafted),
        "accepted_by_source": dict(accepted),
        "by_category": {c: dict(n) for c, n in categories.items()},
    }


def build(
    rows: list[dict[str, Any]], machine: dict[str, Any], suite: Suite, settings: dict[str, Any]
) -> dict[str, Any]:
    """The rows as a file, with what they were measured on."""
    used = {p.category for p in suite.prompts}
    about = {
        "name": suite.name,
        "prompts": len(suite.prompts),
        "categories": {c: s for c, s in suite.categories.items() if c in used},
    }
    return {"format": FORMAT, "schema": SCHEMA, "machine": machine, "suite": about, "settings": settings, "rows": rows}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; with ``--json`` also write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", default=SUITE, help=f"suite of prompts (default {SUITE})")
    parser.add_argument(
        "--prompts", type=int, default=PROMPTS, help=f"prompts, taken from the categories in turn (default {PROMPTS})"
    )
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"new tokens each (default {TOKENS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(argv)
    if options.tokens < 1:
        parser.error(f"{options.tokens} new tokens is out of range: it is a whole number from 1")
    try:
        suite = load_suite(options.suite).limited(options.prompts)
        if any(p.turns for p in suite.prompts):
            raise ValueError(f"the suite {suite.name} has questions to chat models: take one whose prompts are texts")
    except ValueError as error:
        parser.error(str(error))
    import hsd_viz
    from hsd_viz.machine import describe

    engine = hsd_viz.load_engine(device="cpu", threads=1)
    engine.wait_ready(lambda text: print(text, file=sys.stderr))
    machine, started = describe(1), time.monotonic()
    rows = run_ablation(
        engine, suite, max_new_tokens=options.tokens, progress=lambda text: print(text, file=sys.stderr)
    )
    if hasattr(os, "getloadavg"):
        machine["load_average_at_end"] = os.getloadavg()[0]
    last = engine.run(suite.prompts[0].text, "target", max_new_tokens=1, record=False).meta
    settings = {
        "max_new_tokens": options.tokens,
        "temperatures": list(TEMPERATURES),
        "seed": SEED,
        "target": "target",
        **{name: last.get(name) for name in ("device", "dtype", "threads", "runtime")},
        "seconds": round(time.monotonic() - started, 1),
    }
    for row in rows:
        by = ", ".join(f"{s} {n}" for s, n in sorted(row["accepted_by_source"].items()))
        draft = 1e6 * (row["draft_seconds_median"] or 0)
        print(f"{row['temperature']:<4g}{row['stack']:<46}{row['mean_acceptance_length']:>6.2f}{draft:>7.0f} µs  {by}")
    if options.json:
        try:
            write_whole(options.json, json.dumps(build(rows, machine, suite, settings), indent=1) + "\n")
        except OSError as error:
            parser.error(f"{options.json} cannot be written: {error.strerror or error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
