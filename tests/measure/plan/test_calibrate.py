"""Calibration on an engine of known costs and acceptances, and what is stored of it on disk."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine.forwards import fit_curve
from hsd_viz.latency import stored as store
from hsd_viz.latency.law import Law
from hsd_viz.latency.stored import decide
from hsd_viz.measure.plan.calibrate import TOKENS, Workload, at, calibrate, calibrated
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import parse
from tests.measure.fake_engine import WORLD, FakeEngine

DRAFTS = ("tiny", "mid")
WARM = Sampling(temperature=1.0)


def suite(prompts: int) -> Suite:
    return Suite(
        "some", {"all": "All."}, tuple(Prompt(str(k), "all", f"prompt {k}") for k in range(prompts))
    )


def work(prompts: int, drafts=DRAFTS, *, sampling=WARM, tokens=TOKENS) -> Workload:
    return Workload(suite(prompts), drafts, sampling=sampling, max_new_tokens=tokens)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))
    return tmp_path / "calibration"


@pytest.fixture(scope="module")
def known():
    return calibrate(FakeEngine(), work(12))


def test_a_calibration_recovers_the_simulated_figures(known):
    calibration = known.calibration
    assert calibration.models == ("tiny", "mid", "target")
    for round in known.rounds.values():
        assert round > 100
    assert "tiny > target" in known.rounds
    for pair, edge in calibration.edges.items():
        assert edge.curve(4)[1:] == pytest.approx(
            WORLD.acceptance[pair] ** np.arange(1, 5), abs=0.035
        )
    for verifier in calibration.models:
        tier = calibration.tiers["db", verifier]
        rate = WORLD.acceptance["db", verifier]
        assert 1 - tier.drafted()[0] == pytest.approx(WORLD.hit, abs=0.03)
        assert tier.tokens == pytest.approx(
            1 + WORLD.hit * sum(rate**k for k in range(1, 6)), abs=0.06
        )


def test_costs_are_those_that_rounds_pay(known):
    costs = known.calibration.costs
    for name in ("tiny", "mid", "target"):
        expected = [WORLD.verify(name, m) for m in range(1, len(costs[name].forward) + 1)]
        assert costs[name].forward == pytest.approx(expected, abs=1e-3)
    for name in DRAFTS:
        assert costs[name].drafting(1) == pytest.approx(WORLD.each[name], abs=1e-3)
        assert costs[name].draft_overhead == pytest.approx(WORLD.launch, abs=2e-3)
        assert costs[name].overhead == pytest.approx(WORLD.overhead, abs=1e-6)
    # The pause between rounds is the target's alone, and counted once.
    assert costs["target"].overhead == pytest.approx(WORLD.overhead + WORLD.pause, abs=1e-6)
    assert known.calibration.lookups["db"].lookup == pytest.approx(WORLD.lookup)
    assert known.calibration.lookups["db"].update == pytest.approx(WORLD.update)


@pytest.mark.parametrize(
    "stack",
    [
        "tiny:6 > target",
        "mid:3 > target",
        "tiny:3 > mid:6 > target",
        "db > target",
        "db > mid:5 > target",
        "tiny:6?0.4 > target",
        "tiny:5?0.4 > mid:4 > target",
        "tiny:2 > mid:6?0.4 > target",
    ],
)
def test_stacks_that_were_not_decoded_are_predicted(known, stack):
    assert stack not in map(str, work(1).stacks()) or stack == "db > target"
    engine = FakeEngine()
    law = Law(known.calibration)
    traces = []
    for k in range(12):
        traces.append(engine.run(f"other {k}", stack, max_new_tokens=400, temperature=1.0, seed=k))
    tokens = sum(map(len, traces))
    measured = sum(t.meta["wall_ns"] for t in traces) / 1e6 / tokens
    said = law.predict(stack)
    assert said.ms_per_token == pytest.approx(measured, rel=0.03)
    for name, n in zip(said.names, said.forwards_per_token, strict=True):
        calls = chain(*(trace.call_rows for trace in traces))
        steps = sum(call.steps for call in calls if call.name == name and call.kind != "update")
        assert n == pytest.approx(steps / tokens, rel=0.04)


def test_a_curve_takes_its_shape_from_forwards_by_themselves():
    shape = {m: 1.0 + 0.1 * m for m in (1, 2, 4, 8, 16)}
    real = {m: [1.3 * (1.0 + 0.1 * m)] * 50 for m in (1, 3, 5)} | {9: [9.0] * 2}
    assert fit_curve(shape, real) == pytest.approx([1.3 * (1.0 + 0.1 * m) for m in range(1, 17)])


# --- on disk --------------------------------------------------------------------------------------


def measured(engine=None, texts=None, *, fresh=False):
    return calibrated(engine or FakeEngine(), texts or work(2, tokens=40), fresh=fresh)


def test_it_is_stored_and_found_again(cache):
    first, before = measured()
    assert not before
    assert len(list(cache.iterdir())) == 1
    engine = FakeEngine()
    again, before = measured(engine)
    assert before
    assert again == first
    assert len(engine.asked) <= 1
    assert measured(fresh=True)[1] is False
    for option in engine.options:
        assert option.record is False
    others = (
        work(2, sampling=Sampling(), tokens=40),
        work(3, tokens=40),
        work(2, ("mid",), tokens=40),
    )
    assert measured(FakeEngine(weights="4567"))[1] is False
    for other in others:
        assert measured(texts=other)[1] is False
    assert measured()[1] is True


def test_an_old_one_is_measured_again(cache):
    measured()
    (path,) = cache.iterdir()
    data = json.loads(path.read_text())
    for days, used in (
        (store.MAX_AGE_DAYS - 1, True),
        (store.MAX_AGE_DAYS + 1, False),
        (-30, False),
    ):
        path.write_text(json.dumps({**data, "created": data["created"] - days * 86_400}))
        assert measured()[1] is used


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "hsd_viz calibration", "schema": 2}'])
def test_a_broken_file_is_replaced(cache, text):
    measured()
    (path,) = cache.iterdir()
    path.write_text(text)
    stored, before = measured()
    assert not before
    assert store.load(path) == stored


def test_where_nothing_can_be_stored_it_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot be saved"):
        assert measured()[1] is False


def test_an_interrupted_one_is_not_stored(cache):
    with pytest.raises(KeyboardInterrupt):
        measured(FakeEngine(stop_at=5), work(3))
    assert not cache.exists()


# --- lookaheads that are left out -----------------------------------------------------------------


def filled(stack: str, changes: dict | None = None) -> str:
    """Return a stack with the lookaheads of a stored calibration for an engine whose meta has
    ``changes``.
    """
    meta = FakeEngine().run("p", stack, max_new_tokens=1, temperature=1.0, seed=3).meta
    return str(decide(parse(stack), False, meta | (changes or {})))


def test_left_out_lookaheads_are_the_laws(known):
    with pytest.raises(ValueError, match="needs a calibration of this machine"):
        filled("tiny > mid > target")
    store.save(known)
    law = Law(known.calibration)
    at = law.predict(filled("tiny > mid > target")).ms_per_token
    for other in ((1, 1), (4, 4), (2, 8), (8, 16)):
        assert at <= law.predict(f"tiny:{other[0]} > mid:{other[1]} > target").ms_per_token
    assert filled("db > mid:9 > target") == "db > mid:9 > target"
    assert ":5 >" in filled("tiny > mid:5 > target")


def test_a_confidence_that_was_not_measured_is_named(known):
    store.save(known)
    with pytest.raises(
        ValueError, match=r"needs a calibration.*with the confidence 0\.3 is unknown"
    ):
        filled("tiny:auto?0.3 > target")


def test_another_engine_gets_none(known):
    store.save(known)
    models = (
        FakeEngine()
        .run("p", "tiny > target", max_new_tokens=1, temperature=1.0, seed=3)
        .meta["models"]
    )
    changes = {"threads": 2, "device_name": "x", "dtype": "bfloat16", "versions": {"hsd_viz": "2"}}
    changes["sampling"] = {"temperature": 0.5, "top_k": 0, "top_p": 1.0, "seed": 3}
    changes["models"] = [{**models[0], "runtime": "eager"}, *models[1:]]
    assert filled("tiny > target").startswith("tiny:")
    for name, value in changes.items():
        with pytest.raises(ValueError, match="needs a calibration"):
            filled("tiny > target", {name: value})
    # An unmeasured database says nothing of lookaheads.
    with pytest.raises(ValueError, match="needs a calibration"):
        filled("lookup > tiny > target")


def test_every_prompt_has_a_seed_of_its_own():
    sampling = Sampling(temperature=1.0, seed=2**63 - 2)
    seeds = [at(sampling, k).seed for k in range(5)]
    assert len(set(seeds)) == 5
    for seed in seeds:
        assert 0 <= seed < 2**63
    assert at(sampling, 3).temperature == 1.0
