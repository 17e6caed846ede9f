"""Parts that are commands of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.padding import save_padded
from hsd_viz.disk import cache_folder
from hsd_viz.models.families import LEVELS, find_family

#: The choice among all stacks of a plan, which has to be there.
AUTO = "auto > target"
STACKS = ("target", "db > target", AUTO, "nano:4 > target", "nano:4 > small:6 > target")
BASELINES = ("hf-generate", "hf-lookup", "hf-assistant[nano]")
#: Layers that pad the shipped target to the cost of a model many times its size.
PADDING = 24
TESTS = ("tests/gpu/test_gpu_compiled.py",)


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


def _subset(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
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
        process = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        print(process.stdout[-4000:], process.stderr[-8000:], flush=True)
        if process.returncode:
            lines = (process.stderr.strip() or process.stdout.strip()).splitlines()
            raise RuntimeError(f"exit code {process.returncode}: {lines[-1] if lines else ''}")
        return process.stdout[-2000:]

    def tests(self) -> dict[str, str]:
        """Run the GPU tests, each file in a process of its own; return the last line of each."""
        options = ["-o", "addopts=", "-q", "-p", "no:cacheprovider"]
        environment = os.environ | ({} if self.device == "cuda" else {"OMP_NUM_THREADS": "1"})
        at_once = 1 if self.device == "cpu" else 6
        waiting = list(TESTS)
        results = {}
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
            results[name] = f"exit code {process.returncode}: {output.strip().splitlines()[-1]}"
            del running[name]
        # 5: all tests of a file were left out of a tiny run.
        failed = []
        for name, line in results.items():
            if not line.startswith(("exit code 0", "exit code 5")):
                failed.append(f"{name} {line}")
        if failed:
            raise RuntimeError("; ".join(failed))
        return results

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
            plan_sizes = ["--limit", "1", "--max-new-tokens", "8"]
            if not self.tiny:
                plan_sizes = ["--limit", "8", "--max-new-tokens", "64"]
            self.run("-m", "hsd_viz", "plan", *plan_sizes, *where)
        stack_options = []
        for stack in stacks:
            stack_options += ["--stack", stack]
        sizes = ["--limit", str(limit), "--max-new-tokens", str(tokens), "--repeats", "1"]
        self.run("-m", "hsd_viz", "bench", *stack_options, *sizes, "--json", str(path), *where)
        rows = json.loads(path.read_text())["stacks"]
        columns = (
            "stack",
            "runtime",
            "tokens_per_second",
            "mean_acceptance_length",
            "speedup_over_plain",
        )
        if name.startswith("a-"):  # only whether the texts are the same is of interest
            path.unlink()
        return [_subset(row, (*columns, "token_identical_to_plain")) for row in rows]

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
        return _subset(plan, ("picked", "best_single_draft", "hierarchies"))

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
        sizes = {}
        for path in sorted(self.out.glob("ladder.tar.*")):
            sizes[path.name] = path.stat().st_size
        if not sizes:
            raise RuntimeError("no weights were written")
        return sizes
