"""What the functions of the package return: a frame, a figure, a table in a notebook, JSON data."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

import hsd_viz as hsd
from hsd_viz.errors import Unsupported
from hsd_viz.latency.basis import own_plan
from hsd_viz.measure.bench.report import read_report
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.plan.result import PlanResult
from hsd_viz.results import Result
from tests.rows import column

FIXTURES = Path(__file__).parent / "fixtures"
RECORD = FIXTURES / "records" / "vllm-example-two-runs.txt"


def bench():
    path = FIXTURES / "reports" / "bench.json"
    return BenchResult(read_report(path.read_text(), path.name))


def plan():
    return PlanResult.from_dict(own_plan(0.7))


def predict():
    return hsd.predict("H100", ["llama-8b", "llama-1b"], batch=(1, 8))


def doctor():
    return hsd.doctor(RECORD)


def replay(log):
    return hsd.replay(log, drafters=["lookup", "sam"])


def import_records():
    return hsd.import_records(RECORD)


def audit():
    return hsd.audit("nano:2 > target")


MADE = [bench, plan, predict, doctor, import_records, audit]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    words = [5, 6, 7, 8, 9, 10]
    path.write_text(json.dumps({"prompt_ids": words * 3, "output_ids": words * 4}) + "\n")
    return path


@pytest.fixture(scope="module")
def results(log):
    made = {make.__name__: make() for make in MADE}
    return made | {"replay": replay(log)}


NAMES = [*column(MADE, "__name__"), "replay"]


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_frame(results, name):
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_figure_with_its_values(results, name):
    figure = results[name].figure()
    assert isinstance(figure, go.Figure)
    assert any(trace.x is not None and len(trace.x) for trace in figure.data)
    assert figure.layout.title.text


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_table_in_a_notebook(results, name):
    assert "<table" in results[name]._repr_html_()


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_json(results, name):
    assert json.loads(json.dumps(results[name].to_dict()))


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_text(results, name):
    assert isinstance(results[name], Result)
    assert str(results[name]).strip()


def test_imported_records_are_a_sequence_of_traces():
    imported = import_records()
    assert [trace.metrics() for trace in imported] == [imported[0].metrics()]
    assert len(imported) == 1
    assert imported[-1:] == [imported[0]]


def test_the_frame_of_imported_records_has_the_figures_of_the_trace():
    imported = import_records()
    row = imported.to_frame().iloc[0]
    assert row["acceptance rate"] == imported[0].metrics()["acceptance_rate"]
    assert f"{row['tokens per forward pass']:.2f} tokens per verification" in str(imported)


def test_the_figure_of_a_table_has_its_intervals():
    table = hsd.doctor(RECORD).tables()[-1]
    (bars,) = hsd.doctor(RECORD).figure().data
    values = [row[1].value for row in table.rows[1:]]
    highs = [row[1].high for row in table.rows[1:]]
    assert list(bars.x) == pytest.approx(values)
    ends = [value + more for value, more in zip(bars.x, bars.error_x.array, strict=True)]
    assert ends == pytest.approx(highs)


def test_an_audit_of_a_wrong_decoder_shows_the_wrong_law():
    result = hsd.audit(lambda task: [0] * task.new_tokens, models=1)
    assert result.verdict == "not lossless"
    assert result.to_frame()["probability"].tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert result.exit_code == 1


def test_a_result_without_numbers_has_no_figure():
    class Empty(Result):
        def lines(self):
            return ["nothing"]

        def to_dict(self):
            return {}

    with pytest.raises(Unsupported, match=r"no numbers in this report to plot: use \.to_dict"):
        Empty().figure()
