"""Compare the verification rules on the shipped ladder: tokens per round, and time per token.

    python -m benchmarks.rules [--prompts 200] [--tokens 32] [--timed 2] [--json
    docs/bench/rules-cpu.json] [--resume]

Each prompt (its last ``--context`` tokens) is decoded with block verification. Its rounds have the
probabilities p and q of every draft token, from which the expected accepted tokens of all rules
follow for the very same drafts: the sum over k of min(1, p/q) multiplied up for token verification,
and of w_k as each of the other rules defines it (``hsd_viz.decoding.verify``). Every ``--timed``-th
prompt is decoded with every rule in turn, which gives their time per token after the prefill, in
the compiled loop on one thread. Intervals are 95 % bootstrap intervals over prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.harness import arguments, command, cpu_engine, prompts_of, resumed, write
from hsd_viz.decoding.verify import RULES
from hsd_viz.machine import describe
from hsd_viz.results.bootstrap import estimate, resample
from hsd_viz.terminal import print_line
from hsd_viz.trace import Trace

STACKS = ("nano:4 > target", "nano:8 > target", "small:8 > target", "nano:4 > small:8 > target")
TEMPERATURES = (0.7, 1.0)
SUITES = ("heldout", "python")
FORMAT = "hsd_viz rules"
_FIELDS = ("rounds", "drafted", *RULES, "accepted")


def expected(trace: Trace) -> dict[str, dict[str, float]]:
    """Return by level: rounds with a draft, drafted tokens, and the accepted tokens expected of
    each rule and seen.
    """
    drafts: dict[int, list] = {}
    for row in trace.draft_rows:
        drafts.setdefault(row.round, []).append(row)
    sums_by_level: dict[str, dict[str, float]] = {}
    for r in trace.round_rows:
        if r.rule != "block":
            continue
        ratio = cap = token = block = 1.0
        sums = sums_by_level.setdefault(str(r.level), dict.fromkeys(_FIELDS, 0.0))
        for row in drafts[r.id]:
            step = row.p / row.q
            token = token * min(1.0, step)
            block = min(1.0, block * step)
            ratio = ratio * step
            cap = max(cap, ratio)
            for rule, value in zip(RULES, (token, block, ratio / cap), strict=True):
                sums[rule] += value
        for name, value in (("rounds", 1), ("drafted", r.drafted), ("accepted", r.accepted)):
            sums[name] += value
    return sums_by_level


def measure(
    engine: Any, ids: list[int], stack: str, temperature: float, tokens: int, seed: int, rule: str
) -> dict:
    """Decode one prompt and return its figures."""
    trace = engine.run(
        ids,
        stack,
        max_new_tokens=tokens,
        temperature=temperature,
        seed=seed,
        rule=rule,
        record=False,
    )
    levels = [row.level for row in trace.round_rows]
    return {
        "tokens": len(trace),
        "forwards": levels.count(max(levels)),
        "seconds": (trace.meta["wall_ns"] - trace.meta["prefill_ns"]) / 1e9,
        "levels": expected(trace),
    }


def summary(runs: Sequence[dict]) -> list[dict]:
    """Return a row per stack, temperature and verifying level."""
    groups: dict[tuple[str, float], list[dict]] = {}
    for run in runs:
        groups.setdefault((run["stack"], run["temperature"]), []).append(run)
    out = []
    for (stack, temperature), mine in groups.items():
        levels = set()
        for run in mine:
            levels |= run["block"]["levels"].keys()
        for level in sorted(levels, reverse=True):
            row = {
                "stack": stack,
                "temperature": temperature,
                "level": int(level),
                "prompts": len(mine),
            }
            row |= _tokens_per_round(mine, level)
            verifies_last = level == str(stack.count(">"))
            timed = [run for run in mine if "token" in run] if verifies_last else []
            out.append(row | _times(timed))
    return out


def _tokens_per_round(runs: Sequence[dict], level: str) -> dict[str, Any]:
    """Return the rounds of a level, their tokens with each rule, and the gains over the token
    rule.
    """
    n = len(runs)
    weights = resample(n)
    rows = []
    for run in runs:
        sums = run["block"]["levels"].get(level, {})
        rows.append([sums.get(name, 0.0) for name in _FIELDS])
    resampled = dict(zip(_FIELDS, (weights @ np.array(rows)).T, strict=True))
    per_round = {}
    for name in (*RULES, "accepted"):
        per_round[name] = 1 + resampled[name] / resampled["rounds"]
    row = {
        "rounds": int(resampled["rounds"][0]),
        "seen_tokens_per_round": float(per_round["accepted"][0]),
    }
    for rule in RULES:
        row |= _figure(f"{rule}_tokens_per_round", per_round[rule], n)
        row |= _figure(f"{rule}_gain", per_round[rule] / per_round["token"] - 1, n)
    return row


def _figure(name: str, samples: np.ndarray, n: int) -> dict[str, Any]:
    """Return a figure over ``n`` prompts and its bootstrap interval, ``None`` for a single
    prompt.
    """
    return estimate(samples, n).named(name)


def _times(timed: Sequence[dict]) -> dict[str, Any]:
    """Return each rule's time per token over that of token verification, on the prompts decoded
    with every rule.
    """
    if not timed:
        return {}
    n = len(timed)
    figures = {"timed_prompts": len(timed)}
    weights = resample(n)
    time_of = {}
    for rule in RULES:
        seconds = [run[rule]["seconds"] for run in timed]
        tokens = [run[rule]["tokens"] for run in timed]
        time_of[rule] = (weights @ seconds) / (weights @ tokens)
    for rule in RULES:
        figures |= _figure(f"{rule}_time", time_of[rule] / time_of["token"], n)
    return figures


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a row per stack, and with ``--json`` write the report after each prompt."""

    def work(options) -> None:
        every = []
        for name in SUITES:
            every += prompts_of(name).prompts
        order = np.random.default_rng(0).permutation(len(every))[: options.prompts]
        prompts = [every[k] for k in order]
        settings = {"tokens": options.tokens, "context": options.context, "timed": options.timed}
        stored = None
        if options.resume and options.json:
            stored = resumed(options.json, FORMAT, settings)
        runs: list[dict] = stored["runs"] if stored else []
        done = {(run["stack"], run["temperature"], run["prompt"]) for run in runs}
        engine = cpu_engine()
        report = {"format": FORMAT, "machine": describe(1), "settings": settings}
        for k, prompt in enumerate(prompts):
            print_line(f"prompt {k + 1} of {len(prompts)}")
            ids = engine.tokenizer.encode(prompt.text)[-options.context :]
            for stack in STACKS:
                for temperature in TEMPERATURES:
                    if (stack, temperature, k) in done:
                        continue
                    rules = list(RULES) if k % options.timed == 0 else ["block"]
                    # Which rule goes first changes, so that none always follows another.
                    first = k // options.timed % len(rules)
                    run = {"stack": stack, "temperature": temperature, "prompt": k}
                    for rule in rules[first:] + rules[:first]:
                        run[rule] = measure(
                            engine, ids, stack, temperature, options.tokens, k, rule
                        )
                    runs.append(run)
            write(options.json, report | {"rows": summary(runs), "runs": runs}, "runs")
        for row in summary(runs):
            print(row)

    parser = arguments("rules", __doc__, prompts=200, tokens=32, context=96, timed=2)
    parser.add_argument("--resume", action="store_true", help="continue an interrupted report")
    return command(parser, argv, work)


if __name__ == "__main__":
    raise SystemExit(main())
