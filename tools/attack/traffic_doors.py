"""Doors of what a visitor or an operator hands over: traces, logs, records, plans and reports."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError
from tools.attack.damage import damaged_bytes, damaged_json
from tools.attack.door import Attempt, Door, command

ROOT = Path(__file__).resolve().parents[2]


def _trace() -> Any:
    from hsd_viz.engine.recordings import bundled, load_bundled

    return load_bundled(bundled()[0].name)


def trace_files(folder: Path) -> Door:
    """Traces that a page opens."""
    from hsd_viz.views.run_data import read_trace

    trace = _trace()
    data = trace.to_dict()
    packed = trace.to_bytes()

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.2:
            return damaged_bytes(packed, chance)
        return damaged_json(data, chance)

    return Door(make, lambda content: read_trace(content, "run.json"))


def trace_commands(folder: Path) -> Door:
    """Traces of a command."""
    make = trace_files(folder).make
    return Door(make, command(folder, "run.json", "doctor", "FILE"))


LOG = [
    {"prompt_ids": [1, 2, 3], "output_ids": [4, 5, 6] * 9, "max_new_tokens": 64},
    {"prompt": "def f():", "output": "return 1"},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"request": {"prompt": "a"}, "response": {"choices": [{"text": "b"}]}},
    {"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
]


def _lines(data: list, chance: random.Random) -> bytes:
    if chance.random() < 0.15:
        return damaged_json(data, chance)
    return b"\n".join(damaged_json(row, chance) for row in data)


def logs(folder: Path) -> Door:
    """Logs of a replay."""
    words = ("replay", "FILE", "--tokenizer", "target", "--drafter", "lookup")
    return Door(lambda chance: _lines(LOG, chance), command(folder, "log.jsonl", *words))


def records(folder: Path) -> Door:
    """Records of serving engines."""
    files = [path for path in (ROOT / "tests" / "fixtures" / "records").iterdir() if path.is_file()]
    importing = command(folder, "record", "import", "FILE")
    diagnosing = command(folder, "record", "doctor", "FILE")

    def make(chance: random.Random) -> bytes:
        content = chance.choice(files).read_bytes()
        if chance.random() < 0.5:
            return damaged_bytes(content, chance)
        with contextlib.suppress(ValueError):
            rows = [json.loads(line) for line in content.splitlines() if line.strip()]
            return _lines(rows[:4], chance)
        return damaged_bytes(content, chance)

    def attempt(content: bytes) -> None:
        with contextlib.suppress(UserError):
            importing(content)
        diagnosing(content)

    return Door(make, attempt)


def plans(folder: Path) -> Door:
    """Plans, reports, profiles and tables of costs."""
    from hsd_viz.engine.forwards import Costs
    from hsd_viz.latency.basis import basis_of, own_plan
    from hsd_viz.measure.bench.report import read_report
    from hsd_viz.measure.doctor.profile import read_profile
    from hsd_viz.models.families import LADDER
    from hsd_viz.views.page_data import saved_reports

    profile = {
        "marginal_accept_rates": [0.8, 0.6],
        "mean_accept_length": 2.4,
        "acceptance_length_histogram": {"1": 5, "3": 9},
        "measured": True,
    }
    report = json.loads(next(iter(saved_reports().values())).read_bytes())
    path = folder / "plan.json"

    def plan(content: bytes) -> None:
        path.write_bytes(content)
        basis_of(path)

    def profiled(content: bytes) -> None:
        path.write_bytes(content)
        read_profile(path)

    def costs(content: bytes) -> None:
        path.write_bytes(content)
        Costs(str(path))

    shipped = json.loads((LADDER / "costs.json").read_text())
    shown = command(folder, "report.json", "bench", "--from", "FILE")
    kinds: list[tuple[Any, Attempt]] = [
        (own_plan(0.0), plan),
        (profile, profiled),
        (report, lambda content: read_report(content, "report.json")),
        (report, shown),
        (shipped, costs),
    ]

    def make(chance: random.Random) -> bytes:
        which = chance.randrange(len(kinds))
        return bytes([which]) + damaged_json(kinds[which][0], chance)

    return Door(make, lambda content: kinds[content[0]][1](content[1:]))
