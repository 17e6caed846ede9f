"""The page's widget: what it answers, what it refuses, and that one request is one message or
several of its own id.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from itertools import chain
from pathlib import Path

import pytest
from fake_page import REQUEST, Engine, Page, parts
from make_trace import make_trace

import hsd_viz as hsd
from hsd_viz.engine.access import Access
from hsd_viz.engine.replay import load_bundled
from hsd_viz.errors import FAULTS_VARIABLE, UserError
from hsd_viz.latency import stored as store
from hsd_viz.latency.basis import recorded
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.app.answers import Request
from hsd_viz.views.app.dashboard import MOST_REQUESTS, App
from hsd_viz.views.export import run_page
from hsd_viz.views.page_data import offered, recorded_runs, suites
from tests.changes import change_row
from tests.rows import column, keyed

RUNS = [*offered()]


@pytest.fixture
def page(monkeypatch):
    return Page(monkeypatch)


def test_the_page_knows_its_recordings_and_opens_without_models(page):
    about = page.app.about
    assert column(about["recordings"], "name") == RUNS
    assert "decode" in page.app.can
    assert about["models"] == ["nano", "small", "target"]
    assert App(Engine(), allow_models=True).about["models"] is None
    assert set(about["sources"]) >= {"db", "hd", "auto", "lookup"}
    json.dumps(about)
    given = hsd.dashboard(make_trace())
    assert given.about["recordings"][0]["name"] == "given"
    assert given.trace.token_ids == make_trace().token_ids
    with pytest.raises(TypeError, match="not int"):
        hsd.dashboard(3)


@pytest.mark.parametrize(
    "name", ["../idioms", "greedy/../../x", "/etc/passwd", "nope", "greedy/none", ""]
)
def test_a_name_from_the_browser_is_never_a_path(page, name):
    message, _ = page.ask("recording", name=name)
    assert message["kind"] == "failed"
    assert "no recorded trace is named" in message["message"]
    assert not message["details"]


def test_a_decode_is_streamed_and_can_be_asked_about(page):
    message, _ = page.ask("decode", request=REQUEST)
    kinds = [content["kind"] for content, _ in page.heard]
    assert kinds[:2] == ["stage", "begin"]
    assert kinds[-1] == "done"
    assert "append" in kinds
    begin = next(c for c, _ in page.heard if c["kind"] == "begin")["run"]
    appended = [content for content, _ in page.heard if content["kind"] == "append"]
    steps = list(chain(*(content["steps"]["steps"] for content in appended)))
    assert begin["seq"] == 0
    assert begin["tokens"]["index"] == []
    assert list(chain(*(step["tokens"]["index"] for step in steps))) == [0, 1, 2]
    assert message["head"]["seq"] == len(steps) == 2
    assert message["head"]["run"] == begin["run"]
    assert page.engine.asked == [
        (
            "def f",
            "db > target",
            {"max_new_tokens": 4, "temperature": 0.8, "seed": 7, "rule": "token"},
        )
    ]
    assert page.ask("knows", run=begin["run"])[0]["known"]
    assert page.app.trace.token_ids == make_trace().token_ids


def test_the_trace_of_a_branch_names_its_parent(page):
    parent = {"run": "r", "token": 2, "text": " x"}
    message, _ = page.ask("decode", request=REQUEST | {"parent": parent})
    assert message["head"]["meta"]["parent"] == parent
    assert page.app.trace.meta["parent"] == parent
    message, _ = page.ask("decode", request=REQUEST | {"parent": "r"})
    assert message["kind"] == "failed"
    assert "the parent is 'r'" in message["message"]


def test_a_branch_is_a_fresh_run_from_the_same_prefix():
    app = App()
    request = {"stack": "db > target", "temperature": 0, "seed": 3, "max_new_tokens": 12}

    def decoded(**more):
        asked = Request(
            message={"request": {**request, **more}},
            about="",
            options={},
            files=[],
            send=lambda kind, **content: None,
            run=None,
            access=Access.of(False),
        )
        app._decode(asked)
        return app.trace

    root = decoded(prompt="def add(a, b):")
    row = root.token_rows[4]
    other = next(root.pieces[id] for id, _ in row.top if id != row.token_id and id in root.pieces)
    prefix = "def add(a, b):" + "".join(row.text for row in root.token_rows[:4]) + other
    branch = decoded(prompt=prefix, parent={"run": "root", "token": 4, "text": other})
    fresh = decoded(prompt=prefix)
    assert branch.token_ids == fresh.token_ids != root.token_ids
    assert [row.p for row in branch.token_rows] == [row.p for row in fresh.token_rows]


def test_a_decode_can_be_cancelled_and_keeps_what_it_has(page):
    page.engine.go.clear()
    page.send("decode", request=REQUEST)
    page.wait("begin")
    page.send("cancel")
    page.engine.go.set()
    message, _ = page.wait("done")
    assert page.engine.closed.wait(10)
    assert message["head"]["seq"] <= 2
    page.send("cancel", key="no such request")
    # It ends while its request is looked up.
    page.app._cancels = type("Ending", (dict,), {"__contains__": lambda self, key: True})()
    page.send("cancel", key="ended")


class Panic(BaseException):
    """What a library in Rust raises."""


def test_an_error_is_one_message_and_the_next_run_works(page, caplog, monkeypatch):
    page.engine.error = UserError("the prompt contains a lone surrogate")
    message, _ = page.ask("decode", request=REQUEST)
    assert (message["message"], message["details"]) == ("the prompt contains a lone surrogate", "")
    page.engine.error = None
    assert page.ask("decode", request=REQUEST)[0]["kind"] == "done"


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("in /srv/secret/file"),
        FileNotFoundError(2, "No such file", "/srv/secret/file"),
        ValueError("in /srv/secret/file"),
        Panic("in /srv/secret/file"),
        SystemExit(3),
    ],
)
def test_a_fault_is_answered_without_paths_and_logged(error, page, caplog, tmp_path, monkeypatch):
    page.engine.error = error
    message, _ = page.ask("decode", request=REQUEST)
    kind = type(error).__name__
    assert message["message"] == (
        f"this is a fault of hsd-viz, not of your input ({kind}): the log of its server has it"
    )
    assert message["details"] == ""
    assert kind in caplog.text

    monkeypatch.setenv(FAULTS_VARIABLE, str(tmp_path / "faults"))
    caplog.clear()
    page.ask("decode", request=REQUEST)
    assert "Traceback" in (tmp_path / "faults").read_text()
    assert not caplog.text, "the output of a served kernel reaches its visitor"

    monkeypatch.setenv("HSD_VIZ_DEBUG", "1")
    assert "Traceback" in page.ask("decode", request=REQUEST)[0]["details"]


def test_paths_of_the_server_become_names(page):
    page.engine.error = UserError("/srv/a/b is bad: '/srv/x/weights.bin', ~/y or https://host/a/b")
    message, _ = page.ask("decode", request=REQUEST | {"prompt": "/mine/file"})
    assert message["message"] == "b is bad: 'weights.bin', ~/y or https://host/a/b"
    page.engine.error = UserError("'/mine/file' and '/other/file'")
    message, _ = page.ask("decode", request=REQUEST | {"prompt": "/mine/file"})
    assert message["message"] == "'/mine/file' and 'file'"


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "nix"},
        {"kind": None},
        {"kind": "__init__"},
        {"kind": "ask", "names": 5},
        {"kind": "ask", "options": 5},
        {"kind": "ask", "about": "replay", "names": ["a"], "options": {"drafters": "x\n" * 99}},
        {"kind": "ask", "about": "predict", "options": {"tp": "x"}},
        {"kind": "ask", "about": "predict", "options": {"tp": "9" * 9999}},
        {"kind": "decode"},
        {"kind": "decode", "request": []},
        {"kind": "decode", "request": REQUEST | {"max_new_tokens": "4"}},
        {"kind": "decode", "request": REQUEST | {"max_new_tokens": float("nan")}},
        {"kind": "decode", "request": REQUEST | {"prompt": {"a": 1}}},
        {"kind": "take"},
        {"kind": "take", "snapshot": {"meta": 5}},
        {"kind": "file", "about": "comparison", "options": {"runs": [1, 2]}},
        {"kind": "file", "about": "comparison", "options": {"runs": 7}},
    ],
    ids=str,
)
def test_every_request_is_answered_and_what_is_none_is_no_fault(page, content):
    message, _ = page.ask(**content)
    assert message["kind"] == "failed"
    assert "fault" not in message["message"]


def test_a_page_answers_so_many_requests_at_a_time(page):
    page.engine.go.clear()
    for number in range(MOST_REQUESTS):
        page.send("decode", key=str(number), request=REQUEST)
    message, _ = page.ask("knows", key="more", run="x")
    assert message["kind"] == "failed"
    assert "16 requests in progress" in message["message"]
    page.engine.go.set()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_new_tokens": 100_000}, "expected a whole number from 1 to 2000"),
        ({"prompt": "x" * 20_001}, "prompts of up to 20000 characters"),
        ({"databases": "/tmp/x"}, "other databases than the shipped ones are not allowed"),
    ],
)
def test_what_a_page_does_not_decode_is_one_sentence(page, change, said):
    message, _ = page.ask("decode", request=REQUEST | change)
    assert message["kind"] == "failed"
    assert said in message["message"]
    assert "\n" not in message["message"]
    assert message["details"] == ""
    assert page.engine.asked == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stack": "some/model > target"}, "'some/model' is not allowed here"),
        ({"stack": "auto[db,a/other] > target"}, "'a/other' is not allowed here"),
        ({"stack": "nano >"}, "part 2 of the stack"),
        ({"stack": "\ud800"}, "?"),  # half a character cannot be sent
        ({"temperature": [1]}, "temperature is [1]: expected a number"),
        ({"top_p": "0.5"}, "top_p is '0.5': expected a number"),
        ({"target": "../b"}, "'../b' is not allowed here"),
    ],
)
def test_the_engine_of_a_page_has_the_models_of_the_ladder_only(monkeypatch, change, said):
    message, _ = Page(monkeypatch, loads_its_engine=True).ask("decode", request=REQUEST | change)
    assert said in message["message"]
    assert "\n" not in message["message"]
    assert message["details"] == ""


def test_strange_messages_change_nothing(page):
    for content in (
        None,
        "x",
        {},
        {"id": 3, "kind": "decode"},
    ):
        page.app._on_message(None, content, [])
    assert page.heard == []
    for message in (
        {"kind": "decode", "request": {}},
        {"kind": "take", "snapshot": {"meta": {}}},
        {"kind": "open"},
    ):
        assert page.ask(**message)[0]["kind"] == "failed"


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


# --- questions ------------------------------------------------------------------------------------


def test_questions_about_a_run_are_answered(page):
    page.ask("recording", name="both")
    (card,) = parts(page, "doctor", "both")
    assert card["view"] == "doctor"
    assert sum(column(card["state"]["spec"]["causes"], "share")) > 0.9
    law = parts(page, "law", "both")
    views = {p["view"]: p for p in law if p["kind"] == "view"}
    assert set(views) == {"hierarchy", "one_draft"}
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
    assert "hsd-viz plan --target M" in caution["text"]
    figures = [part for part in law if part["kind"] == "figure"]
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


def test_a_stored_calibration_of_the_models_of_a_run_is_taken(page, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "cache_folder", lambda _: tmp_path)
    identity = store.identity(load_bundled("both").meta)
    page.ask("recording", name="both")
    for taken, who in (("AMD", identity | {"dtype": "float64"}), ("my processor", identity)):
        who = who | {"device_name": "my processor"}
        store.save(store.StoredCalibration(who, {}, time.time(), 1.0, recorded().calibration, {}))
        assert taken in parts(page, "law", "both")[1]["state"]["graph"]["source"]


def test_reports_are_shown_opened_and_saved(page):
    message, _ = page.ask("ask", about="report", options={})
    (menu,) = message["answer"]["choices"]
    name = menu["value"]
    assert name in dict(menu["options"]).values()
    headline, chart, part = message["answer"]["parts"]
    assert headline["text"].startswith("Fastest: ")
    meta = chart["figure"]["drawn"]["layout"]["meta"]
    assert meta["title"] == "Speed-up over plain decoding"
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
    assert html == opened["answer"]["parts"][-1]["html"] == part["html"]
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
    found = suites()
    keys = [(one["family"], one["stack"], one["temperature"], one["dtype"]) for one in found]
    assert len(set(keys)) == len(keys)
    own = found[keys.index(("smollm2", "db > target", 0.7, "int8"))]
    report = Path(__file__).parents[2] / "docs" / "bench" / own["file"]
    stacks = json.loads(report.read_bytes())["stacks"]
    (stack,) = [one for one in stacks if one["stack"] == "db > target"]
    assert own["value"] == stack["speedup_over_plain"]
    assert [own["low"], own["high"]] == stack["speedup_over_plain_ci"]
    assert own["name"].endswith("Spec-Bench")
    assert not any(one["stack"] == "target" for one in found)


def test_a_record_of_a_server_is_diagnosed(page):
    message, _ = page.ask("ask", [("../../server.log", LINE.encode())], about="record", options={})
    (part,) = message["answer"]["parts"]
    spec = part["state"]["spec"]
    assert (part["view"], spec["figure"]) == ("diagnosis", "2.00 ×")
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
    words, part = message["answer"]["parts"]
    assert words["text"].startswith("Example: a made-up ")
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


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_a_recording_is_sent_as_columns_saved_and_opened_again(page, name):
    trace = recorded_runs()[name]()
    _, (sent,) = page.ask("recording", name=name)
    assert json.loads(sent) == json.loads(json.dumps(run_data.snapshot(trace, name)))
    message, (content,) = page.ask("file", about="trace", run=name)
    assert re.fullmatch(r"hsd_viz_[\w-]+\.json\.gz", message["name"])
    assert run_data.read_trace(content, message["name"]).to_dict() == trace.to_dict()
    _, (opened,) = page.ask("open", [(message["name"], content)])
    assert json.loads(opened)["tokens"] == json.loads(json.dumps(run_data.tables(trace)))["tokens"]


def test_the_page_of_a_run_is_that_of_the_export(page):
    page.ask("recording", name="both")
    assert page.ask("file", about="page", run="both")[1][0].decode() == run_page(
        load_bundled("both")
    )
    for about in ("../../x", "trace"):
        assert (
            page.ask("file", about=about, run="" if about == "trace" else "both")[0]["kind"]
            == "failed"
        )


def changed(change) -> bytes:
    data = json.loads(json.dumps(make_trace().to_dict()))
    change(data)
    return json.dumps(data).encode()


BROKEN = {
    "empty": b"",
    "no JSON": b"{",
    "another thing": b'{"stacks": []}',
    "deep": b"[" * 200_000,
    "half a file": make_trace().to_bytes()[:-40],
    "no gzip": b"\x1f\x8b" + b"x" * 100,
    "newer": changed(lambda d: d.update(schema=99)),
    "no prompt": changed(lambda d: d["meta"].pop("prompt")),
    "a text for a time": changed(lambda d: d["meta"].update(wall_ns="long")),
    "a text for a temperature": changed(
        lambda d: d["meta"].update(sampling={"temperature": "hot"})
    ),
    "a list for the sampling": changed(lambda d: d["meta"].update(sampling=[1])),
    "a list for the device": changed(lambda d: d["meta"].update(device=[1])),
    "a text for the models": changed(lambda d: d["meta"].update(models="x")),
    "a text for a plain speed": changed(
        lambda d: d["meta"].update(plain={"tokens_per_second": "x"})
    ),
    "token ids that are none": changed(lambda d: d["meta"].update(prompt_ids=["a"])),
    "a token id beyond all vocabularies": changed(
        lambda d: d["tokens"]["token_id"].__setitem__(0, 2**40)
    ),
    "an endless limit": changed(lambda d: d["meta"].update(max_new_tokens=float("inf"))),
    "no number": changed(lambda d: d["tokens"]["p"].__setitem__(0, float("nan"))),
    "half a character": changed(lambda d: d["tokens"]["text"].__setitem__(0, "\ud800")),
    "a huge number": changed(lambda d: d["tokens"]["p"].__setitem__(0, 10**400)),
    "a round that is its own parent": changed(
        lambda d: d["rounds"]["parent"].__setitem__(0, d["rounds"]["id"][0])
    ),
    "a token too many": changed(lambda d: d["tokens"]["index"].__setitem__(0, 7)),
    "no tokens": Trace(make_trace().meta).to_bytes(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_one_sentence(page, what):
    message, _ = page.ask("open", [("broken.json.gz", BROKEN[what])])
    said = message["message"]
    assert message["kind"] == "failed"
    assert said.startswith("broken.json.gz")
    assert len(said) < 200
    assert "\n" not in said
    assert message["details"] == ""
    assert page.app.trace is None
    if what == "newer":
        assert "update hsd_viz" in said


def test_a_file_that_is_too_large_is_refused(page, monkeypatch):
    monkeypatch.setattr(run_data, "MAX_UNPACKED", 1_000_000)
    message, _ = page.ask("open", [("bomb.json.gz", gzip.compress(b" " * 30_000_000))])
    assert (
        message["message"]
        == "bomb.json.gz is too large: the maximum for a file of its size is 1 MB unpacked"
    )
    monkeypatch.setattr(run_data, "MOST_TOKENS", 2)
    with pytest.raises(ValueError, match=r"has \d+ tokens, prompt included; the maximum is 2"):
        run_data.read_trace(make_trace().to_bytes(), "long.json.gz")


def test_a_comparison_is_saved_as_a_page(page):
    runs = [run_data.snapshot(load_bundled(name), name) for name in ("databases", "hierarchy")]
    message, (content,) = page.ask("file", about="comparison", options={"runs": runs})
    assert message["name"].startswith("hsd_viz_compare_")
    assert b"hsd-content" in content
    assert (
        "select two or three"
        in page.ask("file", about="comparison", options={"runs": runs[:1]})[0]["message"]
    )


# --- the models of a page -------------------------------------------------------------------------


def test_the_engine_is_loaded_with_the_first_run_and_again_for_another_device(monkeypatch):
    loaded = []

    def load(options):
        loaded.append(options)
        return Engine()

    monkeypatch.setattr("hsd_viz.engine.local.LocalEngine.of", load)
    page = Page(monkeypatch, loads_its_engine=True)
    assert loaded == []
    for dtype, times in ((None, 1), (None, 1), ("float32", 2)):
        assert page.ask("decode", request=REQUEST | {"dtype": dtype})[0]["kind"] == "done"
        assert len(loaded) == times
    assert loaded[0].target == "target"
    assert loaded[0].allow_models is False
    assert loaded[1].dtype == "float32"


def test_a_real_run_with_its_plain_runs_beside_it(monkeypatch):
    pytest.importorskip("tokenizers")
    page = Page(monkeypatch, loads_its_engine=True)
    request = REQUEST | {"stack": "db > nano > target", "max_new_tokens": 8, "beside_plain": True}
    message, _ = page.ask("decode", request=request)
    assert message["kind"] == "done", message
    assert message["head"]["meta"]["plain"]["tokens_per_second"] > 0
    assert len(page.app.trace) == 8
    assert page.app.trace.meta["stack_resolved"] == "db > nano:4 > target"


def test_hostile_text_travels_as_data_and_names_are_plain(page):
    stack = 'nano:4 > "../../etc/passwd" > target'
    trace = make_trace(prompt="</script><!--", device_name="<b>", stack=stack, stack_resolved=None)
    change_row(trace, "tokens", 0, text="</script>")
    run = json.loads(page.ask("open", [("x.json.gz", trace.to_bytes())])[1][0])
    assert run["tokens"]["text"][0] == "</script>"
    assert run["meta"]["device_name"] == "<b>"
    saved, _ = page.ask("file", about="page", run=run["run"])
    assert saved["name"] == "hsd_viz_nano-4-etc-passwd-target_20260102030405.html"


def test_the_page_gets_the_families_and_the_form_of_the_chosen_one():
    about = hsd.dashboard(family="smollm2").about
    assert column(about["families"], "name") == ["code", "smollm2"]
    assert about["family"] == "smollm2"
    assert about["models"] == ["nano", "target"]
    assert about["form"]["prompt"] == "Why is the sky blue?"
    assert about["form"]["chat"] is True
    assert hsd.dashboard().about["family"] == "code"


def test_a_page_of_an_engine_offers_its_own_family(page):
    assert column(page.app.about["families"], "name") == ["code"]


def test_an_engine_decodes_its_own_family_only(page):
    message, _ = page.ask("decode", request=REQUEST | {"family": "smollm"})
    assert "unknown family 'smollm'" in message["message"]
