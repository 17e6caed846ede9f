"""``hsd-viz predict``: its figures are the law's at the machine's step times, and it lists what
it assumes.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import hsd_viz as hsd
from hsd_viz import cli
from hsd_viz.errors import UserError
from hsd_viz.latency.cards import GPUS
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.hardware import Machine
from hsd_viz.latency.inputs import Edge
from hsd_viz.latency.shapes import MODELS
from hsd_viz.measure.predict.assumed_acceptance import HEAD_ACCEPTANCE
from hsd_viz.measure.predict.hardware_plan import SingleDraft
from hsd_viz.measure.predict.stacks_on_hardware import settings_of_stack
from hsd_viz.stack import parse
from tests.rows import column, keyed, select

DATA = Path(__file__).resolve().parents[3] / "docs" / "bench"
LLAMAS = ("llama-70b", "llama-8b", "llama-1b")


def test_a_single_draft_is_leviathans_formula():
    prediction = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.8, databases=False)
    machine = Machine(GPUS["H100 SXM"])
    single = next(row for row in prediction.rows if row.stack != "llama-8b")
    g = int(single.stack.split(":")[1].split(" ")[0])
    step = {m: machine.step_ms(MODELS[m], context=2048) for m in ("llama-8b", "llama-1b")}
    length = (1 - 0.8 ** (g + 1)) / (1 - 0.8)
    assert single.acceptance_length == pytest.approx(length)
    verification = machine.step_ms(MODELS["llama-8b"], tokens=g + 1, context=2048)
    expected = (
        step["llama-8b"]
        * length
        / (g * step["llama-1b"] + verification + machine.efficiency.round_us / 1e3)
    )
    speedup = single.speedup_over_plain
    assert speedup.value == pytest.approx(
        expected, rel=0.01
    )  # the law adds the cost of catching up
    assert speedup.low < speedup.value < speedup.high
    assert set(column(prediction.assumptions, "kind")) <= {"measured", "published", "assumed"}
    for assumption in prediction.assumptions:
        assert assumption.source


def test_a_measured_time_of_a_round_replaces_the_published_one():
    """A round of one draft token of a model takes c(1) of the draft, c(2) of the target, and
    this time.
    """
    models = ("llama-8b", "llama-1b")
    predict = partial(hsd.predict, "H100", models, acceptance=0.8, databases=False)
    usual = predict()
    slow = predict(round_ms=5.0)
    fast = predict(round_ms=0.0)
    gains = [prediction.best[0].speedup_over_plain.value for prediction in (slow, usual, fast)]
    assert gains == sorted(gains)
    assert len(set(gains)) == 3
    prediction = keyed(fast.assumptions, "name")["further time of a round"]
    assert prediction.value == "0 µs"
    assert prediction.kind == "measured"
    with pytest.raises(UserError, match="the time of a round beyond its forward passes in ms"):
        hsd.predict("H100", models, round_ms=-1.0)


def test_hierarchies_pay_where_the_small_model_is_rejected_by_the_target():
    """The same models, twice: what decides is how much of the smallest model's text the target
    accepts.
    """
    near = {"llama-1b > llama-8b": 0.8, "llama-8b > llama-70b": 0.85}
    predict = partial(hsd.predict, "H100", LLAMAS, tp=4, weights="fp8", databases=False)
    close = predict(acceptance=near | {"llama-1b > llama-70b": 0.75})
    far = predict(acceptance=near | {"llama-1b > llama-70b": 0.5})
    assert close.second_draft_gain[0].gain < 0 < far.second_draft_gain[0].gain
    assert far.best[0].stack.startswith("llama-1b:")


def test_what_does_not_fit_is_said_and_not_best():
    prediction = hsd.predict("H100", LLAMAS, weights="bf16", batch=(1,))
    for row in prediction.rows:
        assert not row.fits
    assert any("`tp`" in str(line) for line in prediction.parts())
    assert any(
        column(hsd.predict("H100", LLAMAS, tp=4, weights="bf16", databases=False).rows, "fits")
    )
    prediction = hsd.predict("H100", LLAMAS, tp=4, weights="fp8", batch=(8,), databases=False)
    assert prediction.best[0].fits


def test_the_command_answers_in_text_json_and_a_page(tmp_path, capsys):
    paths = {name: tmp_path / f"out.{name}" for name in ("json", "html")}
    words = [
        "predict",
        "--gpu",
        "H100",
        "--models",
        "llama-8b,eagle3",
        "--acceptance",
        "0.6",
        "--batch",
        "1,32",
    ]
    assert cli.main([*words, "--json", str(paths["json"]), "--html", str(paths["html"])]) == 0
    text = capsys.readouterr().out
    assert "num_speculative_tokens" in text
    assert "best single draft" in text
    assert "assumed" in text
    data = json.loads(paths["json"].read_text())
    assert {
        "stack",
        "batch",
        "context",
        "tokens_per_second",
        "speedup_over_plain",
        "speedup_over_plain_ci",
        "fits",
    } <= set(data["rows"][0])
    assert {"name", "value", "kind", "source"} == set(data["assumptions"][0])
    page = paths["html"].read_text()
    assert (
        page == hsd.predict("H100", ["llama-8b", "eagle3"], acceptance=0.6, batch=(1, 32)).to_html()
    )
    assert '<figure class="chart" style="--one:' in page
    assert '<span class="lane"><i class="bar" style="width:' in page


def vllm_config(stack: str) -> dict:
    """Return vLLM's settings for a stack."""
    return json.loads(settings_of_stack(parse(stack))["vllm 0.32.0"].split("'")[1])


