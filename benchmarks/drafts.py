"""Measure drafts made for a target: self-drafts, a draft with another tokenizer, and all look-ups in Python.

All times are of the thread's own processor clock, stacks interleaved. Self-drafts: the cost ratio of the draft's
forward pass, the acceptance and the speed, on the ladder, on a target padded with layers that add nothing, and on a
deep random model of the same shape. Look-ups: time per round with the native look-up of `db`, and with Python's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.harness import arguments, command, prompts_of, say, write
from hsd_viz.machine import describe

if TYPE_CHECKING:
    from hsd_viz.engine.local import LocalEngine
    from hsd_viz.prompts.suites import Suite

FORMAT, SCHEMA = "hsd_viz drafts", 1
SELF = ("target[skip]:2 > target", "target[skip]:4 > target", "db > target[skip]:3 > target", "nano:2 > target")
PADDED = ("target[skip=6,7,8,9,10,11]:4 > target", "target[skip]:4 > target")
LOOKUPS = ("db", "hd", "lookup", "sam", "suffix", "ngram-cache", "ngram-mod[short]")


def engine_of(**options: Any) -> LocalEngine:
    """Return an engine on one thread whose decodes are timed by the processor's clock."""
    from hsd_viz.engine.local import load_engine

    engine = load_engine(device="cpu", threads=1, **options)
    engine.wait_ready()
    engine.clock = time.thread_time_ns
    return engine


def run_stacks(
    engine: LocalEngine, suite: Suite, stacks: Sequence[str], temperature: float, tokens: int
) -> list[dict[str, Any]]:
    """Return figures of each stack over the prompts, plain decoding first."""
    found: dict[str, list[dict[str, Any]]] = {stack: [] for stack in ("target", *stacks)}
    resolved = dict.fromkeys(found, "")
    for k, prompt in enumerate(suite.prompts):
        for stack, runs in found.items():
            options = {"max_new_tokens": tokens, "temperature": temperature, "seed": k, "record": False}
            trace = engine.run(prompt.text, stack, **options)
            runs.append(trace.metrics())
            resolved[stack] = trace.meta["stack_resolved"]
        say(f"temperature {temperature:g}: prompt {k + 1} of {len(suite.prompts)}")
    plain = [1 / m["tokens_per_second"] for m in found["target"]]
    rows = []
    for stack, runs in found.items():
        ms = [1 / m["tokens_per_second"] for m in runs]
        rows.append(
            {
                "stack": stack,
                "resolved": resolved[stack],
                "temperature": temperature,
                "speedup": sum(plain) / sum(ms),
                "mean_acceptance_length": sum(m["tokens"] for m in runs) / sum(m["target_forwards"] for m in runs),
                "acceptance_rate": sum(m["accepted"] for m in runs) / max(1, sum(m["drafted"] for m in runs)),
                "draft_us_per_round": 1e6 * median(m["draft_seconds_per_round"] or 0.0 for m in runs),
            }
        )
    return rows


def cost_ratios(engine: LocalEngine, names: Sequence[str]) -> dict[str, float]:
    """Return the time of a forward pass of one token of each model, relative to the target's."""
    from hsd_viz.calibration.forwards import time_forwards

    models = {name: engine.fast(name) for name in ("target", *names)}
    ms = time_forwards(models, widths=(1,), repeats=25, clock=time.thread_time_ns)
    return {name: ms[name][1] / ms["target"][1] for name in names}


def random_model(layers: int = 24, hidden: int = 256) -> dict[str, Any]:
    """Return overlap and relative cost of a deep random model's self-drafts, every second layer left out, or half."""
    import numpy as np
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from hsd_viz.backends import NativeModel, default_build
    from hsd_viz.calibration.forwards import time_forwards
    from hsd_viz.decoding.model import HFModel
    from hsd_viz.ladder.variants import skip_layers

    torch.manual_seed(0)
    sizes = {"vocab_size": 4096, "hidden_size": hidden, "intermediate_size": 3 * hidden, "num_attention_heads": 4}
    whole = HFModel("random", LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers, **sizes)))
    kept = {
        "every second": range(1, layers, 2),
        "the upper half": range(layers // 2, layers),
        "three quarters": range(layers // 4, layers),
    }
    models = {name: HFModel(name, skip_layers(whole.module, tuple(out))) for name, out in kept.items()}
    ids = torch.randint(0, 4096, (128,)).tolist()
    rows = {
        name: model.session().forward(ids, 128).softmax(-1).numpy() for name, model in {"": whole, **models}.items()
    }
    fast = {
        name: NativeModel(model) if default_build().wait() else model for name, model in {"": whole, **models}.items()
    }
    ms = time_forwards(fast, widths=(1,), repeats=25, clock=time.thread_time_ns)
    return {
        name: {
            "layers": layers,
            "left_out": len(list(out)),
            "cost_ratio": ms[name][1] / ms[""][1],
            "overlap": float(np.minimum(rows[""], rows[name]).sum(-1).mean()),
        }
        for name, out in kept.items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the rows, and with ``--json`` write the report."""

    def work(options) -> None:
        suite, sections = prompts_of(options.suite, options.prompts), {}
        engine = engine_of()
        rows = [row for t in (0.0, 0.7) for row in run_stacks(engine, suite, SELF, t, options.tokens)]
        names = sorted({p for row in rows for p in row["resolved"].split(" > ") if "[skip=" in p})
        names = sorted({name.rpartition(":")[0] or name for name in names})
        sections["self_drafts"] = {"rows": rows, "cost_ratios": cost_ratios(engine, names)}
        padded = engine_of(pad_layers=6)
        rows = run_stacks(padded, suite, PADDED, 0.7, options.tokens)
        sections["padded"] = {"rows": rows, "cost_ratios": cost_ratios(padded, [PADDED[0].rpartition(":")[0]])}
        sections["random"] = random_model()
        sections["lookups"] = {}
        for drafters in ("auto", "python"):
            named = engine_of(drafters=drafters)
            stacks = [f"{source} > target" for source in LOOKUPS]
            sections["lookups"][drafters] = run_stacks(named, suite, stacks, 0.0, options.tokens)
        for name, section in sections.items():
            print(name, section if name == "random" else "", section.get("cost_ratios", "") if name != "random" else "")
            for row in section.get("rows", [*section.get("auto", []), *section.get("python", [])]):
                figures = f"{row['speedup']:>6.2f}{row['mean_acceptance_length']:>6.2f}{row['acceptance_rate']:>6.0%}"
                spent = f"{row['draft_us_per_round']:>8.0f} us"
                print(f"  {row['temperature']:<4g}{row['resolved']:<36}{figures}{spent}")
        settings = {"max_new_tokens": options.tokens, "clock": "thread"}
        about = {"name": suite.name, "prompts": len(suite.prompts)}
        write(
            options.json,
            {
                "format": FORMAT,
                "schema": SCHEMA,
                "suite": about,
                "settings": settings,
                "machine": describe(),
                **sections,
            },
        )

    return command(arguments("drafts", __doc__, suite="python", prompts=6, tokens=64), argv, work)


if __name__ == "__main__":
    sys.exit(main())
