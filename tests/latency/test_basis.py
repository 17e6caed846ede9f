"""Test the basis of predictions: a calibration with its provenance, and measured times."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.recordings import ANSWERS, bundled, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import (
    Basis,
    basis_of,
    level_use,
    own_plan,
    own_plan_of,
    rate,
    recorded,
)
from hsd_viz.latency.inputs import Edge
from hsd_viz.trace import Trace
from tests.figures.sample_calibration import DEAR
from tests.rows import column


def test_the_projects_own_measurements_are_of_the_nearest_temperature():
    for asked, nearest in ((0.0, 0.0), (0.2, 0.0), (0.7, 0.7), (2.0, 1.0)):
        basis = recorded(asked)
        assert basis.temperature == nearest
        assert "int8, 1 thread" in basis.source
        assert basis.calibration.models == ("nano", "small", "target")
        assert basis.measured["db > target"].low


def test_a_run_has_the_plan_that_measured_its_weights():
    """Each recording of a family that the project calibrated has the plan of that family."""
    shipped = load_bundled("both")
    chat = load_bundled("one-draft", ANSWERS)
    assert own_plan_of(shipped.meta["models"], 0.7) == own_plan(0.7)
    assert own_plan_of(chat.meta["models"], 0.7) == own_plan(0.7, "smollm2")
    assert own_plan_of(load_bundled("padded").meta["models"], 0.7) is None
    assert own_plan_of([], 0.7) is None
    assert own_plan_of([{"weights": None}], 0.7) is None


def test_a_plan_of_a_family_names_its_machine_and_its_day():
    basis = recorded(0.7, "smollm2")
    assert basis.calibration.models == ("nano", "target")
    assert basis.source.endswith("int8, 1 thread, temperature 0.7, 2026-11-29")
    with pytest.raises(UserError, match="no plan of the family 'x' is shipped: use code, smollm2"):
        own_plan(0.7, "x")


def test_the_times_of_the_levels_add_up_and_forwards_are_counted():
    for recording in bundled():
        trace = load_bundled(recording.name)
        m = trace.metrics()
        uses = level_use(trace)
        assert sum(column(uses, "ms")) == pytest.approx(1000 * m["seconds"] / m["tokens"])
        for use in uses:
            assert use.ms > 0
        counted = {}
        for call in m["calls_by_level"]:
            if call["kind"] in ("verify", "draft", "lookup"):
                counted[call["name"]] = counted.get(call["name"], 0) + call["steps"] / m["tokens"]
        assert {u.name: u.forwards for u in uses} == pytest.approx(counted)
    assert level_use(Trace({})) == ()


def test_acceptance_of_a_curve_is_accepted_over_examined():
    edge = Edge((0.9, 0.45), 0.2)
    stops = edge.stops(4)
    n = 4
    accepted = sum(k * p for k, p in enumerate(stops))
    examined = sum(min(k + 1, n) * p for k, p in enumerate(stops))
    assert rate(edge) == pytest.approx(accepted / examined)


def test_a_basis_comes_from_a_calibration_a_plan_or_its_file(tmp_path):
    assert basis_of(DEAR) == Basis(DEAR, "as given")
    plan = {
        "machine": {"cpu": "A processor", "threads": 1},
        "hierarchies": [],
        "calibration": DEAR.to_dict(),
    }
    who = {"device": "cpu", "device_name": "A processor", "dtype": "float32", "threads": 2}
    who["sampling"] = {"temperature": 0.0}
    stored = {
        "identity": who,
        "texts": {},
        "created": 1_700_000_000.0,
        "calibration": DEAR.to_dict(),
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(stored))
    assert basis_of(plan) == Basis(DEAR, "measured on A processor, 1 thread")
    for given in (stored, path, str(path)):
        words = "measured on A processor, float32, 2 threads, greedy, 2023-11-14"
        assert basis_of(given) == Basis(DEAR, words, temperature=0.0)
    (tmp_path / "no.json").write_text("{")
    for given, words in [
        (tmp_path / "missing.json", "cannot read the JSON file"),
        (tmp_path / "no.json", "not JSON"),
        ({"models": 3}, "not a plan with its calibration"),
        ({"hierarchies": [], "calibration": {"costs": {}}}, "not a plan with its calibration"),
        ({"identity": {}, "calibration": {"models": 3, "edges": 4}}, "not a calibration"),
        (3, "not int"),
    ]:
        with pytest.raises(ValueError, match=words):
            basis_of(given)
