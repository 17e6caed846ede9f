"""Test ``run`` of every engine: prompts, stacks, options, a run beside plain decoding, and the
compiled loop.
"""

from __future__ import annotations

import inspect
import sys
import threading
from dataclasses import fields
from functools import partial
from itertools import chain, pairwise

import pytest

from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine import LocalEngine, load_engine, loops
from hsd_viz.engine.beside_plain import REPORT_EVERY, decode_beside_plain
from hsd_viz.engine.event_batches import SWITCH, batches
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.native.build import default_build
from hsd_viz.stack import parse
from hsd_viz.trace import Finished, Stage, Step
from hsd_viz.trace.identities import check
from tests.patience import PATIENCE
from tests.rows import column


@pytest.mark.parametrize("engine", [LocalEngine, RemoteEngine])
def test_the_options_are_typed_and_have_defaults(engine):
    names = {field.name for field in fields(DecodingOptions)}
    assert names == set(DecodingKeywords.__annotations__)
    for method in (engine.decode, engine.run, engine.run_many):
        kind = inspect.signature(method).parameters["options"]
        assert kind.kind is kind.VAR_KEYWORD
        assert kind.annotation == "Unpack[DecodingKeywords]"


@pytest.fixture(scope="module")
def shipped():
    with load_engine(threads=1) as engine:
        yield engine


def test_an_unknown_option_is_named_with_a_suggestion(shipped):
    with pytest.raises(
        TypeError, match=r"unknown option 'max_tokens' .*did you mean 'max_new_tokens'"
    ):
        shipped.run("def main(", max_tokens=3)


def test_prompts_are_text_or_token_ids_and_a_stack_may_be_parsed(shipped):
    ids = shipped.tokenizer("def main(")["input_ids"]
    one = shipped.run(ids, "db > target", max_new_tokens=4)
    many = shipped.run_many([ids, "def main("], parse("db > target"), max_new_tokens=4)
    assert column(many, "token_ids") == [one.token_ids] * 2


def test_the_ladders_target_as_a_draft_has_a_name_of_its_own(shipped):
    trace = shipped.run("def main(", "target:4 > nano", max_new_tokens=24)
    assert set(column(trace.draft_rows, "source")) == {"ladder-target"}
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
        assert trace.meta["dtype"] == "int8"
        for name in ("nano", "target"):
            assert not engine.models.opened.has_module(name)


# --- decodes in threads ---------------------------------------------------------------------------


def test_overlapping_decodes_keep_the_switch_interval_until_the_last_ends():
    before = sys.getswitchinterval()
    go = threading.Event()

    def first():
        yield Stage("first")

    def second():
        yield Stage("second")
        go.wait(PATIENCE)

    longer = batches(second, threading.Event())
    next(longer)
    list(batches(first, threading.Event()))
    assert sys.getswitchinterval() == pytest.approx(SWITCH)
    go.set()
    list(longer)
    assert sys.getswitchinterval() == pytest.approx(before)


# --- a run beside plain decoding ------------------------------------------------------------------


def test_plain_decoding_follows_the_run_and_its_speed_is_noted(shipped):
    options = DecodingOptions(max_new_tokens=40, seed=3)
    events = list(decode_beside_plain(shipped, "def main(", "db > target", options, pairs=1))
    (end,) = [i for i, e in enumerate(events) if isinstance(e, Finished)]
    trace = events[end].trace
    after = events[end + 1 :]
    steps = [event for event in events if isinstance(event, Step)]
    assert list(chain(*column(steps, "token_ids"))) == trace.token_ids
    assert after, "the second decode shows no text"
    assert all(isinstance(e, Stage) for e in after), "the second decode shows no text"
    done = column(after, "done")
    assert set(column(after, "total")) == {40}
    assert done == sorted(done)
    for a, b in pairwise(done):
        assert b // REPORT_EVERY > a // REPORT_EVERY
    assert trace.meta["plain"]["tokens"] == 40
    assert trace.meta["plain"]["tokens_per_second"] > 0


def test_plain_decoding_itself_is_decoded_once(shipped):
    options = DecodingOptions(max_new_tokens=8)
    events = list(decode_beside_plain(shipped, "def main(", "target", options))
    assert isinstance(events[-1], Finished)
    assert "plain" not in events[-1].trace.meta


def test_cancelling_the_comparison_keeps_the_run(shipped):
    options = DecodingOptions(max_new_tokens=40)
    events = decode_beside_plain(shipped, "def main(", "db > target", options)
    trace = next(e.trace for e in events if isinstance(e, Finished))
    assert isinstance(next(events), Stage)
    events.close()
    assert len(trace) == 40
    assert not trace.meta["cancelled"]
    assert "plain" not in trace.meta


# --- the compiled loop ----------------------------------------------------------------------------


PROMPT = "def mean(values):\n    total = 0\n"
TABLES = ("token_rows", "draft_rows", "round_rows", "call_rows")


def timeless(trace):
    rows = []
    for name in TABLES:
        for row in getattr(trace, name):
            fields = row._asdict().items()
            rows.append({field: value for field, value in fields if not field.endswith("_ns")})
    return rows


@pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)
@pytest.mark.parametrize(
    "stack", ["target", "db > target", "nano:4 > target", "db > nano:4 > small:6 > target"]
)
@pytest.mark.parametrize(("temperature", "record"), [(0.0, True), (0.7, True), (0.7, False)])
def test_both_loops_record_the_same(shipped, stack, temperature, record, monkeypatch):
    run = partial(
        shipped.run,
        PROMPT,
        stack,
        max_new_tokens=40,
        temperature=temperature,
        record=record,
        rule="token",
    )
    compiled = run()
    check(compiled)
    assert loops.can_compile([shipped.model()], None)
    monkeypatch.setattr(loops, "can_compile", lambda models, drafter: False)
    python = run()
    assert timeless(compiled) == timeless(python)
    assert compiled.pieces == python.pieces
    for meta in (compiled.meta, python.meta):
        for time in ("created", "prefill_ns", "wall_ns"):
            del meta[time]
    assert compiled.meta == python.meta
