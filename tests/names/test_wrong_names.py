"""Natural guesses of names are answered with what was probably meant."""

from __future__ import annotations

import copy

import pytest

import hsd_viz as hsd
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.measure.audit.result import AuditResult
from hsd_viz.names.hints import guesses


@pytest.mark.parametrize("name", guesses()["hsd"])
def test_a_name_of_the_package(name, monkeypatch):
    # A package of this name is an attribute once it was imported.
    monkeypatch.delattr(hsd, name, raising=False)
    with pytest.raises(AttributeError, match="did you mean"):
        getattr(hsd, name)


@pytest.mark.parametrize("name", [*guesses()["trace"], "metric", "round"])
def test_an_attribute_of_a_trace(name):
    trace = load_bundled("sampled")
    with pytest.raises(AttributeError, match="did you mean"):
        getattr(trace, name)
    assert not hasattr(trace, "xyzzy")


@pytest.mark.parametrize("name", guesses()["comparison"])
def test_an_attribute_of_a_comparison(name):
    with pytest.raises(AttributeError, match="did you mean comparison"):
        getattr(hsd.compare_traces(load_bundled("sampled")), name)


@pytest.mark.parametrize("name", [*guesses()["result"], "to_htm"])
def test_an_attribute_of_a_result(name):
    with pytest.raises(AttributeError, match=r"a result has no attribute .*; did you mean"):
        getattr(AuditResult({}), name)


@pytest.mark.parametrize("use", [lambda trace: trace[0], lambda trace: trace["tokens"], list])
def test_an_item_of_a_trace(use):
    with pytest.raises(TypeError, match=r"no items; did you mean trace\.tokens\.iloc\[0\] or "):
        use(load_bundled("sampled"))


@pytest.mark.parametrize("name", [*guesses()["hsd.figures"], "acceptanc"])
def test_a_name_of_the_figures(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean"):
        getattr(hsd.figures, name)


@pytest.mark.parametrize("name", guesses()["figure"])
def test_a_method_of_a_figure(name):
    figure = hsd.figures.acceptance(load_bundled("sampled"))
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean figure"):
        getattr(figure, name)
    assert copy.deepcopy(figure) == figure


@pytest.mark.parametrize("name", [*guesses()["engine"], "decodes"])
def test_an_attribute_of_an_engine(name):
    with pytest.raises(AttributeError, match="did you mean"):
        getattr(hsd.load_engine(), name)


def test_arguments():
    with pytest.raises(
        TypeError, match=r"no argument 'draft'; did you mean load_engine\(target\)\.run"
    ):
        hsd.load_engine(draft="nano")
    with pytest.raises(TypeError, match="no argument 'thread'; did you mean 'threads'"):
        hsd.load_engine(thread=1)
    # The first of several is named.
    with pytest.raises(TypeError, match="no argument 'wrong'"):
        hsd.load_engine(wrong=1, bad=2, false=3, incorrect=4, mistaken=5, absent=6)
    with pytest.raises(
        TypeError, match=r"no argument 'drafter'; did you mean replay\(log, drafters=drafters"
    ):
        hsd.replay("log.jsonl", drafter="db")


def test_guesses_do_not_disturb_copies():
    trace = load_bundled("sampled")
    assert copy.copy(trace).text == trace.text
