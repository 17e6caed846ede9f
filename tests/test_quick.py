"""``hsd.run``, ``hsd.compare``, ``hsd.dashboard(trace)``, and what a trace offers."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import hsd_viz as hsd
from hsd_viz import quick
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine import Engine
from hsd_viz.engine.recordings import SIDE_BY_SIDE
from hsd_viz.errors import UserError
from hsd_viz.trace import Finished, Trace
from tests.rows import column


class Scripted(Engine):
    """An engine that returns bundled runs by their stack."""

    def __init__(self):
        self.calls = []

    def events(self, prompt, stack, options):
        self.calls.append((prompt, str(stack), options))
        yield Finished(race()[str(stack)])


def race() -> dict[str, Trace]:
    folder = SIDE_BY_SIDE / "greedy"
    traces = [hsd.load_bundled(recording.name, folder) for recording in hsd.bundled(folder)]
    return {trace.meta["stack"]: trace for trace in traces}


@pytest.fixture
def engine(monkeypatch):
    scripted = Scripted()
    monkeypatch.setattr(quick, "default_engine", lambda: scripted)
    return scripted


def test_run_uses_one_engine_for_the_process(engine):
    trace = hsd.run("def main(", hsd.parse("target"), seed=3, budget=8)
    assert trace.stack == "target"
    assert engine.calls == [("def main(", "target", DecodingOptions(seed=3, budget=8))]
    other = Scripted()
    hsd.run("x", engine=other)
    assert other.calls
    assert len(engine.calls) == 1


def test_compare_tables_runs_against_the_first(engine):
    stacks = list(race())
    comparison = hsd.compare("def main(", stacks)
    assert column(comparison, "stack") == [race()[s].stack for s in stacks]
    frame = comparison.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(comparison) == len(stacks)
    assert frame["times_first"][0] == 1
    assert frame["same_text_as_first"][0]
    speeds = [t.metrics()["tokens_per_second"] for t in comparison]
    assert list(frame["times_first"]) == pytest.approx([s / speeds[0] for s in speeds])


def test_a_comparison_is_shown_as_other_results_are(engine):
    comparison = hsd.compare("def main(", list(race()))
    for text in (repr(comparison), comparison._repr_html_(), comparison.to_html()):
        assert "One run per stack" in text
        for trace in comparison:
            assert trace.stack.replace(">", "&gt;") in text or trace.stack in text
    (bars,) = comparison.figure().data
    assert list(bars.x) == list(comparison.to_frame()["times_first"])
    rows = json.loads(json.dumps(comparison.to_dict()))["runs"]
    assert column(rows, "tokens") == list(map(len, comparison))


def test_traces_are_compared_without_an_engine(engine):
    plain, other = list(race().values())[:2]
    comparison = hsd.compare_traces(plain, other)
    assert comparison[0] is plain
    assert comparison[-1] is other
    assert list(map(len, comparison)) == [len(plain), len(other)]
    assert comparison[:1] == (plain,)
    assert not engine.calls


@pytest.mark.parametrize("place", ["prompt", "list", "stack"])
def test_traces_in_place_of_a_prompt_or_a_stack_are_answered(engine, place):
    trace = hsd.load_bundled("hierarchy")
    calls = {"prompt": (trace, ["target"]), "list": ([trace],), "stack": ("x", ["target", trace])}
    with pytest.raises(UserError, match=r"without a prompt: compare_traces\(trace, other\)"):
        hsd.compare(*calls[place])


def test_the_old_table_of_a_comparison_is_answered():
    comparison = hsd.compare_traces(hsd.load_bundled("hierarchy"))
    with pytest.raises(AttributeError, match=r"did you mean comparison.to_frame\(\)"):
        comparison.table  # noqa: B018


@pytest.mark.parametrize(
    "stacks, words", [([], "nothing to compare"), (["db > target"], "'db > target' needs a prompt")]
)
def test_compare_names_what_is_missing(engine, stacks, words):
    with pytest.raises(ValueError, match=words):
        hsd.compare(stacks)


def test_compare_says_that_the_prompt_comes_first(engine):
    with pytest.raises(UserError, match=r"the prompt comes first: write compare\('def main\('"):
        hsd.compare(["target", "db > target"], "def main(")


def test_an_empty_comparison_is_an_empty_table():
    comparison = quick.Comparison([])
    assert len(comparison.to_frame()) == 0
    assert "One run per stack" in repr(comparison)


def test_no_traces_are_nothing_to_compare():
    with pytest.raises(UserError, match="there is nothing to compare: give traces"):
        hsd.compare_traces()


def test_compare_takes_token_ids(engine):
    hsd.compare([1, 2, 3], ["target"])
    assert engine.calls == [([1, 2, 3], "target", DecodingOptions())]


def test_show_links_the_views_and_to_html_is_a_whole_page():
    trace = hsd.load_bundled("one-draft")
    views = trace.show().children
    assert len(views) == 4
    assert len(set(column(views, "group"))) == 1
    page = trace.to_html()
    assert page.startswith("<!doctype html>")
    assert "src=" not in page.partition("<script")[0]
    assert trace.stack.replace(">", "&gt;") in page


def test_dashboard_shows_a_trace_or_its_file_and_refuses_the_rest(tmp_path):
    trace = hsd.load_bundled("hierarchy")
    page = hsd.dashboard(trace)
    assert page.trace is trace
    assert len(hsd.dashboard(trace.save(tmp_path / "run.json")).trace) == len(trace)
    own = Scripted()
    own.decode = None
    assert "decode" in hsd.dashboard(engine=own).can
    with pytest.raises(TypeError, match=r"give an engine by name: dashboard\(engine=engine\)"):
        hsd.dashboard(own)
    with pytest.raises(TypeError, match="shows a trace or the path of its file, not int"):
        hsd.dashboard(3)
