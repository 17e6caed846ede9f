"""``hsd-viz export``: each format, all of them together, and one-line errors."""

from __future__ import annotations

import json

import pytest

from hsd_viz.cli import main
from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled


@pytest.fixture
def saved(tmp_path):
    return load_bundled("sampled").save(tmp_path / "run.json.gz")


def test_all_formats_in_one_go(saved, tmp_path, capsys):
    html, timeline, tables = tmp_path / "run.html", tmp_path / "run.json", tmp_path / "new" / "tables"
    assert main(["export", str(saved), "--html", str(html), "--perfetto", str(timeline), "--csv", str(tables)]) == 0
    written = capsys.readouterr().out.splitlines()
    assert written[:2] == [str(html), str(timeline)] and len(written) == 6
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    calls = [e for e in json.loads(timeline.read_text())["traceEvents"] if e.get("cat") == "call"]
    assert sum(round(1000 * e["dur"]) for e in calls) == sum(c.duration_ns for c in load_bundled("sampled").call_rows)
    assert {p.name for p in tables.iterdir()} == {"tokens.csv", "drafts.csv", "rounds.csv", "calls.csv"}


@pytest.fixture
def runs(tmp_path):
    return {
        n: load_bundled(n, SIDE_BY_SIDE / "greedy").save(tmp_path / f"{n}.json.gz")
        for n in ("plain", "databases", "both")
    }


@pytest.mark.parametrize("names", [("plain", "databases"), ("both", "plain", "databases")])
def test_two_or_three_traces_become_one_page_in_their_order(runs, tmp_path, capsys, names):
    html = tmp_path / "race.html"
    assert main(["export", *(str(runs[n]) for n in names), "--html", str(html)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(html)]
    text = html.read_text(encoding="utf-8")
    stacks = [load_bundled(n, SIDE_BY_SIDE / "greedy").meta["stack_resolved"].replace(">", "&gt;") for n in names]
    assert f"<title>{' · '.join(stacks)} · hsd_viz</title>" in text
    assert len(text.encode()) < 1_000_000


def test_runs_of_different_prompts_are_not_compared(saved, runs, tmp_path, capsys):
    assert main(["export", str(runs["plain"]), str(saved), "--html", str(tmp_path / "x.html")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "have different prompts" in err and not (tmp_path / "x.html").exists()
