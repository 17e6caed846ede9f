"""Files written by earlier versions open, with all that is derived from them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from hsd_viz.engine.recordings import bundled
from hsd_viz.figures.ablations import ablation_of
from hsd_viz.latency.basis import place, plan_measured, read_json
from hsd_viz.measure.bench.report import read_report
from hsd_viz.trace import SCHEMA_VERSION, Trace
from hsd_viz.trace.identities import check
from hsd_viz.views import run_data
from hsd_viz.views.export import run_page
from tests.rows import column

FIXTURES = Path(__file__).with_name("fixtures")
TRACES = sorted((FIXTURES / "traces").glob("*.json.gz"))


def test_every_schema_has_a_fixture():
    assert len(TRACES) >= 5
    schemas = {json.loads(gzip.decompress(path.read_bytes()))["schema"] for path in TRACES}
    assert schemas == set(range(1, SCHEMA_VERSION + 1))
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) <= 400_000


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_an_old_recording_opens_and_is_exported(path, tmp_path):
    trace = Trace.load(path)
    check(trace)
    assert len(trace) > 100
    assert run_data.snapshot(trace, "x")["meta"]["device"]
    assert "<html" in run_page(trace)
    assert Trace.load(trace.save(tmp_path / "again.json.gz")).to_dict() == trace.to_dict()


def test_an_old_index_opens():
    recordings = bundled(FIXTURES / "traces")
    assert column(recordings, "name")[:2] == ["both", "databases"]
    for r in recordings:
        assert r.label == r.title


def test_old_reports_open():
    folder = FIXTURES / "reports"
    for name in ("bench-first.json", "bench.json"):
        report = read_report((folder / name).read_text(encoding="utf-8"), name)
        assert report.stacks[0].whole.tokens_per_second.value > 0
    assert set(ablation_of(folder / "ablation.json")[0]["temperature"]) == {0.0, 0.7, 1.0}
    plan = read_json(folder / "plan.json")
    assert place(plan["machine"]).startswith("AMD EPYC")
    assert plan_measured(plan)["target"].value > 0
