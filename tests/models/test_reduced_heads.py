"""Test draft models with a reduced head, and with the embedding of another model."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from hsd_viz.engine import load_engine
from hsd_viz.errors import BadFile
from hsd_viz.models import files as files_module
from hsd_viz.models.families import SMOLLM2
from hsd_viz.models.files import open_model
from hsd_viz.models.tensors import EMBEDDING, parameter_count
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import Weights
from hsd_viz.torch_models.llama_modules import load_module
from tests.models.small_models import save_form

HEAD_TOKENS = np.arange(3, 200, 2)
PROMPT = [3, 141, 59, 26, 53, 58, 97, 93, 23, 84]
needs_compiler = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


def reduce_head(folder: Path, tokens: np.ndarray = HEAD_TOKENS) -> None:
    """Remove all rows but those of some tokens from the head of a checkpoint."""
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = tensors["lm_head.weight"][tokens]
    tensors["d2t"] = tokens - np.arange(len(tokens))
    save_file(tensors, folder / "model.safetensors")
    change_config(folder, {"draft_vocab_size": len(tokens)})


def change_config(folder: Path, changes: dict) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | changes))


def lend(monkeypatch, lender: Path) -> None:
    """Make a model in a folder the target of the family smollm2."""
    family = replace(SMOLLM2, models={"target": lender})
    monkeypatch.setattr(files_module, "FAMILIES", {"smollm2": family})


def borrow(folder: Path) -> None:
    """Remove the embedding and the tokenizer from a checkpoint."""
    tensors = load_file(folder / "model.safetensors")
    del tensors[EMBEDDING]
    save_file(tensors, folder / "model.safetensors")
    (folder / "tokenizer.json").unlink()
    change_config(folder, {"embedding_of": "smollm2"})


@needs_compiler
def test_the_module_of_torch_has_the_logits_of_the_native_runtime(tmp_path):
    save_form(tmp_path, "llama")
    reduce_head(tmp_path)
    files = open_model(tmp_path)

    native = NativeModel(Weights("draft", files.form, files.tensors, "float32"))
    rows = native.session().forward(PROMPT, len(PROMPT))
    with torch.inference_mode():
        expected = load_module(files, torch.float32)(torch.tensor([PROMPT])).logits[0].numpy()

    np.testing.assert_allclose(rows, expected, atol=1e-4)
    assert np.isneginf(np.delete(rows, HEAD_TOKENS, axis=1)).all()


@needs_compiler
@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("runtime", ["auto", "eager"])
def test_a_reduced_head_drafts_in_every_runtime(tmp_path, runtime, temperature):
    """All draft tokens are in the head, and greedy texts do not change."""
    target = tmp_path / "target"
    draft = tmp_path / "draft"
    save_form(target, "llama")
    save_form(draft, "llama-llama3")
    reduce_head(draft)

    with load_engine(str(target), dtype="float32", runtime=runtime, threads=1) as engine:
        run = partial(engine.run, PROMPT, max_new_tokens=24, temperature=temperature, seed=3)
        plain = run("target")
        trace = run(f'"{draft}":4 > target')

    drafted = set(trace.drafts["token_id"])
    assert drafted
    assert drafted <= set(HEAD_TOKENS.tolist())
    if temperature == 0:
        assert trace.token_ids == plain.token_ids


@needs_compiler
def test_a_borrowed_embedding_is_that_of_the_lender(tmp_path, monkeypatch):
    """A model that borrows its own embedding and tokenizer gives equal results."""
    whole = tmp_path / "whole"
    part = tmp_path / "part"
    save_form(whole, "llama")
    save_form(part, "llama")
    borrow(part)
    lend(monkeypatch, whole)

    one = open_model(whole)
    other = open_model(part)

    rows = []
    for files in (one, other):
        model = NativeModel(Weights("m", files.form, files.tensors))
        rows.append(model.session().forward(PROMPT, len(PROMPT)))
    assert np.array_equal(*rows)
    assert other.tokenizer().encode("a word") == one.tokenizer().encode("a word")
    assert other.ends(other.tokenizer()) == one.ends(one.tokenizer())
    lent = one.form.vocabulary * one.form.width
    counts = [parameter_count(files.form, files.tensors) for files in (one, other)]
    assert counts[0] - counts[1] == lent


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ([0, -1, 0], "do not rise"),
        ([-1, 0, 0], "do not rise"),
        ([0, 0, 10_000], "do not rise"),
        ([0.0, 0.0, 0.0], "no whole numbers"),
    ],
)
def test_tokens_of_a_head_that_cannot_be_are_refused(tmp_path, offsets, said):
    save_form(tmp_path, "llama")
    reduce_head(tmp_path, np.array([1, 2, 3]))
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["d2t"] = np.array(offsets)
    save_file(tensors, tmp_path / "model.safetensors")
    files = open_model(tmp_path)

    with pytest.raises(BadFile, match=said):
        Weights("draft", files.form, files.tensors, "float32")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"draft_vocab_size": 0}, "reduced head is 0"),
        ({"draft_vocab_size": 10**6}, "reduced head is 1000000"),
        ({"draft_vocab_size": "many"}, "expected a whole number"),
        ({"draft_vocab_size": 98}, "lm_head.weight has the shape"),
        ({"tie_word_embeddings": True}, "cannot be the embedding"),
        ({"embedding_of": "nobody"}, "expected one of code, smollm2"),
        ({"embedding_of": 7}, "expected one of code, smollm2"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_in_one_line(tmp_path, changes, said):
    save_form(tmp_path, "llama")
    reduce_head(tmp_path)
    change_config(tmp_path, changes)

    with pytest.raises(BadFile, match=said) as caught:
        open_model(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_lender_of_another_shape_is_refused(tmp_path, monkeypatch):
    save_form(tmp_path / "target", "llama")
    save_form(tmp_path / "draft", "llama")
    change_config(tmp_path / "target", {"hidden_size": 64})
    borrow(tmp_path / "draft")
    change_config(tmp_path / "draft", {"hidden_size": 32})
    lend(monkeypatch, tmp_path / "target")

    with pytest.raises(BadFile, match="that of the target of smollm2"):
        open_model(tmp_path / "draft")
