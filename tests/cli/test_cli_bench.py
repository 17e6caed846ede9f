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
    argv = ["bench", "--stack", "nano:2 > target", "--stack", "hf-generate", "--suite", suite, "--repeats", "1", "--max-new-tokens", "6"]
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
    assert main(["bench", "--stack", "target", "--suite", suite, "--max-new-tokens", "4", "--json", str(out)]) == 130
    report = json.loads(out.read_text())
    assert report["complete"] is False and report["suite"]["prompts"] == 1
    assert capsys.readouterr().err == f"hsd-viz: interrupted; the partial report is in {out}\n"


@pytest.mark.parametrize("stacks", [["target"], ["hf-generate", "target"]])
def test_a_prompt_that_is_too_long_is_named(stacks, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("def one():\n\n\n\n\n" + "alpha beta gamma delta\n" * 2000)
    words = [word for stack in stacks for word in ("--stack", stack)]
    assert main(["bench", *words, "--suite", str(path), "--repeats", "1", "--max-new-tokens", "2"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("hsd-viz: prompt 2: the prompt has ") and err.count("\n") == 1


def test_a_missing_model_is_one_line(suite, capsys):
    assert main(["bench", "--stack", "hf-assistant[gpt2x]", "--suite", suite]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "gpt2x" in err
