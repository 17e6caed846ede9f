"""Test which runtime runs a model, when it is ready, and the notes about it."""

from __future__ import annotations

import json
import shutil

import pytest
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine.forwards import Costs
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.engine.stack_models import load_stack
from hsd_viz.errors import UserError
from hsd_viz.models.families import CODE
from hsd_viz.native.build import default_build
from hsd_viz.trace import Stage
from tests.engine.checkpoints import save_model, save_tokenizer


class FakeBuild:
    """A build in a state that the test chooses; waiting ends its compilation."""

    def __init__(self, compiling: bool = False, reason: str | None = None) -> None:
        self.compiling = compiling
        self.reason = reason

    def start(self):
        return self

    def wait(self, timeout=None):
        self.compiling = False
        return self.reason is None

    @property
    def library(self):
        return default_build().library


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"))


needs_compiler = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)


def models(path, runtime="auto", build=None, dtype="float32") -> EngineModels:
    options = EngineOptions(path, device="cpu", dtype=dtype, runtime=runtime)
    return EngineModels(options, build)


@needs_compiler
def test_what_is_compiled_is_waited_for():
    name = "target"
    family_models = models(name, build=FakeBuild(compiling=True), dtype=None)
    stages = list(load_stack(family_models, [name], [1, 2], Sampling(), alone=False))
    assert stages[0] == Stage("compiling the native runtime")
    assert family_models.fast(name).runtime == "native"
    said = []
    waiting = models(name, build=FakeBuild(compiling=True))
    LocalEngine(waiting, Costs()).wait_ready(said.append)
    assert said == ["compiling the native runtime"]


@pytest.mark.parametrize(("dtype", "runtime"), [("int8", "numpy"), ("float32", "eager")])
def test_without_a_compiler_the_reason_is_given(dtype, runtime):
    family_models = models(
        "nano", build=FakeBuild(reason="no C++ compiler is installed"), dtype=dtype
    )
    *_, last = load_stack(family_models, ["nano"], [1, 2], Sampling(), alone=False)
    assert family_models.fast("nano").runtime == runtime
    assert family_models.fast("nano") is family_models.fast("nano")
    slow = "in numpy" if runtime == "numpy" else "on the eager runtime"
    assert last.text == f"no C++ compiler is installed: decoding {slow}"


def test_eager_on_request_does_not_wait_for_the_build(path):
    family_models = models(path, "eager", FakeBuild(compiling=True))
    assert family_models.fast(path) is family_models.opened.module(path)
    assert not family_models.loaded("nano")


def test_an_unknown_choice_is_refused_before_a_model_is_opened():
    with pytest.raises(UserError, match="unknown runtime 'fast': it is one of auto, eager"):
        load_engine("no/such-model", runtime="fast")
    with pytest.raises(UserError, match="unknown dtype 'float': it is one of int8, float32"):
        load_engine("no/such-model", dtype="float")


@needs_compiler
def test_llama_shaped_models_run_in_the_native_runtime(tmp_path):
    config = Qwen3Config(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        tie_word_embeddings=True,
    )
    Qwen3ForCausalLM(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    tokens = {}
    for kind in ("auto", "eager"):
        model = models(str(tmp_path), kind).fast(str(tmp_path))
        assert model.runtime == {"auto": "native", "eager": "eager"}[kind]
        tokens[kind] = model.session().sample([1, 2], 9, Sampling(), None, frozenset()).tokens
    assert tokens["auto"] == tokens["eager"]


def test_other_models_run_in_torch_and_say_why(tmp_path):
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        attention_bias=True,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    path = str(tmp_path)
    picked = models(path).pick(path)
    assert picked.model.runtime == "eager"
    assert "a bias of the attention's output" in picked.note
    with pytest.raises(ValueError, match=r"has no int8 here: use float32: .* a bias of the"):
        models(path, dtype="int8").fast(path)


@pytest.mark.parametrize(
    "broken", ["head_dim", "num_key_value_heads", "rope_parameters", "hidden_size", "weights"]
)
def test_a_model_of_the_ladders_form_that_is_broken_is_refused(broken, tmp_path):
    shutil.copytree(CODE.path("nano"), tmp_path / "nano")
    config = json.loads((tmp_path / "nano/config.json").read_text())
    if broken == "weights":
        (tmp_path / "nano/model.safetensors").write_bytes(b"none")
    else:
        (tmp_path / "nano/config.json").write_text(json.dumps(config | {broken: 7}))
    with pytest.raises(ValueError) as error:
        models(str(tmp_path / "nano"), dtype="int8").fast(str(tmp_path / "nano"))
    assert "\n" not in str(error.value)
