"""Bad usage and bad input: exit code 2 and one line; what works without torch."""

import argparse
import json
import re
import shlex
import subprocess
import sys
from inspect import signature

import pytest

from hsd_viz.cli import build_parser, main
from hsd_viz.cli.audit import audit_stacks
from hsd_viz.decoding.options import DEFAULT_RULE, Sampling
from hsd_viz.measure.doctor.options import Hardware, Known
from hsd_viz.settings.declare import settings_of
from hsd_viz.trace import Trace
from hsd_viz.version import __version__
from tests.rows import column

COMMANDS = ("decode", "bench", "dashboard", "export", "databases", "models", "ladder")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_an_example(command, cli):
    assert f"  hsd-viz {command} " in cli(command, "--help").partition("example")[2]


def test_the_command_alone_names_three_things_to_do(cli):
    out = cli()
    for word in ("--open", "decode", "doctor"):
        assert f"  hsd-viz {word}" in out
    assert "hsd-viz --help" in out


def test_open_takes_no_command(cli):
    assert "used without a command" in cli("--open", "ladder", "info", code=2)


def test_the_command_itself_shows_the_stack_language(cli):
    out = cli("--help")
    assert "db > nano:6 > small:8 > target" in out
    assert [c for c in COMMANDS if not re.search(rf"^ +{c}\s+\w", out, re.M)] == []


