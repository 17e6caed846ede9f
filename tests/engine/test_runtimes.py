"""Which runtime a model gets, when, and what is said of it."""

from __future__ import annotations

import pytest
from checkpoints import save_model, save_tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

from hsd_viz.decoding.sampling import Sampling
from hsd_viz.engine.load import Models
from hsd_viz.native.build import default_build
from hsd_viz.trace import Stage


class FakeBuild:
    """A build in whatever state a test wants; waiting ends a compilation."""

    def __init__(self, compiling: bool = False, reason: str | None = None) -> None:
        self.compiling, self.reason = compiling, reason

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


needs_compiler = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")


def models(path, runtime="auto", build=None, dtype="float32") -> Models:
    return Models(path, "cpu", dtype, True, runtime=runtime, build=build)


@needs_compiler
@pytest.mark.parametrize("name", ["target", "path"])
def test_what_is_compiled_is_waited_for(name, path):
    name = path if name == "path" else name
    found = models(name, build=FakeBuild(compiling=True), dtype=None)
    stages = list(found.load([name], [1, 2], Sampling(), alone=False))
    assert stages[0] == Stage("compiling the native runtime") and found.fast(name).runtime == "native"
    said, waiting = [], models(name, build=FakeBuild(compiling=True))
    waiting.wait(said.append)
    assert said == ["compiling the native runtime"]


@pytest.mark.parametrize(("name", "runtime"), [("nano", "numpy"), ("path", "eager")])
def test_without_a_compiler_the_reason_is_given(name, runtime, path):
    name, build = path if name == "path" else name, FakeBuild(reason="no C++ compiler is installed")
    found = models(name, build=build, dtype=None)
    *_, last = found.load([name], [1, 2], Sampling(), alone=False)
    assert found.fast(name).runtime == runtime and found.fast(name) is found.fast(name)
    assert (
        last.text
        == f"no C++ compiler is installed: decoding {'in numpy' if runtime == 'numpy' else 'on the eager runtime'}"
    )


def test_eager_on_request_asks_nobody(path):
    found = models(path, "eager", FakeBuild(compiling=True))
    assert found.fast(path) is found.module(path) and not found.loaded("nano")
    with pytest.raises(ValueError, match=r"unknown runtime 'fast': it is one of auto, eager"):
        models(path, "fast")


@needs_compiler
def test_what_has_no_native_forward_stays_eager_with_the_reason(tmp_path):
    save_tokenizer(tmp_path)
    GPT2LMHeadModel(GPT2Config(vocab_size=260, n_embd=32, n_layer=1, n_head=2, n_positions=64)).save_pretrained(
        tmp_path
    )
    found = models(str(tmp_path))
    *_, last = found.load([str(tmp_path)], [1, 2], Sampling(), alone=False)
    assert found.fast(str(tmp_path)).runtime == "eager"
    assert "GPT2LMHeadModel is not one of LlamaForCausalLM" in last.text
