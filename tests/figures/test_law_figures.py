"""Figures of the latency law show the law, and those of runs the traces' counters."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from hsd_viz import figures
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.figures.pays import GPU
from hsd_viz.figures.predictions import (
    basis_frame,
    fastest_text,
    interval_of_fastest,
    plan_frame,
    prediction_frame,
)
from hsd_viz.figures.second_draft import (
    BOTTOM_ACCEPTANCE,
    BOTTOM_COST,
    BOTTOM_TARGET,
    WIDTHS,
    gain,
    measured_points,
)
from hsd_viz.latency.basis import Basis, level_use, recorded
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost
from hsd_viz.latency.law import Law, predict
from hsd_viz.latency.select import select
from hsd_viz.results.estimate import Estimate
from hsd_viz.stack import parse
from hsd_viz.trace import CallRow, RoundRow, Trace
from tests.figures.sample_calibration import DEAR
from tests.rows import column, find, keyed

BENCH = Path(__file__).resolve().parents[2] / "docs" / "bench"


@pytest.fixture(scope="module")
def basis():
    return recorded()


def cells(drawn) -> list[dict[str, str]]:
    """The rows of a figure's table by column."""
    head, *rows = drawn.layout.meta["table"]
    return [dict(zip(head, row, strict=True)) for row in rows]


# --- predicted beside measured --------------------------------------------------------------------


def test_a_ranking_sorts_by_what_is_known_best_and_marks_pick_single_and_plain():
    runs = {
        "nano:4 > target": Estimate(0.9, 0.8, 1.0),
        "target": Estimate(1.05),
        "db[context] > target": Estimate(0.2),
    }
    choice = select(DEAR)
    frame = basis_frame(Basis(DEAR, "", runs)).set_index("stack")
    remarks = {}
    for stack, remark in frame["remark"].items():
        if remark:
            remarks[stack] = remark
    assert remarks == {
        choice.picked.stack: "selected by the law",
        choice.best_single_draft.stack: "best single draft",
        "target": "plain decoding",
    }
    one = frame.loc["nano:4 > target"]
    assert one[["predicted", "dot", "low", "high"]].tolist() == [
        predict("nano:4 > target", DEAR).ms_per_token,
        *(0.9, 0.8, 1.0),
    ]
    assert np.isnan(frame["predicted"]["db[context] > target"]), "never calibrated, but it ran"
    drawn = figures.ranking(Basis(DEAR, "", runs))
    rows = cells(drawn)
    values = [float(r["measured"] if r["measured"] != "–" else r["predicted"]) for r in rows]
    assert values == sorted(values)
    plain = find(rows, stack="target")
    off = predict("target", DEAR).ms_per_token / 1.05 - 1
    assert plain["law error"] == f"{off:+.0%}".replace("-", "−")


def test_a_ranking_has_predictions_and_measurements(basis):
    drawn = figures.ranking(basis)
    bar = drawn.data[0]
    dots = find(drawn.data, name="measured")
    stacks = list(drawn.layout.yaxis.ticktext)
    law = Law(basis.calibration)
    predicted = [law.predict(stack).ms_per_token for stack in stacks]
    assert list(bar.x) == pytest.approx(predicted)
    shown = [x for x in dots.x if x is not None and x == x]
    assert sorted(shown) == pytest.approx(
        sorted(m.value for s, m in basis.measured.items() if s in stacks)
    )


