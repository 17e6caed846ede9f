"""Rebuild all that depends on the weights: ``python -m tools.rebuild [PART ...] [--trained DIR]``.

Each part is complete in itself. Parts that are finished for the present weights are marked in
``build/rebuild``, one folder per weights, so that an interrupted rebuild resumes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.errors import INTERRUPTED
from hsd_viz.ladder.torch_modules import info
from hsd_viz.models.families import CODE, LADDER, LEVELS
from hsd_viz.models.files import folder_hash
from hsd_viz.terminal import Status, print_line, status
from tools.docs.results.files import BENCH
from tools.docs.tables import ROOT, write_tables
from tools.record.traces import record_side_by_side, record_traces
from training.card import stale_models, write_card
from training.commands import print_lines
from training.databases import rebuild_databases
from training.evaluation import evaluate_ladder, suite_prompts

_PURPOSE = "Rebuild all that depends on the shipped weights."
_OWN = (
    "db > target",
    "auto > target",
    "nano:4 > target",
    "small:4 > target",
    "nano:4 > small:8 > target",
    "db > small:3 > target",
)
_BASELINES = (
    "hd > target",
    "lookup > target",
    "sam > target",
    "suffix > target",
    "ngram-cache > target",
    "recycling > target",
    "retrieval > target",
)
_RIVALS = ("hf-generate", "hf-lookup", "hf-assistant[nano]")
_TEMPERATURES = {"t07": "0.7", "t1": "1", "greedy": "0"}
#: Costs and agreements of the targets; at the everyday temperature only the shipped drafts, at more
#: costs.
_GRIDS = {
    "t07": {"drafts": "nano,small", "pad_layers": "0,6,12,24,48", "noise": "0"},
    "greedy": {"pad_layers": "0,6,24", "noise": "0,0.5,1.5"},
    "t1": {"pad_layers": "0,6,24", "noise": "0,0.5"},
}


@dataclass(frozen=True, slots=True)
class Job:
    """What a part needs: the training folder, if any, and the folder for partial results.

    ``say`` prints a line, ``progress`` replaces the terminal's last one.
    """

    trained: Path | None
    work: Path
    say: Status
    progress: Status

    @property
    def data(self) -> Path | None:
        """The tokens that the models were trained on, if they are at hand."""
        return self.trained / "data" if self.trained is not None else None


def _arguments(*positional: str, **options: str) -> list[str]:
    arguments = list(positional)
    for name, value in options.items():
        arguments += [f"--{name.replace('_', '-')}", value]
    return arguments


def _bench(suite: str, stacks: tuple[str, ...], temperature: str, *options: str) -> list[str]:
    stack_options = []
    for stack in stacks:
        stack_options += ["--stack", stack]
    sizes = _arguments(
        suite=suite, limit="24", max_new_tokens="96", repeats="3", temperature=temperature
    )
    return ["hsd_viz", "bench", *stack_options, *sizes, *options]


def commands() -> dict[str, list[str]]:
    """Return the commands of the measurements in ``docs/bench``, in their order: words after
    ``python -m`` by file.

    Plans come first: they calibrate the machine, which ``auto`` and left-out lookaheads then use.
    """
    plan = _arguments("hsd_viz", "plan", "--measure", suite="python", limit="48", repeats="1")
    commands_by_file = {}
    for part, t in _TEMPERATURES.items():
        commands_by_file[f"plan-{part}-cpu"] = [*plan, "--temperature", t]
    for part, t in _TEMPERATURES.items():
        more = ("--profile",) if part == "t07" else ()
        commands_by_file[f"heldout-{part}-cpu"] = _bench(
            "heldout", (*_OWN, "hd > target", "lookup > target", *_RIVALS), t, *more
        )
    for part, t in _TEMPERATURES.items():
        commands_by_file[f"python-{part}-cpu"] = _bench(
            "python", ("db > target", *_BASELINES), t, "--state", "both"
        )
    for part, grid in _GRIDS.items():
        commands_by_file[f"grid-{part}-cpu"] = _arguments(
            "benchmarks.grid", temperature=_TEMPERATURES[part], **grid
        )
    for model in reversed(LEVELS):
        commands_by_file[f"curves-{model}-cpu"] = _arguments("benchmarks.curves", model=model)
    for name in ("int8-cpu", "rules-cpu", "budgets", "reference", "ablation"):
        commands_by_file[name] = [f"benchmarks.{name.removesuffix('-cpu')}"]
    return commands_by_file


def install_models(trained: Path) -> list[Path]:
    """Copy the models of a training folder to the shipped weights, unless they are there; return
    their folders.

    Raises:
        ValueError: if the folder contains no trained target.
    """
    source = trained / "weights"
    if not (source / "target" / "config.json").is_file():
        missing = source / "target" / "config.json"
        raise ValueError(f"{trained} contains no trained ladder: {missing} does not exist")
    folders = []
    for name in CODE.names:
        old = LADDER / name
        new = source / name
        if not (new / "config.json").is_file() or (old.is_dir() and _hash(old) == folder_hash(new)):
            continue
        shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(new, old)
        folders.append(old)
    return folders


def _hash(folder: Path) -> str | None:
    return folder_hash(folder) if any(folder.glob("*.safetensors")) else None


def _evaluation(job: Job) -> list[Path]:
    path = LADDER / "evaluation.json"
    if job.trained is not None:
        evaluate_ladder(job.trained, LADDER, prompts=suite_prompts())
    elif stale_models(info()):
        raise ValueError(
            f"{path} is of other weights, and only a training folder has held-out text: "
            "give --trained"
        )
    return [path]


def _databases(job: Job) -> list[Path]:
    return rebuild_databases(
        data=job.data, progress=lambda done, total, what: job.progress(f"{what} {done / total:.0%}")
    )


def _reports(job: Job) -> list[Path]:
    """Make all measurements again."""
    if (job.work / "reports.done").exists():  # asked for again
        for mark in job.work.glob("*.json.done"):
            mark.unlink()
    return [_measured(job, BENCH / f"{name}.json", words) for name, words in commands().items()]


def _measured(job: Job, path: Path, words: Sequence[str]) -> Path:
    """Run a module that writes its figures into the folder of partial results; then replace the
    file.
    """
    fresh = job.work / path.name
    done = job.work / f"{path.name}.done"
    if not done.exists():
        job.say(path.name)
        _run([*words, "--json", os.path.relpath(fresh, ROOT)])
        write_whole(path, fresh.read_bytes())
        done.touch()
    return path


def _pictures(job: Job) -> list[Path]:
    _run(["tools.docs.pictures"])
    return sorted((ROOT / "docs").glob("*.png")) + sorted((ROOT / "docs").glob("*.webp"))


def _lessons(job: Job) -> list[Path]:
    _run(
        [
            "hsd_viz",
            "course",
            "build",
            str(ROOT / "notebooks" / "course"),
            "--edition",
            "student",
            "--figures",
        ]
    )
    return sorted((ROOT / "notebooks" / "course" / "student").glob("*.ipynb"))


def _run(module: Sequence[str]) -> None:
    """Run ``python -m`` in the checkout.

    Raises:
        ValueError: if it fails; its own messages are on standard error.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", *module]
    code = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=sys.stderr
    ).returncode
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        raise ValueError(f"`{shlex.join(['python', '-m', *module])}` failed with exit code {code}")


