"""Does ``auto`` keep what it promises? Its speed beside that of every stack which it might have been, text by text.

    python -m benchmarks.adaptive [--prompts 48] [--tokens 128] [--repeats 3] [--json docs/bench/auto-cpu.json]

Greedily and at temperatures 0.7 and 1, on the shipped ladder with one thread. All stacks take turns on each prompt, and prompts come from
the categories in turn. A repeat is one pass over all prompts in which ``auto`` begins knowing nothing (but the calibration that is
kept of this machine, where there is one) and goes on learning from prompt to prompt. Greedy texts are the same in every repeat, and the
median time counts; with a temperature each repeat draws texts of its own, and all count. The times are the thread's own processor
time, which other work on the machine disturbs less.

The best fixed stack is found out afterwards, on the very texts of the comparison, in each category anew: ``auto`` is not told.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.disk import write_whole
from hsd_viz.prompts.suites import Prompt, Suite, load_suite
from hsd_viz.trace.metrics import target_round_of

if TYPE_CHECKING:
    from hsd_viz.engine import LocalEngine
    from hsd_viz.trace import Trace

FORMAT, SCHEMA = "hsd_viz auto", 1
TEMPERATURES = (0.0, 0.7, 1.0)
PLAIN, AUTO = "target", "auto > target"
#: What ``auto`` is compared with: each option by itself, and the rival that needs nothing.
FIXED = (
    "db > target",
    *(f"{draft}:{n} > target" for draft in ("nano", "small") for n in range(2, 7)),
    "nano:2 > small:4 > target",
    "nano:3 > small:6 > target",
    "db > nano:4 > target",
    "db > small:4 > target",
    "lookup > target",
)
SUITE, PROMPTS, TOKENS, REPEATS, SEED = "python", 48, 128, 3, 0
WARM_UP_TOKENS = 8
RESAMPLES = 2000

#: One decode: tokens, seconds after prefill, target rounds by what served them.
Decoded = tuple[int, float, Counter]


def in_turn(suite: Suite) -> list[Prompt]:
    """The prompts, taken from the categories in turn."""
    place: Counter = Counter()
    order = []
    for prompt in suite.prompts:
        order.append((place[prompt.category], prompt))
        place[prompt.category] += 1
    return [prompt for _, prompt in sorted(order, key=lambda entry: entry[0])]


def run(
    engine: LocalEngine,
    prompts: Sequence[Prompt],
    stacks: Sequence[str],
    temperature: float,
    *,
    max_new_tokens: int = TOKENS,
    repeats: int = REPEATS,
    seed: int = SEED,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, list[list[Decoded]]]:
    """Decodes by stack, ``[prompt][repeat]``. The seed of a text is that of its repeat and place, whatever the stack."""
    found: dict[str, list[list[Decoded]]] = {stack: [[] for _ in prompts] for stack in stacks}
    for repeat in range(repeats):
        engine.learnt = type(engine.learnt)()
        for k, prompt in enumerate(prompts):
            progress(f"temperature {temperature:g}, repeat {repeat + 1} of {repeats}: prompt {k + 1} of {len(prompts)}")
            drawn = seed + repeat * len(prompts) + k
            for stack in stacks:
                trace = engine.run(
                    prompt.text, stack, max_new_tokens=max_new_tokens, temperature=temperature, seed=drawn, record=False
                )
                found[stack][k].append(decoded(trace))
    return found


def decoded(trace: Trace) -> Decoded:
    """The figures of one decode."""
    seconds = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9
    return len(trace.token_rows), seconds, Counter(served(trace))


def served(trace: Trace) -> list[str]:
    """What served each round of the target: ``plain``, ``db``, ``nano``, ``db > nano``, ``nano > small``, ..."""
    owner = target_round_of(trace.round_rows)
    drafts = [m["name"] for m in trace.meta["models"][:-1]]
    took: dict[int, set[str]] = {r.id: set() for r in trace.round_rows if r.parent is None}
    for call in trace.call_rows:
        if call.name in drafts and call.round in owner:
            took[owner[call.round]].add(call.name)
    for row in trace.draft_rows:
        if row.source not in drafts:
            took[owner[row.round]].add("db")
    return [" > ".join(name for name in ("db", *drafts) if name in names) or "plain" for names in took.values()]


def compare(prompts: Sequence[Prompt], found: dict[str, list[list[Decoded]]], temperature: float) -> dict[str, Any]:
    """The figures of one temperature: ``overall``, ``by_category`` (see :func:`figures`), and the ``rounds`` of ``auto`` by what served."""
    rounds: Counter = Counter()
    for decodes in found[AUTO]:
        for _, _, kinds in decodes:
            rounds += kinds
    sums = {stack: np.array([one_of(decodes, temperature) for decodes in rows]) for stack, rows in found.items()}
    first = {stack: np.array([decodes[0][:2] for decodes in rows]) for stack, rows in found.items()}
    categories = {
        c: [k for k, p in enumerate(prompts) if p.category == c] for c in dict.fromkeys(p.category for p in prompts)
    }
    early = [k for ks in categories.values() for k in ks[:1]]
    return {
        "temperature": temperature,
        "overall": figures(sums),
        "by_category": {c: figures({s: v[ks] for s, v in sums.items()}) for c, ks in categories.items()},
        "first_of_each_category": figures({s: v[early] for s, v in first.items()}),
        "rounds": dict(rounds.most_common()),
    }


def one_of(decodes: Sequence[Decoded], temperature: float) -> tuple[float, float]:
    """Tokens and seconds of the repeats of one prompt: the median's where they are the same text, else those of all."""
    if temperature == 0:
        return decodes[0][0], median(seconds for _, seconds, _ in decodes)
    return sum(n for n, _, _ in decodes), sum(seconds for _, seconds, _ in decodes)


