"""``hsd-viz bench`` and ``plan`` on the shipped models."""

import json

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
    return str(path)


@pytest.fixture
def three(tmp_path):
    path = tmp_path / "three.txt"
    path.write_text(f"{SUITE}\n\n\n\nimport os\n\n\ndef main(")
    return str(path)


def test_a_bench_writes_table_and_report(suite, tmp_path, cli):
    out = tmp_path / "report.json"
    argv = [
        "bench",
        "--stack",
        "nano:2 > target",
        "--stack",
        "hf-generate",
        "--suite",
        suite,
        "--json",
        str(out),
    ]
    table = cli(*argv, "--repeats", "1", "--max-new-tokens", "6")
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
    argv = [
        *"bench --stack target --suite".split(),
        suite,
        *"--max-new-tokens 4 --repeats 2 --json".split(),
        str(out),
    ]
    assert main(argv) == 130
    report = json.loads(out.read_text())
    assert report["complete"] is False
    assert report["suite"]["prompts"] == 1
    assert capsys.readouterr().err == f"hsd-viz: interrupted; the partial report is in {out}\n"
    assert [path.name for path in tmp_path.iterdir() if path != out] == ["suite.txt"]
    # To read the partial report is not an interruption.
    assert main(["bench", "--from", str(out)]) == 0
    assert capsys.readouterr().err == ""


def test_states_budget_and_page(suite, tmp_path, cli):
    out = tmp_path / "report.json"
    html = tmp_path / "report.html"
    again = tmp_path / "again.html"
    argv = [
        "bench",
        "--stack",
        "recycling > target",
        "--stack",
        "db > target",
        "--suite",
        suite,
        "--repeats",
        "1",
    ]
    argv += [
        "--max-new-tokens",
        "12",
        "--state",
        "both",
        "--budget",
        "3",
        "--json",
        str(out),
        "--html",
        str(html),
    ]
    table = cli(*argv)
    report = json.loads(out.read_text())
    rows = {s["stack"]: s["state"] for s in report["stacks"]}
    warm = {"recycling > target": "cold", "recycling > target (warm)": "warm"}
    assert rows == {"target": None, **warm, "db > target": None}
    for stack in report["stacks"]:
        assert stack["token_identical_to_plain"][1] == 2
    assert report["settings"]["budget"] == 3
    assert "at most 3 draft tokens" in table
    assert "warm rows keep one memory" in table
    assert report["command"].startswith(
        "hsd-viz bench --stack 'recycling > target' --stack 'db > target' --suite "
    )
    assert "recycling &gt; target (warm)" in html.read_text(encoding="utf-8")
    # A saved report gives the same table and page.
    assert cli("bench", "--from", out, "--html", again) == table
    assert again.read_text(encoding="utf-8") == html.read_text(encoding="utf-8")


@pytest.mark.parametrize("stacks", [["target"], ["hf-generate", "target"]])
def test_a_prompt_that_is_too_long_is_named(stacks, tmp_path, cli):
    path = tmp_path / "long.txt"
    path.write_text("def one():\n\n\n\n\n" + "alpha beta gamma delta\n" * 2000)
    words = []
    for stack in stacks:
        words += ["--stack", stack]
    said = cli("bench", *words, "--suite", path, "--repeats", "1", "--max-new-tokens", "2", code=2)
    assert said.startswith("hsd-viz: prompt 2: the prompt has ")


@pytest.fixture
def calibrations(tmp_path, monkeypatch):
    """An empty place for calibrations; what is compiled stays where it is."""
    monkeypatch.setattr(
        "hsd_viz.latency.stored.cache_folder", lambda kind: tmp_path / "cache" / kind
    )
    return tmp_path / "cache" / "calibration"


def plan(suite, *words):
    return main(
        [
            "plan",
            "--suite",
            suite,
            "--limit",
            "1",
            "--repeats",
            "1",
            "--max-new-tokens",
            "12",
            *words,
        ]
    )


def test_a_plan_of_the_shipped_ladder(three, tmp_path, calibrations, capsys):
    out = tmp_path / "plan.json"
    page = tmp_path / "plan.html"
    assert plan(three, "--measure", "2", "--json", str(out), "--html", str(page)) == 0
    table = capsys.readouterr().out
    assert "The fastest stack on this machine" in page.read_text()
    data = json.loads(out.read_text())
    assert data["models"] == ["nano", "small", "target"]
    assert data["machine"]["threads"] == 1
    rows = keyed(data["hierarchies"], "stack")
    assert {data["picked"], data["best_single_draft"], "target", "db > target"} <= set(rows)
    assert rows["target"]["forwards_per_token"]["target"] == {"predicted": 1.0, "measured": 1.0}
    for s in (data["picked"], data["best_single_draft"], "target"):
        assert rows[s]["measured_ms_per_token"] > 0
    assert data["picked"] in table
    assert "forwards/token" in table
    assert not data["calibration"]["kept"]
    costs = data["calibration"]["costs"]
    assert (
        costs["nano"]["forward"][0] < costs["small"]["forward"][0] < costs["target"]["forward"][0]
    )

    # Kept: the second time nothing is decoded but the probes, and left-out lookaheads are the
    # law's.
    assert len(list(calibrations.iterdir())) == 1
    assert plan(three, "--json", str(out)) == 0
    assert ", stored " in capsys.readouterr().out
    assert json.loads(out.read_text())["calibration"]["kept"]
    (path,) = calibrations.iterdir()
    engine = load_engine(threads=1)
    engine.wait_ready()
    resolved = engine.run("def main(", "nano:auto > small:auto > target", max_new_tokens=2).meta[
        "stack_resolved"
    ]
    assert resolved == str(fill(parse("nano > small > target"), store.load(path).calibration))
    # Nothing is filled in unasked, and each sampling has a calibration of its own.
    assert (
        engine.run("x", "nano > target", max_new_tokens=2).meta["stack_resolved"]
        == "nano:4 > target"
    )
    with pytest.raises(ValueError, match="needs a calibration of this machine"):
        engine.run("x", "nano:auto > target", max_new_tokens=2, temperature=1.0)


def test_interrupted_it_says_what_is_known(three, calibrations, tmp_path, interrupt, capsys):
    interrupt(3, prompts="class Two")
    out = tmp_path / "plan.json"
    assert (
        plan(three, "--models", "nano", "--max-levels", "2", "--measure", "1", "--json", str(out))
        == 130
    )
    printed = capsys.readouterr()
    assert printed.err.endswith(f"interrupted; the partial plan is in {out}\n")
    assert "pick by the law" in printed.out
    assert json.loads(out.read_text())["complete"] is False
