"""``hsd-viz bench`` and ``plan`` on the shipped models."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hsd_viz.cli import main
from hsd_viz.engine.local import load_engine
from hsd_viz.latency import stored as store
from hsd_viz.latency.select import fill
from hsd_viz.stack import parse
from tests.rows import column, keyed

SUITE = "def one(a, b):\n    return a\n\n\n\n\nclass Two:\n    def __init__(self, a):\n"


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "suite.txt"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    path = tmp_path_factory.mktemp("prompts") / "three.txt"
    path.write_text(f"{SUITE}\n\n\n\nimport os\n\n\ndef main(")
    return path


def run(line: str) -> int:
    """Run a command line and return its exit code."""
    return main(shlex.split(line))


# --- bench ----------------------------------------------------------------------------------------


def test_a_bench_writes_table_and_report(suite, tmp_path, capsys):
    out = tmp_path / "report.json"
    stacks = "--stack 'nano:2 > target' --stack hf-generate"

    assert run(f"bench {stacks} --suite {suite} --json {out} --repeats 1 --max-new-tokens 6") == 0

    table = capsys.readouterr().out
    report = json.loads(out.read_text())
    assert column(report["stacks"], "stack") == ["target", "nano:2 > target", "hf-generate"]
    assert report["suite"] == {
        "name": "suite.txt",
        "prompts": 2,
        "categories": {"all": "Every prompt of the file."},
    }
    assert report["settings"]["threads"] == 1
    assert report["machine"]["threads"] == 1
    for stack in report["stacks"]:
        assert stack["stack"] in table
    assert report["machine"]["cpu"] in table


def test_an_interrupted_bench_reports_what_was_measured(suite, tmp_path, interrupt, capsys):
    # After the warm-up and the first prompt.
    interrupt(3)
    out = tmp_path / "report.json"

    code = run(f"bench --stack target --suite {suite} --max-new-tokens 4 --repeats 2 --json {out}")

    assert code == 130
    report = json.loads(out.read_text())
    assert report["complete"] is False
    assert report["suite"]["prompts"] == 1
    assert capsys.readouterr().err == f"hsd-viz: interrupted; the partial report is in {out}\n"
    assert [path.name for path in tmp_path.iterdir() if path != out] == ["suite.txt"]
    # To read the partial report is not an interruption.
    assert run(f"bench --from {out}") == 0
    assert capsys.readouterr().err == ""


@pytest.fixture
def warm_and_cold(suite, tmp_path, capsys):
    """A bench of both states with a budget: its folder, with ``report.json`` and ``report.html``,
    and its table.
    """
    stacks = "--stack 'recycling > target' --stack 'db > target'"
    files = f"--json {tmp_path}/report.json --html {tmp_path}/report.html"
    options = "--repeats 1 --max-new-tokens 12 --state both --budget 3"
    assert run(f"bench {stacks} --suite {suite} {options} {files}") == 0
    return tmp_path, capsys.readouterr().out


def test_a_bench_has_a_row_for_each_state_and_keeps_its_budget(warm_and_cold):
    folder, table = warm_and_cold
    report = json.loads((folder / "report.json").read_text())

    states = {row["stack"]: row["state"] for row in report["stacks"]}
    assert states == {
        "target": None,
        "recycling > target": "cold",
        "recycling > target (warm)": "warm",
        "db > target": None,
    }
    for row in report["stacks"]:
        assert row["token_identical_to_plain"][1] == 2
    assert report["settings"]["budget"] == 3
    assert "at most 3 draft tokens" in table
    assert "warm rows keep one memory" in table
    assert report["command"].startswith(
        "hsd-viz bench --stack 'recycling > target' --stack 'db > target' --suite "
    )


def test_a_saved_report_gives_the_same_table_and_page(warm_and_cold, capsys):
    folder, table = warm_and_cold
    page = (folder / "report.html").read_text(encoding="utf-8")
    again = folder / "again.html"

    assert run(f"bench --from {folder}/report.json --html {again}") == 0

    assert capsys.readouterr().out == table
    assert again.read_text(encoding="utf-8") == page
    assert "recycling &gt; target (warm)" in page


@pytest.mark.parametrize("stacks", ["--stack target", "--stack hf-generate --stack target"])
def test_a_prompt_that_is_too_long_is_named(stacks, tmp_path, cli):
    path = tmp_path / "long.txt"
    path.write_text("def one():\n\n\n\n\n" + "alpha beta gamma delta\n" * 2000)
    line = f"bench {stacks} --suite {path} --repeats 1 --max-new-tokens 2"

    assert cli(*shlex.split(line), code=2).startswith("hsd-viz: prompt 2: the prompt has ")


# --- plan -----------------------------------------------------------------------------------------

PLAN = "plan --limit 1 --repeats 1 --max-new-tokens 12"


@pytest.fixture(scope="module")
def calibrations(tmp_path_factory):
    """An empty place for calibrations; what is compiled stays where it is."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hsd_viz.latency.stored.cache_folder", lambda kind: cache / kind)
        yield cache / "calibration"


