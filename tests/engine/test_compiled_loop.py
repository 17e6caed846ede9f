"""A decode by the compiled loop gives the rows of Python's, through the engine."""

from __future__ import annotations

import pytest

from hsd_viz.engine import load_engine, local
from hsd_viz.native.build import default_build
from hsd_viz.trace.metrics import check

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")
PROMPT = "def mean(values):\n    total = 0\n"
TABLES = ("token_rows", "draft_rows", "round_rows", "call_rows")


@pytest.fixture(scope="module")
def engine():
    with load_engine(device="cpu", threads=1) as engine:
        yield engine


def timeless(trace):
    rows = [row._asdict() for name in TABLES for row in getattr(trace, name)]
    return [{field: value for field, value in row.items() if not field.endswith("_ns")} for row in rows]


@pytest.mark.parametrize("stack", ["target", "db > target", "nano:4 > target", "db > nano:4 > small:6 > target"])
@pytest.mark.parametrize(("temperature", "record"), [(0.0, True), (0.7, True), (0.7, False)])
def test_both_loops_record_the_same(engine, stack, temperature, record, monkeypatch):
    options = {"max_new_tokens": 40, "temperature": temperature, "record": record, "rule": "token"}
    compiled = engine.run(PROMPT, stack, **options)
    check(compiled)
    assert local.can_compile([engine.model()], None)
    monkeypatch.setattr(local, "can_compile", lambda models, drafter: False)
    python = engine.run(PROMPT, stack, **options)
    assert timeless(compiled) == timeless(python) and compiled.pieces == python.pieces
    for meta in (compiled.meta, python.meta):
        for time in ("created", "prefill_ns", "wall_ns"):
            del meta[time]
    assert compiled.meta == python.meta
