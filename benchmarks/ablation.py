"""Measure every subset and order of the databases of ``db`` and ``hd``, and the baselines.

    python -m benchmarks.ablation [--prompts 12] [--tokens 48] [--json docs/bench/ablation.json]

Every stack decodes the same prompts at temperatures 0, 0.7 and 1 on the shipped target with one
thread. Drafters that propose tokens instead of distributions do not change the text, so all stacks
of a temperature write the same text and differ in their rounds only. Counts do not depend on the
load of the machine; times do, so the load average is recorded. Every decode is cold: a drafter
keeps no state, otherwise the first stack would pay for what the next ones reuse.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.harness import arguments, command, cpu_engine, interleave, prompts_of, write
from hsd_viz.drafting import Memory
from hsd_viz.machine import describe
from hsd_viz.measure.bench.output import WARM_UP_TOKENS, from_trace
from hsd_viz.prompts.suites import Suite
from hsd_viz.stack import DATABASES
from hsd_viz.terminal import Status, ignore_status, print_line

if TYPE_CHECKING:
    from hsd_viz.engine import Engine
    from hsd_viz.trace import Trace

FORMAT = "hsd_viz ablation"
SCHEMA = 1
TEMPERATURES = (0.0, 0.7, 1.0)
BASELINES = ("lookup", "sam", "suffix", "recycling", "retrieval", "ngram-cache")
SEED = 0


def ablation_stacks() -> tuple[str, ...]:
    """Return plain decoding, ``db`` and ``hd`` with every subset of the databases in every
    order, and the baselines.
    """
    stacks = ["target"]
    for name in ("db", "hd"):
        for size in range(1, len(DATABASES) + 1):
            for order in itertools.permutations(DATABASES, size):
                stacks.append(f"{name}[{','.join(order)}] > target")
    for name in BASELINES:
        stacks.append(f"{name} > target")
    return tuple(stacks)


def run_ablation(
    engine: Engine,
    suite: Suite,
    stacks: Sequence[str] | None = None,
    *,
    temperatures: Iterable[float] = TEMPERATURES,
    max_new_tokens: int = 48,
    seed: int = SEED,
    progress: Status = ignore_status,
) -> list[dict[str, Any]]:
    """Return a row (:func:`row_of`) for each temperature and stack; stacks are interleaved,
    after a warm-up.
    """
    stacks = ablation_stacks() if stacks is None else stacks

    def run(stack: str, text: str, temperature: float, tokens: int) -> Trace:
        return engine.run(
            text,
            stack,
            max_new_tokens=tokens,
            temperature=temperature,
            seed=seed,
            record=False,
            memory=Memory(),
        )

    for stack in stacks:
        run(stack, suite.prompts[0].text, 0.0, WARM_UP_TOKENS)
    rows = []
    for temperature in temperatures:
        traces: dict[str, list[tuple[str, Trace]]] = {stack: [] for stack in stacks}
        for prompt, stack in interleave(suite.prompts, stacks):
            if stack == stacks[0]:
                progress(f"temperature {temperature:g}: {prompt.id}")
            trace = run(stack, prompt.text, temperature, max_new_tokens)
            traces[stack].append((prompt.category, trace))
        for stack, traces_of_stack in traces.items():
            rows.append(row_of(stack, temperature, traces_of_stack))
    return rows


def row_of(stack: str, temperature: float, traces: Sequence[tuple[str, Trace]]) -> dict[str, Any]:
    """Return the sums over the traces of one stack, each given with its category.

    ``draft_seconds_median`` is the drafting latency of the median target round, which is robust to
    load. ``accepted_by_source`` counts emitted tokens by their first proposer,
    ``drafted_by_source`` the draft tokens of the target. ``tokens_in_rounds_of_several`` counts
    tokens from rounds that emitted more than one: divided by ``tokens`` it is the acceptance ratio
    of the authors of Hierarchy Drafting.
    """
    accepted = Counter()
    drafted = Counter()
    sums = Counter()
    rounds = []
    categories: dict[str, Counter] = {}
    for category, trace in traces:
        figures = trace.metrics()
        accepted.update(figures["accepted_by_source"])
        drafted.update(figures["drafted_by_source"])
        rounds += from_trace(trace).draft_seconds
        counts = {
            "tokens": figures["tokens"],
            "target_forwards": figures["target_forwards"],
        }
        categories.setdefault(category, Counter()).update(counts)
        sums.update(counts)
        sums["seconds"] += figures["seconds"]
        tokens_of_round = Counter(token.round for token in trace.token_rows)
        for tokens in tokens_of_round.values():
            if tokens > 1:
                sums["tokens_in_rounds_of_several"] += tokens
    tokens = sums["tokens"]
    forwards = sums["target_forwards"]
    seconds = sums["seconds"]
    return {
        "stack": stack,
        "temperature": temperature,
        "tokens": tokens,
        "target_forwards": forwards,
        "tokens_in_rounds_of_several": sums["tokens_in_rounds_of_several"],
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
    """Return the report of the rows."""
    used_categories = {prompt.category for prompt in suite.prompts}
    categories = {}
    for category, description in suite.categories.items():
        if category in used_categories:
            categories[category] = description
    suite_facts = {"name": suite.name, "prompts": len(suite.prompts), "categories": categories}
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "machine": machine,
        "suite": suite_facts,
        "settings": settings,
        "rows": rows,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""

    def work(options) -> None:
        suite = prompts_of(options.suite, options.prompts)
        engine = cpu_engine()
        machine = describe(1)
        started = time.monotonic()
        rows = run_ablation(engine, suite, max_new_tokens=options.tokens, progress=print_line)
        machine["load_average_at_end"] = psutil.getloadavg()[0]
        meta = engine.run(suite.prompts[0].text, "target", max_new_tokens=1, record=False).meta
        settings = {
            "max_new_tokens": options.tokens,
            "temperatures": list(TEMPERATURES),
            "seed": SEED,
            "target": "target",
            "device": meta.get("device"),
            "dtype": meta.get("dtype"),
            "threads": meta.get("threads"),
            "runtime": meta.get("runtime"),
            "seconds": round(time.monotonic() - started, 1),
        }
        for row in rows:
            sources = sorted(row["accepted_by_source"].items())
            by = ", ".join(f"{source} {tokens}" for source, tokens in sources)
            draft = 1e6 * (row["draft_seconds_median"] or 0)
            length = row["mean_acceptance_length"]
            print(f"{row['temperature']:<4g}{row['stack']:<46}{length:>6.2f}{draft:>7.0f} µs  {by}")
        write(options.json, build(rows, machine, suite, settings))

    return command(
        arguments("ablation", __doc__, suite="python", prompts=12, tokens=48), argv, work
    )


if __name__ == "__main__":
    sys.exit(main())
