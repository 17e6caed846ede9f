"""Test the engine with a small model: events, traces, limits, cancelling, and messages for invalid
input.
"""

from __future__ import annotations

import itertools
import threading
from functools import partial
from itertools import product

import pytest
import torch

from hsd_viz.engine import load_engine
from hsd_viz.trace import Finished, Stage, Started, Step, Trace
from hsd_viz.trace.identities import check
from tests.engine.checkpoints import save_model
from tests.rows import column, select


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    save_short = partial(save_model, layers=1, positions=128)
    save_long = partial(save_model, layers=1, positions=4096)
    return {
        "target": save_short(root / "target"),
        "draft": save_short(root / "draft", seed=1),
        "other": save_short(root / "other", extra=("xy",), reverse=True),
        "added": save_short(root / "added", extra=("xy",), noise=0.1),
        "long": save_long(root / "long"),
        "middle": save_long(root / "middle", seed=2),
    }


@pytest.fixture(scope="module")
def engine(paths):
    return load_engine(paths["target"], device="cpu", dtype="float32")


STACKS = (
    "target",
    "{draft}:3 > target",
    "db[context] > target",
    "lookup > {draft}:4 > target",
)
for_every_stack = pytest.mark.parametrize("stack", STACKS)


@pytest.fixture(scope="module", params=product(STACKS, (0.0, 0.9)), ids="{0[0]} at {0[1]}".format)
def events(request, engine, paths):
    """Return the events of a decode."""
    stack, temperature = request.param
    run = partial(engine.decode, max_new_tokens=30, temperature=temperature, seed=3)
    return list(run("ab ab ab", stack.format_map(paths)))


def test_events_come_in_order(events):
    kinds = [Step if isinstance(event, Step) else type(event) for event in events]
    start = kinds.index(Started)
    assert set(kinds[:start]) <= {Stage}
    assert set(kinds[start + 1 : -1]) == {Step}
    assert kinds[-1] is Finished


def test_the_steps_of_a_decode_are_its_trace(events):
    started = next(event for event in events if isinstance(event, Started))
    rebuilt = Trace(started.meta)
    rebuilt.pieces.update(started.pieces)
    for event in events:
        if isinstance(event, Step):
            rebuilt.append(event)
    check(events[-1].trace)
    assert rebuilt.to_dict() == events[-1].trace.to_dict()


def test_a_decode_ends_at_an_end_token_or_at_the_limit(events, engine):
    trace = events[-1].trace
    if trace.token_ids[-1] == engine.tokenizer.eos_token_id:
        assert trace.meta["stop_reason"] == "eos"
    else:
        assert trace.meta["stop_reason"] == "length"
        assert len(trace) == 30


def test_every_token_of_a_trace_has_its_text(events):
    trace = events[-1].trace
    named = {row.token_id for row in (*trace.token_rows, *trace.draft_rows)}
    for row in trace.token_rows:
        named |= {token_id for token_id, _ in row.top}
    named |= set(trace.meta["prompt_ids"])
    assert named <= set(trace.pieces)


def test_calls_do_not_overlap(events):
    calls = events[-1].trace.call_rows
    for call, following in itertools.pairwise(calls):
        assert call.start_ns + call.duration_ns <= following.start_ns


def test_the_trace_says_what_was_run(engine, paths):
    engine.wait_ready()
    meta = engine.run("ab", f"db[context] > {paths['draft']} > target", max_new_tokens=5).meta
    assert meta["stack_resolved"].endswith(":4 > target")
    assert meta["bottom"] == "db[context]"
    assert column(meta["models"], "level") == [1, 2]
    for model in meta["models"]:
        assert len(model["weights"]) == 12
        assert model["parameters"] > 1000
    assert meta["device"] == "cpu"
    assert meta["dtype"] == "float32"
    assert meta["threads"] >= 1
    assert meta["runtime"] == "native"
    assert meta["runtime_note"] is None
    assert set(column(meta["models"], "runtime")) == {meta["runtime"]}


def test_details_are_the_targets_at_temperature_one(engine):
    trace = engine.run("hello", "target", max_new_tokens=6, temperature=0.5, top_k=3, seed=1)
    ids = trace.meta["prompt_ids"] + trace.token_ids
    with torch.inference_mode():
        p = engine.module("target")(torch.tensor([ids])).logits[0].softmax(-1)
    for k, token in enumerate(trace.token_rows):
        row = p[len(trace.meta["prompt_ids"]) + k - 1]
        assert token.p == pytest.approx(float(row[token.token_id]), rel=1e-3)
        assert token.entropy == pytest.approx(float(-(row * row.log()).sum()), rel=1e-3)
        assert [i for i, _ in token.top] == row.topk(5).indices.tolist()


