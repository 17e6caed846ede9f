"""The folded part of the form: what it takes, what it refuses and how, and the engine that a run then has."""

from __future__ import annotations

from typing import ClassVar

import pytest
from make_trace import make_trace

from hsd_viz.engine import local
from hsd_viz.engine.replay import ReplayEngine
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.more import Machine, More

LADDER = ("nano", "small", "target")


class Engine:
    asked: ClassVar[list] = []

    def decode(self, prompt, stack, **options):
        Engine.asked.append(options)
        return ReplayEngine(pace=0).replay(make_trace(prompt=prompt))


@pytest.fixture
def loaded(monkeypatch):
    """The options of the engines that were loaded."""
    Engine.asked, found = [], []
    monkeypatch.setattr(local, "load_engine", lambda **options: found.append(options) or Engine())
    return found


def run(page) -> None:
    page.controls.run.click()
    assert page._run.join(30), "the run has not ended"


def test_what_is_refused_names_the_way():
    more = More(LADDER, True)
    assert more.machine(None, None) == Machine()
    more.target.value = "owner/model"
    with pytest.raises(
        ValueError, match=r"use nano, small, target; other models need `hsd-viz dashboard --allow-models`"
    ):
        more.machine(None, None)
    more.target.value, more.databases.value = "small", "/somewhere"
    with pytest.raises(ValueError, match="`hsd-viz dashboard --allow-models`"):
        more.machine(None, None)
    free = More(None, True)
    free.target.value, free.databases.value = "owner/model", "/somewhere"
    assert free.machine("cpu", None) == Machine("cpu", None, "owner/model", "/somewhere")


def test_a_run_has_the_target_the_databases_and_the_chat_template(loaded):
    page = Dashboard(allow_models=True)
    more = page.controls.more
    more.target.value, more.databases.value = "small", "/my/databases"
    run(page)
    more.chat.value = True
    run(page)
    assert len(loaded) == 1, "the engine stays while its options do"
    assert {k: loaded[0][k] for k in ("target", "databases", "allow_models")} == {
        "target": "small",
        "databases": "/my/databases",
        "allow_models": True,
    }
    assert "chat" not in Engine.asked[0] and Engine.asked[-1]["chat"] is True
    more.databases.value = ""
    page.lend_engine()
    assert len(loaded) == 2 and loaded[1]["databases"] is None, "measurements have the form's engine, too"


def test_a_given_engine_has_its_own_target_and_databases():
    shown = Dashboard(engine=Engine()).controls.more.fields.children
    assert [field.description for field in shown] == ["Chat: format the prompt by the target's chat template"]


def test_it_is_folded_until_it_is_set_and_comes_back_with_the_form():
    page = Dashboard(engine=Engine())
    more = page.controls.more
    assert more.fields.layout.display == "none"
    page.controls.restore({**page.controls.state(), "chat": True, "target": 7})
    assert more.fold.value and more.fields.layout.display is None and more.target.value == "target"
    assert page.controls.request().options["chat"] is True
    page.controls.fill(make_trace(prompt="x").meta)
    assert more.chat.value is False, "as the run was decoded"
