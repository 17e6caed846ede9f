"""The scripts: which parts each one has, in order of worth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.parts import Part
from benchmarks.gpu.steps import LOOKAHEAD, Steps
from benchmarks.gpu.tools import FULL, RUNTIMES, SMALL
from benchmarks.padding import save_padded
from hsd_viz.disk import cache_folder
from hsd_viz.models.families import LEVELS, find_family

#: Time of each script in seconds.
SECONDS = {"a": 360, "b": 580, "c": 570}
#: The choice among all stacks of a plan, which has to be there.
AUTO = "auto > target"
STACKS = ("target", "db > target", AUTO, "nano:4 > target", "nano:4 > small:6 > target")
BASELINES = ("hf-generate", "hf-lookup", "hf-assistant[nano]")
#: Layers that pad the shipped target to the cost of a model many times its size.
PADDING = 24
TESTS = ("tests/gpu/test_gpu_compiled.py",)


def parts_of(script: str, tiny: bool, device: str, out: Path) -> list[Part]:
    """Return the parts of a script; their work shares one :class:`~benchmarks.gpu.steps.Steps`
    per process.
    """
    bench = Steps(torch.device(device), SMALL if tiny or script == "a" else FULL)
    run = Shell(tiny, device, out)
    made: dict[str, Callable[[], list[Part]]] = {
        "a": lambda: _checks(bench, run),
        "b": lambda: _measurements(bench, run),
        "c": lambda: [
            Part("train", lambda data: run.train(), 565),
            Part("info", lambda data: run.trained(), 60),
        ],
    }
    return made[script]()


def _checks(bench: Steps, run: Shell) -> list[Part]:
    slow = 600 if run.tiny else 200
    names = list(bench.scale.shapes)
    if run.tiny:
        names = names[:1]
    return [
        Part("versions", lambda data: versions(bench)),
        Part("tests", lambda data: run.tests(), slow),
        *(Part(f"strict/{name}", partial(_strict, bench, name), slow) for name in names),
        Part(
            "greedy/strict",
            lambda data: run.bench("a-strict", 0.0, ["--runtime", "strict"], STACKS),
            slow,
        ),
        Part("greedy/usual", lambda data: run.bench("a-usual", 0.0, [], STACKS), slow),
        Part("bandwidth", lambda data: bench.bandwidth()),
        *(_step_part(bench, name, bench.fastest, slow) for name in names),
    ]


def _measurements(bench: Steps, run: Shell) -> list[Part]:
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
        Part("bandwidth", lambda data: bench.bandwidth()),
        *(_step_part(bench, name, fastest, slow) for name in (middle, small)),
        _step_part(bench, large, fastest, slow),
        *(_round_part(bench, name, large, slow) for name in (small, middle)),
        Part("identity/strict", lambda data: bench.identity(small, middle), slow),
        Part("smollm2", lambda data: run.family("smollm2"), slow),
        Part("plan", lambda data: run.plan(), slow),
        _round_part(bench, small, middle, slow),
        Part("bench/ladder-t07", partial(_bench, run, "ladder-t07", 0.7, []), slow),
        Part("bench/padded-t07", partial(_bench, run, "padded-t07", 0.7, None), slow),
        *other_runtimes,
        Part(
            "products", lambda data: bench.products(data["parts"]["bandwidth"]["bytes_per_second"])
        ),
        Part(f"kernels/{large}", lambda data: bench.kernels(large)),
        Part("bench/ladder-t0", partial(_bench, run, "ladder-t0", 0.0, []), slow),
        Part("bench/padded-t0", partial(_bench, run, "padded-t0", 0.0, None), slow),
        Part("memory", lambda data: bench.memory()),
    ]


def _rehearsal(bench: Steps, run: Shell, slow: int) -> list[Part]:
    """The parts of a rehearsal of ``b``: one of each kind, where others differ in sizes and
    settings only.
    """
    small, middle, _ = bench.scale.shapes
    fastest = bench.fastest
    return [
        Part("bandwidth", lambda data: bench.bandwidth()),
        _step_part(bench, middle, fastest, slow),
        _step_part(bench, small, fastest, slow),
        _round_part(bench, small, middle, slow),
        Part("identity/strict", lambda data: bench.identity(small, middle), slow),
        Part("smollm2", lambda data: run.family("smollm2"), slow),
        Part("plan", lambda data: run.plan(), slow),
        Part("bench/ladder-t07", partial(_bench, run, "ladder-t07", 0.7, []), slow),
        Part("bench/padded-t0", partial(_bench, run, "padded-t0", 0.0, None), slow),
        Part("decode/compiled", lambda data: run.decode(), slow),
        _step_part(bench, small, "strict", slow),
        _step_part(bench, small, "eager", slow),
        Part(
            "products", lambda data: bench.products(data["parts"]["bandwidth"]["bytes_per_second"])
        ),
        Part(f"kernels/{middle}", lambda data: bench.kernels(middle)),
        Part("memory", lambda data: bench.memory()),
    ]


def _step_part(bench: Steps, name: str, kind: str, seconds: int) -> Part:
    return Part(f"steps/{name}/{kind}", partial(_step, bench, name, kind), seconds)


def _round_part(bench: Steps, draft: str, target: str, seconds: int) -> Part:
    name = f"rounds/{draft}:{LOOKAHEAD} > {target}"
    return Part(name, partial(_round, bench, draft, target), seconds)


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
    lone = {name: data["parts"][f"steps/{name}/{bench.fastest}"] for name in (draft, target)}
    return bench.rounds(draft, target, lone)


def stacks_with(models: Sequence[str]) -> list[str]:
    """Return the stacks that need no other models than these of a family, whose target is the
    last.
    """
    missing = set(LEVELS) - set(models)
    stacks = list(STACKS)
    for name in missing:
        stacks = [stack for stack in stacks if name not in stack]
    if len(models) == 1:
        stacks.remove(AUTO)
    return stacks


def versions(bench: Steps) -> dict[str, Any]:
    """Return versions and the allowed implementations of attention."""
    cuda = bench.device.type == "cuda"
    kinds = ("flash", "mem_efficient", "cudnn", "math")
    attention = [kind for kind in kinds if getattr(torch.backends.cuda, f"{kind}_sdp_enabled")()]
    found = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "attention": ", ".join(attention),
    }
    found["capability"] = torch.cuda.get_device_capability() if cuda else None
    return found


def _chosen(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return some values of a row, ``None`` where it has none."""
    return {key: row.get(key) for key in keys}


