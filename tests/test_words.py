"""Wordings and bounds that several rooms share; natural guesses are answered with what was
probably meant.
"""

from __future__ import annotations

import copy

import pytest

import hsd_viz as hsd
from hsd_viz.engine.replay import load_bundled
from hsd_viz.hints import guesses
from hsd_viz.ranges import MAX_BUDGET, check_budget
from hsd_viz.words import counted


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
    with pytest.raises(
        TypeError, match=r"no argument 'drafter'; did you mean replay\(log, drafters=drafters"
    ):
        hsd.replay("log.jsonl", drafter="db")


def test_guesses_do_not_disturb_copies():
    trace = load_bundled("sampled")
    assert copy.copy(trace).text == trace.text


def test_one_of_a_thing_and_several():
    assert [counted(n, "thread") for n in (0, 1, 2)] == ["0 threads", "1 thread", "2 threads"]


@pytest.mark.parametrize("budget", [0, -1, MAX_BUDGET + 1, True, 2.0, "8"])
def test_no_budget(budget):
    for good in (None, 1, MAX_BUDGET):
        assert check_budget(good) is None
    wrong = "out of range" if type(budget) is int else "not valid"
    with pytest.raises(ValueError, match=f"the budget {budget} is {wrong}"):
        check_budget(budget)


@pytest.mark.parametrize(
    ("n", "noun", "words"),
    [(1, "forward pass", "1 forward pass"), (2, "forward pass", "2 forward passes")],
)
def test_a_noun_that_ends_in_s(n, noun, words):
    assert counted(n, noun) == words