def test_settings_read_as_the_engines_read_them():
    assert vllm_config("llama-1b:5 > llama-8b") == {
        "method": "draft_model",
        "model": "llama-1b",
        "num_speculative_tokens": 5,
    }
    assert vllm_config("eagle3:3 > llama-8b")["method"] == "eagle3"
    assert "leave out" in settings_of_stack(parse("llama-8b"))["vllm 0.32.0"]


def test_a_schedule_by_batch_is_what_the_engines_read():
    drafts = []
    for batch, lookahead in ((1, 5), (8, 3), (16, 3), (64, 0)):
        drafts.append(SingleDraft(batch, 2048, "eagle3 > llama-8b", lookahead))
    drafts.append(SingleDraft(1, 8192, "eagle3 > llama-8b", 9))
    said = settings_of_stack(parse("eagle3:5 > llama-8b"), drafts)
    given = json.loads(said["vllm 0.32.0"].split("'")[1])
    assert given["num_speculative_tokens"] == 5
    assert given["num_speculative_tokens_per_batch_size"] == [[1, 7, 5], [8, 63, 3], [64, 512, 0]]
    adaptive = json.loads(said["sglang 0.5.9"].split("FILE: ")[1])
    assert adaptive == {str(b): {"candidate_steps": [k]} for b, k in ((1, 5), (8, 3), (64, 0))}
    assert "draft-eagle3" in said["llama.cpp 0c1e570"]


def test_the_present_length_of_a_profile_is_compared_with_the_best():
    profile = Edge((0.8, 0.2, 0.05, 0.01, 0.0))
    prediction = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=profile, databases=False)
    (cell,) = prediction.lookaheads
    assert cell.present.tokens == 5 > cell.lookahead
    assert 0 < cell.present.loses < 1
    again = hsd.predict(
        "H100", ("llama-8b", "llama-1b"), acceptance=Edge((0.8,)), databases=False
    ).lookaheads[0]
    assert cell.lookahead == 1 == again.present.tokens
    assert again.present.loses == 0


def test_a_draft_breaks_even_at_a_batch_and_a_context():
    """At the ends themselves, and one step before them, the rows of a plan say the same."""
    models = ("llama-8b", "llama-1b")
    predict = partial(hsd.predict, "H100", models, databases=False)
    prediction = predict(acceptance=0.5, context=(512,))
    stops = prediction.break_even_batch["llama-1b"]
    assert f"llama-1b alone pays below batch {stops} at the first context" in "\n".join(
        prediction.answers()
    )
    at_end = predict(acceptance=0.5, context=(512,), batch=(stops,))
    before = predict(acceptance=0.5, context=(512,), batch=(stops // 2,))
    assert at_end.rows[0].stack == "llama-8b" != before.rows[0].stack
    start = predict(acceptance=0.37).break_even_context["llama-1b"]
    at_start = predict(acceptance=0.37, context=(start,))
    before = predict(acceptance=0.37, context=(start // 2,))
    assert at_start.rows[0].stack != "llama-8b" == before.rows[0].stack
    never = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.01, databases=False)
    assert never.break_even_batch == {"llama-1b": 1}
    assert never.break_even_context == {"llama-1b": None}


SPECULATOR = {
    "speculators_model_type": "eagle3",
    "draft_vocab_size": 16_000,
    "speculators_config": {
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 4}]
    },
    "transformer_layer_config": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 128256,
    },
}