#: Part -> description and work, in order.
PARTS: dict[str, tuple[str, Callable[[Job], Iterable[Path]]]] = {
    "evaluation": ("measure the models on held-out text (needs --trained)", _evaluation),
    "databases": ("count the corpus and the target's outputs", _databases),
    "recordings": (
        "record the dashboard's traces and select its opening run",
        lambda job: record_traces(progress=job.say),
    ),
    "side-by-side": (
        "record one prompt with several stacks",
        lambda job: record_side_by_side(progress=job.say),
    ),
    "reports": ("make the measurements in docs/bench again", _reports),
    "tables": ("write the tables of README and docs", lambda job: write_tables()),
    "lessons": ("draw the figures of the lessons", _lessons),
    "pictures": ("take the pictures of the docs (needs Chromium)", _pictures),
    "card": ("write the model card", lambda job: [write_card()]),
}


def work_folder() -> Path:
    """Return the folder of partial results and marks for the present weights."""
    hashes = [folder_hash(LADDER / name) for name in CODE.names]
    return ROOT / "build" / "rebuild" / hashlib.sha256(" ".join(hashes).encode()).hexdigest()[:12]


def pending() -> list[str]:
    """Return the parts that were not rebuilt for the present weights."""
    folder = work_folder()
    return [part for part in PARTS if not (folder / f"{part}.done").exists()]


def rebuild(
    parts: Sequence[str] = (),
    trained: Path | None = None,
    *,
    progress: Status,
    say: Status,
) -> list[Path]:
    """Rebuild the given parts, by default those that are :func:`pending`; return the paths of what
    was written.

    With ``trained`` the models of that training folder are installed first.

    Raises:
        ValueError: for an unknown part, and if a part cannot be rebuilt.
    """
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"unknown part {part!r}: choose from {', '.join(PARTS)}")
    paths = install_models(trained) if trained is not None else []
    job = Job(trained, work_folder(), say, progress)
    job.work.mkdir(parents=True, exist_ok=True)
    for path in paths:
        say(f"installed {path}")
    names = parts or pending()
    for part, (what, work) in PARTS.items():
        if part not in names:
            continue
        say(f"{part}: {what} ...")
        started = time.monotonic()
        paths += work(job)
        progress("")
        (job.work / f"{part}.done").touch()
        say(f"{part}: done in {time.monotonic() - started:.0f} s")
    return paths


def main(argv: Sequence[str] | None = None) -> int:
    """Rebuild or list the parts of a command line, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.rebuild", description=_PURPOSE)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="only these parts (default: those pending)"
    )
    parser.add_argument(
        "--trained",
        type=Path,
        metavar="DIR",
        help="first install the models trained in DIR; evaluate on its text",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the parts and whether they were rebuilt"
    )
    args = parser.parse_args(argv)

    def command() -> Sequence[str | Path]:
        if args.list:
            return _states()
        return rebuild(args.parts, args.trained, progress=status, say=print_line)

    return print_lines(parser.prog, command)


def _states() -> list[str]:
    """Return a line for each part: whether it was rebuilt, and what it does."""
    names = pending()
    lines = []
    for part, (text, _) in PARTS.items():
        state = "pending" if part in names else "done"
        lines.append(f"{part:<13} {state:<8} {text}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
