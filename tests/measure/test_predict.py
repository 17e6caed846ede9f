"""``hsd-viz predict``: its figures are the law's at the machine's step times, and it lists what it assumes."""

from __future__ import annotations

import json

import pytest

import hsd_viz as hsd
from hsd_viz import cli
from hsd_viz.latency.hardware import GPUS, MODELS, Machine
from hsd_viz.latency.inputs import Edge
from hsd_viz.measure.predict import report_parts, settings

LLAMAS = ("llama-70b", "llama-8b", "llama-1b")


def test_a_single_draft_is_leviathans_formula():
    found = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.8, databases=False)
    machine = Machine(GPUS["H100 SXM"])
    single = next(row for row in found.rows if row.stack != "llama-8b")
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
    assert single.speedup_over_plain == pytest.approx(
        expected, rel=0.01
    )  # the law adds the cost of catching up
    low, high = single.speedup_over_plain_ci
    assert low < single.speedup_over_plain < high
    assert {a.kind for a in found.assumptions} <= {"measured", "published", "assumed"} and all(
        a.source for a in found.assumptions
    )


def test_hierarchies_pay_where_the_small_model_is_rejected_by_the_target():
    """The same models, twice: what decides is how much of the smallest model's text the target accepts."""
    near = {"llama-1b > llama-8b": 0.8, "llama-8b > llama-70b": 0.85}
    options = {"tp": 4, "weights": "fp8", "databases": False}
    close = hsd.predict("H100", LLAMAS, acceptance=near | {"llama-1b > llama-70b": 0.75}, **options)
    far = hsd.predict("H100", LLAMAS, acceptance=near | {"llama-1b > llama-70b": 0.5}, **options)
    assert close.second_draft_gain[0]["gain"] < 0 < far.second_draft_gain[0]["gain"]
    assert far.best[0].stack.startswith("llama-1b:")


def test_what_does_not_fit_is_said_and_not_best():
    found = hsd.predict("H100", LLAMAS, weights="bf16", batch=(1,))
    assert not any(row.fits for row in found.rows)
    assert any("--tp" in str(line) for line in report_parts(found))
    assert any(
        row.fits for row in hsd.predict("H100", LLAMAS, tp=4, weights="bf16", databases=False).rows
    )
    found = hsd.predict("H100", LLAMAS, tp=4, weights="fp8", batch=(8,), databases=False)
    assert found.best[0].fits


def test_the_command_answers_in_text_json_and_a_figure(tmp_path, capsys):
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
    assert "num_speculative_tokens" in text and "best single draft" in text and "assumed" in text
    data = json.loads(paths["json"].read_text())
    assert {"stack", "batch", "context", "tokens_per_second", "speedup_over_plain", "speedup_over_plain_ci", "fits"} <= set(data["rows"][0])  # fmt: skip
    assert {"name", "value", "kind", "source"} == set(data["assumptions"][0])
    assert "plotly" in paths["html"].read_text()[:5_000_000]


def test_settings_read_as_the_engines_read_them():
    given = json.loads(settings("llama-1b:5 > llama-8b")["vllm 0.32.0"].split("'")[1])
    assert given == {"method": "draft_model", "model": "llama-1b", "num_speculative_tokens": 5}
    assert (
        json.loads(settings("eagle3:3 > llama-8b")["vllm 0.32.0"].split("'")[1])["method"]
        == "eagle3"
    )
    assert "leave out" in settings("llama-8b")["vllm 0.32.0"]


def test_a_schedule_by_batch_is_what_the_engines_read():
    cells = [
        {"batch": b, "context": 2048, "lookahead": k} for b, k in ((1, 5), (8, 3), (16, 3), (64, 0))
    ]
    said = settings("eagle3:5 > llama-8b", [*cells, {"batch": 1, "context": 8192, "lookahead": 9}])
    given = json.loads(said["vllm 0.32.0"].split("'")[1])
    assert given["num_speculative_tokens"] == 5
    assert given["num_speculative_tokens_per_batch_size"] == [[1, 7, 5], [8, 63, 3], [64, 512, 0]]
    adaptive = json.loads(said["sglang 0.5.9"].split("FILE: ")[1])
    assert adaptive == {str(b): {"candidate_steps": [k]} for b, k in ((1, 5), (8, 3), (64, 0))}
    assert "draft-eagle3" in said["llama.cpp 0c1e570"]


def test_the_present_length_of_a_profile_is_compared_with_the_best():
    profile = Edge((0.8, 0.2, 0.05, 0.01, 0.0))
    found = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=profile, databases=False)
    (cell,) = found.lookaheads
    assert cell["present"] == 5 > cell["lookahead"] and 0 < cell["loses"] < 1
    again = hsd.predict(
        "H100", ("llama-8b", "llama-1b"), acceptance=Edge((0.8,)), databases=False
    ).lookaheads[0]
    assert cell["lookahead"] == 1 == again["present"] and again["loses"] == 0


def test_a_draft_breaks_even_at_a_batch_and_a_context():
    """At the ends themselves, and one step before them, the rows of a plan say the same."""
    models, options = ("llama-8b", "llama-1b"), {"databases": False}
    first = lambda **at: hsd.predict("H100", models, **options, **at).rows[0].stack
    found = hsd.predict("H100", models, acceptance=0.5, context=(512,), **options)
    stops = found.break_even_batch["llama-1b"]
    assert f"llama-1b alone pays below batch {stops} at the first context" in "\n".join(
        found.answers()
    )
    at = {"acceptance": 0.5, "context": (512,)}
    assert first(batch=(stops,), **at) == "llama-8b" != first(batch=(stops // 2,), **at)
    start = hsd.predict("H100", models, acceptance=0.37, **options).break_even_context["llama-1b"]
    at = {"acceptance": 0.37}
    assert first(context=(start,), **at) != "llama-8b" == first(context=(start // 2,), **at)
    never = hsd.predict("H100", ("llama-8b", "llama-1b"), acceptance=0.01, databases=False)
    assert never.break_even_batch == {"llama-1b": 1} and never.break_even_context == {
        "llama-1b": None
    }
