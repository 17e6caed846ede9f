"""The page's widget: what it answers, what it refuses, and that one request is one message or
several of its own id.
"""

from __future__ import annotations

import json
import threading
from itertools import chain

import pytest

import hsd_viz as hsd
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.errors import FAULTS_VARIABLE, UserError
from hsd_viz.views.app.dashboard import MAX_REQUESTS, App
from hsd_viz.views.app.messages import decode_request
from hsd_viz.views.page_data import offered
from tests.patience import PATIENCE
from tests.rows import column
from tests.views.fake_page import REQUEST, Engine, Page
from tests.views.make_trace import make_trace


def test_the_page_knows_what_it_can_show(page):
    about = page.app.about
    assert column(about["recordings"], "name") == [*offered()]
    assert "decode" in page.app.can
    assert set(about["sources"]) >= {"db", "hd", "auto", "lookup"}
    json.dumps(about)


def test_the_page_offers_the_models_of_its_family_or_any(page):
    assert page.app.about["models"] == ["nano", "small", "target"]
    assert App(Engine(), allow_models=True).about["models"] is None


def test_a_dashboard_opens_on_the_trace_that_it_is_given():
    given = hsd.dashboard(make_trace())
    assert given.about["recordings"][0]["name"] == "given"
    assert given.trace.token_ids == make_trace().token_ids


def test_a_dashboard_of_something_else_is_refused():
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
            DecodingOptions(max_new_tokens=4, temperature=0.8, seed=7, rule="token"),
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
        app._decode(
            decode_request({**request, **more}),
            lambda kind, **content: None,
            threading.Event(),
        )
        return app.trace

    root = decoded(prompt="def add(a, b):")
    row = root.token_rows[4]
    other = next(root.pieces[id] for id, _ in row.top if id != row.token_id and id in root.pieces)
    prefix = "def add(a, b):" + "".join(column(root.token_rows[:4], "text")) + other
    branch = decoded(prompt=prefix, parent={"run": "root", "token": 4, "text": other})
    fresh = decoded(prompt=prefix)
    assert branch.token_ids == fresh.token_ids != root.token_ids
    assert column(branch.token_rows, "p") == column(fresh.token_rows, "p")


def test_a_decode_can_be_cancelled_and_keeps_what_it_has(page):
    page.engine.go.clear()
    page.send("decode", request=REQUEST)
    page.wait("begin")
    page.send("cancel")
    page.engine.go.set()
    message, _ = page.wait("done")
    assert page.engine.closed.wait(PATIENCE)
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
    assert message["message"] == "the prompt contains a lone surrogate"
    assert message["details"] == ""
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
    message, _ = page.answer_to(content)
    assert message["kind"] == "failed"
    assert "fault" not in message["message"]


def test_a_page_answers_so_many_requests_at_a_time(page):
    page.engine.go.clear()
    for number in range(MAX_REQUESTS):
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
        ({"temperature": [1]}, "the temperature [1] is not valid: expected a number"),
        ({"top_p": "0.5"}, "top-p 0.5 is not valid: expected a number"),
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
        assert page.answer_to(message)[0]["kind"] == "failed"
