"""The page's questions: about a run, reports, a log, a record, hardware."""

from __future__ import annotations

import gzip
import json
import re
import time
from itertools import chain
from pathlib import Path

import pytest

from hsd_viz.engine.recordings import load_bundled
from hsd_viz.latency import stored as store
from hsd_viz.latency.basis import recorded
from hsd_viz.measure.bench.report import read_report
from hsd_viz.views import run_data
from hsd_viz.views.page_data import _suite_rows, saved_reports, suites
from tests.rows import column, keyed, select
from tests.views.fake_page import parts


def test_a_run_that_the_browser_kept_can_be_asked_about_in_another_kernel(page):
    trace = load_bundled("sampled")
    assert page.ask("knows", run="kept")[0]["known"] is False
    assert page.ask("take", snapshot=run_data.snapshot(trace, "kept"))[0]["kind"] == "done"
    assert page.ask("knows", run="kept")[0]["known"] is True
    again = page.app.trace
    assert again.token_ids == trace.token_ids
    assert again.stack == trace.stack
    assert again.prompt == trace.prompt
    assert again.metrics()["acceptance_rate"] == trace.metrics()["acceptance_rate"]
    assert again.meta["sampling"] == trace.meta["sampling"]
    assert again.meta["stack"] == trace.meta["stack"]


def test_questions_about_a_run_are_answered(page):
    page.ask("recording", name="both")
    (card,) = parts(page, "doctor", "both")
    assert card["view"] == "doctor"
    assert sum(column(card["state"]["spec"]["causes"], "share")) > 0.9
    law = parts(page, "law", "both")
    views = {p["view"]: p for p in law if p["kind"] == "view"}
    assert list(views) == ["hierarchy", "one_draft"]
    assert views["hierarchy"]["state"]["of_run"]
    assert column(views["one_draft"]["state"]["presets"], "name") == ["nano", "small"]
    for p in law:
        assert not p.get("caution")
    assert law[-1]["figure"]["drawn"]["layout"]["meta"]["title"] == "When does a hierarchy pay?"
    page.ask("recording", name="plain")
    assert parts(page, "doctor", "plain") == []
    message, _ = page.ask("ask", about="nothing", run="both")
    assert message["kind"] == "failed"
    assert not message["details"]
    assert "no run to ask about" in page.ask("ask", about="doctor", run="gone")[0]["message"]


def test_a_run_is_not_measured_by_a_calibration_of_other_models(page):
    page.ask("recording", name="padded")
    caution, *law = parts(page, "law", "padded")
    assert caution["caution"]
    assert "the calibration is of nano, small, target" in caution["text"]
    assert not law[0]["state"]["of_run"]
    assert "hsd-viz plan --target M" in caution["text"]
    figures = select(law, kind="figure")
    metas = [figure["figure"]["drawn"]["layout"]["meta"] for figure in figures]
    (levels,) = [meta for meta in metas if meta["title"].startswith("Prediction and run by level")]
    # By the run's own costs: those of another model had an error of 95 %.
    _, (_, predicted, measured, *_), *_ = levels["table"]
    assert abs(float(predicted) / float(measured) - 1) < 0.15


@pytest.mark.parametrize("name", ["answers/list", "answers/one-draft", "answers/hierarchy"])
def test_the_law_is_of_the_family_of_the_run(page, name):
    page.ask("recording", name=name)
    law = parts(page, "law", name)
    assert not [part for part in law if part.get("caution")]
    (graph,) = [part["state"]["graph"] for part in law if part.get("view") == "hierarchy"]
    assert column(graph["levels"], "name") == ["db", "nano", "target"]
    assert "2026-11-29" in graph["source"]
    assert graph["prompts"] == 24


