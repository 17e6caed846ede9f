"""Compare the loop on the device with that in Python: tokens and records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.level_stack import LevelStack
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.session import Model, Session
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.decoding.verify import RULES
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.torch_models.alone import DeviceModel
from hsd_viz.torch_models.compiled import CompiledModel
from hsd_viz.torch_models.device_loop import DeviceLoop, can_decode
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.graphs import CompiledGraph, Graph
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.sampling import Shaping
from tests.rows import column
from tests.torch_models.device_queue import DeviceQueue
from tests.torch_models.devices import (
    VOCABULARY,
    Guesser,
    Watcher,
    decode,
    differences,
    eager,
    llama,
    on_device,
)

#: By name the noise of each model, the target's last, and the lookaheads below it.
STACKS = {
    "target": ([0.0], []),
    "draft:3 > target": ([0.1, 0.0], [3]),
    "draft:5 > target": ([0.3, 0.0], [5]),
    "nano:2 > small:5 > target": ([0.3, 0.1, 0.0], [2, 5]),
    "nano:1 > small:3 > base:4 > target": ([0.3, 0.1, 0.05, 0.0], [1, 3, 4]),
}
SAMPLINGS = [
    Sampling(),
    Sampling(temperature=0.9, seed=1, rule="token"),
    Sampling(temperature=0.7, top_p=0.8, seed=2, rule="block"),
    Sampling(temperature=1.2, top_k=5, seed=3, rule="branch"),
    Sampling(temperature=0.8, top_k=9, top_p=0.7, min_p=0.1, seed=4),
]
END = frozenset({VOCABULARY - 1, VOCABULARY - 2})


@pytest.fixture
def queue(monkeypatch) -> DeviceQueue:
    """Return a device that does no work before the host waits for it."""
    queue = DeviceQueue()
    queue.stand_in(monkeypatch)
    return queue


def compare(
    stack: str,
    sampling: Sampling,
    drafter=None,
    *,
    eos: frozenset[int] = frozenset(),
    tokens: int = 20,
    details: int = 3,
    contexts: Sequence[int | None] = (),
) -> None:
    noises, lookaheads = STACKS[stack]
    plain = list(map(eager, noises))
    device = list(map(on_device, noises))
    drafters = [None, None] if drafter is None else [drafter(), drafter()]
    run = partial(
        decode,
        lookaheads=lookaheads,
        sampling=sampling,
        eos=eos,
        tokens=tokens,
        details=details,
        contexts=contexts,
    )
    expected, record = run(Loop, plain, drafter=drafters[0])
    decoded, own_record = run(DeviceLoop, device, drafter=drafters[1])
    assert decoded.text == expected.text
    assert differences(own_record, record) == []
    if drafter is Watcher:
        seen = column(drafters, "seen")
        assert differences({"d": {"seen": seen[1]}}, {"d": {"seen": seen[0]}}) == []


@pytest.mark.parametrize("eos", [frozenset(), END], ids=["endless", "with end tokens"])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_a_deep_hierarchy_decodes_as_the_loop_does(sampling, eos):
    compare("nano:2 > small:5 > target", sampling, eos=eos)


@pytest.mark.parametrize("stack", STACKS)
def test_every_depth_decodes_as_the_loop_does(stack):
    compare(stack, Sampling(temperature=0.8, top_p=0.9, seed=5))


@pytest.mark.parametrize("eos", [frozenset(), END], ids=["endless", "with end tokens"])
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("stack", ["target", "draft:3 > target"])
def test_a_round_that_is_started_before_the_last_one_is_read_changes_nothing(
    stack, sampling, eos, queue
):
    """A GPU runs rounds in this order. A round after the end of the text has no effect; 37 tokens
    end within a draft.
    """
    compare(stack, sampling, eos=eos, tokens=37)


def test_numbers_are_replaced_between_rounds_that_are_started_ahead(monkeypatch, queue):
    monkeypatch.setattr("hsd_viz.torch_models.steps.NUMBERS", 128)
    compare("draft:5 > target", Sampling(temperature=1.0, seed=6), tokens=90, details=0)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("stack", ["target", "draft:3 > target", "nano:2 > small:5 > target"])
def test_drafters_below_decode_as_in_the_loop(stack, sampling):
    compare(stack, sampling, drafter=Guesser, eos=END)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("contexts", [(7, None), (None, 9), (12, 5), (6, 6), (0, 8)], ids=str)
@pytest.mark.parametrize("drafter", [None, Guesser], ids=["models", "drafter below"])
def test_a_decode_continues_without_full_draft_models_as_in_the_loop(sampling, contexts, drafter):
    compare("nano:2 > small:5 > target", sampling, drafter=drafter, eos=END, contexts=contexts)


LEAVING = {
    "one draft": ("draft:3 > target", (7,)),
    "one draft, in its last token": ("draft:5 > target", (12,)),
    "two drafts, the lower one first": ("nano:2 > small:5 > target", (7, 13)),
    "two drafts, the upper one first": ("nano:2 > small:5 > target", (13, 7)),
}


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize(("stack", "contexts"), LEAVING.values(), ids=LEAVING)
def test_a_full_draft_model_is_left_while_the_device_has_the_next_round(
    stack, contexts, sampling, queue, monkeypatch
):
    """The steps of that round are done before those of the remaining levels, and its results are
    not read.
    """
    leave = LevelStack.leave_full
    waiting: list[int] = []

    def noted(levels: LevelStack, length: int) -> None:
        waiting.append(queue.steps())
        leave(levels, length)

    monkeypatch.setattr(LevelStack, "leave_full", noted)
    compare(stack, sampling, contexts=contexts)
    # A stack of one draft model has the next round started, and the drafts before the last are left
    # without one.
    assert waiting[0] == 0, "before the first round"
    assert waiting[-1] > 0


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=str)
def test_a_drafter_learns_what_it_learns_in_the_loop(sampling):
    compare("draft:3 > target", sampling, drafter=Watcher)


def test_numbers_that_never_repeat_are_replaced_when_they_are_used(monkeypatch):
    monkeypatch.setattr("hsd_viz.torch_models.steps.NUMBERS", 128)
    compare("nano:2 > small:5 > target", Sampling(temperature=1.0, seed=6), tokens=60, details=0)


def random_case(number: int) -> tuple[str, Sampling, type | None]:
    rng = random.Random(number)
    stack = rng.choice(list(STACKS))
    sampling = Sampling(
        temperature=rng.choice([0.0, 0.5, 0.8, 1.0, 1.4]),
        top_k=rng.choice([0, 0, 4, 9]),
        top_p=rng.choice([1.0, 1.0, 0.6, 0.9]),
        min_p=rng.choice([0.0, 0.0, 0.15]),
        seed=number,
        rule=rng.choice(list(RULES)),
    )
    drafter = rng.choice([None, None, Guesser])
    return stack, sampling, drafter


@pytest.mark.slow
@pytest.mark.parametrize("number", range(100))
def test_a_hundred_stacks_rules_temperatures_and_seeds(number):
    stack, sampling, drafter = random_case(number)
    compare(stack, sampling, drafter=drafter, tokens=24, details=number % 3)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", SAMPLINGS[1:4], ids=str)
def test_compiled_by_inductor_it_decodes_as_the_loop_does(sampling):
    """The model has two layers, one of which is compiled."""
    plain = [HFModel(f"noise {noise}", llama(noise, layers=2)) for noise in (0.1, 0.0)]
    models = [CompiledModel(model, compiler=CompiledGraph) for model in plain]
    for model in models:
        assert model.shares_layers
    decoded, record = decode(DeviceLoop, models, [3], sampling)
    expected, reference = decode(Loop, plain, [3], sampling)
    assert decoded.text == expected.text
    assert differences(record, reference) == []


DRAFTS = {
    "none": ([], []),
    "a chain": ([4, 9, 2, 5, 1], [-1, 0, 1, 2, 3]),
    "a tree": ([4, 9, 2, 5, 1, 7, 3, 0], [-1, -1, 0, 0, 1, 2, 3, 6]),
}


@pytest.mark.parametrize("strict", [False, True], ids=["usual", "strict"])
@pytest.mark.parametrize("draft", DRAFTS)
def test_a_compiled_session_verifies_on_the_device(draft, strict):
    """As a session on the host does, and what it has fed stays: no row crosses, which a
    calibration must not time.
    """
    tokens, parents = DRAFTS[draft]
    tree = DraftTree()
    for token, parent in zip(tokens, parents, strict=True):
        tree.add(token, parent, "db")
    model = DeviceModel(eager(0.0), strict=strict, widths=(1, 4), compiler=Graph)
    session = model.session(60)
    reference = model.session(60)
    rng = np.random.default_rng(5)
    for step in range(8):
        pending = rng.integers(0, VOCABULARY, 1 + step % 3).tolist()
        given = (pending, Draft(tree), Sampling(), None, RecordOptions())
        base = session.length + len(pending)
        verdict = session.verify(*given)
        assert verdict == Session.verify(reference, *given)
        for own in (session, reference):
            own.keep(base, verdict.accepted)
        # Greedy drafts of some accepted tokens: the next tree begins with the token that is due.
        tree = DraftTree()
        tree.add(verdict.token, -1, "db")
        for token, parent in zip(tokens, parents, strict=True):
            tree.add(token, parent + 1, "db")
    (used,) = session.cache.boards.values()
    assert used.bytes_read <= 8 * 8 * 250


@pytest.mark.parametrize(("n", "places"), [(0, 0), (1, 1), (3, 3), (4, 7), (15, 15), (16, 24)])
def test_places_for_a_draft_fill_a_forward_pass(n, places):
    shaping = Shaping.of(Sampling(), VOCABULARY)
    plan = StackPlan((0,), 24, shaping, rule="token", details=0, observe=0, warm=False)
    assert plan.places_for(1, n) == places


def test_which_models_it_decodes_with():
    models: list[Model] = [on_device(0.1), on_device(0.0)]
    assert can_decode(models, "block")
    assert not can_decode(models, "a rule of another package")
    assert not can_decode([eager(0.1), on_device(0.0)], "block")
    other = CompiledModel(HFModel("other", llama(0.0, vocabulary=9)), compiler=Graph)
    assert not can_decode([other, on_device(0.0)], "block")