class Shell:
    """Parts that are commands of their own."""

    def __init__(self, tiny: bool, device: str, out: Path) -> None:
        self.tiny = tiny
        self.device = device
        self.out = out

    def run(self, *command: str) -> str:
        """Run a Python command; return the end of its output. Raises RuntimeError if it fails."""
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        print(done.stdout[-4000:], done.stderr[-8000:], flush=True)
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise RuntimeError(f"exit code {done.returncode}: {lines[-1] if lines else ''}")
        return done.stdout[-2000:]

    def tests(self) -> dict[str, str]:
        """Run the GPU tests, each file in a process of its own; return the last line of each."""
        options = ["-o", "addopts=", "-q", "-p", "no:cacheprovider"]
        environment = os.environ | ({} if self.device == "cuda" else {"OMP_NUM_THREADS": "1"})
        at_once = 1 if self.device == "cpu" else 6
        waiting = list(TESTS)
        found = {}
        running = {}
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                command = [sys.executable, "-m", "pytest", *options, name]
                running[name] = subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    env=environment,
                )
            name, process = next(iter(running.items()))
            output, _ = process.communicate()
            print(f"=== {name}\n{output[-12000:]}", flush=True)
            found[name] = f"exit code {process.returncode}: {output.strip().splitlines()[-1]}"
            del running[name]
        # 5: all tests of a file were left out of a tiny run.
        failed = []
        for name, line in found.items():
            if not line.startswith(("exit code 0", "exit code 5")):
                failed.append(f"{name} {line}")
        if failed:
            raise RuntimeError("; ".join(failed))
        return found

    def bench(
        self,
        name: str,
        temperature: float,
        options: list[str],
        stacks: Sequence[str] = (*STACKS, *BASELINES),
    ) -> list[dict[str, Any]]:
        """Run ``hsd-viz bench``, by default on the shipped ladder; return a short row for each
        stack.
        """
        path = self.out / f"{name}.json"
        limit = 12
        tokens = 128
        if "--target" in options:
            # transformers' loops take tens of milliseconds for a token of a padded model.
            limit = 6
            tokens = 64
        if self.tiny:
            limit = 1
            tokens = 8
        where = ["--temperature", str(temperature), "--device", self.device]
        where += [*self.rehearsed(), *options]
        if AUTO in stacks:
            few = ["--limit", "1", "--max-new-tokens", "8"]
            if not self.tiny:
                few = ["--limit", "8", "--max-new-tokens", "64"]
            self.run("-m", "hsd_viz", "plan", *few, *where)
        named = []
        for stack in stacks:
            named += ["--stack", stack]
        sizes = ["--limit", str(limit), "--max-new-tokens", str(tokens), "--repeats", "1"]
        self.run("-m", "hsd_viz", "bench", *named, *sizes, "--json", str(path), *where)
        rows = json.loads(path.read_text())["stacks"]
        kept = (
            "stack",
            "runtime",
            "tokens_per_second",
            "mean_acceptance_length",
            "speedup_over_plain",
        )
        if name.startswith("a-"):  # only whether the texts are the same is of interest
            path.unlink()
        return [_chosen(row, (*kept, "token_identical_to_plain")) for row in rows]

    def family(self, name: str) -> Any:
        """Run ``hsd-viz bench`` on the stacks of another family of models; say so where it is
        not installed.
        """
        chosen = find_family(name)
        if not chosen.is_installed:
            return {"not measured": f"the family {name} is not installed"}
        return self.bench(f"b-{name}", 0.7, ["--family", name], stacks_with(chosen.names))

    def rehearsed(self) -> list[str]:
        """Options of commands on a CPU: forward passes of torch. To compile all widths of the
        ladder takes inductor half an hour; :meth:`decode` compiles some.
        """
        return ["--runtime", "eager", "--dtype", "float32"] if self.device == "cpu" else []

    def decode(self) -> str:
        """Run ``hsd-viz decode`` with compiled models of the shipped ladder; return the end of
        its output.
        """
        return self.run(
            "-m",
            "hsd_viz",
            "decode",
            "--stack",
            "nano:2 > target",
            "--prompt",
            "def add(a, b):",
            "--max-new-tokens",
            "8",
            "--runtime",
            "compiled",
            "--dtype",
            "bfloat16",
            "--device",
            self.device,
            "--json",
        )

    def plan(self) -> dict[str, Any]:
        """Run ``hsd-viz plan`` on the shipped ladder: hierarchies, predicted and measured on
        this device.
        """
        path = self.out / "b-plan.json"
        few = ("1", "8", "2") if self.tiny else ("8", "128", "8")
        sizes = dict(zip(("--limit", "--max-new-tokens", "--measure"), few, strict=True))
        sizes |= {
            "--repeats": "1",
            "--temperature": "0.7",
            "--device": self.device,
            "--json": str(path),
        }
        self.run(
            "-m",
            "hsd_viz",
            "plan",
            *self.rehearsed(),
            *chain(*sizes.items()),
        )
        plan = json.loads(path.read_text())
        return _chosen(plan, ("picked", "best_single_draft", "hierarchies"))

    def padded(self, name: str, temperature: float) -> list[dict[str, Any]]:
        """The same with a padded target."""
        with tempfile.TemporaryDirectory() as folder:
            path = save_padded("target", 2 if self.tiny else PADDING, 0.0, folder)
            return self.bench(name, temperature, ["--target", path])

    def train(self) -> str:
        """Train the ladder, on the corpus in ``corpus.tar.xz`` if there is one; resumes from its
        checkpoints.
        """
        work = cache_folder("gpu-train-tiny" if self.tiny else "gpu-train")
        profile = ["--profile", "tiny"] if self.tiny else ["--profile", "gpu", "--minutes", "8.5"]
        corpus = Path("corpus.tar.xz")
        options = ["--corpus", str(corpus)] if corpus.exists() else []
        return self.run(
            "-m",
            "hsd_viz",
            "ladder",
            "train",
            *profile,
            "--device",
            self.device,
            "--out",
            str(work),
            "--parts",
            str(self.out),
            *options,
        )

    def trained(self) -> dict[str, int]:
        """Return the sizes of the parts of the trained ladder; raises RuntimeError where there
        are none.
        """
        found = {path.name: path.stat().st_size for path in sorted(self.out.glob("ladder.tar.*"))}
        if not found:
            raise RuntimeError("no weights were written")
        return found


def summary(data: dict[str, Any]) -> str:
    """Return a report in a few lines."""
    machine = data["machine"]
    lines = []
    lines.append(f"{machine['gpu'] or machine['cpu']}, torch {machine['torch']}")
    for name, found in data["parts"].items():
        if name.startswith("steps/"):
            widths = " ".join(f"{width}: {ms:.3f}" for width, ms in found["width_ms"].items())
            bound = f"{found['ratio_to_bound']:.2f} x bound ({found['bound_ms']:.3f} ms)"
            text = f"{bound}; ms by width {widths}"
        elif name.startswith("rounds/"):
            rounds = []
            for k, row in found.items():
                over = f"{row['overhead']:.2f} x its forward passes"
                rounds.append(f"{k} {row['round_ms']:.3f} ms = {over}")
            text = ", ".join(rounds)
        else:
            text = json.dumps(found)[:300]
        lines.append(f"{name}: {text}")
    for name, why in data["failed"].items():
        lines.append(f"FAILED {name}: {why}")
    return "\n".join(lines)
