"""Test compatible and incompatible models, refusals before any weights are read, and memory."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from hsd_viz.engine import load_engine
from hsd_viz.trace.identities import check
from tests.engine.checkpoints import BYTES, SPECIAL, TEMPLATE, TOKENS, save_model
from tests.rows import column


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return {
        "exact": save_model(root / "exact"),
        "padded": save_model(root / "padded", rows=320),
        "relative": save_model(root / "relative", rows=288, noise=0.1),
        "short": save_model(root / "short", rows=TOKENS - 2, seed=1),
        "chat": save_model(root / "chat", template=TEMPLATE),
    }


def engine_of(target, *, dtype="float64", runtime="eager"):
    return load_engine(target, device="cpu", dtype=dtype, runtime=runtime)


# --- rows wider than the tokenizer ----------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["eager", "auto"])
def test_padded_rows_are_never_drawn(paths, runtime):
    """The padded model has 60 more rows, each more likely than any token, which must never be
    drawn.
    """
    exact = engine_of(paths["exact"], runtime=runtime)
    padded = engine_of(paths["padded"], runtime=runtime)
    assert padded.module().config.vocab_size == 320
    for temperature in (0.0, 1.0):

        def run(engine, stack, temperature=temperature):
            return engine.run("ab ab", stack, max_new_tokens=40, temperature=temperature, seed=4)

        plain = run(padded, "target")
        assert plain.token_ids == run(exact, "target").token_ids
        for row in plain.token_rows:
            for token_id, _ in row.top:
                assert token_id < TOKENS
        for stack in ("db[context] > target", "lookup > target"):
            assert run(padded, stack).token_ids == plain.token_ids


def test_drafts_of_another_width(paths):
    """Draft and target are padded to 288 and 320 rows: greedy text is the target's, and sampled
    drafts are verified row by row.
    """
    engine = engine_of(paths["padded"])
    plain = engine.run("ab ab", max_new_tokens=60)
    for stack in (
        f"{paths['relative']}:4 > target",
        f"db[context] > {paths['relative']}:3 > target",
    ):
        drafted = engine.run("ab ab", stack, max_new_tokens=60)
        assert drafted.token_ids == plain.token_ids
        assert drafted.metrics()["accepted"] > 5
        for seed in range(3):
            sampled = engine.run("ab ab", stack, max_new_tokens=60, temperature=1.0, seed=seed)
            check(sampled)
            for row in sampled.draft_rows:
                assert row.token_id < TOKENS
            kinds = set(column(sampled.token_rows, "kind"))
            assert {"accepted", "correction"} <= kinds, kinds


def test_a_model_with_fewer_rows_than_tokens(paths):
    exact = engine_of(paths["exact"])
    drafted = exact.run("ab", f"{paths['short']}:3 > target", max_new_tokens=40)
    check(drafted)
    assert drafted.token_ids == exact.run("ab", max_new_tokens=40).token_ids
    assert drafted.meta["models"][0]["bridge"]["shared_tokens"] == TOKENS - 2
    assert engine_of(paths["short"]).run("ab", max_new_tokens=5).token_ids
    with pytest.raises(ValueError, match=r"holds the token '<\|model\|>'"):
        engine_of(paths["short"]).run("ab<|model|>", max_new_tokens=5)


# --- refused from the config alone ----------------------------------------------------------------


def test_a_quantized_checkpoint_without_its_library(paths, tmp_path):
    save_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "awq", "bits": 4}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="cannot be loaded") as error:
        engine_of(str(tmp_path), dtype="float32").run("ab")
    assert "\n" not in str(error.value)


def test_a_hub_that_never_answers_is_asked_once(monkeypatch):
    """A server accepts connections and never answers: the refusal takes seconds and names the
    cause.
    """
    import huggingface_hub.constants as constants

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr("hsd_viz.torch_models.load._HUB_TIMEOUT", 0.3)
        with pytest.raises(
            ValueError,
            match="the model hub cannot be reached and the model is not in the local cache",
        ):
            engine_of("nobody/nothing").run("ab")
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            assert [server.accept() for _ in range(3)]


# --- chat -----------------------------------------------------------------------------------------


def test_chat_wraps_the_prompt_by_the_template(paths):
    engine = engine_of(paths["chat"])
    trace = engine.run("hi", max_new_tokens=4, chat=True)
    start, end, user, model = range(BYTES, BYTES + len(SPECIAL))
    letters = engine.tokenizer.encode("hi", add_special_tokens=False)
    assert trace.meta["prompt_ids"] == [start, user, *letters, end, model]
    assert trace.meta["prompt"] == "hi"
    assert trace.meta["chat"] is True
    plain = engine.run("hi", max_new_tokens=4)
    assert plain.meta["prompt_ids"] == [start, *letters]
    assert plain.meta["chat"] is False


def test_chat_without_a_template(paths):
    with pytest.raises(ValueError, match="has no chat template"):
        engine_of(paths["exact"]).run("hi", chat=True)


def test_the_reason_of_a_template_that_refuses_is_shown(tmp_path):
    save_model(tmp_path, template="{{ raise_exception('two turns, please') }}")
    with pytest.raises(ValueError, match="does not take a conversation of user: two turns, please"):
        engine_of(str(tmp_path)).run("hi", chat=True)


# --- memory ---------------------------------------------------------------------------------------


def test_a_lack_of_memory_is_reported_in_one_line(paths, monkeypatch):
    def full(*args, **options):
        raise torch.OutOfMemoryError("no memory left")

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", full)
    with pytest.raises(
        ValueError, match="does not fit on cpu: the device has too little free memory"
    ):
        engine_of(paths["exact"]).run("ab")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("runs", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_decodes_free_their_caches(tmp_path, runs):
    """The cache of a text takes about 100 kB, so 60 caches that were not freed would take at least
    6 MB.
    """
    draft = save_model(tmp_path / "draft", layers=3, noise=0.1)
    engine = load_engine(save_model(tmp_path / "target", layers=3), device="cpu", runtime="eager")
    stacks = [
        "target",
        f"{draft}:3 > target",
        "db[context] > target",
        f"db[context] > {draft}:4 > target",
    ]

    def decode(n):
        for k in range(n):
            engine.run(
                f"{'ab ' * 66}{k}", stacks[k % 4], max_new_tokens=10, temperature=k % 2, seed=k
            )

    decode(40)
    before = resident()
    decode(runs)
    assert resident() - before < 3_000_000
