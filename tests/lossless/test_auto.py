"""``auto`` resolves to the planner's pick for this machine, and its text is that of plain
decoding.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pytest

from hsd_viz.engine import load_engine
from hsd_viz.engine.resolve import candidates
from hsd_viz.latency.basis import PLANS, own_plan
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, Tier
from hsd_viz.latency.stored import decide, fastest
from hsd_viz.models.families import find_family
from hsd_viz.stack import parse
from hsd_viz.trace.identities import check
from tests.lossless.ladders import bundled_prompts, ladder_engine, needs_native
from tests.rows import column

NAMES = ("nano", "small", "target")


def planted(nano: float = 0.9, small: float = 0.9, hit: float = 0.0) -> Calibration:
    """Acceptance of nano's and small's tokens, and the share of look-ups with a draft, which is
    always accepted.
    """
    costs = {"nano": LevelCost((0.02,)), "small": LevelCost((0.2,)), "target": LevelCost((1.0,))}
    edges = {}
    for pair in combinations(NAMES, 2):
        edges[pair] = Edge(tail=nano if pair[0] == "nano" else small)
    tiers = {("db", name): Tier(((0, 0, 1 - hit), (4, 4, hit))) for name in NAMES}
    return Calibration(NAMES, costs, edges, tiers)


@pytest.mark.parametrize(
    ("calibration", "written", "kind"),
    [
        (planted(), "auto[nano] > target", "nano"),
        (planted(nano=0.75), "auto[nano,small] > target", "nano > small"),
        (planted(nano=0.0, small=0.0, hit=0.9), "auto > target", "db"),
        (planted(nano=0.0, small=0.0, hit=0.9), "auto[nano,small] > target", ""),
        (planted(nano=0.0, small=0.0, hit=0.0), "auto > target", ""),
        (
            planted(nano=0.025),
            "auto[nano] > target",
            "",
        ),  # a gain within the error of the prediction
        (planted(nano=0.1), "auto[nano] > target", "nano"),
    ],
)
def test_the_fastest_of_the_named_levels(calibration, written, kind):
    stack = fastest(candidates(parse(written), "target", find_family("code")), calibration)
    names = ([] if stack.bottom is None else [str(stack.bottom)]) + column(stack.drafts, "name")
    assert " > ".join(names) == kind
    assert stack.target.name == "target"
    for draft in stack.drafts:
        assert draft.lookahead


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder of calibrations."""
    monkeypatch.setattr("hsd_viz.latency.stored.cache_folder", lambda kind: tmp_path / kind)
    return tmp_path / "calibration"


@needs_native
def test_shipped_ladder(cache):
    """By the project's own plans, at once; greedy texts are those of plain decoding, whichever
    stack is picked.
    """
    engine = load_engine(device="cpu", threads=1)
    run = partial(engine.run, max_new_tokens=48, record=False)
    for text in bundled_prompts(3):
        plain = run(text, "target").token_ids
        for stack in ("auto > target", "auto[nano,small] > target", "auto[db] > target"):
            trace = run(text, stack)
            assert trace.token_ids == plain
            check(trace)
            assert trace.meta["stack"] == stack
            assert not trace.meta["stack_resolved"].startswith("auto")
            assert run(text, trace.meta["stack_resolved"]).token_ids == plain
    assert (
        engine.run("x", "auto > target", max_new_tokens=2).meta["stack_resolved"] == "db > target"
    )
    assert not cache.exists(), "nothing was measured"


@pytest.mark.parametrize("name", sorted(PLANS))
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_models_of_each_family_have_a_shipped_plan(cache, name, temperature):
    """The one that the page shows for a run of these models."""
    plan = own_plan(temperature, name)["calibration"]
    models = []
    for model, (weights, runtime) in plan["identity"]["models"].items():
        models.append({"model": model, "weights": weights, "runtime": runtime})
    meta = {"models": models, "sampling": {"temperature": temperature}}
    levels = candidates(parse("auto[db,nano] > target"), "target", find_family(name))
    expected = fastest(levels, Calibration.from_dict(plan))
    assert decide(levels, True, meta) == expected


def test_other_models_need_a_calibration(cache):
    engine = load_engine("small", device="cpu", threads=1)
    with pytest.raises(
        ValueError, match=r"needs a calibration of this machine: run `hsd-viz plan --models nano "
    ):
        engine.run("x", "auto > target", max_new_tokens=2)
    with pytest.raises(ValueError, match=r"or name a stack: 'db > target'"):
        engine.run("x", "auto[db] > target", max_new_tokens=2)


def test_a_choice_is_kept_for_all_seeds_until_the_calibrations_change(cache, monkeypatch):
    calls = []

    def counted(stack, choosing, meta):
        calls.append(stack)
        return decide(stack, choosing, meta)

    monkeypatch.setattr("hsd_viz.latency.stored.decide", counted)
    engine = ladder_engine("float32")
    run = partial(engine.run, "x", "auto[db] > target", max_new_tokens=1, temperature=0.7)
    run(seed=1)
    run(seed=2)
    assert len(calls) == 1
    cache.mkdir()
    run(seed=1)
    assert len(calls) == 2
    run(seed=1, temperature=0.8)
    assert len(calls) == 3


def test_a_choice_by_earlier_calibrations_is_not_kept(cache, monkeypatch):
    calls = []

    def counted(stack, choosing, meta):
        calls.append(stack)
        return decide(stack, choosing, meta)

    monkeypatch.setattr("hsd_viz.latency.stored.decide", counted)
    engine = load_engine(device="cpu", dtype="float32", threads=1)
    run = partial(engine.run, "x", "auto[db] > target", max_new_tokens=1)
    run()
    cache.mkdir()
    run()
    cache.rmdir()
    run()
    assert len(calls) == 3


def test_sampled_text_does_not_depend_on_the_database(cache):
    """With a database alone, the tokens at any temperature are those of plain decoding with the
    same seed.
    """
    engine = ladder_engine("float32")
    run = partial(engine.run, max_new_tokens=48, temperature=0.8, seed=7, record=False)
    plain = run("def main(", "target").token_ids
    assert run("def main(", "auto[db] > target").token_ids == plain
