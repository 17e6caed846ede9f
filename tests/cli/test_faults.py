"""A fault of the package is reported as one; only a UserError is blamed on the input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hsd_viz import errors, ladder
from hsd_viz.cli import main
from hsd_viz.cli.failures import user_message
from hsd_viz.errors import BadFile, PromptError, UserError, parsing
from hsd_viz.measure.doctor import api as doctor

TESTS = Path(__file__).parents[1]
RUN = str(Path(errors.__file__).with_name("traces") / "mixed.json.gz")


def unequal_lists():
    return dict(zip([1, 2], [3], strict=True))


def missing_attribute(*_):
    return None.nothing


@pytest.fixture
def faulty_ladder(monkeypatch):
    monkeypatch.setattr(ladder, "info", unequal_lists)


@pytest.fixture
def faulty_doctor(monkeypatch):
    monkeypatch.setattr(doctor, "diagnose", missing_attribute)


def test_an_inner_value_error_is_a_fault(faulty_ladder, capsys):
    code = main(["ladder", "info"])
    err = capsys.readouterr().err
    assert code == 1
    assert err.startswith(
        "hsd-viz: this is a fault of hsd-viz, not of your input: ValueError: zip()"
    )
    assert "report it to the project" in err
    assert err.count("\n") == 1


def test_an_inner_attribute_error_is_not_blamed_on_the_file(faulty_doctor, capsys):
    code = main(["doctor", RUN])
    err = capsys.readouterr().err
    assert code == 1
    assert "AttributeError: 'NoneType' object has no attribute 'nothing'" in err
    assert "(hsd_viz/measure/doctor/api.py, line" in err
    assert "mixed.json.gz" not in err


#: A function that computes on what was read of a file, and a command that reads such a file.
COMPUTATIONS = {
    "the figures of a response": ("hsd_viz.records.engines.vllm.acceptance", "import RECORD"),
    "the pooled samples": ("hsd_viz.records.series.pooled", "import RECORD"),
    "the acceptance of a record": (
        "hsd_viz.measure.doctor.observe_records._rounds",
        "doctor RECORD",
    ),
    "the times of a run": ("hsd_viz.measure.doctor.observe_runs._plain_step", f"doctor {RUN}"),
    "the tokens of a log": (
        "hsd_viz.measure.replay.log_tokenizer.LogTokenizer.ids",
        "replay LOG --drafter lookup",
    ),
    "the forms of a log": (
        "hsd_viz.measure.replay.log_forms._paragraphs",
        "replay LOG --drafter lookup",
    ),
    "the blocks of a report": ("hsd_viz.measure.bench.report.stack_data", "bench --from REPORT"),
    "the words of a report": (
        "hsd_viz.measure.bench.result.BenchResult.to_text",
        "bench --from REPORT",
    ),
    "the curve of a profile": (
        "hsd_viz.measure.predict.given_acceptance.edge_of",
        "predict --gpu H100 --models llama-8b,llama-1b --profile PROFILE",
    ),
}


def words_of(command, tmp_path):
    """Return the words of a command, its files written."""
    log = tmp_path / "log.jsonl"
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    log.write_text(json.dumps({"messages": messages}))
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"marginal_accept_rates": [0.8, 0.5]}))
    files = {
        "RECORD": str(TESTS / "fixtures" / "records" / "vllm-0.32.0-summary.jsonl"),
        "REPORT": str(TESTS / "fixtures" / "reports" / "bench.json"),
        "LOG": str(log),
        "PROFILE": str(profile),
    }
    return [files.get(word, word) for word in command.split()]


@pytest.mark.parametrize("fault", [AttributeError, KeyError, TypeError, ValueError])
@pytest.mark.parametrize(("name", "command"), COMPUTATIONS.values(), ids=COMPUTATIONS)
def test_a_fault_of_a_computation_is_not_blamed_on_the_file(
    name, command, fault, tmp_path, monkeypatch, capsys
):
    def fail(*_args, **_keywords):
        raise fault("planted")

    monkeypatch.setattr(name, fail)
    code = main(words_of(command, tmp_path))
    err = capsys.readouterr().err
    assert code == 1, err
    assert f"this is a fault of hsd-viz, not of your input: {fault.__name__}: " in err


MALFORMED = {
    "a response": (
        "import",
        {"metrics": {"speculative_decoding": {"num_spec_steps": "many"}}},
        "damaged: num_spec_steps is 'many', which is not valid",
    ),
    "the lengths of a response": (
        "doctor",
        {"metrics": {"speculative_decoding": {"per_step_drafted": [3, None]}}},
        "damaged: per_step_drafted is [3, None], which is not valid",
    ),
    "a time": (
        "import",
        {"timings": {"draft_n": 3, "draft_n_accepted": 1, "predicted_ms": []}},
        "damaged: predicted_ms is [], which is not valid",
    ),
    "usage": (
        "import",
        {"metrics": {"speculative_decoding": {"num_spec_steps": 1}}, "usage": 3},
        "damaged: usage is 3, which is not valid",
    ),
    "half a character": (
        "import",
        {"timings": {"draft_n": 3, "\ud800": 1}},
        "damaged: a text is not valid Unicode",
    ),
    "a log": ("replay", {"messages": {"role": 3}}, "damaged: messages is {'role': 3}"),
    "a report": ("bench --from", {"stacks": [3]}, "is not a report of hsd-viz bench --json"),
}


@pytest.mark.parametrize(("command", "content", "words"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_is_one_line_that_names_the_field(
    command, content, words, tmp_path, capsys
):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    code = main([*command.split(), str(path)])
    err = capsys.readouterr().err
    assert code == 2, err
    assert words in err
    assert err.count("\n") == 1


def test_the_debug_variable_shows_the_traceback(faulty_ladder, monkeypatch, capsys):
    monkeypatch.setenv("HSD_VIZ_DEBUG", "1")
    code = main(["ladder", "info"])
    assert code == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["", "0"])
def test_without_the_debug_variable_there_is_no_traceback(
    value, faulty_ladder, monkeypatch, capsys
):
    monkeypatch.setenv("HSD_VIZ_DEBUG", value)
    main(["ladder", "info"])
    assert "Traceback" not in capsys.readouterr().err


def test_a_user_error_is_one_line_and_exit_code_2(monkeypatch, capsys):
    def refuse():
        raise UserError("the ladder is not usable: use another")

    monkeypatch.setattr(ladder, "info", refuse)
    code = main(["ladder", "info"])
    assert code == 2
    assert capsys.readouterr().err == "hsd-viz: the ladder is not usable: use another\n"


def raising(error):
    def fail():
        raise error

    return fail


def test_a_file_that_the_user_did_not_name_is_a_fault(monkeypatch, capsys):
    missing = FileNotFoundError(2, "No such file or directory", "/srv/hsd_viz/page.css")
    monkeypatch.setattr(ladder, "info", raising(missing))
    code = main(["ladder", "info"])
    assert code == 1
    assert "this is a fault of hsd-viz, not of your input: FileNotFoundError" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        OSError(98, "Address already in use"),
    ],
    ids=["disk", "address"],
)
def test_what_the_machine_refuses_is_one_line(error, monkeypatch, capsys):
    monkeypatch.setattr(ladder, "info", raising(error))
    code = main(["ladder", "info"])
    assert code == 2
    assert capsys.readouterr().err == f"hsd-viz: cannot read or write: {error.strerror}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["export", "{}/run.json"],
        ["export", "--html={}/run.json"],
        ["decode", "--stack", "{}/run.json:4 > target"],
        ["course", "copy", "{}"],
    ],
    ids=["by place", "option", "stack", "folder"],
)
def test_a_file_that_the_user_named_is_the_user_s(words, tmp_path):
    file = tmp_path / "run.json"
    error = PermissionError(13, "Permission denied", str(file))
    named = [word.format(tmp_path) for word in words]
    assert user_message(error, named) == f"cannot read or write {file}: Permission denied"
    assert user_message(error, ["ladder", "info"]) is None


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (KeyError("meta"), "'meta' is missing or unknown"),
        (RecursionError(), "it is nested too deeply"),
        (TypeError("3 is not a text"), "its parts are inconsistent (3 is not a text)"),
        (IndexError("too short\nmore"), "its parts are inconsistent (too short)"),
        (AttributeError(), "its parts are inconsistent (AttributeError)"),
        (ZeroDivisionError(), "its parts are inconsistent (ZeroDivisionError)"),
        (ValueError("1.5 is not whole"), "its parts are inconsistent (1.5 is not whole)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_malformed_file_is_reported_with_the_part_that_is_wrong(fault, words):
    with pytest.raises(BadFile) as caught, parsing("run.json"):
        raise fault

    assert str(caught.value) == f"run.json is not valid: {words}"
    assert caught.value.__cause__ is fault


def test_a_user_error_passes_the_reading_of_a_file():
    with pytest.raises(UserError, match=r"^too large$"), parsing("run.json"):
        raise UserError("too large")


def test_other_faults_pass_the_reading_of_a_file():
    with pytest.raises(MemoryError), parsing("run.json"):
        raise MemoryError


@pytest.mark.parametrize(
    ("module", "name", "parent"),
    [
        ("hsd_viz.stack", "StackError", UserError),
        ("hsd_viz.trace", "TraceError", BadFile),
        ("hsd_viz.drafting.index.format", "DatabaseError", BadFile),
        ("hsd_viz.errors", "PromptTooLong", PromptError),
        ("hsd_viz.trace.events", "ServerError", UserError),
        ("hsd_viz.measure.audit.enumeration", "TooManyOutcomes", UserError),
    ],
)
def test_errors_of_the_packages_are_user_errors(module, name, parent):
    error = getattr(__import__(module, fromlist=[name]), name)
    assert issubclass(error, parent)