def test_a_stored_calibration_of_the_models_of_a_run_is_taken(page, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "cache_folder", lambda _: tmp_path)
    identity = store.identity(load_bundled("both").meta)
    page.ask("recording", name="both")
    for taken, who in (("AMD", identity | {"dtype": "float64"}), ("my processor", identity)):
        who = who | {"device_name": "my processor"}
        store.save(store.StoredCalibration(who, {}, time.time(), 1.0, recorded().calibration, {}))
        assert taken in parts(page, "law", "both")[0]["state"]["graph"]["source"]


def test_reports_are_shown_opened_and_saved(page):
    message, _ = page.ask("ask", about="report", options={})
    (menu,) = message["answer"]["choices"]
    name = menu["value"]
    assert name in dict(menu["options"]).values()
    headline, chart, part = message["answer"]["parts"]
    assert headline["text"].startswith("Fastest: ")
    meta = chart["figure"]["drawn"]["layout"]["meta"]
    assert re.match(r"\d+ of \d+ methods beat plain decoding here", meta["title"])
    assert "95 % intervals" in meta["text"]
    assert part["kind"] == "page"
    assert part["folded"]
    assert "All outputs" in part["html"]
    content = (Path(__file__).parents[2] / "docs" / "bench" / name).read_bytes()
    opened, _ = page.ask("ask", [("mine.json", content)], about="report", options={})
    assert opened["answer"]["choices"][0]["value"] == ""
    (data, _, content), (_, _, html) = opened["answer"]["files"]
    assert data.endswith(".json")
    assert json.loads(content)["suite"]
    shown = opened["answer"]["parts"][-1]["html"]
    assert shown == part["html"]
    # The saved page has the chart that is beside the shown one.
    assert [text.count('<figure class="chart"') for text in (shown, html)] == [0, 1]
    assert shown.count("<tr>") == html.count("<tr>")
    bad, _ = page.ask("ask", [("mine.json", b"{}")], about="report", options={})
    assert bad["kind"] == "failed"
    assert "\n" not in bad["message"]
    assert (
        "no saved report" in page.ask("ask", about="report", options={"name": "../x"})[0]["message"]
    )


def test_a_log_is_replayed_and_its_text_does_not_come_back(page):
    secret = [901, 902, 903] * 30
    log = json.dumps({"prompt_ids": [1, 2, 3], "output_ids": secret}).encode()
    options = {"tokenizer": "", "costs": "cpu", "drafters": "lookup\nsam"}
    message, _ = page.ask("ask", [("../../log.jsonl", log)], about="replay", options=options)
    answer = message["answer"]
    assert column(answer["parts"], "view") == ["drafters"]
    assert answer["files"][0][2].startswith("{")
    assert "901, 902" not in str(answer)
    for files, change in (
        ([], {}),
        ([("x.jsonl", b"{")], {}),
        ([("x.jsonl", log)], {"drafters": "nope"}),
    ):
        failed, _ = page.ask("ask", files, about="replay", options=options | change)
        assert failed["kind"] == "failed"
        assert "\n" not in failed["message"]


LINE = (
    "INFO SpecDecoding metrics: Mean acceptance length: 2.00, Accepted throughput: 10.00 tokens/s, "
    "Drafted throughput: 30.00 tokens/s, Accepted: 100 tokens, Drafted: 300 tokens, Per-position "
    "acceptance rate: 0.600, 0.300, 0.100, Avg Draft acceptance rate: 33.3%\n"
)


def test_the_page_knows_what_saved_reports_found_on_many_prompts():
    """Each figure is that of its report; one of each family, stack, temperature and number type."""
    measured = suites()
    keys = [(row["family"], row["stack"], row["temperature"], row["dtype"]) for row in measured]
    assert len(set(keys)) == len(keys)
    own = measured[keys.index(("smollm2", "db > target", 0.7, "int8"))]
    report = Path(__file__).parents[2] / "docs" / "bench" / own["file"]
    stacks = json.loads(report.read_bytes())["stacks"]
    (stack,) = select(stacks, stack="db > target")
    assert own["value"] == stack["speedup_over_plain"]
    assert [own["low"], own["high"]] == stack["speedup_over_plain_ci"]
    assert own["name"].endswith("Spec-Bench")
    assert not any(row["stack"] == "target" for row in measured)


