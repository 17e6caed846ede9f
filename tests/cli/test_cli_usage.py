"""Bad usage and bad input: exit code 2 and one line; what works without torch."""

import gzip
import io
import json
import re
import subprocess
import sys

import pytest

from hsd_viz.cli import main
from hsd_viz.cli.arguments import SamplingOptions
from hsd_viz.cli.audit import Exact
from hsd_viz.trace import SCHEMA_VERSION, Trace
from hsd_viz.trace.tables import DEFAULT_RULE

COMMANDS = ("decode", "bench", "dashboard", "export", "traces", "databases", "ladder")


@pytest.fixture
def fails(capsys):
    """Run a command that must fail: exit code 2, nothing on stdout, one line on stderr, which is returned."""

    def run(*argv: str) -> str:
        assert main(argv) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and err.endswith("\n") and "Traceback" not in err
        return err

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"  hsd-viz {command} " in capsys.readouterr().out.partition("example")[2]


@pytest.mark.parametrize("argv", [["--help"], []])
def test_the_command_itself_shows_the_stack_language(argv, capsys):
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "db > nano:6 > small:8 > target" in out
    assert [c for c in COMMANDS if not re.search(rf"^ +{c}\s+\w", out, re.M)] == []


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["dance"], "invalid choice: 'dance' (use decode, bench, "),
        (["decod"], "did you mean 'decode'?"),
        (["decode", "--stack", "target", "--prompt", "x", "--sede", "1"], "--sede 1; did you mean '--seed'?"),
        (["decode", "--prompt", "x"], "--stack"),
        (["decode", "--stack", "target"], "--prompt --prompt-file"),
        (["decode", "--stack", "target", "--prompt", "x", "--prompt-file", "y"], "not allowed with"),
        (
            ["decode", "--stack", "target", "--prompt", "x", "--max-new-tokens", "many"],
            "the value many is out of range: expected a whole number from 1",
        ),
        (
            ["decode", "--stack", "target", "--prompt", "x", "--max-new-tokens", "0"],
            "--max-new-tokens: the value 0 is out of range",
        ),
        (["decode", "--stack", "target", "--prompt", "x", "--temperature", "-1"], "temperature -1"),
        (["decode", "--stack", "target", "--prompt", "x", "--temperature", "nan"], "temperature nan"),
        (["decode", "--stack", "target", "--prompt", "x", "--top-p", "1.5"], "top-p 1.5"),
        (["decode", "--stack", "target", "--prompt", "x", "--top-k", "-1"], "top-k -1"),
        (["decode", "--stack", "target", "--prompt", "x", "--seed", "-1"], "seed -1"),
        (["decode", "--stack", "target", "--prompt", "\udcff\udcfe"], "the prompt is not UTF-8 text"),
        (["decode", "--stack", "target", "--prompt", "x", "--save", ""], "argument --save: the file name is empty"),
        (["decode", "--stack", "hf-generate", "--prompt", "x"], "only `hsd-viz bench` runs"),
        (["decode", "--stack", "hf-assistant[nano]", "--prompt", "x"], "only `hsd-viz bench` runs"),
        (["decode", "--stack", "db > !", "--prompt", "x"], "unknown part '!'"),
        (["decode", "--stack", "nano:-1 > target", "--prompt", "x"], "lookahead '-1'"),
        (["decode", "--stack", "target", "--prompt-file", "nowhere.txt"], "nowhere.txt"),
        (["decode", "--stack", "target", "--prompt", "x", "--device", "abacus"], "'abacus'"),
        (["bench", "--stack", "target", "--suite", "nix"], "unknown suite 'nix'"),
        (["bench", "--stack", "hf-quick"], "hf-quick"),
        (["bench", "--stack", "target", "--limit", "0"], "limit 0"),
        (["bench", "--stack", "target", "--repeats", "0"], "the number of repeats 0"),
        (["databases", "inspect", "nowhere.hsdb"], "nowhere.hsdb"),
        (["export", "nowhere.json.gz", "--csv", "tables"], "nowhere.json.gz"),
        (["export", "nowhere.json.gz"], "--csv"),
        (["ladder", "train", "--profile", "huge", "--out", "x"], "'huge'"),
        (["ladder", "rebuild", "--trained", "nowhere"], "nowhere contains no trained ladder"),
        (["dashboard", "--host", "0.0.0.0"], "token"),
    ],
)
def test_bad_usage_is_one_line(fails, argv, part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert part in fails(*argv)


def test_a_prompt_file_must_be_text(fails, tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_bytes(b"caf\xe9")
    assert "not UTF-8 text (byte 3 is 0xe9)" in fails("decode", "--stack", "target", "--prompt-file", str(path))


@pytest.mark.parametrize("place", ["missing/run.json.gz", "."])
def test_an_unwritable_output_is_refused_before_decoding(fails, tmp_path, place):
    assert "cannot write" in fails("decode", "--stack", "target", "--prompt", "x", "--save", str(tmp_path / place))
    assert "cannot write" in fails("bench", "--stack", "target", "--json", str(tmp_path / place))


def trace_file(tmp_path, **changes):
    data = {
        **Trace({"stack": "target", "prompt": "x", "prompt_ids": [0], "prefill_ns": 0, "wall_ns": 0}).to_dict(),
        **changes,
    }
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"schema": SCHEMA_VERSION + 1}, "update hsd_viz"),
        ({"rounds": {}}, "not valid"),
        ({"format": "other"}, "not an hsd_viz trace"),
    ],
)
def test_a_trace_that_cannot_be_read_exports_nothing(fails, tmp_path, changes, part):
    assert part in fails("export", str(trace_file(tmp_path, **changes)), "--csv", str(tmp_path / "tables"))
    assert not (tmp_path / "tables").exists()


