"""A plan from the page: what it takes, what it asks of the planner, and what the Hierarchy tab shows of it."""

from __future__ import annotations

import pytest

from hsd_viz.bench import plan as planner
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.controls import Request
from hsd_viz.views.plan_run import MOST_STACKS, PlanRun
from hsd_viz.views.section_hierarchy import HERE, HierarchySection
from hsd_viz.views.suite_field import OWN

OPTIONS = {"max_new_tokens": 8, "temperature": 0.7, "top_k": 0, "top_p": 1.0, "seed": 5, "rule": "token"}


class Host:
    model_names = ("nano", "small", "target")
    engine: object = None

    def hold(self) -> bool:
        return True

    def release(self) -> None: ...

    def lend_engine(self) -> object:
        return self.engine

    def request(self) -> Request:
        return Request("go", "db > target", OPTIONS)


def started(form: PlanRun) -> PlanRun:
    form.start.click()
    if form.thread is not None:
        form.thread.join(300)
    return form


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("some/model > target", "need `hsd-viz dashboard --allow-models`"),
        ("db > > target", "is empty"),
        ("db > small", "a plan has one target"),
        ("\n".join(["db > target"] * (MOST_STACKS + 1)), "the maximum is"),
    ],
)
def test_a_bad_stack_is_one_line_and_nothing_starts(text, words):
    form = PlanRun(Host(), lambda basis: None)
    form.stacks.value = text
    started(form)
    assert words in form.notice.message and "\n" not in form.notice.message and form.thread is None


def test_a_plan_has_the_sampling_of_the_form_and_what_was_chosen(monkeypatch):
    asked = []
    monkeypatch.setattr(planner, "plan", lambda engine, suite, request, **_: asked.append((suite, request)))
    form = PlanRun(Host(), lambda basis: None)
    form.suite.menu.value, form.prompts.value, form.measured.value = "python", 4, 2
    form.stacks.value = "nano:4 > target\n"
    assert started(form).notice.message == "" and "no results" in form.said.value
    ((suite, request),) = asked
    assert suite.name == "python" and (request.limit, request.measured) == (4, 2)
    assert request.stacks == ("nano:4 > target",)
    assert (request.sampling.temperature, request.sampling.seed) == (0.7, 5)
    form.suite.menu.value = OWN
    assert "no suite" in started(form).notice.message


@pytest.mark.slow
def test_a_real_plan_is_shown_by_the_hierarchy_tab(monkeypatch, tmp_path):
    from hsd_viz.engine.local import load_engine

    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path))
    page = Dashboard()
    section = next(s for s in page.tabs.panels if isinstance(s, HierarchySection))
    section.open()
    host = Host()
    host.engine = load_engine(device="cpu", threads=1)
    section.plan._page = host
    section.plan.prompts.value, section.plan.tokens.value, section.plan.measured.value = 2, 8, 1
    started(section.plan)
    assert section.plan.said.value == "Calibrated.", section.plan.notice.message
    assert section.source.value == HERE and section._basis is section._planned
    assert section._basis.temperature == 0.7 and set(section._basis.measured) >= {"target"}
