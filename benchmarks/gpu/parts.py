"""Parts that run one after another in a process of their own, each written when it is done.

A part that fails, crashes its process or outlasts its time is named in the report, and the next one
runs in a fresh process. The same command resumes: parts that are done are not repeated, others are
tried again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, time
from typing import Any

import psutil

from hsd_viz.disk import write_whole
from hsd_viz.machine import describe
from hsd_viz.terminal import print_line

MAX_FILES = 8
MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """A part of a script.

    Attributes:
        name: What its result is stored under.
        work: Gets the report so far and returns the result.
        seconds: When it is killed.
    """

    name: str
    work: Callable[[dict[str, Any]], Any]
    seconds: int = 120


class ScriptReport:
    """The file with the report of a script. Its keys, each with an entry per part:

    - ``parts``: the results of parts that are done.
    - ``failed``: the reasons of those that failed.
    - ``seconds``, ``processor_seconds``: the time of each; the processor's with that of the
      commands and compilers that the part started.
    - ``compiled``: the number of graphs that were compiled, and the seconds that this took.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.settings = settings

    def read(self) -> dict[str, Any]:
        """Return the report; a new one where there is none of these settings and of this
        machine.
        """
        facts = {"settings": self.settings, "machine": describe()}
        fresh = {
            **facts,
            "parts": {},
            "failed": {},
            "seconds": {},
            "processor_seconds": {},
            "compiled": {},
            "running": None,
        }
        for path in (self.path, Path("out") / self.path.name):
            with suppress(OSError, ValueError, KeyError):
                stored = json.loads(path.read_text())
                same_machine = [
                    stored["machine"][key] == fresh["machine"][key]
                    for key in ("gpu", "cpu", "torch")
                ]
                if stored["settings"] == self.settings and all(same_machine):
                    return fresh | stored
        return fresh

    def write(self, data: dict[str, Any]) -> None:
        write_whole(self.path, json.dumps(data, indent=1) + "\n")


def work_off(parts: Sequence[ScriptPart], report: ScriptReport) -> None:
    """Run the parts that are neither done nor failed; called in a process that may be killed."""
    data = report.read()
    for part in parts:
        if part.name in data["parts"] or part.name in data["failed"]:
            continue
        data["running"] = part.name
        report.write(data)
        signal.alarm(part.seconds)
        started = perf_counter()
        used = processor_seconds()
        compiled = compilation()
        try:
            values = part.work(data)
            json.dumps(values)
            data["parts"][part.name] = values
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            traceback.print_exc()
            first_line = (str(error).strip().splitlines() or [""])[0]
            data["failed"][part.name] = f"{type(error).__name__}: {first_line}"
        signal.alarm(0)
        seconds = round(perf_counter() - started, 1)
        processor = round(processor_seconds() - used, 1)
        data["seconds"][part.name] = seconds
        data["processor_seconds"][part.name] = processor
        compiled_after = compilation()
        data["compiled"][part.name] = {
            "graphs": compiled_after.graphs - compiled.graphs,
            "seconds": round(compiled_after.seconds - compiled.seconds, 1),
        }
        data["running"] = None
        report.write(data)
        result = data["failed"].get(part.name, "done")
        print_line(f"{part.name}: {result} ({seconds} s, {processor} s of processor time)")
        if part.name in data["failed"]:
            # An error of the device may outlive the part.
            sys.exit(3)


@dataclass(frozen=True, slots=True)
class Compilation:
    """What ``torch.compile`` has compiled in this process.

    Attributes:
        graphs: The number of graphs.
        seconds: The time from tracing to kernels that are loaded.
    """

    graphs: int = 0
    seconds: float = 0.0


def compilation() -> Compilation:
    """Return what was compiled so far."""
    if "torch._dynamo" not in sys.modules:
        return Compilation()
    from torch._dynamo import utils

    return Compilation(
        graphs=utils.counters["stats"]["unique_graphs"],
        seconds=utils.calculate_time_spent().get("total_wall_time", 0.0),
    )


def processor_seconds() -> float:
    """Return the processor time of this process and all that it started so far, in seconds."""
    own = psutil.Process()
    spent = 0.0
    for process in [own, *own.children(recursive=True)]:
        with suppress(psutil.Error):
            times = process.cpu_times()
            spent += times.user + times.system + times.children_user + times.children_system
    return spent


def supervise(
    parts: Sequence[ScriptPart], report: ScriptReport, command: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Run ``command``, which works the parts off, again after every failure, for at most
    ``seconds``.
    """
    end = time() + seconds
    names = [part.name for part in parts]
    data = report.read()
    data["failed"] = {}
    data["running"] = None
    report.write(data)
    while (
        left := [name for name in names if name not in data["parts"] and name not in data["failed"]]
    ) and end > time():
        with open(report.path.with_suffix(".log"), "a") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                code: int | None = process.wait(timeout=max(1.0, end - time()))
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        data = report.read()
        if data["running"] is not None:
            if code is None:
                why = "out of time"
            elif code == -signal.SIGALRM:
                why = "took too long"
            else:
                why = f"exit code {code}"
            data["failed"][data["running"]] = why
            data["running"] = None
            report.write(data)
        elif code not in (0, 3) and code is not None:
            data["failed"][left[0]] = f"its process ended with exit code {code} before it began"
            report.write(data)
    for name in names:
        if name not in data["parts"]:
            data["failed"].setdefault(name, "out of time")
    report.write(data)
    return data


def check_files(out: Path) -> list[str]:
    """Return what is wrong with the files in ``out``: too many, or too large."""
    files = [path for path in out.rglob("*") if path.is_file()]
    wrong = [
        f"{path.name} has {path.stat().st_size >> 20} MiB"
        for path in files
        if path.stat().st_size > MAX_BYTES
    ]
    return wrong + (
        [f"{len(files)} files in {out}, at most {MAX_FILES} come back"]
        if len(files) > MAX_FILES
        else []
    )
