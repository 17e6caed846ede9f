"""A cell that is run again releases the views that it displayed before; views with a name stay."""

from __future__ import annotations

import pytest
from ipywidgets.widgets.widget import _instances
from make_trace import make_trace

from hsd_viz.views import RoundInspector, TokenStream, compose, rerun


@pytest.fixture
def cell(monkeypatch):
    """Run a cell: its code displays what it returns."""
    names: dict = {}
    count = iter(range(1000))

    def run(code, name="a"):
        execution = str(next(count))
        monkeypatch.setattr(rerun, "_execution", lambda: (name, execution))
        monkeypatch.setattr(rerun, "_names", lambda: names)
        shown = code()
        shown._repr_mimebundle_()
        return shown

    monkeypatch.setattr(rerun, "_CELLS", {})
    run.names = names
    return run


def test_a_hundred_runs_of_a_cell_leave_the_widgets_of_one(cell):
    def code():
        trace = make_trace()
        return compose([TokenStream(trace), RoundInspector(trace)])

    first = cell(code)
    before = len(_instances)
    for _ in range(100):
        last = cell(code)
    assert len(_instances) == before
    stream = first.children[0]
    assert stream._trace is None and stream.data == {} and stream.comm is None
    assert last.children[0].data["tokens"]


def test_views_with_a_name_and_those_of_other_cells_stay(cell):
    kept = cell(lambda: TokenStream(make_trace()))
    cell.names["view"] = kept
    inner = cell(lambda: compose([TokenStream(make_trace())]), "b")
    cell.names["part"] = inner.children[0]
    other = cell(lambda: TokenStream(make_trace()), "c")
    for name in ("a", "b"):
        cell(lambda: TokenStream(make_trace()), name)
    assert all(w.comm is not None and w.data for w in (kept, inner.children[0], other))


def test_one_execution_may_display_several(cell):
    shown = cell(lambda: TokenStream(make_trace()))
    second = TokenStream(make_trace())
    second._repr_mimebundle_()
    assert shown.data and second.data
    cell(lambda: TokenStream(make_trace()))
    assert not shown.data and not second.data


def test_outside_a_notebook_nothing_is_noted():
    view = TokenStream(make_trace())
    view._repr_mimebundle_()
    assert rerun._execution() is None and view.data