@pytest.mark.parametrize(
    ("bottom", "rule"), [("draft", "token"), ("draft", "block"), ("lookup", "block")]
)
def test_what_a_correction_was_drawn_from_summed_to_what_is_recorded(engine, paths, bottom, rule):
    stack = f"{paths.get(bottom, bottom)} > target"
    trace = engine.run("ab ab ab ab", stack, max_new_tokens=100, temperature=1.0, seed=2, rule=rule)
    ids = torch.tensor([trace.meta["prompt_ids"] + trace.token_ids])
    with torch.inference_mode():
        p = engine.module("target")(ids).logits[0].double().softmax(-1)
        q = engine.module(paths["draft"])(ids).logits[0].double().softmax(-1)
    corrections = select(trace.token_rows, kind="correction")
    for token in corrections:
        row = len(trace.meta["prompt_ids"]) + token.index - 1
        if token.q_top is None:
            left = p[row].clone()
            for d in trace.draft_rows:
                if d.round == token.round and d.verdict == "rejected":
                    left[d.token_id] = 0
        else:
            w = 1.0
            for d in trace.draft_rows:
                if d.round == token.round and d.verdict == "accepted" and rule == "block":
                    w = min(1.0, w * d.p / d.q)
            left = (w * p[row] - q[row]).clamp_min(0)
        assert token.residual_sum == pytest.approx(float(left.sum()), rel=1e-3)
        assert [i for i, _ in token.residual_top] == left.topk(5).indices.tolist()
        assert [r * token.residual_sum for _, r in token.residual_top] == pytest.approx(
            left.topk(5).values.tolist(), rel=1e-3
        )
    assert len(corrections) > 3


@pytest.fixture(params=["token", "block"])
def ruled(request, engine, paths):
    """Return a rule and the trace of a decode with it."""
    run = partial(engine.run, max_new_tokens=60, temperature=1.0, seed=5, rule=request.param)
    return request.param, run("ab ab ab", f"lookup > {paths['draft']}:4 > target")


def test_the_rule_of_each_level_is_in_the_trace(ruled):
    rule, trace = ruled
    check(trace)
    assert {r.rule for r in trace.round_rows if r.level == 2 and r.drafted} == {rule}
    assert set(column(select(trace.round_rows, level=1), "rule")) == {"token"}, "point masses"
    assert trace.meta["sampling"]["rule"] == rule


@pytest.mark.parametrize("ruled", ["block"], indirect=True)
def test_block_rounds_have_thresholds_where_they_were_compared(ruled):
    _, trace = ruled
    rows = select(trace.draft_rows, level=2)
    assert "unreached" not in set(column(rows, "verdict"))
    for row in rows:
        assert row.p is not None
        assert (row.u is None) == (row.h is None)
        if row.verdict == "rejected":
            assert row.u >= row.h
    assert Trace.from_dict(trace.to_dict()).draft_rows == trace.draft_rows


def test_an_unknown_rule_is_refused_with_those_there_are(engine):
    with pytest.raises(ValueError, match=r"unknown verification rule 'blok' \(use token, block"):
        engine.decode("a", "target", rule="blok")


@for_every_stack
def test_without_recording_the_tokens_are_the_same(engine, paths, stack):
    run = partial(engine.run, "ab ab", stack.format_map(paths), max_new_tokens=20, temperature=1.0)
    full = run(record=True)
    lean = run(record=False)
    assert full.token_ids == lean.token_ids
    assert lean.token_rows[0].top is None
    assert full.token_rows[0].top


@for_every_stack
def test_eos_stops_without_a_bonus(engine, paths, stack, monkeypatch):
    """A token that greedy decoding emits becomes the end token; the text must end with it."""
    plain = engine.run("ab", "target", max_new_tokens=40).token_ids
    eos = next(t for k, t in enumerate(plain) if k >= 3 and t not in plain[:k])
    config = engine.module("target").generation_config
    monkeypatch.setattr(config, "eos_token_id", [eos, 99_999])
    trace = engine.run("ab", stack.format_map(paths), max_new_tokens=40)
    check(trace)
    assert trace.token_ids == plain[: plain.index(eos) + 1]
    assert trace.meta["stop_reason"] == "eos"
    assert not trace.meta["cancelled"]


@for_every_stack
def test_the_context_stops_a_decode(engine, paths, stack):
    trace = engine.run("x" * 119, stack.format_map(paths), max_new_tokens=50)
    assert trace.meta["stop_reason"] == "context"
    assert len(trace) == 8
    check(trace)


@for_every_stack
def test_an_end_token_in_the_prompt_ends_nothing(engine, paths, stack):
    prompt = [engine.tokenizer.eos_token_id]
    plain = engine.run(prompt, "target", max_new_tokens=9)
    trace = engine.run(prompt, stack.format_map(paths), max_new_tokens=9)
    assert trace.token_ids == plain.token_ids


def test_after_an_end_token_the_draft_model_drafts_from_the_first_round_on(engine, paths):
    stack = f"{paths['draft']}:3 > target"
    trace = engine.run([engine.tokenizer.eos_token_id], stack, max_new_tokens=9)
    assert trace.round_rows[0].drafted == 3


