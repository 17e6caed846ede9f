"""Attack every door by which data of strangers enters, with damaged and hostile inputs.

``python -m tools.attack [--count N] [--seed N] [--seconds N] [--door NAME ...]`` prints, by door,
how many inputs were tried, refused with one line, and opened, and how many ended in another
exception (uncaught) or ended the process (crashed). Exit code 1: an input was uncaught or crashed;
its door, number and error are listed, and ``--door NAME --only NUMBER`` repeats it. Each door works
in a process of its own, with a limit of memory; servers listen on 127.0.0.1 and end with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tools.attack.run import DOORS, SECONDS, attack

ROOT = Path(__file__).resolve().parents[2]
#: Inputs of each door.
COUNT = 130


#: The most bytes of memory of the process of a door.
MEMORY = 6 * 2**30


def _inside(args: argparse.Namespace) -> None:
    """Attack one door and print outcomes as JSON lines."""
    if os.name == "posix":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    output = os.fdopen(os.dup(1), "w")
    for result in attack(args.door[0], args.count, args.seed, args.seconds, args.only):
        print(json.dumps(result), file=output, flush=True)


def main() -> int:
    """Attack the doors, each in a process, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="inputs of each door")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="most seconds of each door")
    parser.add_argument("--door", action="append", choices=DOORS, help="may be repeated")
    parser.add_argument("--only", type=int, help="the number of one input")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        _inside(args)
        return 0
    table: dict[str, Counter[str]] = {}
    faults: list[str] = []
    for name in args.door or DOORS:
        table[name], listed = _attacked(name, args)
        faults += listed
        print(_row(name, table[name]), flush=True)
    print(_row("all", sum(table.values(), Counter())))
    print("\n".join(faults))
    return 1 if faults else 0


def _attacked(name: str, args: argparse.Namespace) -> tuple[Counter[str], list[str]]:
    """Attack a door in a process; return how many inputs had each outcome, and the faults."""
    words = ["--door", name, "--count", str(args.count), "--seed", str(args.seed)]
    words += ["--seconds", str(args.seconds), "--inside"]
    if args.only is not None:
        words += ["--only", str(args.only)]
    process = subprocess.run(
        [sys.executable, "-m", "tools.attack", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        errors="replace",
    )
    outcomes = Counter[str]()
    faults = []
    following = 0
    for line in process.stdout.splitlines():
        if not line.startswith("["):
            continue
        number, kind, error = json.loads(line)
        outcomes[kind] += 1
        following = number + 1
        if kind == "uncaught":
            faults.append(f"{name} {number}: {error}")
    if process.returncode:
        outcomes["crashed"] += 1
        faults.append(
            f"{name} {following}: exit code {process.returncode}: {process.stderr[-600:]}"
        )
    return outcomes, faults


def _row(name: str, outcomes: Counter[str]) -> str:
    """Return the row of a door in the table."""
    columns = [f"{name:20}{outcomes.total():6} tried"]
    for kind in ("refused", "opened", "uncaught", "crashed"):
        columns.append(f"{outcomes[kind]:6} {kind}")
    return " ".join(columns)


if __name__ == "__main__":
    sys.exit(main())
