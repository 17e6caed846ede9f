"""The scripts: which parts each one has, in order of worth."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.parts import ScriptPart
from benchmarks.gpu.shell import STACKS, Shell
from benchmarks.gpu.steps import LOOKAHEAD, Steps
from benchmarks.gpu.tools import FULL, RUNTIMES, SMALL

#: Time of each script in seconds.
SECONDS = {"a": 360, "b": 580, "c": 570}


def parts_of(script: str, tiny: bool, device: str, out: Path) -> list[ScriptPart]:
    """Return the parts of a script; their work shares one :class:`~benchmarks.gpu.steps.Steps`
    per process.
    """
    bench = Steps(torch.device(device), SMALL if tiny or script == "a" else FULL)
    run = Shell(tiny, device, out)
    made: dict[str, Callable[[], list[ScriptPart]]] = {
        "a": lambda: _checks(bench, run),
        "b": lambda: _measurements(bench, run),
        "c": lambda: [
            ScriptPart("train", lambda data: run.train(), 565),
            ScriptPart("info", lambda data: run.trained(), 60),
        ],
    }
    return made[script]()


def _checks(bench: Steps, run: Shell) -> list[ScriptPart]:
    slow = 600 if run.tiny else 200
    names = list(bench.scale.shapes)
    if run.tiny:
        names = names[:1]
    return [
        ScriptPart("versions", lambda data: versions(bench)),
        ScriptPart("tests", lambda data: run.tests(), slow),
        *(ScriptPart(f"strict/{name}", partial(_strict, bench, name), slow) for name in names),
        ScriptPart(
            "greedy/strict",
            lambda data: run.bench("a-strict", 0.0, ["--runtime", "strict"], STACKS),
            slow,
        ),
        ScriptPart("greedy/usual", lambda data: run.bench("a-usual", 0.0, [], STACKS), slow),
        ScriptPart("bandwidth", lambda data: bench.bandwidth()),
        *(_step_part(bench, name, bench.fastest, slow) for name in names),
    ]


def _measurements(bench: Steps, run: Shell) -> list[ScriptPart]:
    """The parts of ``b``: what a cut run should have comes first."""
    small, middle, large = bench.scale.shapes
    slow = 600 if run.tiny else 240
    fastest = bench.fastest
    others = sorted(RUNTIMES.keys() - {fastest}, reverse=True)
    if run.tiny:
        return _rehearsal(bench, run, slow)
    other_runtimes = []
    for kind in others:
        for name in (middle, small, large):
            other_runtimes.append(_step_part(bench, name, kind, slow))
    return [
        ScriptPart("bandwidth", lambda data: bench.bandwidth()),
        *(_step_part(bench, name, fastest, slow) for name in (middle, small)),
        _step_part(bench, large, fastest, slow),
        *(_round_part(bench, name, large, slow) for name in (small, middle)),
        ScriptPart("identity/strict", lambda data: bench.identity(small, middle), slow),
        ScriptPart("smollm2", lambda data: run.family("smollm2"), slow),
        ScriptPart("plan", lambda data: run.plan(), slow),
        _round_part(bench, small, middle, slow),
        ScriptPart("bench/ladder-t07", partial(_bench, run, "ladder-t07", 0.7, []), slow),
        ScriptPart("bench/padded-t07", partial(_bench, run, "padded-t07", 0.7, None), slow),
        *other_runtimes,
        ScriptPart(
            "products", lambda data: bench.products(data["parts"]["bandwidth"]["bytes_per_second"])
        ),
        ScriptPart(f"kernels/{large}", lambda data: bench.kernels(large)),
        ScriptPart("bench/ladder-t0", partial(_bench, run, "ladder-t0", 0.0, []), slow),
        ScriptPart("bench/padded-t0", partial(_bench, run, "padded-t0", 0.0, None), slow),
        ScriptPart("memory", lambda data: bench.memory()),
    ]


def _rehearsal(bench: Steps, run: Shell, slow: int) -> list[ScriptPart]:
    """The parts of a rehearsal of ``b``: one of each kind, where others differ in sizes and
    settings only.
    """
    small, middle, _ = bench.scale.shapes
    fastest = bench.fastest
    return [
        ScriptPart("bandwidth", lambda data: bench.bandwidth()),
        _step_part(bench, middle, fastest, slow),
        _step_part(bench, small, fastest, slow),
        _round_part(bench, small, middle, slow),
        ScriptPart("identity/strict", lambda data: bench.identity(small, middle), slow),
        ScriptPart("smollm2", lambda data: run.family("smollm2"), slow),
        ScriptPart("plan", lambda data: run.plan(), slow),
        ScriptPart("bench/ladder-t07", partial(_bench, run, "ladder-t07", 0.7, []), slow),
        ScriptPart("bench/padded-t0", partial(_bench, run, "padded-t0", 0.0, None), slow),
        ScriptPart("decode/compiled", lambda data: run.decode(), slow),
        _step_part(bench, small, "strict", slow),
        _step_part(bench, small, "eager", slow),
        ScriptPart(
            "products", lambda data: bench.products(data["parts"]["bandwidth"]["bytes_per_second"])
        ),
        ScriptPart(f"kernels/{middle}", lambda data: bench.kernels(middle)),
        ScriptPart("memory", lambda data: bench.memory()),
    ]


def _step_part(bench: Steps, name: str, kind: str, seconds: int) -> ScriptPart:
    return ScriptPart(f"steps/{name}/{kind}", partial(_step, bench, name, kind), seconds)


def _round_part(bench: Steps, draft: str, target: str, seconds: int) -> ScriptPart:
    name = f"rounds/{draft}:{LOOKAHEAD} > {target}"
    return ScriptPart(name, partial(_round, bench, draft, target), seconds)


# Named functions: a lambda in a loop would see the last value of its variables.
def _strict(bench: Steps, name: str, data: dict[str, Any]) -> Any:
    return bench.strict_rows(name)


def _bench(
    run: Shell, name: str, temperature: float, options: list[str] | None, data: dict[str, Any]
) -> Any:
    return (
        run.bench(f"b-{name}", temperature, options)
        if options is not None
        else run.padded(f"b-{name}", temperature)
    )


def _step(bench: Steps, name: str, kind: str, data: dict[str, Any]) -> Any:
    return bench.steps(name, kind, data["parts"]["bandwidth"]["bytes_per_second"])


def _round(bench: Steps, draft: str, target: str, data: dict[str, Any]) -> Any:
    parts = data["parts"]
    lone = {
        draft: parts[f"steps/{draft}/{bench.fastest}"],
        target: parts[f"steps/{target}/{bench.fastest}"],
    }
    return bench.rounds(draft, target, lone)


def versions(bench: Steps) -> dict[str, Any]:
    """Return versions and the allowed implementations of attention."""
    cuda = bench.device.type == "cuda"
    attention = []
    for kind in ("flash", "mem_efficient", "cudnn", "math"):
        if getattr(torch.backends.cuda, f"{kind}_sdp_enabled")():
            attention.append(kind)
    facts = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "attention": ", ".join(attention),
    }
    facts["capability"] = torch.cuda.get_device_capability() if cuda else None
    return facts


def summary(data: dict[str, Any]) -> str:
    """Return a report in a few lines."""
    machine = data["machine"]
    lines = []
    lines.append(f"{machine['gpu'] or machine['cpu']}, torch {machine['torch']}")
    for name, part in data["parts"].items():
        if name.startswith("steps/"):
            widths = " ".join(f"{width}: {ms:.3f}" for width, ms in part["width_ms"].items())
            bound = f"{part['ratio_to_bound']:.2f} x bound ({part['bound_ms']:.3f} ms)"
            text = f"{bound}; ms by width {widths}"
        elif name.startswith("rounds/"):
            rounds = []
            for k, row in part.items():
                over = f"{row['overhead']:.2f} x its forward passes"
                rounds.append(f"{k} {row['round_ms']:.3f} ms = {over}")
            text = ", ".join(rounds)
        else:
            text = json.dumps(part)[:300]
        lines.append(f"{name}: {text}")
    for name, why in data["failed"].items():
        lines.append(f"FAILED {name}: {why}")
    return "\n".join(lines)
