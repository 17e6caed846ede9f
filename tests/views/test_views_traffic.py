"""What the page shows of a server's record and of a replayed log: headline, chart, settings."""

from __future__ import annotations

import json

import pytest

import hsd_viz as hsd
from hsd_viz.disk import data_folder
from hsd_viz.measure.replay.facts import LogFacts
from hsd_viz.measure.replay.figures import DrafterFigures, Pays, ReplaySettings
from hsd_viz.measure.replay.report import ReplayReport
from hsd_viz.results.estimate import Estimate
from hsd_viz.views.app.traffic import diagnosis_part, replay_part
from tests.rows import column

LAB = data_folder("exercises/master", "notebooks/course/master") / "lab"


def spec_of(diagnosis, engine=""):
    return diagnosis_part(diagnosis, engine)["state"]["spec"]


@pytest.fixture(scope="module")
def served():
    """Return the diagnosis of the course's server, which drafts 7 tokens."""
    return hsd.doctor(
        LAB / "chat.log",
        known=hsd.Known(plain_speed=40.0, step_ms=25.0, draft_ms=21.0, verify_ms=28.0),
    )


def test_the_headline_is_the_speed_up_its_largest_loss_and_the_better_setting(served):
    spec = spec_of(served)
    assert spec["figure"] == "1.27 ×"
    assert spec["words"] == (
        "plain decoding. Rejected drafts cost most: 3 draft tokens instead of 7 would give 1.53 ×."
    )


def test_what_the_headline_says_is_not_said_again(served):
    spec = spec_of(served)
    assert spec["lines"] == []
    assert spec["verdict"] == served.headline()
    assert spec["sources"] == [f"Record: {remark}." for remark in served.remarks]


def test_the_chart_has_the_present_and_the_best_draft_length(served):
    settings = spec_of(served)["settings"]
    assert column(settings, "tokens") == [1, 2, 3, 4, 5, 6, 7]
    (present,) = [setting for setting in settings if setting["present"]]
    (best,) = [setting for setting in settings if setting["best"]]
    assert present["tokens"] == 7
    assert best["tokens"] == 3
    assert present["value"] == served.speedup.value
    assert present["low"] < present["value"] < present["high"]
    assert best["value"] == max(column(settings, "value"))


def test_what_is_lost_sums_to_all_of_it_and_starts_at_the_ideal(served):
    spec = spec_of(served)
    assert sum(column(spec["losses"], "share")) == pytest.approx(1.0)
    assert spec["ideal"] == 8.0
    assert len(spec["acceptance"]) == 7


def test_settings_are_of_the_engine_of_the_record_first(served):
    assert served.engine == "vllm"
    own = [engine["engine"] for engine in spec_of(served, served.engine)["pasted"] if engine["own"]]
    assert len(own) == 1
    assert own[0].startswith("vllm ")
    assert not any(engine["own"] for engine in spec_of(served)["pasted"])


def test_without_times_draft_lengths_are_compared_by_tokens_per_pass():
    spec = spec_of(hsd.doctor(LAB / "chat.log"))
    assert spec["words"].startswith("plain decoding at most. Not observed: ")
    assert spec["measure"] == "tokens per pass"
    assert spec["unit"] == ""
    assert column(spec["settings"], "tokens") == [1, 2, 3, 4, 5, 6, 7]
    assert spec["losses"] == []
    assert spec["ideal"] is None
    assert spec["lines"][0].startswith("What to do: ")


@pytest.mark.parametrize(
    ("acceptance", "draft", "advice"),
    [
        ((0.9, 0.8), 2.0, "4 draft tokens instead of 2 may give 3.21 ×."),
        ((0.3, 0.05), 20.0, "turn speculation off."),
    ],
    ids=["a longer draft", "none"],
)
def test_an_advice_with_a_condition_is_said_in_full_below(acceptance, draft, advice):
    spec = spec_of(
        hsd.doctor(
            acceptance=acceptance,
            known=hsd.Known(step_ms=25.0, draft_ms=draft, verify_ms=26.0, overhead_ms=0.5),
        )
    )
    assert spec["words"].endswith(f": {advice}")
    assert spec["lines"][0].startswith("What to do: ")