@pytest.mark.parametrize("option", ["--family smollm2", "--family=smollm2"])
def test_the_family_of_a_report_is_that_of_its_command(option):
    report = {
        "command": f"hsd-viz bench {option} --stack 'db > target'",
        "suite": {"name": "python", "prompts": 2},
        "settings": {"temperature": 0.0, "dtype": "int8"},
        "stacks": [
            {"stack": "db > target", "speedup_over_plain": 2.0, "speedup_over_plain_ci": [1.0, 3.0]}
        ],
    }
    assert column(_suite_rows("x.json", "X", report), "family") == ["smollm2"]


def test_a_record_of_a_server_is_diagnosed(page):
    message, _ = page.ask("ask", [("../../server.log", LINE.encode())], about="record", options={})
    (part,) = message["answer"]["parts"]
    spec = part["state"]["spec"]
    assert part["view"] == "diagnosis"
    assert spec["figure"] == "2.00 ×"
    assert spec["words"].startswith("plain decoding at most. Not observed: ")
    assert "at most 2.00 times" in spec["verdict"]
    assert column(spec["tables"], "title")[:1] == ["Acceptance by position"]
    rows = chain(*column(spec["tables"], "rows"))
    cells = list(chain(*rows))
    assert cells
    for cell in cells:
        assert isinstance(cell, str)
    saved = {name: content for name, _, content in message["answer"]["files"]}
    assert json.loads(saved["hsd_viz_diagnosis.json"])["source"] == "../../server.log"


@pytest.mark.parametrize(
    ("about", "options", "view"),
    [
        ("record", {}, "diagnosis"),
        ("replay", {"tokenizer": "", "costs": "cpu", "drafters": "lookup"}, "drafters"),
    ],
)
def test_an_example_is_answered_without_a_file_and_named_as_made_up(page, about, options, view):
    message, _ = page.ask("ask", about=about, options=options | {"example": True})
    words, part, *_ = message["answer"]["parts"]
    assert words["text"].startswith("Example, made up: ")
    assert words["caution"]
    assert part["view"] == view


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([], "no record"),
        ([("notes.txt", b"nothing here\n")], "notes.txt is not a trace or a record"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused_in_one_line(page, files, says):
    failed, _ = page.ask("ask", files, about="record", options={})
    assert failed["kind"] == "failed"
    assert says in failed["message"]
    assert "\n" not in failed["message"]


def test_a_prediction_is_of_the_chosen_hardware(page):
    message, _ = page.ask(
        "ask", about="predict", options={"gpu": "A100", "tp": "1", "models": "qwen3-8b,qwen3-0.6b"}
    )
    assert {c["name"]: c["value"] for c in message["answer"]["choices"]}["gpu"] == "A100"
    assert b"export" in gzip.decompress(page.ask("plotly")[1][0])[-2000:], "for its figure"
    text = json.dumps(message["answer"]["parts"])
    assert "A100" in text
    assert "assumption" in text
    title = message["answer"]["parts"][0]["figure"]["drawn"]["layout"]["meta"]["title"]
    menus = keyed(message["answer"]["choices"], "name")
    (words,) = [
        name for name, value in menus["models"]["options"] if value == "qwen3-8b,qwen3-0.6b"
    ]
    assert title.startswith(f"Predicted: {words} on A100"), "by the words of the menu"
    assert page.ask("ask", about="predict", options={"models": "../x"})[0]["kind"] == "failed"


def test_the_reports_of_the_manifest_are_there_and_described_as_in_the_list():
    folder = Path(__file__).parents[2] / "docs" / "bench"
    listed = (folder / "README.md").read_text(encoding="utf-8").replace("`", "")
    for title, path in saved_reports().items():
        report = read_report(path.read_bytes(), path.name)
        assert report.command
        description = f"- {path.name}: {title}"
        assert description.lower() in listed.lower()
