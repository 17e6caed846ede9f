"""A decode by the compiled loop gives the rows of Python's, through the engine."""

from __future__ import annotations

import pytest

from hsd_viz.engine import load_engine, local
from hsd_viz.native.build import default_build
from hsd_viz.trace import Finished, Started, Step
from hsd_viz.trace.metrics import check

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")
PROMPT = "def mean(values):\n    total = 0\n"
TABLES = ("token_rows", "draft_rows", "round_rows", "call_rows")


@pytest.fixture(scope="module")
def engine():
    with load_engine(device="cpu", threads=1) as engine:
        yield engine


def timeless(trace):
    return [
        [
            tuple(value for field, value in row._asdict().items() if not field.endswith("_ns"))
            for row in getattr(trace, name)
        ]
        for name in TABLES
    ]


@pytest.mark.parametrize("stack", ["target", "db > target", "nano:4 > target", "db > nano:4 > small:6 > target"])
@pytest.mark.parametrize(("temperature", "record"), [(0.0, True), (0.7, True), (0.7, False)])
def test_both_loops_record_the_same(engine, stack, temperature, record, monkeypatch):
    options = {"max_new_tokens": 40, "temperature": temperature, "record": record, "rule": {"target": "token"}}
    compiled = engine.run(PROMPT, stack, **options)
    check(compiled)
    assert local.can_compile([engine.model()], None)
    monkeypatch.setattr(local, "can_compile", lambda models, drafter: False)
    python = engine.run(PROMPT, stack, **options)
    assert timeless(compiled) == timeless(python) and compiled.pieces == python.pieces
    times = {"created", "prefill_ns", "wall_ns"}
    assert {k: v for k, v in compiled.meta.items() if k not in times} == {
        k: v for k, v in python.meta.items() if k not in times
    }


def test_it_streams_and_is_cancelled_between_steps(engine):
    events = engine.decode(PROMPT, max_new_tokens=1500)
    steps, meta = [], {}
    for event in events:
        match event:
            case Started():
                meta = event.meta
            case Step():
                steps.append(event)
                if len(steps) == 2:
                    break
    events.close()
    assert meta["cancelled"] and meta["stop_reason"] == "cancelled" and meta["wall_ns"] > meta["prefill_ns"] > 0
    assert 0 < sum(len(step) for step in steps) < 1500


def test_a_full_context_and_an_end_token_stop_it(engine):
    ids = engine.tokenizer.encode(PROMPT)
    limit = engine.model().positions
    *_, finished = engine.decode((ids * limit)[: limit - 5], max_new_tokens=40)
    assert isinstance(finished, Finished) and finished.trace.meta["stop_reason"] in ("context", "eos")
    assert len(finished.trace) <= 5
