"""``run`` of every engine: one prompt or several, a parsed stack, and options that are listed and checked."""

from __future__ import annotations

import inspect

import pytest

from hsd_viz.decoding.engine import DEFAULTS, Options
from hsd_viz.engine import LocalEngine, load_engine
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.stack import parse


@pytest.mark.parametrize("engine", [LocalEngine, RemoteEngine])
def test_the_options_are_typed_and_have_defaults(engine):
    assert set(DEFAULTS) == set(Options.__annotations__)
    for method in (engine.decode, engine.run, engine.run_many):
        kind = inspect.signature(method).parameters["options"]
        assert kind.kind is kind.VAR_KEYWORD and kind.annotation == "Unpack[Options]"


@pytest.fixture(scope="module")
def shipped():
    with load_engine(threads=1) as engine:
        yield engine


def test_an_unknown_option_is_named_with_a_suggestion(shipped):
    with pytest.raises(TypeError, match=r"unknown option 'max_tokens' .*did you mean 'max_new_tokens'"):
        shipped.run("def main(", max_tokens=3)


def test_prompts_are_text_or_token_ids_and_a_stack_may_be_parsed(shipped):
    ids = shipped.tokenizer("def main(")["input_ids"]
    one = shipped.run(ids, "db > target", max_new_tokens=4)
    many = shipped.run_many([ids, "def main("], parse("db > target"), max_new_tokens=4)
    assert [t.token_ids for t in many] == [one.token_ids] * 2


def test_the_ladders_target_as_a_draft_has_a_name_of_its_own(shipped):
    trace = shipped.run("def main(", "target:4 > nano", max_new_tokens=24)
    assert {d.source for d in trace.draft_rows} == {"ladder-target"}
    by_kind = {(t.source, t.kind == "accepted") for t in trace.token_rows}
    assert by_kind == {("ladder-target", True), ("target", False)}


def test_a_closed_engine_holds_no_models_and_says_so():
    with load_engine(threads=1) as engine:
        engine.run("x", "nano", max_new_tokens=1)
        assert engine.models.loaded("nano")
    assert not engine.models.loaded("nano")
    with pytest.raises(ValueError, match="the engine is closed: load another one"):
        engine.run("x")


def test_models_in_int8_are_decoded_without_their_modules():
    with load_engine(device="cpu", dtype="int8", threads=1) as engine:
        trace = engine.run("def main(", "db > nano > target", max_new_tokens=4)
        assert trace.meta["dtype"] == "int8" and not any(
            engine.models.loaded(name, "module") for name in ("nano", "target")
        )
