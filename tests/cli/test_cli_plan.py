import json

import pytest
import torch

from hsd_viz.cli import main

SUITE = "def one(a, b):\n    return a\n\n\n\n\nclass Two:\n    def __init__(self, a):\n\n\n\n\nimport os\n\n\ndef main("


@pytest.fixture(autouse=True)
def calibrations(tmp_path, monkeypatch):
    """An empty place for calibrations; what is compiled stays where it is."""
    monkeypatch.setattr("hsd_viz.calibration.store.cache_folder", lambda kind: tmp_path / "cache" / kind)
    return tmp_path / "cache" / "calibration"


@pytest.fixture
def suite(tmp_path):
    threads = torch.get_num_threads()
    path = tmp_path / "suite.txt"
    path.write_text(SUITE)
    yield str(path)
    torch.set_num_threads(threads)


def plan(suite, *words):
    return main(["plan", "--suite", suite, "--limit", "1", "--repeats", "1", "--max-new-tokens", "12", *words])


def test_a_plan_of_the_shipped_ladder(suite, tmp_path, calibrations, capsys):
    out = tmp_path / "plan.json"
    assert plan(suite, "--measure", "2", "--json", str(out)) == 0
    table = capsys.readouterr().out
    data = json.loads(out.read_text())
    assert data["models"] == ["nano", "small", "target"] and data["machine"]["threads"] == 1
    rows = {row["stack"]: row for row in data["hierarchies"]}
    assert {data["picked"], data["best_single_draft"], "target", "db > target"} <= set(rows)
    assert rows["target"]["forwards_per_token"]["target"] == {"predicted": 1.0, "measured": 1.0}
    assert all(rows[s]["measured_ms_per_token"] > 0 for s in (data["picked"], data["best_single_draft"], "target"))
    assert data["picked"] in table and "forwards/token" in table and not data["calibration"]["kept"]
    costs = data["calibration"]["costs"]
    assert costs["nano"]["forward"][0] < costs["small"]["forward"][0] < costs["target"]["forward"][0]

    # Kept: the second time nothing is decoded but the probes, and left-out lookaheads are the law's.
    assert len(list(calibrations.iterdir())) == 1
    assert plan(suite, "--json", str(out)) == 0
    assert ", stored " in capsys.readouterr().out and json.loads(out.read_text())["calibration"]["kept"]
    from hsd_viz.calibration import store
    from hsd_viz.engine.local import load_engine
    from hsd_viz.latency.select import fill
    from hsd_viz.stack import parse

    (path,) = calibrations.iterdir()
    engine = load_engine(threads=1)
    engine.wait_ready()
    resolved = engine.run("def main(", "nano:auto > small:auto > target", max_new_tokens=2).meta["stack_resolved"]
    assert resolved == str(fill(parse("nano > small > target"), store.load(path).calibration))
    # Nothing is filled in unasked, and each sampling has a calibration of its own.
    assert engine.run("x", "nano > target", max_new_tokens=2).meta["stack_resolved"] == "nano:4 > target"
    with pytest.raises(ValueError, match="needs a calibration of this machine"):
        engine.run("x", "nano:auto > target", max_new_tokens=2, temperature=1.0)


def test_interrupted_it_says_what_is_known(suite, tmp_path, monkeypatch, capsys):
    from hsd_viz.engine.local import LocalEngine

    run, measuring = LocalEngine.run, []

    def interrupted(self, prompt, stack, **options):
        if prompt.startswith("class Two"):
            measuring.append(stack)
            if len(measuring) == 3:
                raise KeyboardInterrupt
        return run(self, prompt, stack, **options)

    monkeypatch.setattr(LocalEngine, "run", interrupted)
    out = tmp_path / "plan.json"
    assert plan(suite, "--models", "nano", "--max-levels", "2", "--measure", "1", "--json", str(out)) == 130
    printed = capsys.readouterr()
    assert (
        printed.err.endswith(f"hsd-viz: interrupted; the partial plan is in {out}\n")
        and "pick by the law" in printed.out
    )
    assert json.loads(out.read_text())["complete"] is False
