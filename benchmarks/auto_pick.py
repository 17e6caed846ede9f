"""Compare ``auto > target`` with the planner's pick for this machine and with other fixed stacks.

    python -m benchmarks.auto_pick [--prompts 24] [--tokens 64] [--repeats 2] [--json docs/bench/auto-pick-cpu.json]

One process, one thread, the thread's own CPU time. For each temperature the machine is calibrated on every second
prompt of each category and the law picks a stack; then all stacks take turns on the other prompts. The figures are
tokens per second without prefill and the speed of ``auto`` relative to each stack, with 95 % bootstrap intervals over
runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.harness import arguments, command, cpu_engine, interleave, interval, prompts_of, say, write
from hsd_viz.bench.plan import split
from hsd_viz.calibration.calibrate import Workload, calibrate
from hsd_viz.calibration.store import save
from hsd_viz.decoding.settings import Sampling
from hsd_viz.latency.mixture import choose
from hsd_viz.machine import describe, load_average

PLAIN, AUTO = "target", "auto > target"
FIXED = ("db > target", "nano:3 > target", "nano:4 > target")
DRAFTS = ("nano", "small")
TEMPERATURES = (0.7, 0.0, 1.0)


def compare(
    engine, prompts, stacks: Sequence[str], temperature: float, tokens: int, repeats: int
) -> dict[str, np.ndarray]:
    """Decode each prompt with each stack in turn; return ``{stack: [runs, 2]}``, tokens and seconds without prefill."""
    found: dict[str, list[tuple[int, float]]] = {stack: [] for stack in stacks}
    for stack in stacks:
        engine.run(prompts[0].text, stack, max_new_tokens=8, temperature=temperature, record=False)
    runs = [(seed, prompt) for seed, prompt in enumerate([*prompts] * repeats)]
    for (seed, prompt), turn in interleave(runs, range(len(stacks))):
        if turn == 0:
            say(f"T={temperature:g}: run {seed + 1} of {len(runs)}")
        # Each run starts with another stack, so that no stack always follows the same one.
        stack = stacks[(seed + turn) % len(stacks)]
        options = {"max_new_tokens": tokens, "temperature": temperature, "seed": seed, "record": False}
        trace = engine.run(prompt.text, stack, **options)
        found[stack].append((len(trace.token_rows), (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9))
    return {stack: np.array(rows) for stack, rows in found.items()}


def ratios(found: dict[str, np.ndarray]) -> dict[str, dict]:
    """Return tokens per second of each stack and the speed of ``auto`` relative to it, with intervals."""
    runs = len(found[AUTO])

    def speed(stack: str, times: np.ndarray) -> np.ndarray:
        return (times @ found[stack][:, 0]) / (times @ found[stack][:, 1])

    once, out = np.ones((1, runs), int), {}
    for stack in found:
        over = lambda times, stack=stack: speed(AUTO, times) / speed(stack, times)
        value = {"tokens_per_second": float(speed(stack, once)[0]), "auto_over": float(over(once)[0])}
        out[stack] = value | {"auto_over_ci": interval(over, runs)}
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Calibrate, compare, print the rows, and with ``--json`` write the report after each temperature."""

    def work(options) -> None:
        calibration, comparison = split(prompts_of(options.suite), options.prompts)
        engine, machine, rows = cpu_engine(), describe(1), []
        engine.clock = time.thread_time_ns
        for temperature in TEMPERATURES:
            say(f"T={temperature:g}: calibrating")
            load = Workload(calibration, DRAFTS, sampling=Sampling(temperature), max_new_tokens=options.tokens)
            stored = calibrate(engine, load)
            save(stored)
            pick = choose(stored.mixture).picked
            stacks = tuple(dict.fromkeys([PLAIN, *FIXED, pick.stack, AUTO]))
            found = compare(engine, comparison.prompts, stacks, temperature, options.tokens, options.repeats)
            row = {"temperature": temperature, "pick": pick.stack, "predicted_ms_per_token": pick.ms_per_token}
            rows.append({**row, "stacks": ratios(found)})
            print(json.dumps(rows[-1], indent=1))
            machine["load_average_at_end"] = load_average()
            settings = {"tokens": options.tokens, "repeats": options.repeats, "threads": 1, "clock": "processor"}
            about = {"name": options.suite, "prompts": len(comparison.prompts)}
            report = {"format": "hsd_viz auto pick", "machine": machine, "suite": about, "settings": settings}
            write(options.json, report | {"rows": rows})

    return command(arguments("auto_pick", __doc__, suite="python", prompts=24, tokens=64, repeats=2), argv, work)


if __name__ == "__main__":
    sys.exit(main())
