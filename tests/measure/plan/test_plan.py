"""Plans on an engine of known costs and acceptances: what is ranked, what is measured, and the
report's contract.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from hsd_viz.decoding.options import Sampling
from hsd_viz.measure.plan.options import PlanOptions
from hsd_viz.measure.plan.result import PlanResult
from hsd_viz.measure.plan.search import make_plan, split
from hsd_viz.prompts.suites import Prompt, Suite, load_suite
from hsd_viz.stack import parse
from tests.measure.fake_engine import WORLD, FakeEngine
from tests.rows import column

WARM = Sampling(temperature=1.0)
PROMPTS = []
for _category in "ab":
    for _number in range(16):
        _name = f"{_category}{_number}"
        PROMPTS.append(Prompt(_name, _category, f"text {_name}"))
SUITE = Suite("some", {"a": "A.", "b": "B."}, tuple(PROMPTS))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))


def planned(engine, suite=SUITE, *, limit=12, max_levels=None, measured=0, fresh=False) -> dict:
    result = make_plan(
        engine,
        suite,
        PlanOptions(
            temperature=WARM.temperature,
            repeats=1,
            models=("mid", "tiny"),
            limit=limit,
            max_levels=max_levels,
            measure=measured,
            fresh=fresh,
        ),
    )
    return json.loads(json.dumps(result.to_dict()))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_VIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        engine = FakeEngine()
        return engine, planned(engine, measured=3)


def test_calibration_and_measurement_share_no_prompt(measured):
    engine, data = measured
    first, second = split(SUITE, 12)
    assert not {p.id for p in first.prompts} & {p.id for p in second.prompts}
    for half in (first, second):
        assert Counter(p.category for p in half.prompts) == {"a": 6, "b": 6}
    on = defaultdict(set)
    for prompt, stack in engine.asked:
        on[str(stack)].add(prompt)
    assert on[data["picked"]] == {p.text for p in second.prompts}
    assert on["mid:8 > target"] == {p.text for p in first.prompts}
    heldout = split(load_suite("heldout"), 1000)
    assert [len(half.prompts) for half in heldout] == [36, 36]
    one_each = Suite("few", {"a": "A.", "b": "B."}, (Prompt("1", "a", "x"), Prompt("2", "b", "y")))
    first, second = split(one_each, 5)
    assert [p.id for p in first.prompts] == ["1"]
    assert [p.id for p in second.prompts] == ["2"]


def test_the_report_keeps_its_contract(measured):
    data = measured[1]
    assert data["models"] == ["tiny", "mid", "target"]
    assert data["complete"]
    rows = data["hierarchies"]
    predicted = column(rows, "predicted_ms_per_token")
    assert predicted == sorted(predicted)
    assert data["picked"] in set(column(rows, "stack"))
    best = parse(data["best_single_draft"])
    assert best.bottom is None
    assert len(best.drafts) == 1
    done = {row["stack"] for row in rows if row["measured_ms_per_token"] is not None}
    assert {"target", "db > target", data["picked"], data["best_single_draft"]} <= done
    assert len(done) >= 5
    for row in rows:
        names = [m.name for m in parse(row["stack"]).models]
        assert list(row["forwards_per_token"]) == names
        for n in row["forwards_per_token"].values():
            assert n["predicted"] > 0
            assert (n["measured"] is None) == (row["stack"] not in done)
        if row["stack"] in done:
            low, high = row["measured_ms_per_token_ci"]
            assert low <= row["measured_ms_per_token"] <= high
            assert row["error"] == pytest.approx(
                row["predicted_ms_per_token"] / row["measured_ms_per_token"] - 1
            )
    assert data["picked"] == rows[0]["stack"]


def test_the_law_meets_what_is_measured(measured):
    """Costs are exact here, so all that is left is luck: few tokens of few prompts."""
    data = measured[1]
    assert data["errors"]["ms_per_token"]["median"] < 0.04
    assert data["errors"]["ms_per_token"]["worst"] < 0.12
    assert data["errors"]["forwards_per_token"]["median"] < 0.05
    assert data["errors"]["drift"] == pytest.approx(1.0, abs=1e-3)
    assert data["picked_over_best_measured"] < 0.05


def slower(costs):
    return {model: 1.5 * cost for model, cost in costs.items()}


def test_a_machine_that_slowed_down_is_not_taken_for_an_error_of_the_law():
    planned(FakeEngine(), limit=6)
    slow = replace(WORLD, first=slower(WORLD.first), step=slower(WORLD.step))
    data = planned(FakeEngine(slow), limit=6, measured=2)
    assert data["calibration"]["kept"]
    assert data["errors"]["drift"] > 1.4
    errors = data["errors"]
    assert errors["ms_per_token"]["median"] > 0.2
    assert errors["ms_per_token_without_drift"]["median"] < 0.06


def test_the_table_shows_pick_and_errors(measured):
    data = measured[1]
    text = PlanResult.from_dict(data).to_text()
    assert text.startswith("calibration: 12 prompts of some, 128 tokens each, measured in ")
    assert f"ms/token: {data['picked']}" in text
    assert "error of the law, forwards/token: median" in text
    assert "predicted / measured on 12 other prompts" in text
    for row in data["hierarchies"][:3]:
        assert row["stack"] in text


def test_without_measuring_nothing_is_measured():
    engine = FakeEngine()
    data = planned(engine, max_levels=2)
    for row in data["hierarchies"]:
        assert row["measured_ms_per_token"] is None
    assert data["errors"] is None
    for row in data["hierarchies"]:
        assert len(parse(row["stack"]).parts) <= 2
    # A second look costs no decode beyond the probes.
    again = FakeEngine()
    assert planned(again, max_levels=2)["calibration"]["kept"]
    for option in again.options:
        assert option.max_new_tokens == 1
    alone = planned(FakeEngine(), max_levels=1)
    assert column(alone["hierarchies"], "stack") == ["target"]
    assert alone["best_single_draft"] is None


def test_interrupted_while_measuring_it_says_what_is_known():
    whole = FakeEngine()
    planned(whole, limit=2, fresh=True)
    engine = FakeEngine(stop_at=len(whole.asked) + 14)
    data = planned(engine, limit=2, measured=2, fresh=True)
    assert not data["complete"]
    assert sum(row["measured_ms_per_token"] is not None for row in data["hierarchies"]) >= 4
    with pytest.raises(KeyboardInterrupt):  # nothing is known before it is calibrated
        planned(FakeEngine(stop_at=6), limit=2, fresh=True)


def test_one_prompt_is_too_few_to_measure():
    one = Suite("one", {"a": "A."}, (Prompt("1", "a", "x"),))
    with pytest.raises(ValueError, match="has one prompt"):
        planned(FakeEngine(), one, measured=1)
    assert planned(FakeEngine(), one)["complete"]
