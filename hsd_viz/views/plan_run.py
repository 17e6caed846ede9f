"""``hsd-viz plan`` on the page: calibrate this machine, and measure the stacks that the law ranks best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import ipywidgets as widgets

from hsd_viz.figures.latency_sources import Basis, basis_of, plan_measured
from hsd_viz.stack import parse
from hsd_viz.views.controls import Prose, Request, allowed
from hsd_viz.views.number_field import NumberField
from hsd_viz.views.suite_field import SuiteField
from hsd_viz.views.work_form import Host, MeasureForm, refuse_remote

if TYPE_CHECKING:
    from hsd_viz.bench.plan import Plan, PlanRequest

#: Limits that keep a plan to minutes on a slow machine.
MOST_PROMPTS, MOST_TOKENS, MOST_MEASURED, MOST_STACKS = 24, 128, 8, 6


class PlanHost(Host, Protocol):
    """A page that lends its engine and reads its form."""

    def request(self) -> Request: ...


class PlanRun(MeasureForm):
    """The form of a plan. ``finished(basis)`` is called from the worker thread: calibration and measurements."""

    START = ("Calibrate", "Decode the prompts with short stacks, then rank all stacks by the law (Ctrl+Enter)")
    CANCEL = ("Stop after the current decode", "cancelling after the current decode")
    TAKEN = "a run is in progress: calibrate after it ends"
    FAILED = "Calibration failed"

    def __init__(self, host: PlanHost, finished: Callable[[Basis], None]) -> None:
        super().__init__(host, (), "More stacks to predict and measure, one per line (optional)", rows=2)
        self._page, self._finished = host, finished
        self.suite = SuiteField(lambda error: self.notice.error(error, "Open failed"))
        self.prompts = NumberField(f"Prompts (1–{MOST_PROMPTS})", 6, 1, MOST_PROMPTS, whole=True)
        self.tokens = NumberField(f"Tokens (8–{MOST_TOKENS})", 48, 8, MOST_TOKENS, whole=True)
        self.measured = NumberField(f"Best stacks to measure (0–{MOST_MEASURED})", 3, 0, MOST_MEASURED, whole=True)
        fields = widgets.Box([self.prompts, self.tokens, self.measured])
        fields.add_class("hsd-fields")
        words = Prose(
            "As hsd-viz plan: measures costs and acceptance of the models here, with temperature and seed of the form, "
            "and stores them for two weeks. It takes minutes; a stored calibration of the same prompts is used "
            "again. The page and its browser affect the timing."
        )
        self.going(False)
        self.lay_out(words, *self.suite.parts, fields, self.stacks, below=[self.bar])

    def prepare(self) -> Callable[[], str]:
        from hsd_viz.bench.plan import PlanRequest, Sampling

        written = [line.strip() for line in self.stacks.value.splitlines() if line.strip()]
        if len(written) > MOST_STACKS:
            raise ValueError(f"{len(written)} stacks; the maximum is {MOST_STACKS}")
        stacks = tuple(str(allowed(parse(line), self._page.model_names)) for line in written)
        options = dict(self._page.request().options)
        sampling = Sampling(*(options[name] for name in ("temperature", "top_k", "top_p", "seed", "rule")))
        request = PlanRequest(
            stacks=stacks,
            measured=self.measured.value,
            limit=self.prompts.value,
            repeats=1,
            max_new_tokens=self.tokens.value,
            sampling=sampling,
        )
        return partial(self._plan, request, self.suite.value)

    def _plan(self, request: PlanRequest, suite: str) -> str:
        from hsd_viz.bench.plan import plan
        from hsd_viz.prompts.suites import load_suite

        engine: Any = self._page.lend_engine()
        refuse_remote(engine, "hsd-viz plan")
        found = plan(engine, load_suite(suite), request, progress=self.tell, cancelled=self.cancelled)
        if found is None:
            return "Cancelled before the first prompt was calibrated on; no results."
        self._finished(basis_of_plan(found))
        return "Calibrated." if found.complete else "Cancelled. The calibration has the prompts decoded so far."


def basis_of_plan(found: Plan) -> Basis:
    """Return a plan's calibration with its measurements."""
    from hsd_viz.bench.plan_report import report
    from hsd_viz.calibration.store import to_dict
    from hsd_viz.machine import describe

    return replace(basis_of(to_dict(found.stored)), measured=plan_measured(report(found, describe())))