def test_a_draft_beyond_those_of_the_record_is_marked():
    spec = spec_of(
        hsd.doctor(
            acceptance=(0.9, 0.8),
            known=hsd.Known(step_ms=25.0, draft_ms=2.0, verify_ms=26.0, overhead_ms=0.5),
        )
    )
    assert [setting["tokens"] for setting in spec["settings"] if setting["assumed"]] == [3, 4]


def drafter_figures(name, **values):
    """Return a drafter of 10 rounds, with these figures."""
    known = {
        "name": name,
        "tokens": 30,
        "rounds": 10,
        "drafted": 40,
        "accepted": 20,
        "mean_acceptance_length": Estimate(3.0),
        "acceptance_rate": Estimate(0.5),
        "speedup": Estimate(2.0, 1.9, 2.1),
        "pays": Pays.YES,
        "drafted_by_position": (10,),
        "accepted_by_position": (8,),
    }
    return DrafterFigures(**known | values)


def replayed(*drafters):
    """Return what the page shows of a replay with these results."""
    log = LogFacts("x", requests=9, prompt_tokens=1, output_tokens=2)
    settings = ReplaySettings(
        drafters=tuple(drafter.name for drafter in drafters),
        budget=None,
        verify_cost="cpu",
        temperature=None,
        limit=None,
        tokenizer="",
        databases="",
    )
    return replay_part(ReplayReport(log, settings, drafters, {}, True))["state"]["spec"]


def test_settings_of_another_drafter_than_the_best_are_named():
    best = drafter_figures("db")
    nearest = drafter_figures("ngram-cache", speedup=Estimate(1.8, 1.7, 1.9))
    assert replayed(best, nearest)["lines"] == [
        "Engines do not offer db: the settings below are of ngram, the nearest that they offer "
        "(here ngram-cache: 1.80 × predicted)."
    ]
    assert replayed(nearest, best)["lines"] == []


def test_many_tokens_per_pass_that_do_not_pay_have_their_reason():
    wide = drafter_figures("hd", drafted=209, speedup=Estimate(0.95, 0.9, 0.99), pays=Pays.NO)
    assert replayed(drafter_figures("lookup"), wide)["lines"] == [
        "hd: 3.00 tokens per pass, yet 0.95 ×: it drafts 20.9 tokens per pass, whose verification "
        "costs more than the accepted ones save."
    ]


def test_a_drafter_that_does_not_pay_is_not_recommended():
    lookup = DrafterFigures(
        name="lookup",
        tokens=3,
        rounds=2,
        drafted=4,
        accepted=1,
        mean_acceptance_length=Estimate(1.2),
        acceptance_rate=Estimate(0.1),
        speedup=Estimate(1.01, 0.9, 1.1),
        pays=Pays.UNCLEAR,
        drafted_by_position=(2,),
        accepted_by_position=(1,),
    )
    log = LogFacts("x", requests=9, prompt_tokens=1, output_tokens=2)
    settings = ReplaySettings(
        drafters=("lookup",),
        budget=None,
        verify_cost="cpu",
        temperature=None,
        limit=None,
        tokenizer="",
        databases="",
    )
    report = ReplayReport(log, settings, (lookup,), {"hd": "no database"}, True)
    spec = replay_part(report)["state"]["spec"]
    assert spec["sources"] == [
        "x: 9 requests, 1 prompt and 2 output tokens; tokenizer not given",
        "Not replayed: hd: no database",
    ]
    assert spec["figure"] == "1.20"
    assert spec["words"].endswith("1.01 × plain decoding predicted, which does not certainly pay.")
    assert spec["drafters"][0]["speedup"] == {"value": 1.01, "low": 0.9, "high": 1.1}
    assert spec["drafters"][0]["tokens"]["low"] is None
    assert json.loads(json.dumps(spec)) == spec
