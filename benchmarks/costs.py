"""Write the table of costs that sizes the drafts of ``db``: ``python -m benchmarks.costs [--json OUT]``.

Rounds of each ladder model with 0 to 24 draft tokens, on one thread, relative to a round without drafts. Without
``--json`` the shipped table is replaced.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hsd_viz.calibration.forwards import FORMAT, draft_costs
from hsd_viz.drafting.make import CPU_MARGINAL
from hsd_viz.engine.local import load_engine
from hsd_viz.models.families import CODE, LADDER

#: Cost of one more draft token on a GPU, where a forward pass of 16 tokens takes about as long as one of one token.
GPU_MARGINAL = 0.005


def main(argv: list[str] | None = None) -> int:
    """Time the models and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--dtype", nargs="+", default=["float32"])
    parser.add_argument("--json", type=Path, default=LADDER / "costs.json")
    args = parser.parse_args(argv)
    models: dict[str, dict[str, list[float]]] = {name: {} for name in CODE.names}
    for dtype in args.dtype:
        engine = load_engine(device="cpu", dtype=dtype, threads=1)
        engine.wait_ready()
        for name, row in models.items():
            first, *rest = draft_costs(engine.model(name))
            row[dtype] = [1.0, *(round(ms / first, 3) for ms in rest)]
    table = {
        "format": FORMAT,
        "models": models,
        "others": {"cpu": CPU_MARGINAL, "cuda": GPU_MARGINAL},
    }
    lines = (
        json.dumps(table, indent=1)
        .replace(",\n    ", ", ")
        .replace("[\n    ", "[")
        .replace("\n   ]", "]")
    )
    args.json.write_text(lines + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
