"""Every hint of an error does what it says: the call is made, the command is parsed, the name is
accepted.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

import hsd_viz as hsd
from hsd_viz.cli import build_parser
from hsd_viz.engine.opened_models import TORCH_TYPES
from hsd_viz.engine.recordings import load_bundled
from hsd_viz.latency.law import predict
from hsd_viz.latency.stored import decide
from hsd_viz.names.hints import guess, guesses, no_attribute
from hsd_viz.prompts.suites import load_suite
from hsd_viz.settings.engine_choices import DTYPES
from hsd_viz.stack import parse
from hsd_viz.views.page_data import MACHINE
from tests.figures.sample_calibration import DEAR
from tests.measure.fake_engine import FakeEngine
from tests.rows import find

ROOT = Path(__file__).resolve().parents[2]
HINTS = []
for _owner, _names in guesses().items():
    for _name, _hints in _names.items():
        HINTS += [pytest.param(hint, id=f"{_owner}.{_name}: {hint}") for hint in _hints]


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> dict[str, object]:
    """What the names of the hints stand for."""
    folder = tmp_path_factory.mktemp("hints")
    trace = load_bundled("sampled")
    trace.save(folder / "run.json.gz")
    log = folder / "log.jsonl"
    log.write_text(json.dumps({"prompt": [5, 6, 7], "output": [5, 6, 7, 5, 6, 7]}) + "\n")
    engine = hsd.load_engine(threads=1)
    suite = folder / "suite.txt"
    suite.write_text("def main(")
    return {
        "hsd": hsd,
        "load_engine": hsd.load_engine,
        "doctor": hsd.doctor,
        "predict": hsd.predict,
        "replay": hsd.replay,
        "trace": trace,
        "comparison": hsd.compare_traces(trace),
        "result": hsd.compare_traces(trace),
        "engine": engine,
        "figure": hsd.figures.acceptance(trace),
        "path": folder / "run.json.gz",
        "record": folder / "run.json.gz",
        "log": log,
        "tokenizer": "target",
        "drafters": ["db[context]"],
        "prompt": "def f(",
        "stack": "db > target",
        "stacks": ["target", "db > target"],
        "suite": suite,
        "target": "target",
        "dtype": "float32",
        "costs": {"small": 1, "large": 10},
        "acceptance": {"small > large": 0.8},
        "gpu": "h100",
        "models": ["llama-8b", "llama-1b"],
        "ms": 0.01,
    }


def parsed(command: str) -> None:
    """Parse a command of the shell; words in capitals stand for something."""
    words = ["target" if word == "STACK" else word for word in shlex.split(command)]
    assert words[0] == "hsd-viz"
    build_parser().parse_args(words[1:])


@pytest.mark.parametrize("hint", HINTS)
def test_a_guess_is_answered_with_what_works(hint, objects, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some hints write a file
    command = hint.removeprefix("the command ")
    statement = hint.removeprefix("the import ")
    if command != hint:
        parsed(command)
    elif statement != hint:
        exec(statement, {})
    else:
        assert eval(hint, dict(objects)) is not None


def test_hints_are_joined_to_one_question():
    meant = "did you mean hsd.load_engine(target) or hsd.Trace.load(path)?"
    assert guess("hsd", "load") == f"; {meant}"


# --- stacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["db", "db[context]", "nano:4 > small:0 > target"])
def test_the_stack_that_an_error_shows_can_be_parsed(text):
    with pytest.raises(ValueError) as error:
        parse(text)
    for shown in re.findall(r"as in '([^']*)'", str(error.value)):
        parse(shown)


def test_a_missing_lookahead_is_shown_as_it_is_written():
    with pytest.raises(ValueError) as error:
        predict("nano > target", DEAR)
    (shown,) = re.findall(r"as in '([^']*)'", str(error.value))
    assert parse(f"{shown} > target").drafts[0].lookahead == 4


def test_a_missing_prompt_is_shown_as_it_is_given():
    with pytest.raises(ValueError) as error:
        hsd.compare(["target"])
    call = str(error.value).partition(": ")[2]
    assert len(eval(call, {"compare": hsd.compare})) == 1


# --- names that are close -------------------------------------------------------------------------


def from_dtype(name: str) -> object:
    return hsd.load_engine(dtype=name)


def from_runtime(name: str) -> object:
    return hsd.load_engine(runtime=name)


def from_suite(name: str) -> object:
    return load_suite(name)


def from_item(name: str) -> object:
    return parse(f"db[{name}] > target")


def from_recording(name: str) -> object:
    return load_bundled(name)


def from_option(name: str) -> object:
    return hsd.load_engine(threads=1).run("x", max_new_tokens=1, **{name: 1})


def from_flag(name: str) -> object:
    return build_parser().parse_args(["decode", "--stack", "target", name, "1"])


@pytest.mark.parametrize(
    ("use", "wrong"),
    [
        (from_dtype, "floot32"),
        (from_dtype, "float15"),
        (from_runtime, "eagar"),
        (from_suite, "heldot"),
        (from_item, "contxt"),
        (from_recording, "sampeld"),
        (from_option, "top_kk"),
        (from_flag, "--max-new-tokns"),
    ],
)
def test_a_close_name_that_is_suggested_is_accepted(use, wrong, capsys):
    with pytest.raises((ValueError, TypeError, SystemExit)) as error:
        use(wrong)
    message = capsys.readouterr().err if error.type is SystemExit else str(error.value)
    (meant,) = re.findall(r"did you mean '([^']*)'", message)
    assert use(meant) is not None


# --- commands -------------------------------------------------------------------------------------


def strings(path: Path) -> list[str]:
    """The texts of a module but its docstrings; what is filled in is a word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= set(map(id, node.values))
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts.append("".join(map(filled, node.values)))
        elif id(node) not in docstrings | inside and isinstance(getattr(node, "value", None), str):
            texts.append(node.value)
    return texts


