"""Compare ``auto > target`` with the planner's pick for this machine and with other fixed stacks.

    python -m benchmarks.auto_pick [--prompts 24] [--tokens 64] [--repeats 2] [--json docs/bench/auto-pick-cpu.json]

One process, one thread, the thread's own processor time. For each temperature the machine is calibrated on every second
prompt of each category and the law picks a stack; then all stacks take turns on the other prompts. The figures are
tokens per second without prefill and the speed of ``auto`` relative to each stack, with 95 % bootstrap intervals over
prompts. The published file was measured with the former ``auto``, which chose a drafter for each round.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import hsd_viz
from hsd_viz.bench.plan import split
from hsd_viz.calibration.calibrate import Workload, calibrate
from hsd_viz.calibration.store import save
from hsd_viz.decoding.settings import Sampling
from hsd_viz.disk import write_whole
from hsd_viz.latency.mixture import choose
from hsd_viz.machine import describe
from hsd_viz.prompts.suites import load_suite

PLAIN, AUTO = "target", "auto > target"
FIXED = ("db > target", "nano:3 > target", "nano:4 > target")
DRAFTS = ("nano", "small")
TEMPERATURES = (0.7, 0.0, 1.0)
RESAMPLES = 2000


def compare(
    engine, prompts, stacks: Sequence[str], temperature: float, tokens: int, repeats: int
) -> dict[str, np.ndarray]:
    """Decode each prompt with each stack in turn; return ``{stack: [runs, 2]}`` with tokens and seconds without prefill."""
    found: dict[str, list[tuple[int, float]]] = {stack: [] for stack in stacks}
    for stack in stacks:
        engine.run(prompts[0].text, stack, max_new_tokens=8, temperature=temperature, record=False)
    for repeat in range(repeats):
        for k, prompt in enumerate(prompts):
            print(f"T={temperature:g} {repeat + 1}/{repeats}: prompt {k + 1}/{len(prompts)}", file=sys.stderr)
            # Each prompt starts with another stack, so that no stack always follows the same one.
            first = (repeat + k) % len(stacks)
            for stack in (*stacks[first:], *stacks[:first]):
                seed = repeat * len(prompts) + k
                options = {"max_new_tokens": tokens, "temperature": temperature, "seed": seed, "record": False}
                trace = engine.run(prompt.text, stack, **options)
                seconds = (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9
                found[stack].append((len(trace.token_rows), seconds))
    return {stack: np.array(rows) for stack, rows in found.items()}


def ratios(found: dict[str, np.ndarray], seed: int = 0) -> dict[str, dict]:
    """Return tokens per second of each stack and the speed of ``auto`` relative to it, with intervals."""
    runs = len(found[AUTO])
    draws = np.random.default_rng(seed).multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES)
    times = np.vstack([np.ones((1, runs), int), draws])
    speed = {stack: (times @ rows[:, 0]) / (times @ rows[:, 1]) for stack, rows in found.items()}
    out = {}
    for stack, values in speed.items():
        ratio = speed[AUTO] / values
        low, high = np.quantile(ratio[1:], (0.025, 0.975))
        out[stack] = {"tokens_per_second": values[0], "auto_over": ratio[0], "auto_over_ci": [low, high]}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto_pick", description=__doc__.split("\n\n")[0])
    parser.add_argument("--suite", default="python")
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    calibration, comparison = split(load_suite(options.suite), options.prompts)
    engine = hsd_viz.load_engine(device="cpu", threads=1)
    engine.wait_ready()
    engine.clock = time.thread_time_ns
    machine, rows = describe(1), []
    for temperature in TEMPERATURES:
        print(f"T={temperature:g}: calibrating", file=sys.stderr)
        work = Workload(calibration, DRAFTS, sampling=Sampling(temperature), max_new_tokens=options.tokens)
        stored = calibrate(engine, work)
        save(stored)
        pick = choose(stored.mixture).picked
        stacks = tuple(dict.fromkeys([PLAIN, *FIXED, pick.stack, AUTO]))
        found = compare(engine, comparison.prompts, stacks, temperature, options.tokens, options.repeats)
        row = {"temperature": temperature, "pick": pick.stack, "predicted_ms_per_token": pick.ms_per_token}
        rows.append({**row, "stacks": ratios(found)})
        print(json.dumps(rows[-1], indent=1))
        machine["load_average_at_end"] = os.getloadavg()[0]
        settings = {"tokens": options.tokens, "repeats": options.repeats, "threads": 1, "clock": "processor"}
        about = {"name": options.suite, "prompts": len(comparison.prompts)}
        report = {"format": "hsd_viz auto pick", "machine": machine, "suite": about, "settings": settings, "rows": rows}
        if options.json:
            write_whole(options.json, json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