def test_a_truncated_trace_file_is_not_valid(fails, tmp_path):
    path = trace_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-8])
    assert "is not a valid trace" in fails("export", str(path), "--csv", str(tmp_path / "tables"))


def test_tables_cannot_go_into_a_file(fails, tmp_path):
    path = trace_file(tmp_path)
    assert "cannot write" in fails("export", str(path), "--csv", str(path))


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_a_missing_torch_names_the_extra():
    words = ["decode", "--stack", "target", "--prompt", "x", "--dtype", "float32"]
    done = python(f"import sys; sys.modules['torch'] = None\nfrom hsd_viz.cli import main\nsys.exit(main({words}))")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "hsd-viz: target needs torch here: install it with `pip install 'hsd-viz[models]'`\n"


def test_what_needs_no_models_imports_no_torch(tmp_path):
    trace = trace_file(tmp_path)
    code = f"""
import sys
from hsd_viz.cli import build_parser, main
assert main(["export", {str(trace)!r}, "--csv", {str(tmp_path / "tables")!r}]) == 0
main(["traces", "list"]), main(["databases", "inspect"]), main(["ladder", "info"])
assert main(["bench", "--stack", "nope"]) == 2
sys.exit(any(m.partition(".")[0] in ("torch", "transformers") for m in sys.modules))
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_help_imports_neither_numpy_nor_traces():
    done = python("import sys; from hsd_viz.cli import main; main(['--help']); sys.exit('numpy' in sys.modules)")
    assert done.returncode == 0


def test_the_default_rule_is_that_of_the_traces():
    assert SamplingOptions().rule == Exact().rule == DEFAULT_RULE


def test_closed_streams_do_not_crash(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["--help"]) == 0 and main(["dance"]) == 2


def test_standard_input_must_be_text(fails, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9")))
    assert "standard input is not UTF-8 text (byte 3)" in fails("decode", "--stack", "target", "--prompt-file", "-")


def test_the_installed_command_is_this_one():
    done = subprocess.run([sys.executable, "-m", "hsd_viz", "--version"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("hsd-viz 0.")