#: A command, and a part of its one-line error; DECODE and BYTES are replaced.
BAD = """
dance | invalid choice: 'dance' (use decode, bench,
decod | did you mean 'decode'?
decode --prompt x | --stack
decode --stack target | one of --prompt and --prompt-file
DECODE --sede 1 | --sede 1; did you mean '--seed'?
DECODE --max-new-tokens many | the value many is not valid: expected a whole number from 1
DECODE --top-k 1.5 | '1.5' is not a whole number
DECODE --max-new-tokens 0 | --max-new-tokens: the value 0 is out of range
DECODE --temperature -1 | temperature -1
DECODE --top-p 1.5 | top-p 1.5 is out of range
DECODE --top-p nan | top-p nan is not valid
DECODE --top-k -1 | top-k -1
DECODE --seed -1 | seed -1
DECODE --rule dice | 'dice' (use token, block, branch)
DECODE --save "" | argument --save: the file name is empty
DECODE --save missing/run.json.gz | cannot write
DECODE --save . | cannot write
decode --stack target --prompt BYTES | is not valid Unicode
decode --stack target --prompt-file nowhere.txt | nowhere.txt
decode --stack target --prompt-file latin.txt | not UTF-8 text (byte 3 is 0xe9)
decode --stack hf-generate --prompt x | only `hsd-viz bench` runs
decode --stack "db > !" --prompt x | unknown part '!'
decode --stack "nano:-1 > target" --prompt x | lookahead '-1'
decode --stack "gpt2x > target" --prompt x | unknown model 'gpt2x'
decode --stack "./folder > target" --prompt x | a folder with a config.json
bench | give the stacks to measure with --stack
bench --stack target --suite nix | unknown suite 'nix'
bench --stack hf-quick | hf-quick
bench --stack target --limit 0 | limit 0
bench --stack target --repeats 0 | the number of repeats 0
bench --stack target --repeats 9999999999999999999 | from 1 to 1000000
bench --stack target --budget 0 | the budget 0 is out of range
bench --stack target --json missing/report.json | cannot write
bench --from nowhere.json | cannot read the report file nowhere.json
plan --models gpt2x | gpt2x
plan --models nano,,small | not readable
plan --models nano small | --models takes a list with commas, as in A,B,C
plan --models nano,nano | 'nano,nano' are not readable
plan --max-levels 0 | the number of levels 0
plan --limit 0 | the limit 0
plan --measure -1 | the number of stacks to measure -1
plan --json /nowhere/plan.json | cannot write
plan --measure x | --measure
predict --gpu H100 --models llama-8b,llama-70b | not smaller than the target
predict --gpu H100 --models llama-8b --tp 3 | do not divide the 32
predict --gpu H100 --models llama-8b,llama-1b --acceptance 1.5 | from 0 to below 1
predict --gpu H100 --models llama-8b,llama-1b --acceptance "x > y=0.5" | not a pair of these models
predict --gpu H100 --models llama-8b --batch 1,b | not readable
predict --gpu H100 --models llama-8b --batch 1.0 | expected a whole number
predict --gpu H100 --models llama-8b --calibrate 7 | two times in ms
predict --gpu H100 --models llama-8b --calibrate 9,inf | are not usable
predict --gpu H100 --models llama-8b --bandwidth -5 --flops 100 --gpu-memory 20 | from 0.001
predict --gpu H100 --models "" | no models
replay none.jsonl | cannot read the log none.jsonl
replay log.jsonl | give the tokenizer of its model
replay log.jsonl --tokenizer log.jsonl | log.jsonl is not a valid tokenizer
replay log.jsonl --tokenizer target --verify-cost cheap | 'cheap' is not a verification cost
replay log.jsonl --tokenizer target --drafter dbb | 'dbb' cannot be replayed
replay log.jsonl --tokenizer target --databases a | there are no databases in 'a'
replay log.jsonl --json none/x | cannot write none/x
replay log.jsonl --budget 0 | argument --budget
import log.jsonl --engine vlm | \
mlx-vlm, fastdeploy, lmdeploy, tokenspeed, mlc-llm, openai, tgi; did you mean 'vllm'?
databases inspect nowhere.hsdb | nowhere.hsdb
databases build --out o --kind model | --kind model needs --prompts
databases build --out o --kind statistics | --kind statistics needs --text
databases build --out latin.txt --kind statistics --text latin.txt | it is a file; give a folder
databases build --out o --kind statistics --text nowhere.txt | \
there is no file or folder 'nowhere.txt'
databases build --out o --kind model --prompts x --text y | \
--text is allowed only with --kind statistics
databases build --out o --prompts x | --kind
databases build --out o --kind statistics --text x --max-key-length 0 | \
--max-key-length: the value 0 is out of range
databases build --out o --kind statistics --text log.jsonl --tokenizer log.jsonl | \
is not a valid tokenizer
databases build --out o --kind model --prompts heldout --model tiny | unknown model 'tiny'
export nowhere.json.gz --csv tables | nowhere.json.gz
export run.json.gz | \
no output given: use --html FILE, --perfetto FILE, --csv DIR, --aiperf FILE or --costs FILE
export x.json --csv tables | not an hsd_viz trace
export run.json.gz --html "" | argument --html: the file name is empty
export run.json.gz --perfetto . | cannot write .
export run.json.gz run.json.gz --csv x | --perfetto and --csv write one trace
export run.json.gz run.json.gz run.json.gz run.json.gz --html x.html | \
4 runs are too many to compare
ladder train --profile huge --out x | 'huge'
doctor | give one of a record, a stack and an acceptance
doctor missing | cannot read
doctor x.json | is not a trace or a record
doctor x.json --batch 0 | argument --batch
doctor x.json --context long | --context: 'long' is not readable
doctor x.json --context 0 | the context 0 is out of range
doctor x.json --context 2k,8k | --context: '2k,8k' is not readable
doctor --stack target | there is nothing to explain
doctor --stack "nano:3 > target" --acceptance 0.6 | give one of a record, a stack and an acceptance
doctor --measure target | did you mean the command hsd-viz doctor --stack STACK
doctor --acceptance 0.6 | --lookahead
doctor --acceptance high --lookahead 3 | not readable
doctor --acceptance 0.6 --lookahead 3 --method eagel | did you mean 'eagle'
doctor --acceptance 0.6 --lookahead 3 --gpu H100 | belong together
doctor --acceptance 0.6 --lookahead 3 --gpu H1OO --models llama-8b | use H100
doctor --acceptance 0.6 --lookahead 3 --gpu H100 --models eagle3 | have no target
doctor --acceptance 2 --lookahead 3 --gpu L4 --models llama-70b | does not fit
doctor --acceptance 2 --lookahead 3 --gpu L4 --models llama-8b --tp 3 | do not divide
doctor --acceptance 0.6 --lookahead 3 --speed 10 --verify-ms 500 --draft-ms 1 | exceed
models info --json code | are required: NAME; --json took 'code' as its OUT: write --json last
audit | the following arguments are required: ACTION
audit --stack "nano:2 > target" | did you mean the command hsd-viz audit stack STACK?
audit --exact=json:dumps | the command hsd-viz audit function MODULE:FUNCTION?
audit --schedule | the command hsd-viz audit schedule?
audit --plain x --speculative y | hsd-viz audit endpoint --speculative URL --plain URL?
audit stack | the following arguments are required: STACK
audit stack "nano:2 > target" --samples 8 | unrecognized arguments: --samples
audit stack hf-generate | unknown model 'hf-generate': toy models replace nano
audit stack "nano:auto > target" | write it without auto
audit endpoint --plain http://127.0.0.1:9/v1 | are required: --speculative
audit endpoint --speculative ftp://x --plain ftp://x | unsupported protocol
audit endpoint --speculative http://127.0.0.1:9/v1 --plain http://127.0.0.1:9/v1 | does not answer
audit endpoint --speculative http://x/v1 --plain http://x/v1 --api-key-env HSD_VIZ_NOT_SET | \
--api-key-env: the environment variable 'HSD_VIZ_NOT_SET' is not set
audit function nothing | does not name a function
audit function no_such_module:f | cannot import no_such_module
audit function json:dumps | \
json:dumps failed: TypeError: Object of type Task is not JSON serializable
dashboard --host 0.0.0.0 | token
"""