def test_a_draft_head_is_taken_from_its_config(tmp_path):
    """One layer, 4 draft tokens, and an output of 16 000 rows: cheaper than one of 128 256."""
    folder = tmp_path / "speculator"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SPECULATOR))
    prediction = hsd.predict("H100", ("llama-8b", str(folder)), databases=False)
    (about,) = select(prediction.assumptions, name="speculator")
    assert about.value == "draft head of 1 layer, 16,000 rows in its output, 4 draft tokens"
    assert prediction.lookaheads[0].present.tokens == 4
    small = shape_of(str(folder))
    full = MODELS["llama-8b"].head()
    assert full.touched(1) - small.touched(1) == (128_256 - 16_000) * 4096
    assert '"method": "eagle3"' in prediction.settings["vllm 0.32.0"]


EAGLE_1 = {"model_type": "eagle", "model": SPECULATOR["transformer_layer_config"]}
EAGLE_3 = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "num_hidden_layers": 1,
    "draft_vocab_size": 32_000,
    **SPECULATOR["transformer_layer_config"],
}


@pytest.mark.parametrize(
    ("config", "method"),
    [
        pytest.param(EAGLE_1, "eagle", id="EAGLE-1"),
        pytest.param(EAGLE_3, "eagle3", id="EAGLE-3"),
        pytest.param(SPECULATOR | {"speculators_model_type": "eagle"}, "eagle", id="speculators"),
    ],
)
def test_the_settings_name_the_kind_of_a_draft_head(tmp_path, config, method):
    """Whatever its folder is called: EAGLE is not EAGLE-3."""
    folder = tmp_path / "eagle3"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    prediction = hsd.predict("H100", ("llama-8b", str(folder)), acceptance=0.8, databases=False)
    given = json.loads(prediction.settings["vllm 0.32.0"].split("'")[1])
    assert given["method"] == method
    assert given["model"] == "eagle3"
    assert ("llama.cpp 0c1e570" in prediction.settings) == (method == "eagle3")
    assert "eagle3" in column(prediction.assumptions, "name")


def test_weights_that_are_stored_otherwise_are_said_beside_what_does_not_fit():
    """gpt-oss-120b has 4-bit experts: as 16 bits it does not fit into 80 GB."""
    prediction = hsd.predict("H100", ("gpt-oss-120b",), databases=False)
    lines = list(map(str, prediction.parts()))
    (said,) = [
        line for line in lines if line.startswith("weights of gpt-oss-120b: counted as bf16")
    ]
    assert not prediction.rows[0].fits
    assert "`weights` fp4" in said
    stored = hsd.predict("H100", ("gpt-oss-120b",), weights="fp4", databases=False)
    assert stored.rows[0].fits
    assert not any(assumed.name.startswith("weights of") for assumed in stored.assumptions)


def test_assumed_acceptances_are_those_of_the_published_pairs():
    """10 %, 50 % and 90 % of SpecBundle's figures, converted from tokens per forward pass."""
    import numpy as np

    kinds = {
        "gsm8k": "math", "math500": "math", "gpqa": "math", "mtbench": "chat", "humaneval": "code",
        "livecodebench": "code", "financeqa": "documents",
    }  # fmt: skip
    rows = json.loads((DATA / "specbundle.json").read_text())["rows"]
    by_kind = {"mixed": []}
    for _, benchmark, _, _, tokens, length, _ in rows:
        low = 0.0
        high = 1.0
        for _ in range(50):
            middle = (low + high) / 2
            emitted = sum(middle**k for k in range(tokens + 1))
            low, high = (middle, high) if emitted < length else (low, middle)
        by_kind.setdefault(kinds[benchmark], []).append(high)
        by_kind["mixed"].append(high)
    assert by_kind.keys() == HEAD_ACCEPTANCE.keys()
    for kind, values in by_kind.items():
        quantiles = np.quantile(values, (0.1, 0.5, 0.9))
        assert HEAD_ACCEPTANCE[kind] == pytest.approx(quantiles, abs=0.006), kind


def test_the_kind_of_text_changes_what_is_assumed():
    code, documents = (
        hsd.predict("H100", ("llama-8b", "eagle3"), databases=False, text=text).rows[0]
        for text in ("code", "documents")
    )
    assert code.speedup_over_plain.value > 1.3 * documents.speedup_over_plain.value
    with pytest.raises(ValueError, match="did you mean 'code'"):
        hsd.predict("H100", ("llama-8b",), text="coda")