def test_a_ranking_reads_what_plan_wrote(tmp_path):
    def row(stack, predicted, measured, **more):
        figures = {"predicted_ms_per_token": predicted, "measured_ms_per_token": measured}
        return {"stack": stack} | figures | more

    plan = {
        "machine": {"cpu": "A processor", "gpu": None, "threads": 2},
        "models": ["nano", "target"],
        "hierarchies": [
            row("target", 4.0, 4.4),
            row("nano:2 > target", 3.0, None),
            row("db > target", 2.0, 2.2, measured_ms_per_token_ci=[2.1, 2.3]),
        ],
        "picked": "db > target",
        "best_single_draft": "nano:2 > target",
        "best_measured": "db > target",
        "measured_on": "24 other prompts",
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    for given in (plan, str(path)):
        rows = cells(figures.ranking(given))
        assert [(r["stack"], r[""]) for r in rows] == [
            ("db > target", "selected by the law"),
            ("nano:2 > target", "best single draft"),
            ("target", "plain decoding"),
        ]
        assert rows[0]["95 % interval"] == "2.1 to 2.3"
        assert rows[1]["measured"] == "–"
    note = figures.ranking(plan).layout.meta["note"]
    assert "A processor, 2 threads" in note
    assert "24 other prompts" in note
    frame = plan_frame({**plan, "best_measured": "target"})
    assert frame.set_index("stack")["remark"]["target"] == "fastest measured, plain decoding"
    with pytest.raises(ValueError, match="not a plan"):
        figures.ranking({"hierarchies": [{}]})


def test_levels_show_the_counters_of_the_run_beside_the_laws():
    trace = load_bundled("both")
    basis = recorded()
    whole, *parts = cells(figures.levels(trace, basis))
    p = predict(trace.meta["stack_resolved"], basis.calibration)
    uses = level_use(trace)[::-1]
    assert column(parts, "level") == ["target", "small", "nano", "db"] == column(uses, "name")
    for row, forwards, use in zip(parts, p.forwards_per_token[::-1], uses, strict=True):
        assert row["predicted / measured"].startswith(f"{forwards:.3g} / {use.forwards:.3g} ")
        assert row["measured"] == f"{use.ms:.3g}"
    assert whole["predicted"] == f"{p.ms_per_token:.3g}"
    assert whole["measured"] == f"{sum(column(uses, 'ms')):.3g}"
    # With its own estimates the law has more of this run: it is not further off.
    own = figures.levels(trace)
    off = cells(own)[0]["law error"].replace("−", "-").rstrip("%")
    assert abs(int(off)) < 20
    assert "estimated from this run" in own.layout.meta["note"]
    with pytest.raises(ValueError, match="no emitted tokens"):
        figures.levels(Trace({}))
    with pytest.raises(ValueError, match=r"the acceptance of .* is unknown"):
        figures.levels(trace, Calibration(DEAR.models, DEAR.costs, {}))


# --- when a hierarchy pays ------------------------------------------------------------------------


@pytest.mark.parametrize(("cost", "agreement", "pays"), [(0.1, 0.95, True), (0.5, 0.6, False)])
def test_a_second_draft_pays_by_the_law_where_it_is_cheap_and_agrees(cost, agreement, pays):
    curve = np.interp(range(1, 18), WIDTHS, GPU)
    costs = {"low": BOTTOM_COST * cost, "high": cost, "target": 1.0}
    costs = {name: LevelCost(tuple(one * curve)) for name, one in costs.items()}
    rates = {
        ("low", "high"): BOTTOM_ACCEPTANCE,
        ("low", "target"): BOTTOM_TARGET,
        ("high", "target"): agreement,
    }
    law = Law(
        Calibration(tuple(costs), costs, {pair: Edge(tail=rate) for pair, rate in rates.items()})
    )
    single = product(("low", "high"), range(1, 17))
    one = min(law.ms((None, (name,)), (n,)) for name, n in single)
    double = product(range(1, 7), range(1, 17))
    two = min(law.ms((None, ("low", "high")), lookaheads) for lookaheads in double)
    assert gain(cost, agreement, GPU) == pytest.approx(min(one, 1.0) / two, rel=0.002)
    assert (one > two) == pays
    # Where a verified token costs as much as a forward pass, drafting pays less.
    assert gain(cost, agreement, WIDTHS) < gain(cost, agreement, GPU)


def test_points_are_those_of_the_grids():
    grid = json.loads((BENCH / "grid-t07-cpu.json").read_text())
    points = measured_points([grid])
    assert len(points) == len(grid["points"])
    for point, row in zip(grid["points"], points.itertuples(), strict=True):
        comparison = point["models_over_single_draft"]
        assert row.gain == comparison["speedup"]
        assert [row.low, row.high] == comparison["speedup_ci"]
        assert row.kind == ("padded target" if point["pad_layers"] else "this ladder")
        assert row.cost == point["cost_ratio"]["small"]
        said = {r["stack"]: r["predicted_ms_per_token"] for r in point["rows"]}
        assert row.law == said[comparison["over"]] / said[comparison["hierarchy"]]


def test_the_calls_of_a_level_are_apart_from_its_time():
    """Of 6 ms per token of the target, 2.5 are its forward passes."""
    trace = Trace({"stack": "db > target", "prefill_ns": 4_000_000, "wall_ns": 34_000_000})
    for number, (start, spent) in enumerate([(5, 10), (18, 12)]):
        for kind, level, name, ms in [
            ("lookup", 0, "db", 2),
            ("verify", 1, "target", 5),
            ("update", 0, "db", 1),
        ]:
            row = CallRow(number, level, name, kind, 1, 1, 0, start * 10**6, ms * 10**6)
            trace.add_rows(calls=[row])
        trace.add_rows(
            rounds=[RoundRow(number, None, 1, 1, 1, 1, "bonus", None, start * 10**6, spent * 10**6)]
        )
    trace.columns["tokens"]["token_id"] = [1, 2, 3, 4]
    rows = keyed(cells(figures.levels(trace)), "level")
    assert rows["target"]["measured"] == "6"
    assert rows["target"]["calls"] == "calls only 2.5 ms"
    assert rows["db"]["measured"] == "1.5"
    assert rows["db"]["calls"] == "calls only 1.5 ms"


def test_a_band_of_a_prediction_ends_at_its_interval():
    row = SimpleNamespace(
        stack="small:4 > large",
        levels=parse("small:4 > large"),
        batch=1,
        context=2048,
        speedup_over_plain=Estimate(2.0, 1.5, 2.2),
        fits=True,
    )
    (drawn,) = prediction_frame(SimpleNamespace(rows=[row])).to_dict("records")
    assert drawn["speedup"] == pytest.approx(2.0)
    assert drawn["up"] == pytest.approx(0.2)
    assert drawn["down"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("low_of_best", "verdict"),
    [
        (1.75, "hierarchy 2.00\xa0× plain decoding is fastest."),
        (
            1.65,
            "hierarchy 2.00\xa0× and one draft model 1.60\xa0× plain decoding are not separable, "
            "because their intervals overlap.",
        ),
    ],
)
def test_kinds_whose_intervals_overlap_are_not_separable(low_of_best, verdict):
    columns = ["kind", "batch", "speedup", "up", "down"]
    rows = [
        ["one draft model", 1, 1.6, 0.1, 0.1],
        ["hierarchy", 1, 2.0, 0.2, 2.0 - low_of_best],
        ["one draft model", 8, 3.0, 0.1, 0.1],
    ]
    frame = pd.DataFrame(rows, columns=columns).assign(context=2048)
    assert fastest_text(frame) == f"At batch 1, context 2,048: {verdict}"


def test_the_band_of_a_prediction_is_the_interval_of_the_fastest_at_each_batch():
    columns = ["kind", "batch", "speedup", "up", "down"]
    rows = [
        ["one draft model", 1, 1.6, 0.1, 0.1],
        ["hierarchy", 1, 2.0, 0.2, 0.25],
        ["one draft model", 8, 3.0, 0.5, 0.75],
        ["hierarchy", 8, 2.5, 0.1, 0.1],
    ]
    band = interval_of_fastest(pd.DataFrame(rows, columns=columns))
    assert list(zip(band.x, band.y, strict=True)) == [(1, 1.75), (8, 2.25), (8, 3.5), (1, 2.2)]
