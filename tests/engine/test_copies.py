"""Test copies of a model with weights of another type, as in ``target[int8]:4 > target``."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine import load_engine
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.native.build import default_build
from hsd_viz.trace import Trace
from tests.engine.checkpoints import save_model, save_tokenizer
from tests.rows import column

pytestmark = pytest.mark.skipif(
    not default_build().wait(), reason=f"no native runtime: {default_build().reason}"
)

PROMPT = "def mean(values):\n    total = 0\n    for value in values:\n"


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def engine(request):
    with load_engine(device="cpu", dtype=request.param, threads=1) as loaded:
        yield loaded


def text_of(engine, stack: str) -> list[int]:
    return engine.run(PROMPT, stack, max_new_tokens=40).token_ids


@pytest.mark.parametrize(
    "stack",
    [
        "target[int8]:4 > target",
        "db > target[int8]:6 > target",
        "nano:2 > target[int8]:5 > target",
        "nano[int8]:3 > target",
        "target[int8]:8?0.5 > target",
    ],
)
def test_the_text_is_that_of_the_target_alone(engine, stack):
    assert text_of(engine, stack) == text_of(engine, "target")


def test_two_copies_of_one_model_draft_in_one_stack():
    with load_engine(device="cpu", dtype="float32", threads=1) as engine:
        plain = text_of(engine, "target")
        assert text_of(engine, "target[int8]:2 > target[bfloat16]:6 > target") == plain


def test_a_copy_is_the_model_as_loaded_in_that_type():
    """The rows of the copy under float32 equal those of the model under int8, bit for bit."""
    ids = [*range(40, 60)]
    wide = EngineModels(EngineOptions(dtype="float32", device="cpu"))
    copy = wide.fast("target[int8]")
    alone = EngineModels(EngineOptions(dtype="int8", device="cpu")).fast("target")
    assert copy.dtype == "int8"
    assert copy.name == "target[int8]"
    rows = [model.session().forward(ids, 20) for model in (copy, alone)]
    assert (rows[0] == rows[1]).all()
    other = (
        EngineModels(EngineOptions(dtype="float32", device="cpu"))
        .fast("target")
        .session()
        .forward(ids, 20)
    )
    assert (rows[0] != other).any()


def test_a_copy_has_all_of_its_model_but_the_weights():
    models = EngineModels(EngineOptions(dtype="bfloat16", device="cpu"))
    assert models.text("target[int8]") is models.text("target")
    assert models.files.hash("target[int8]") == models.files.hash("target")
    assert models.location("target[int8]") == models.location("target")
    copy = models.fast("target[int8]")
    assert models.fast("target[int8]") is copy
    assert models.loaded("target[int8]")
    assert not models.loaded("target")
    assert models.fast("nano[bfloat16]") is models.fast("nano")
    # What was opened for the copy first has the name of the model.
    assert models.fast("target").name == "target"


def test_a_trace_names_the_copy(engine, tmp_path):
    trace = engine.run(PROMPT, "target[int8]:4 > target", max_new_tokens=12)
    path = tmp_path / "run.json.gz"
    trace.save(path)
    kept = Trace.load(path)
    assert column(kept.meta["models"], "name") == ["target[int8]", "target"]
    assert kept.meta["models"][0]["model"] == "target[int8]"
    assert kept.meta["models"][0]["weights"] == kept.meta["models"][1]["weights"]
    assert kept.meta["stack_resolved"] == "target[int8]:4 > target"
    assert "target[int8]" in kept.metrics()["emitted_by_source"]


@pytest.mark.parametrize("reverse", [False, True], ids=["same ids but for few", "other ids"])
def test_a_copy_with_another_vocabulary_drafts_with_its_own_weights(tmp_path, reverse):
    target = save_model(tmp_path / "target")
    draft = save_model(tmp_path / "draft", extra=("xy",), reverse=reverse)
    models = EngineModels(EngineOptions(target, dtype="float32", device="cpu"))
    adapted = models.vocabularies.adapt(target, f"{draft}[int8]", Sampling())
    assert adapted is not None
    assert adapted.model.dtype == "int8"
    assert not models.loaded(draft), "the weights of the model itself are not needed"


# --- what is refused ------------------------------------------------------------------------------


def test_a_copy_of_the_target_in_its_own_type_is_refused():
    with (
        load_engine(device="cpu", dtype="int8") as engine,
        pytest.raises(UserError, match=r"target\[int8\] is the target itself, .* are int8 here"),
    ):
        engine.run(PROMPT, "target[int8]:4 > target", max_new_tokens=2)


def test_a_copy_needs_the_native_runtime(tmp_path):
    eager = EngineModels(EngineOptions(dtype="float32", device="cpu", runtime="eager"))
    with pytest.raises(Unsupported, match=r"nano\[int8\] needs the native runtime: .* in torch"):
        eager.fast("nano[int8]")
    wide = EngineModels(EngineOptions(dtype="float16", device="cpu"))
    with pytest.raises(Unsupported, match="the native runtime has no float16 for the target"):
        wide.fast("nano[int8]")
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=2,
        attention_bias=True,
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    other = EngineModels(EngineOptions(str(tmp_path), dtype="float32", device="cpu"))
    with pytest.raises(Unsupported, match="a bias of the attention's output"):
        other.fast(f"{tmp_path}[int8]")


def test_copies_are_allowed_where_other_models_are():
    """Each copy takes memory, so a public page decodes only with the models that it offers."""
    closed = EngineModels(EngineOptions(dtype="bfloat16", device="cpu", allow_models=False))
    assert closed.location("nano")
    with pytest.raises(UserError, match=r"nano\[int8\]"):
        closed.fast("nano[int8]")
