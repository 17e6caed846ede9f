"""Test measured draft costs: measured once per model, never falling, for any number of draft
tokens.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from hsd_viz.decoding import session
from hsd_viz.engine import forwards as costs
from hsd_viz.engine.forwards import Costs, draft_costs


class Session(session.Session):
    def __init__(self, model):
        self.model = model
        self.length = 0

    def forward(self, tokens, rows, parents=None):
        self.length += len(tokens)
        self.model.fed.append(len(tokens))
        costs.time.advance(self.model.ms(len(tokens)))
        return np.zeros((rows, 4))

    def keep(self, base, nodes):
        raise AssertionError("nothing is kept")


class Clock:
    """A replacement for :mod:`time` that advances only when a forward pass takes time."""

    now = 0

    def advance(self, ms):
        self.now += int(ms * 1e6)

    def perf_counter_ns(self):
        return self.now


class Model:
    name = "m"
    runtime = "eager"
    positions = None
    vocab_size = 4

    def __init__(self, ms):
        self.ms = ms
        self.fed = []

    def session(self):
        return Session(self)


@pytest.mark.parametrize(
    "ms",
    [
        lambda fed: 2.0 + 0.5 * (fed - 1),
        lambda fed: 1.0 if fed == 4 else 3.0,
        lambda fed: 500.0 + fed,
    ],
)
def test_the_curve_is_what_forwards_took_and_never_falls(ms, monkeypatch):
    monkeypatch.setattr(costs, "time", Clock())
    model = Model(ms)
    curve = draft_costs(model)
    slow = ms(1) > costs.SLOW
    assert len(curve) == max(costs.FEW if slow else costs.WIDTHS)
    for a, b in pairwise(curve):
        assert a <= b
    if slow:  # timed at few widths
        assert sum(fed <= 16 for fed in model.fed) <= 2 + 2 * len(costs.FEW)
    elif ms(4) > ms(1):
        for m, c in enumerate(curve):
            assert abs(c - (ms(m + 1) + (costs.HANDLING if m else 0))) < 1e-6


def test_a_model_is_timed_once_for_each_runtime(monkeypatch):
    monkeypatch.setattr(costs, "time", Clock())
    measured = Costs("measured")
    model = Model(lambda fed: 2.0 + 0.5 * (fed - 1))
    curve = measured.of(model)
    asked = len(model.fed)
    assert measured.of(model) is curve
    assert len(model.fed) == asked
    model.runtime = "native"
    assert measured.of(model) is not curve
    assert len(model.fed) > asked


def test_threads_that_need_the_costs_at_once_time_them_once(monkeypatch):
    timed = []
    measured = Costs("measured")
    model = Model(float)
    monkeypatch.setattr(
        costs, "draft_costs", lambda model: time.sleep(0.05) or timed.append(model) or (1.0, 1.5)
    )
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(measured.of, [model] * 2)
    assert one is other
    assert timed == [model]


def test_the_first_pass_of_each_width_is_not_timed(monkeypatch):
    """The first pass allocates buffers."""
    monkeypatch.setattr(costs, "time", Clock())
    seen = set()

    def first_is_slow(fed: int) -> float:
        slow = fed not in seen
        seen.add(fed)
        return 100.0 if slow else 2.0

    times = costs.time_forwards(
        {"m": Model(first_is_slow)}, widths=(1, 4), context=8, repeats=3, figure=max
    )
    assert times == {"m": {1: 2.0, 4: 2.0}}


@pytest.mark.parametrize(
    ("ms", "widest"),
    [pytest.param(40.0, 24, id="usual"), pytest.param(41.0, 16, id="slow: at few widths")],
)
def test_a_slow_model_is_timed_at_few_widths(ms, widest, monkeypatch):
    monkeypatch.setattr(costs, "time", Clock())
    curve = draft_costs(Model(lambda fed: ms))
    # The step without a draft, then 0.05 ms more for any.
    assert len(curve) == widest
    assert curve[:2] == pytest.approx((ms, ms + 0.05))


def test_a_copy_has_the_costs_of_its_model_in_its_type(tmp_path):
    path = tmp_path / "costs.json"
    table = {
        "format": costs.FORMAT,
        "models": {"m": {"int8": [1.0, 1.5], "float32": [1.0, 1.25]}},
        "others": {"cpu": 0.5, "cuda": 0.01},
    }
    path.write_text(json.dumps(table))
    copy = Model(float)
    copy.name = "m[int8]"
    copy.dtype = "int8"
    assert Costs(path).of(copy).relative[1] == 1.5
    copy.dtype = "float32"
    assert Costs(path).of(copy).relative[1] == 1.25