@pytest.mark.parametrize("case", BAD.strip().splitlines())
def test_bad_usage_is_one_line(cli, case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "x.json").write_text("{}")
    entry = {"prompt": "a b", "output": "a b c"}
    (tmp_path / "log.jsonl").write_text(json.dumps(entry))
    trace_file(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    command, _, part = case.partition(" | ")
    words = shlex.split(command.replace("DECODE", "decode --stack target --prompt x"))
    assert part in cli(*("\udcff\udcfe" if word == "BYTES" else word for word in words), code=2)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == files, "nothing is left"


def trace_file(tmp_path):
    meta = {"stack": "target", "prompt": "x", "prompt_ids": [0], "prefill_ns": 0, "wall_ns": 0}
    return Trace(meta).save(tmp_path / "run.json.gz")


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_a_missing_torch_names_the_extra():
    words = ["decode", "--stack", "target", "--prompt", "x", "--runtime", "eager"]
    done = python(
        "import sys; sys.modules['torch'] = None\n"
        f"from hsd_viz.cli import main\nsys.exit(main({words}))"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert (
        done.stderr
        == "hsd-viz: target needs torch here: install it with `pip install 'hsd-viz[models]'`\n"
    )


def test_what_needs_no_models_imports_no_torch(tmp_path):
    trace = trace_file(tmp_path)
    code = f"""
import sys
from hsd_viz.cli import build_parser, main
assert main(["export", {str(trace)!r}, "--csv", {str(tmp_path / "tables")!r}]) == 0
main(["databases", "inspect"]), main(["ladder", "info"])
assert main(["bench", "--stack", "nope"]) == 2
sys.exit(any(m.partition(".")[0] in ("torch", "transformers") for m in sys.modules))
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_help_imports_neither_numpy_nor_traces():
    done = python(
        "import sys; from hsd_viz.cli import main; "
        "main(['--help']); sys.exit('numpy' in sys.modules)"
    )
    assert done.returncode == 0


def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path):
    (tmp_path / "argparse.py").write_text("raise KeyboardInterrupt")
    imports = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from hsd_viz.__main__ import main"
    )
    done = python(f"{imports}; sys.exit(main())")
    assert done.returncode == 130
    assert done.stderr == "hsd-viz: interrupted\n"


def test_the_default_rule_is_that_of_the_traces():
    own = signature(audit_stacks).parameters["rule"].default
    assert Sampling().rule == own == DEFAULT_RULE


def test_closed_streams_do_not_crash(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["--help"]) == 0
    assert main(["dance"]) == 2


def test_standard_input_must_be_text(cli, stdin):
    stdin(b"caf\xe9")
    assert "/dev/stdin is not UTF-8 text (byte 3 " in cli(
        *"decode --stack target --prompt-file -".split(), code=2
    )


def test_the_installed_command_is_this_one():
    done = subprocess.run(
        [sys.executable, "-m", "hsd_viz", "--version"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert done.stdout.startswith(f"hsd-viz {__version__}")


def test_the_doctor_s_options_are_grouped_as_they_are_declared():
    commands = next(
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    groups = {}
    for group in commands.choices["doctor"]._action_groups:
        groups[group.title] = column(group._group_actions, "dest")

    assert groups["positional arguments"] == ["record"]
    assert groups["what to examine"] == ["stack", "acceptance", "lookahead", "model", "engine"]
    assert groups["known figures"] == list(settings_of(Known))
    assert groups["hardware model of unknown times"] == list(settings_of(Hardware))
