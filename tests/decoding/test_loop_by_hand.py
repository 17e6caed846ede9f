"""Test what the loop passes to a drafter: the text, the budget, and the target's probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.options import Sampling
from tests.lossless.toys import Guesser, V, loop_of, models

#: After any token, token 0 is four times as likely as tokens 2 to 5, token 1 twice.
ROWS = np.log(np.tile([4.0, 2.0, 1.0, 1.0, 1.0, 1.0], (V, 1)))


class Watcher(Guesser):
    """A drafter that records the arguments of its calls."""

    nodes = 24

    def __init__(self) -> None:
        super().__init__(ROWS)
        self.budgets: list[int] = []
        self.texts: list[list[int]] = []

    def draft(self, text, budget):
        self.budgets.append(budget)
        return super().draft(text, budget)


class TopWatcher(Watcher):
    def observe(self, text, tree, top):
        self.texts.append(list(text))


class ProbabilityWatcher(Watcher):
    def observe_probabilities(self, text, tree, top, probabilities):
        self.texts.append(list(text))
        self.probabilities = probabilities


class BothWatcher(ProbabilityWatcher):
    def observe(self, text, tree, top):
        raise AssertionError("the probabilities, which have the tokens, are asked for")


@pytest.mark.parametrize("watcher", [TopWatcher, ProbabilityWatcher, BothWatcher])
def test_an_observer_is_shown_the_text_that_was_verified_not_what_followed(watcher):
    drafter = watcher()
    loop = loop_of([ROWS], [], Sampling(temperature=1.0, seed=3), 12, drafter)
    starts = []
    start = len(loop.text)
    for verified in loop.rounds():
        starts.append(start)
        start += len(verified.tokens)
    assert drafter.texts == [loop.text[:start] for start in starts]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [pytest.param(None, 24, id="the drafter's own"), pytest.param(3, 3, id="the caller's")],
)
def test_a_drafter_gets_its_whole_budget(budget, expected):
    drafter = Watcher()
    loop = loop_of([models(1)[0]], [], Sampling(), 6, drafter, budget=budget)
    for _ in loop.rounds():
        pass
    assert set(drafter.budgets) == {expected}


@pytest.mark.parametrize(
    ("temperature", "probabilities"),
    [
        # At 0.5 probabilities go with the squares: 16, 4 and four times 1.
        pytest.param(0.0, [16 / 24, 4 / 24], id="greedy: at 0.5"),
        pytest.param(0.2, [16 / 24, 4 / 24], id="below 0.5: at 0.5"),
        pytest.param(1.0, [4 / 10, 2 / 10], id="above: as it is"),
    ],
)
def test_observed_probabilities_are_at_no_temperature_below_a_half(temperature, probabilities):
    drafter = ProbabilityWatcher()
    loop = loop_of([ROWS], [], Sampling(temperature=temperature), 2, drafter)
    next(loop.rounds())
    assert drafter.probabilities[0][:2] == pytest.approx(probabilities)


@pytest.mark.parametrize(
    ("drafter", "observe"),
    [
        pytest.param(TopWatcher(), 8, id="the most probable tokens"),
        pytest.param(ProbabilityWatcher(), 8, id="and their probabilities"),
        pytest.param(Watcher(), 0, id="nothing"),
    ],
)
def test_an_observer_is_shown_eight_tokens_of_each_row(drafter, observe):
    assert loop_of([ROWS], [], Sampling(), 2, drafter).record.observe == observe
