"""Compare block verification with token verification on the shipped ladder: tokens per round, and processor time.

    python -m benchmarks.rules [--prompts 200] [--tokens 32] [--timed 5] [--json docs/bench/rules-cpu.json] [--resume]

Each prompt (its last ``--context`` tokens) is decoded with block verification. Its rounds have the probabilities p and
q of every draft token, from which the expected accepted tokens of both rules follow for the very same drafts: the sum
over k of min(1, p/q) multiplied up for token verification, of w_k for block verification (``hsd_viz.decoding.verify``).
Every ``--timed``-th prompt is decoded with both rules, which gives their processor time. Intervals are 95 % bootstrap
intervals over prompts. One thread, the thread's own CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import arguments, command, cpu_engine, prompts_of, resumed, say, write
from hsd_viz.intervals import estimate, resample
from hsd_viz.machine import describe
from hsd_viz.trace import Trace
from hsd_viz.trace.records import RULES

STACKS = ("nano:4 > target", "nano:8 > target", "small:8 > target", "nano:4 > small:8 > target")
TEMPERATURES = (0.7, 1.0)
SUITES = ("heldout", "python")
FORMAT = "hsd_viz rules"
_FIELDS = ("rounds", "drafted", "token", "block", "accepted")


def expected(trace: Trace) -> dict[str, list[float]]:
    """Return by level: rounds with a draft, drafted tokens, and the accepted tokens expected of each rule and seen."""
    drafts: dict[int, list] = {}
    for row in trace.draft_rows:
        drafts.setdefault(row.round, []).append(row)
    found: dict[str, list[float]] = {}
    for r in trace.round_rows:
        if r.rule != "block":
            continue
        token = block = 0.0
        prefix = w = 1.0
        for row in drafts[r.id]:
            ratio = row.p / row.q
            prefix, w = prefix * min(1.0, ratio), min(1.0, w * ratio)
            token, block = token + prefix, block + w
        sums = found.setdefault(str(r.level), [0.0] * len(_FIELDS))
        for k, value in enumerate((1, r.drafted, token, block, r.accepted)):
            sums[k] += value
    return found


def measure(engine: Any, ids: list[int], stack: str, temperature: float, tokens: int, seed: int, rule: str) -> dict:
    """Decode one prompt and return its figures."""
    options = {"max_new_tokens": tokens, "temperature": temperature, "seed": seed, "rule": rule, "record": False}
    trace = engine.run(ids, stack, **options)
    top = max(r.level for r in trace.round_rows)
    return {
        "tokens": len(trace.token_rows),
        "forwards": sum(r.level == top for r in trace.round_rows),
        "seconds": (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9,
        "levels": expected(trace),
    }


def summary(runs: Sequence[dict]) -> list[dict]:
    """Return a row per stack, temperature and verifying level."""
    out = []
    for stack, temperature in dict.fromkeys((r["stack"], r["temperature"]) for r in runs):
        mine = [r for r in runs if (r["stack"], r["temperature"]) == (stack, temperature)]
        for level in sorted({level for r in mine for level in r["block"]["levels"]}, reverse=True):
            rows = np.array([r["block"]["levels"].get(level, [0.0] * len(_FIELDS)) for r in mine])
            sums = resample(len(mine)) @ rows
            gain = (sums[:, 0] + sums[:, 3]) / (sums[:, 0] + sums[:, 2]) - 1
            s, n = sums[0], len(mine)
            row = {"stack": stack, "temperature": temperature, "level": int(level), "prompts": n, "rounds": int(s[0])}
            per_round = {f"{name}_tokens_per_round": 1 + s[k] / s[0] for k, name in ((2, "token"), (3, "block"))}
            seen = {"block_seen_tokens_per_round": 1 + s[4] / s[0]}
            gains = _figure("gain", "gain_ci", gain, n)
            out.append(row | per_round | seen | gains | _times([r for r in mine if "token" in r]))
    return out


def _figure(name: str, interval: str, samples: np.ndarray, n: int) -> dict[str, Any]:
    """Return a figure over ``n`` prompts and its bootstrap interval, ``None`` for a single prompt."""
    found = estimate(samples, n)
    return {name: found.value, interval: None if found.ends is None else list(found.ends)}


def _times(timed: Sequence[dict]) -> dict[str, Any]:
    """Return the processor time per token of block over token verification, on the prompts decoded with both."""
    if not timed:
        return {}
    rows = np.array([[r[rule][name] for rule in RULES for name in ("seconds", "tokens", "forwards")] for r in timed])

    s, n = resample(len(timed)) @ rows, len(timed)
    return {
        "timed_prompts": n,
        **_figure("time_per_token_block_over_token", "time_ci", (s[:, 3] / s[:, 4]) / (s[:, 0] / s[:, 1]), n),
        **_figure(
            "tokens_per_forward_block_over_token",
            "tokens_per_forward_ci",
            (s[:, 4] / s[:, 5]) / (s[:, 1] / s[:, 2]),
            n,
        ),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a row per stack, and with ``--json`` write the report after each prompt."""

    def work(options) -> None:
        every = [p for name in SUITES for p in prompts_of(name).prompts]
        order = np.random.default_rng(0).permutation(len(every))[: options.prompts]
        prompts = [every[k] for k in order]
        settings = {"tokens": options.tokens, "context": options.context, "timed": options.timed, "clock": "processor"}
        stored = resumed(options.json, FORMAT, settings) if options.resume and options.json else None
        runs: list[dict] = stored["runs"] if stored else []
        done = {(r["stack"], r["temperature"], r["prompt"]) for r in runs}
        engine = cpu_engine()
        engine.clock = time.thread_time_ns
        report = {"format": FORMAT, "machine": describe(1), "settings": settings}
        for k, prompt in enumerate(prompts):
            say(f"prompt {k + 1} of {len(prompts)}")
            ids = engine.tokenizer.encode(prompt.text)[-options.context :]
            for stack in STACKS:
                for temperature in TEMPERATURES:
                    if (stack, temperature, k) in done:
                        continue
                    rules = RULES if k % options.timed == 0 else ("block",)
                    # Which rule goes first changes, so that none always follows the other.
                    order = rules if k // options.timed % 2 else rules[::-1]
                    found = {r: measure(engine, ids, stack, temperature, options.tokens, k, r) for r in order}
                    runs.append({"stack": stack, "temperature": temperature, "prompt": k, **found})
            write(options.json, report | {"rows": summary(runs), "runs": runs}, "runs")
        for row in summary(runs):
            print(row)

    parser = arguments("rules", __doc__, prompts=200, tokens=32, context=96, timed=5)
    parser.add_argument("--resume", action="store_true", help="continue an interrupted report")
    return command(parser, argv, work)


if __name__ == "__main__":
    raise SystemExit(main())
