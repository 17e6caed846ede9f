import io
import json
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from hsd_viz.cli import main
from hsd_viz.cli.decode_result import summary
from hsd_viz.engine.local import LocalEngine
from hsd_viz.trace import Started, Step, Trace
from tests.patience import PATIENCE
from tests.rows import column

PROMPT = "def area(width, height):\n"
FEW = ["--max-new-tokens", "12", "--threads", "1"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One decode with --json and --save: (exit code, object, stderr, trace)."""
    path = tmp_path_factory.mktemp("decode") / "run.json.gz"
    out = io.StringIO()
    err = io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        words = ["--prompt", PROMPT, "--json", "--save", str(path), *FEW]
        code = main(["decode", "--stack", "db > nano:3 > target", *words])
    return code, out.getvalue(), err.getvalue(), path


def test_json_is_one_object_with_the_promised_fields(run):
    code, out, err, _ = run
    assert code == 0
    assert err == ""
    answer = json.loads(out)
    assert {"text", "token_ids", "stop_reason", "stack", "metrics", "calls_by_level"} <= set(answer)
    counts = "rounds drafted accepted target_forwards accepted_by_source emitted_by_source"
    figures = (
        "acceptance_rate mean_acceptance_length tokens_per_second seconds draft_seconds_per_round"
    )
    assert {*counts.split(), *figures.split()} <= set(answer["metrics"])
    assert answer["stop_reason"] == "length"
    assert len(answer["token_ids"]) == 12
    assert sum(answer["metrics"]["emitted_by_source"].values()) == 12
    assert set(column(answer["calls_by_level"], "name")) >= {"nano", "target"}
    assert answer == json.loads(json.dumps(summary(Trace.load(run[3]))))


def test_text_streams_and_figures_go_to_stderr(run, capsys):
    code = main(["decode", "--stack", "db > nano:3 > target", "--prompt", PROMPT, *FEW])
    out, err = capsys.readouterr()
    assert code == 0
    assert out == json.loads(run[1])["text"] + "\n"
    assert err.startswith("db > nano:3 > target: 12 tokens in ")
    assert "target forward passes" in err


@pytest.mark.parametrize("source", ["prompt.py", "-"])
def test_a_prompt_file_is_read_as_it_is(run, source, tmp_path, monkeypatch, capsys, stdin):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.py").write_text(PROMPT)
    stdin(PROMPT.encode())
    assert (
        main(["decode", "--stack", "db > nano:3 > target", "--prompt-file", source, "--json", *FEW])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["token_ids"] == json.loads(run[1])["token_ids"]


@pytest.fixture
def after_three(monkeypatch):
    """Ctrl-C after the third step, of one round each: a call of the loop ends as soon as it can."""
    monkeypatch.setattr("hsd_viz.native.loop.CALL_NS", 0)
    whole = LocalEngine.events

    def interrupted(self, *args, **kwargs):
        steps = 0
        for event in whole(self, *args, **kwargs):
            yield event
            steps += isinstance(event, Step)
            if steps == 3:
                raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "events", interrupted)


def test_an_interrupt_saves_what_there_is(after_three, tmp_path, capsys):
    path = tmp_path / "run.json.gz"
    assert (
        main(
            ["decode", "--stack", "target", "--prompt", PROMPT, "--json", "--save", str(path), *FEW]
        )
        == 130
    )
    trace = Trace.load(path)
    assert len(trace) == 3
    assert trace.meta["stop_reason"] == "cancelled"
    assert trace.meta["cancelled"]
    out, err = capsys.readouterr()
    assert json.loads(out)["stop_reason"] == "cancelled"
    assert err == f"hsd-viz: interrupted; saved 3 tokens to {path}\n"
    # A text that streams ends its line.
    assert main(["decode", "--stack", "target", "--prompt", PROMPT, *FEW]) == 130
    out, err = capsys.readouterr()
    assert out.strip()
    assert out.endswith("\n")
    assert err.endswith("hsd-viz: interrupted after 3 tokens\n")


def test_an_interrupt_before_the_first_token_saves_nothing(tmp_path, monkeypatch, capsys):
    def interrupted(self, *args, **kwargs):
        raise KeyboardInterrupt
        yield Started({}, {})

    monkeypatch.setattr(LocalEngine, "events", interrupted)
    path = tmp_path / "run.json.gz"
    assert main(["decode", "--stack", "target", "--prompt", PROMPT, "--save", str(path)]) == 130
    assert not path.exists()
    assert capsys.readouterr().err == "hsd-viz: interrupted\n"


def start(*argv: str) -> subprocess.Popen:
    command = [
        sys.executable,
        *"-m hsd_viz decode --stack target --threads 1 --prompt".split(),
        PROMPT,
        *argv,
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A shell's background jobs ignore Ctrl-C, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_ends_a_running_decode(tmp_path):
    path = tmp_path / "run.json.gz"
    process = start("--max-new-tokens", "100000", "--save", str(path))
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in err
    trace = Trace.load(path)
    assert trace.meta["stop_reason"] == "cancelled"
    assert trace.token_rows


def test_a_reader_that_leaves_ends_the_decode():
    process = start("--max-new-tokens", "100000")
    assert process.stdout.read(1)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=PATIENCE) == 130
    assert b"Traceback" not in err
    assert b"Exception" not in err
