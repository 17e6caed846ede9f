"""Which runtime a model gets, when, and what is said of it."""

from __future__ import annotations

import threading

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from hsd_viz.engine.runtimes import Runtimes
from hsd_viz.native.build import default_build
from hsd_viz.torch_models.eager import HFModel

CPU = torch.device("cpu")


class FakeBuild:
    """A build in whatever state a test wants."""

    def __init__(self, compiling: bool = False, reason: str | None = None) -> None:
        self.compiling, self.reason = compiling, reason
        self.done = threading.Event()

    def start(self):
        return self

    def wait(self, timeout=None):
        self.done.wait(timeout)
        return not self.compiling and self.reason is None

    @property
    def library(self):
        return default_build().library


def llama() -> HFModel:
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    return HFModel("m", LlamaForCausalLM(LlamaConfig(vocab_size=40, **shape)))


needs_compiler = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


@needs_compiler
def test_eager_while_compiling_native_afterwards():
    build, model = FakeBuild(compiling=True), llama()
    runtimes = Runtimes(CPU, build=build)
    assert runtimes.compiling and runtimes.pick(model) == (model, "the native runtime is being compiled")
    build.compiling = False
    native, note = runtimes.pick(model)
    assert (native.runtime, note) == ("native", None) and not runtimes.compiling
    assert runtimes.pick(model)[0] is native


def test_waiting_tells_what_for_and_ends_with_the_build():
    build, told = FakeBuild(compiling=True), []
    runtimes = Runtimes(CPU, build=build)

    def tell(text):
        told.append(text)
        build.compiling, build.reason = False, "no"
        build.done.set()

    runtimes.wait(tell)
    assert told == ["compiling the native runtime"]
    runtimes.wait(lambda text: pytest.fail("nothing is being compiled"))


def test_without_a_compiler_the_reason_is_given():
    model = llama()
    assert Runtimes(CPU, build=FakeBuild(reason="no C++ compiler is installed")).pick(model) == (
        model,
        "no C++ compiler is installed",
    )


def test_eager_on_request_asks_nobody():
    model, build = llama(), FakeBuild()
    runtimes = Runtimes(CPU, "eager", build)
    assert runtimes.pick(model) == (model, None) and not runtimes.compiling
    with pytest.raises(ValueError, match=r"unknown runtime 'fast': it is one of auto, eager"):
        Runtimes(CPU, "fast")


@needs_compiler
def test_what_has_no_native_forward_stays_eager_with_the_reason():
    model = HFModel("g", GPT2LMHeadModel(GPT2Config(vocab_size=40, n_embd=32, n_layer=1, n_head=2, n_positions=64)))
    found, note = Runtimes(CPU).pick(model)
    assert found is model and "GPT2LMHeadModel is not one of LlamaForCausalLM" in note
