"""The measurements in ``docs/bench`` and the commands that make them, in the order in which they are made."""

from __future__ import annotations

_OWN = ("db > target", "auto > target", "nano:4 > target", "small:4 > target", "nano:4 > small:8 > target",
        "db > nano:4 > target")  # fmt: skip
_BASELINES = ("hd > target", "lookup > target", "sam > target", "suffix > target", "ngram-cache > target",
              "recycling > target", "retrieval > target")  # fmt: skip
_RIVALS = ("hf-generate", "hf-lookup", "hf-assistant[nano]")
_TEMPERATURES = {"t07": "0.7", "t1": "1", "greedy": "0"}


def _words(*words: str, **options: str) -> list[str]:
    return [*words, *(word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value))]


def _bench(suite: str, stacks: tuple[str, ...], temperature: str, *more: str) -> list[str]:
    named = [word for stack in stacks for word in ("--stack", stack)]
    sizes = _words(suite=suite, limit="24", max_new_tokens="96", repeats="3", temperature=temperature)
    return ["hsd_viz", "bench", *named, *sizes, *more]


def commands() -> dict[str, list[str]]:
    """Return the words after ``python -m`` by the name of the file, without ``--json``.

    Plans come first: they calibrate the machine, which ``auto`` and left-out lookaheads then use.
    """
    plan = _words("hsd_viz", "plan", "--measure", suite="python", limit="48", repeats="1", clock="processor")
    found = {f"plan-{part}-cpu": [*plan, "--temperature", t] for part, t in _TEMPERATURES.items()}
    for part, t in _TEMPERATURES.items():
        more = ("--memory", "--profile", "--rival-settings", "best") if part == "t07" else ("--rival-settings", "best")
        found[f"heldout-{part}-cpu"] = _bench("heldout", (*_OWN, "hd > target", "lookup > target", *_RIVALS), t, *more)
        found[f"python-{part}-cpu"] = _bench("python", ("db > target", *_BASELINES), t, "--state", "both")
    for part in ("greedy", "t1"):
        found[f"grid-{part}-cpu"] = _words("benchmarks.grid", temperature=_TEMPERATURES[part])
    found |= {f"curves-{m}-cpu": _words("benchmarks.curves", model=m) for m in ("target", "small", "nano")}
    return found | {
        name: [f"benchmarks.{name.removesuffix('-cpu')}"] for name in ("rules-cpu", "budgets", "reference", "ablation")
    }
