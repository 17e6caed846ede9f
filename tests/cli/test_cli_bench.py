import json

import pytest
import torch

from hsd_viz.cli import main

SUITE = "def one(a, b):\n    return a\n\n\n\n\nclass Two:\n    def __init__(self, a):\n"


@pytest.fixture
def suite(tmp_path):
    threads = torch.get_num_threads()
    path = tmp_path / "suite.txt"
    path.write_text(SUITE)
    yield str(path)
    torch.set_num_threads(threads)


def test_a_bench_writes_table_and_report(suite, tmp_path, capsys):
    out = tmp_path / "report.json"
    argv = ["bench", "--stack", "nano:2 > target", "--stack", "hf-generate", "--suite", suite, "--repeats", "1"]
    argv += ["--max-new-tokens", "6"]
    assert main([*argv, "--json", str(out)]) == 0
    table = capsys.readouterr().out
    report = json.loads(out.read_text())
    assert [s["stack"] for s in report["stacks"]] == ["target", "nano:2 > target", "hf-generate"]
    assert report["suite"] == {"name": "suite.txt", "prompts": 2, "categories": {"all": "Every prompt of the file."}}
    assert report["settings"]["threads"] == 1 and report["machine"]["threads"] == 1
    assert all(s["stack"] in table for s in report["stacks"]) and report["machine"]["cpu"] in table


def test_an_interrupted_bench_reports_what_was_measured(suite, tmp_path, monkeypatch, capsys):
    from hsd_viz.engine.local import LocalEngine

    run, asked = LocalEngine.run, []

    def interrupted(self, prompt, stack, **options):
        asked.append(stack)
        if len(asked) == 3:  # warm-up, first prompt, second prompt
            raise KeyboardInterrupt
        return run(self, prompt, stack, **options)

    monkeypatch.setattr(LocalEngine, "run", interrupted)
    out = tmp_path / "report.json"
    argv = [*"bench --stack target --suite".split(), suite, *"--max-new-tokens 4 --repeats 2 --json".split(), str(out)]
    assert main(argv) == 130
    report = json.loads(out.read_text())
    assert report["complete"] is False and report["suite"]["prompts"] == 1
    assert capsys.readouterr().err == f"hsd-viz: interrupted; the partial report is in {out}\n"
    assert [path.name for path in tmp_path.iterdir() if path != out] == ["suite.txt"]


def test_states_budget_and_page(suite, tmp_path, capsys):
    out, html, again = tmp_path / "report.json", tmp_path / "report.html", tmp_path / "again.html"
    argv = ["bench", "--stack", "recycling > target", "--stack", "db > target", "--suite", suite, "--repeats", "1"]
    argv += ["--max-new-tokens", "12", "--state", "both", "--budget", "3", "--json", str(out), "--html", str(html)]
    assert main(argv) == 0
    table = capsys.readouterr().out
    report = json.loads(out.read_text())
    rows = {s["stack"]: s["state"] for s in report["stacks"]}
    warm = {"recycling > target": "cold", "recycling > target (warm)": "warm"}
    assert rows == {"target": None, **warm, "db > target": None}
    assert all(s["token_identical_to_plain"][1] == 2 for s in report["stacks"])
    assert report["settings"]["budget"] == 3
    assert "at most 3 draft tokens" in table and "warm rows keep one memory" in table
    assert report["command"].startswith("hsd-viz bench --stack 'recycling > target' --stack 'db > target' --suite ")
    assert "recycling &gt; target (warm)" in html.read_text(encoding="utf-8")
    # A saved report gives the same table and page.
    assert main(["bench", "--from", str(out), "--html", str(again)]) == 0
    assert capsys.readouterr().out == table and again.read_text(encoding="utf-8") == html.read_text(encoding="utf-8")


@pytest.mark.parametrize("stacks", [["target"], ["hf-generate", "target"]])
def test_a_prompt_that_is_too_long_is_named(stacks, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("def one():\n\n\n\n\n" + "alpha beta gamma delta\n" * 2000)
    words = [word for stack in stacks for word in ("--stack", stack)]
    assert main(["bench", *words, "--suite", str(path), "--repeats", "1", "--max-new-tokens", "2"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("hsd-viz: prompt 2: the prompt has ") and err.count("\n") == 1
