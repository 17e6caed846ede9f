"""The engine of a page: loaded with the first run, its families and forms."""

from __future__ import annotations

import json

import pytest

import hsd_viz as hsd
from hsd_viz.views.app.server import ENGINE_URL
from tests.changes import change_row
from tests.rows import column
from tests.views.fake_page import REQUEST, Engine, Page
from tests.views.make_trace import make_trace


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
    assert about["form"]["stack"] == "db > target", "the fastest of the project's reports"
    assert column(about["families"], "stack") == ["nano:4 > target", "db > target"]
    assert hsd.dashboard().about["family"] == "code"


def test_a_page_whose_engine_is_a_server_has_the_family_of_its_command(monkeypatch):
    monkeypatch.setenv(ENGINE_URL, "http://127.0.0.1:1")
    page = hsd.dashboard(family="smollm2")
    assert page.about["family"] == "smollm2"
    assert column(page.about["families"], "name") == ["smollm2"]
    assert page.about["form"]["prompt"] == "Why is the sky blue?"


def test_a_page_of_an_engine_offers_its_own_family(page):
    assert column(page.app.about["families"], "name") == ["code"]


def test_an_engine_decodes_its_own_family_only(page):
    message, _ = page.ask("decode", request=REQUEST | {"family": "smollm"})
    assert "unknown family 'smollm'" in message["message"]