def test_closing_cancels_and_keeps_what_was_decoded(engine, paths, monkeypatch):
    # Such small models would decode it all in one call.
    monkeypatch.setattr("hsd_viz.native.loop.CALL_NS", 0)
    decode = engine.decode("ab", f"{paths['draft']}:3 > target", max_new_tokens=100)
    trace = None
    for event in decode:
        if isinstance(event, Started):
            trace = Trace(event.meta)
        if isinstance(event, Step):
            trace.append(event)
            if len(trace) > 10:
                decode.close()
    assert trace.meta["stop_reason"] == "cancelled"
    assert trace.meta["cancelled"]
    check(trace)
    assert engine.run("ab", "target", max_new_tokens=3).meta["stop_reason"] == "length"


def test_two_decodes_at_once_do_not_disturb_each_other(engine, paths):
    jobs = list(product(("ab", "xyz"), [stack.format_map(paths) for stack in STACKS]))
    expected = [engine.run(*job, max_new_tokens=40).token_ids for job in jobs]
    decoded: dict[int, list[int]] = {}

    def work(k, prompt, stack):
        decoded[k] = engine.run(prompt, stack, max_new_tokens=40).token_ids

    threads = [threading.Thread(target=work, args=(k, *job)) for k, job in enumerate(jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert [decoded[k] for k in range(len(jobs))] == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_p": 1.5}, "top-p"),
        ({"top_p": 0}, "top-p"),
        ({"top_k": -1}, "top-k"),
        ({"seed": -1}, "seed"),
        ({"max_new_tokens": 0}, "max new tokens"),
        ({"stack": "nano:-1 > target"}, "lookahead"),
        ({"stack": "wat > target"}, "unknown model 'wat'"),
        ({"stack": "./nowhere > target"}, "is not a model"),
        ({"stack": "a/b/c > target"}, "unknown part"),
        ({"stack": "db[model] > target"}, "'db[model]' cannot be used"),
        ({"prompt": "x" * 500}, "501 tokens"),
        ({"prompt": "\ud800"}, "surrogate"),
        ({"prompt": 3}, "text"),
    ],
)
def test_bad_input_is_one_sentence(engine, options, says):
    with pytest.raises(ValueError) as error:
        engine.run(**{"prompt": "ab", "stack": "target", "max_new_tokens": 4, **options})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_model_cannot_draft_for_itself_by_another_name(engine, paths):
    with pytest.raises(ValueError, match="draft for itself"):
        engine.run("ab", f"{paths['target']}:3 > target")


def test_models_with_other_tokenizers_are_the_lowest_level(engine, paths):
    with pytest.raises(ValueError, match=r"different tokenizers.*lowest level"):
        engine.run("ab", f"{paths['draft']}:2 > {paths['other']}:2 > target")
    plain = engine.run("ab", "target", max_new_tokens=20)
    assert (
        engine.run("ab", f"{paths['other']}:2 > target", max_new_tokens=20).token_ids
        == plain.token_ids
    )


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("stack", ["{added}:3 > target", "{draft}:2 > {added}:3 > target"])
def test_a_vocabulary_with_an_added_token_is_read_by_its_ids(engine, paths, stack, temperature):
    run = partial(engine.run, "ab ab", max_new_tokens=30, temperature=temperature, seed=2)
    drafted = run(stack.format_map(paths))
    check(drafted)
    about = drafted.meta["models"][-2]["bridge"]
    # All 256 bytes; the first of the special tokens has another id there, the name of the last
    # is beyond its rows.
    assert about["bridge"] == "ids"
    assert about["shared_tokens"] == 259
    assert drafted.metrics()["accepted"] > 0
    if not temperature:
        assert drafted.token_ids == run("target").token_ids


@pytest.mark.parametrize(
    "stack",
    ["{draft}:4 > target", "db[context] > {draft}:4 > target", "{draft}:2 > {middle}:4 > target"],
)
@pytest.mark.parametrize("runtime", ["auto", "eager"])
@pytest.mark.parametrize("prompt", [119, 127, 128, 150])
def test_a_text_continues_without_a_draft_model_whose_context_is_full(
    paths, stack, runtime, prompt
):
    engine = load_engine(paths["long"], device="cpu", dtype="float32", runtime=runtime)
    text = ("the " * 40)[:prompt]
    trace = engine.run(text, stack.format_map(paths), max_new_tokens=40)
    check(trace)
    plain = engine.run(text, "target", max_new_tokens=40)
    assert trace.token_ids == plain.token_ids
    assert trace.meta["stop_reason"] == plain.meta["stop_reason"] == "length"
    drafts = select(trace.call_rows, kind="draft", level=0)
    for call in drafts:
        assert call.cached + call.fed <= 128
    without = select(trace.round_rows, why_no_draft="no room")
    if stack == "{draft}:4 > target":
        assert len(without) > 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (partial(load_engine, device="tpu"), "cpu or cuda"),
        (partial(load_engine, dtype="int3"), "dtype"),
        (partial(load_engine, threads=0), "threads"),
        (partial(load_engine, threads=10**6), "threads"),
        (partial(load_engine, target="nobody"), "nobody"),
    ],
)
def test_invalid_options_of_an_engine_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        options()


def test_only_ladder_names_where_models_are_not_allowed(paths):
    with pytest.raises(ValueError, match="not allowed"):
        load_engine(paths["target"], allow_models=False)
