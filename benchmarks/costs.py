"""Write the table of costs that sizes the drafts of ``db`` in a family.

``python -m benchmarks.costs [--family NAME] [--json OUT]`` times rounds of each model of the family
with 0 to 24 draft tokens, on one thread, relative to a round without drafts. Without ``--json`` the
curves of these types in the family's own table are replaced. Measure on a quiet machine: the load
average is part of the table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psutil

from benchmarks.harness import arguments, command
from hsd_viz.disk import write_whole
from hsd_viz.drafting.costs import CPU_MARGINAL
from hsd_viz.engine.forwards import DRAFT_WIDTHS, FORMAT, REPEATS, round_costs
from hsd_viz.engine.local import load_engine
from hsd_viz.machine import cpu_model
from hsd_viz.models.families import CODE, FAMILIES, Family

#: Cost of one more draft token on a GPU, where a forward pass of 16 tokens takes about as long as
#: one of one token.
GPU_MARGINAL = 0.005


def measure(family: Family, dtypes: list[str], turns: int) -> dict[str, dict[str, list[float]]]:
    """Return the relative costs of 0, 1, 2, ... draft tokens by model and type of weights.

    Each is the median of so many ``turns``, in which the models and types are timed one by one.
    """
    engines = {}
    for dtype in dtypes:
        engine = load_engine(family=family, device="cpu", dtype=dtype, threads=1)
        engine.wait_ready()
        engines[dtype] = engine
    curves: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(turns):
        for dtype, engine in engines.items():
            for name in family.names:
                ms = round_costs(engine.model(name), DRAFT_WIDTHS, REPEATS)
                relative = [cost / ms[0] for cost in ms]
                curves.setdefault((name, dtype), []).append(relative)
    table: dict[str, dict[str, list[float]]] = {name: {} for name in family.names}
    for (name, dtype), runs in curves.items():
        table[name][dtype] = np.median(runs, axis=0).round(3).tolist()
    return table


def as_text(table: dict[str, Any]) -> str:
    """Return a table as JSON with a line per curve."""
    text = json.dumps(table, indent=1)
    for wide, narrow in ((",\n    ", ", "), ("[\n    ", "["), ("\n   ]", "]")):
        text = text.replace(wide, narrow)
    return text + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Time the models and write the table."""
    parser = arguments("costs", __doc__, turns=5)
    parser.add_argument("--family", choices=FAMILIES, default=CODE.name)
    parser.add_argument("--dtype", nargs="+", default=["float32", "int8"])
    return command(parser, argv, _write_table)


def _write_table(args: argparse.Namespace) -> None:
    """Write the table of a family: to ``--json``, or else its own."""
    family = FAMILIES[args.family]
    path = args.json or family.costs
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    measured = measure(family, args.dtype, args.turns)
    about = {
        "on": cpu_model(),
        "date": datetime.now(UTC).date().isoformat(),
        "load_average": round(psutil.getloadavg()[0], 1),
        "turns": args.turns,
    }
    curves_kept = stored.get("models", {})
    table = {
        "format": FORMAT,
        "measured": stored.get("measured", {}) | dict.fromkeys(args.dtype, about),
        "models": {name: curves_kept.get(name, {}) | new for name, new in measured.items()},
        "others": {"cpu": CPU_MARGINAL, "cuda": GPU_MARGINAL},
    }
    write_whole(path, as_text(table))


if __name__ == "__main__":
    sys.exit(main())