def figures(sums: dict[str, np.ndarray], seed: int = 0) -> dict[str, Any]:
    """Tokens per second of every stack, the best fixed one, and what ``auto`` reaches over it and over plain decoding.

    ``sums[stack]`` ``[prompts, 2]`` are tokens and seconds. Intervals are 95 % of a bootstrap that draws prompts, the same ones on both
    sides of a ratio; the best fixed stack stays the one of all prompts.
    """
    n = len(sums[AUTO])
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    times = np.vstack([np.ones((1, n), int), draws])
    speed = {stack: (times @ v[:, 0]) / (times @ v[:, 1]) for stack, v in sums.items()}
    best = max((s for s in sums if s not in (AUTO, PLAIN)), key=lambda s: speed[s][0])
    found: dict[str, Any] = {
        "prompts": n,
        "tokens_per_second": {s: float(v[0]) for s, v in speed.items()},
        "best_fixed": best,
    }
    for name, other in (("over_plain", PLAIN), ("over_best_fixed", best)):
        value, *resampled = speed[AUTO] / speed[other]
        found[name] = float(value)
        found[f"{name}_ci"] = [float(x) for x in np.quantile(resampled, (0.025, 0.975))] if n > 1 else None
    return found


def table(rows: Iterable[dict[str, Any]]) -> str:
    """For reading: per temperature and category what ``auto`` reaches over plain decoding and over the best fixed stack."""
    lines = [f"{'T':<4}{'texts':<12}{'auto over plain':>24}{'over the best fixed':>24}  which is"]
    for row in rows:
        for name, part in (
            ("all", row["overall"]),
            *row["by_category"].items(),
            ("first ones", row["first_of_each_category"]),
        ):
            cells = [
                f"{part[key]:.3f} [{part[f'{key}_ci'][0]:.3f}, {part[f'{key}_ci'][1]:.3f}]"
                if part[f"{key}_ci"]
                else f"{part[key]:.3f}"
                for key in ("over_plain", "over_best_fixed")
            ]
            speed = part["tokens_per_second"][part["best_fixed"]] / part["tokens_per_second"][PLAIN]
            lines.append(
                f"{row['temperature']:<4g}{name:<12}{cells[0]:>24}{cells[1]:>24}  {part['best_fixed']} ({speed:.2f})"
            )
        total = sum(row["rounds"].values())
        lines.append("    rounds: " + ", ".join(f"{kind} {n / total:.0%}" for kind, n in row["rounds"].items()))
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; with ``--json`` also write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaptive", description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", default=SUITE, help=f"suite of prompts (default {SUITE})")
    parser.add_argument(
        "--prompts", type=int, default=PROMPTS, help=f"prompts, taken from the categories in turn (default {PROMPTS})"
    )
    parser.add_argument("--tokens", type=int, default=TOKENS, help=f"new tokens each (default {TOKENS})")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"passes over the prompts (default {REPEATS})")
    parser.add_argument(
        "--temperature", type=float, action="append", help="may be given several times (default 0, 0.7, 1)"
    )
    parser.add_argument(
        "--stack", action="append", help="a fixed stack to compare with, may be given several times (default: all)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, after each temperature")
    options = parser.parse_args(argv)
    if min(options.tokens, options.repeats) < 1:
        parser.error("new tokens and repeats are whole numbers from 1")
    try:
        prompts = in_turn(load_suite(options.suite).limited(options.prompts))
        if any(p.turns for p in prompts):
            raise ValueError(
                f"the suite {options.suite} has questions to chat models: take one whose prompts are texts"
            )
    except ValueError as error:
        parser.error(str(error))
    import hsd_viz
    from hsd_viz.calibration.store import identity, newest
    from hsd_viz.machine import describe

    engine = hsd_viz.load_engine(device="cpu", threads=1)
    engine.wait_ready(lambda text: print(text, file=sys.stderr))
    engine.clock = time.thread_time_ns
    stacks, temperatures = (PLAIN, *(options.stack or FIXED), AUTO), options.temperature or TEMPERATURES
    machine, started, rows, calibrated = describe(1), time.monotonic(), [], {}
    for temperature in temperatures:
        for stack in stacks:
            last = engine.run(
                prompts[0].text, stack, max_new_tokens=WARM_UP_TOKENS, temperature=temperature, record=False
            ).meta
        calibrated[f"{temperature:g}"] = newest(identity(last)) is not None
        found = run(
            engine,
            prompts,
            stacks,
            temperature,
            max_new_tokens=options.tokens,
            repeats=options.repeats,
            progress=lambda text: print(text, file=sys.stderr),
        )
        rows.append(compare(prompts, found, temperature))
        if hasattr(os, "getloadavg"):
            machine["load_average_at_end"] = os.getloadavg()[0]
        settings = {
            **{name: last.get(name) for name in ("device", "dtype", "threads", "runtime")},
            "max_new_tokens": options.tokens,
            "repeats": options.repeats,
            "seed": SEED,
            "clock": "processor",
            "calibrated": calibrated,
            "bootstrap_resamples": RESAMPLES,
            "seconds": round(time.monotonic() - started, 1),
        }
        about = {
            "name": options.suite,
            "prompts": len(prompts),
            "categories": dict(Counter(p.category for p in prompts)),
        }
        report = {
            "format": FORMAT,
            "schema": SCHEMA,
            "machine": machine,
            "suite": about,
            "settings": settings,
            "rows": rows,
        }
        if options.json:
            try:
                write_whole(options.json, json.dumps(report, indent=1) + "\n")
            except OSError as error:
                parser.error(f"{options.json} cannot be written: {error.strerror or error}")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