def filled(part: ast.expr) -> str:
    """A part of an f-string; a value is a word of its own."""
    return part.value if isinstance(part, ast.Constant) else " 1 "


def commands() -> list[tuple[str, list[str]]]:
    """The commands that messages of the package name, with their options."""
    named = set()
    for path in sorted((ROOT / "hsd_viz").rglob("*.py")):
        if "hsd-viz " not in path.read_text(encoding="utf-8"):
            continue
        for text in strings(path):
            for words in re.findall(r"hsd-viz ([a-z][^`'\",;:()]*)", text):
                name = words.split()[0]
                options = tuple(re.findall(r"--[a-z-]+", words))
                named.add((name, options))
    return [(name, list(options)) for name, options in sorted(named)]


@pytest.mark.parametrize(("name", "options"), commands())
def test_a_command_that_a_message_names_exists_with_its_options(name, options):
    choices = find(build_parser()._actions, dest="command").choices
    assert name in choices
    known = set()
    parsers = [choices[name]]
    while parsers:
        for action in parsers.pop()._actions:
            known |= set(action.option_strings)
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
    assert set(options) <= known


def test_the_command_that_calibrates_is_complete(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))
    meta = FakeEngine().run("p", "tiny > target", max_new_tokens=1, temperature=1.0, seed=3).meta
    with pytest.raises(ValueError) as error:
        decide(parse("tiny > target"), False, meta)
    (command,) = re.findall(r"`(hsd-viz [^`]*)`", str(error.value))
    parsed(command)
    (instead,) = re.findall(r"write a lookahead: (\S+)", str(error.value))
    parse(f"{instead} > target")


# --- one list of number types ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_type_is_accepted_by_python_shell_and_page(dtype):
    parsed(f"hsd-viz decode --stack target --dtype {dtype}")
    assert dtype in TORCH_TYPES
    assert dtype in MACHINE["dtypes"]


def test_no_other_number_type_is_offered():
    assert set(TORCH_TYPES) == set(MACHINE["dtypes"]) == set(DTYPES)


class _WithProperty:
    @property
    def broken(self):
        return self.nothing

    def __getattr__(self, name):
        no_attribute(self, name, "trace")


def test_an_error_inside_a_property_is_not_a_missing_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = _WithProperty().broken