@dataclass(frozen=True)
class Planned:
    """What a plan printed and wrote."""

    table: str
    data: dict[str, Any]
    page: str


def plan(suite: Path, folder: Path, options: str = "") -> Planned:
    """Run a plan that writes its files into a folder."""
    out = folder / "plan.json"
    page = folder / "plan.html"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert run(f"{PLAN} --suite {suite} --json {out} --html {page} {options}") == 0
    data = json.loads(out.read_text())
    return Planned(printed.getvalue(), data, page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def measured(three, calibrations, tmp_path_factory) -> Planned:
    """The first plan of the shipped ladder, with two measured stacks."""
    return plan(three, tmp_path_factory.mktemp("plan"), "--measure 2")


def test_a_plan_measures_the_stacks_that_it_picks(measured):
    data = measured.data
    assert data["models"] == ["nano", "small", "target"]
    assert data["machine"]["threads"] == 1
    rows = keyed(data["hierarchies"], "stack")
    assert "db > target" in rows
    assert rows["target"]["forwards_per_token"]["target"] == {"predicted": 1.0, "measured": 1.0}
    for stack in (data["picked"], data["best_single_draft"], "target"):
        assert rows[stack]["measured_ms_per_token"] > 0
    assert data["picked"] in measured.table
    assert "forwards/token" in measured.table
    assert "The fastest stack on this machine" in measured.page


def test_a_first_plan_measures_the_costs_of_the_models(measured):
    assert not measured.data["calibration"]["kept"]
    costs = measured.data["calibration"]["costs"]
    nano, small, target = (costs[name]["forward"][0] for name in ("nano", "small", "target"))
    assert nano < small < target


def test_a_second_plan_uses_the_stored_calibration(measured, three, calibrations, tmp_path):
    assert len(list(calibrations.iterdir())) == 1

    again = plan(three, tmp_path)

    assert ", stored " in again.table
    assert again.data["calibration"]["kept"]


@pytest.fixture(scope="module")
def planned_engine(measured):
    """An engine on the machine of the plan."""
    engine = load_engine(threads=1)
    engine.wait_ready()
    return engine


def resolved(engine, stack: str) -> str:
    return engine.run("def main(", stack, max_new_tokens=2).meta["stack_resolved"]


def test_a_lookahead_left_to_the_plan_is_the_laws(planned_engine, calibrations):
    [path] = calibrations.iterdir()
    expected = fill(parse("nano > small > target"), store.load(path).calibration)

    assert resolved(planned_engine, "nano:auto > small:auto > target") == str(expected)


def test_a_lookahead_that_is_left_out_is_not_the_plans(planned_engine):
    assert resolved(planned_engine, "nano > target") == "nano:4 > target"


def test_each_sampling_has_a_calibration_of_its_own(planned_engine):
    with pytest.raises(ValueError, match="needs a calibration of this machine"):
        planned_engine.run("x", "nano:auto > target", max_new_tokens=2, temperature=1.0)


def test_an_interrupted_plan_reports_what_is_known(three, tmp_path, interrupt, capsys, monkeypatch):
    monkeypatch.setattr("hsd_viz.latency.stored.cache_folder", lambda kind: tmp_path / kind)
    interrupt(3, prompts="class Two")
    out = tmp_path / "plan.json"

    code = run(f"{PLAN} --suite {three} --models nano --max-levels 2 --measure 1 --json {out}")

    assert code == 130
    printed = capsys.readouterr()
    assert printed.err.endswith(f"interrupted; the partial plan is in {out}\n")
    assert "pick by the law" in printed.out
    assert json.loads(out.read_text())["complete"] is False
