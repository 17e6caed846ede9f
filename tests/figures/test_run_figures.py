"""Figures of one run: every number is a count of the trace's own rows."""

from __future__ import annotations

import pytest

from hsd_viz import figures, load_bundled
from hsd_viz.figures.run import rates
from hsd_viz.trace import Trace
from tests.views.make_trace import make_trace


def total(drawn, names=None) -> float:
    return sum(
        sum(b.x) for b in drawn.data if b.type == "bar" and (names is None or b.name in names)
    )


@pytest.mark.parametrize("name", ["acceptance", "by_source"])
def test_a_run_without_tokens_or_drafts_has_figures(name):
    assert getattr(figures, name)(Trace({})).layout.title.text
    assert getattr(figures, name)(load_bundled("plain")).layout.title.text
    assert rates(load_bundled("plain")) == rates(Trace({})) == ""


def test_rates_are_the_metrics():
    m = load_bundled("both").metrics()
    text = rates(load_bundled("both"))
    assert f"Acceptance rate {m['acceptance_rate']:.0%} (accepted / drafted)" in text
    assert f"conditional acceptance {m['conditional_acceptance']:.0%}" in text
    assert f"length {m['mean_acceptance_length']:.2f}" in text


def test_tokens_by_source_and_rounds_are_counts():
    drawn = figures.by_source(make_trace())
    counts = {}
    for b in drawn.data:
        if b.type == "bar":
            counts[b.name] = sum(b.x)
    assert counts == {"target model": 2, "copying": 1}
    drafted, accepted, mean, plain = figures.acceptance(make_trace()).data
    assert list(drafted.y) == [2, 0], "target rounds only"
    assert list(accepted.y) == [1, 0], "target rounds only"
    assert list(mean.y) == [2.0, 1.5]
    assert set(plain.y) == {1.0}
    trace = load_bundled("both")
    m = trace.metrics()
    assert total(figures.by_source(trace)) == m["tokens"]
    drafted, accepted, mean, _ = figures.acceptance(trace).data
    assert sum(drafted.y) == m["drafted"]
    assert sum(accepted.y) == m["accepted"]
    assert mean.y[-1] == pytest.approx(m["tokens"] / m["rounds"])


def test_a_source_has_its_share_of_all_tokens():
    head, *rows = figures.by_source(make_trace()).layout.meta["table"]
    shares = {row[head.index("source")]: row[head.index("tokens")] for row in rows}
    assert shares == {"target model": "2 (67%)", "copying": "1 (33%)"}
