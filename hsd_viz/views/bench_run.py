"""A small bench on the page: a few prompts of a suite, stacks in alternation, in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from hsd_viz.stack import HFStack, parse, parse_bench
from hsd_viz.views.controls import Prose, allowed
from hsd_viz.views.number_field import NumberField
from hsd_viz.views.suite_field import SuiteField
from hsd_viz.views.work_form import Host, MeasureForm, refuse_remote

if TYPE_CHECKING:
    from hsd_viz.bench import Report

STACKS = ("db > target", "hd > target", "lookup > target")
#: Limits that keep a measurement to minutes on a slow machine.
MOST_STACKS, MOST_PROMPTS, MOST_TOKENS, MOST_REPEATS = 6, 12, 128, 3


def read_request(text: str, names: Sequence[str] | None) -> list[str]:
    """Parse the stacks of ``text``, one per line.

    Raises: ValueError: if there are none, too many, or one is not allowed.
    """
    written = [line.strip() for line in text.splitlines() if line.strip()]
    if not written:
        raise ValueError("no stacks: write one per line")
    if len(written) > MOST_STACKS:
        raise ValueError(f"{len(written)} stacks; the maximum is {MOST_STACKS}")
    for line in written:
        if isinstance(parse_bench(line), HFStack):
            raise ValueError(f"'{line}' is a transformers loop: measure it with hsd-viz bench")
    stacks = [parse(line) for line in written]
    for stack in stacks:
        allowed(stack, names)
    return list(map(str, stacks))


def measure(
    engine: Any,
    stacks: Sequence[str],
    suite: str,
    sizes: tuple[int, int, int],
    tell: Callable[[Any], None],
    cancelled: Callable[[], bool],
) -> Report | None:
    """Run a small bench on a suite; return ``None`` if cancelled before all stacks decoded a prompt.

    ``sizes``: prompts, new tokens each, repeats.
    """
    refuse_remote(engine, "hsd-viz bench")
    from hsd_viz.bench import Settings, build_report, load_suite, run_bench
    from hsd_viz.machine import describe

    prompts, tokens, repeats = sizes
    settings = Settings(tokens, repeats=repeats)
    done = run_bench(engine, stacks, load_suite(suite).limited(prompts), settings, progress=tell, cancelled=cancelled)
    if not done.prompts:
        return None
    machine = describe()
    models = engine.models
    facts = {"target": models.target, "padding": models.padding_note, "device": engine.device}
    facts["databases"] = None if engine.databases_folder is None else str(engine.databases_folder)
    return build_report(done, machine, {**facts, "dtype": engine.dtype, "threads": machine["threads"]})


class BenchRun(MeasureForm):
    """The form of a small bench. ``finished(report)`` is called from the worker thread."""

    START = ("Measure", "Decode the prompts with each stack in turn (Ctrl+Enter)")
    CANCEL = ("Stop after the current decode", "cancelling after the current decode")
    TAKEN = "a run is in progress: measure after it ends"
    FAILED = "Measurement failed"

    def __init__(self, host: Host, finished: Callable[[Report], None]) -> None:
        super().__init__(host, STACKS, "Stacks, one per line (plain decoding is added)", rows=4)
        self._finished = finished
        self.suite = SuiteField(lambda error: self.notice.error(error, "Open failed"))
        self.prompts = NumberField(f"Prompts (1–{MOST_PROMPTS})", 4, 1, MOST_PROMPTS, whole=True)
        self.tokens = NumberField(f"Tokens (8–{MOST_TOKENS})", 48, 8, MOST_TOKENS, whole=True)
        self.repeats = NumberField(f"Repeats (1–{MOST_REPEATS})", 1, 1, MOST_REPEATS, whole=True)
        fields = widgets.Box([self.prompts, self.tokens, self.repeats])
        fields.add_class("hsd-fields")
        words = Prose(
            "Greedy decoding of the first prompts of a suite, alternating between kinds of text. The page and its "
            "browser affect the timing; use hsd-viz bench for reliable results."
        )
        self.going(False)
        self.lay_out(words, *self.suite.parts, self.stacks, fields, below=[self.bar])

    def prepare(self) -> Callable[[], str]:
        stacks = read_request(self.stacks.value, self._host.model_names)
        return partial(
            self._measure, stacks, self.suite.value, (self.prompts.value, self.tokens.value, self.repeats.value)
        )

    def _measure(self, stacks: list[str], suite: str, sizes: tuple[int, int, int]) -> str:
        report = measure(self._host.lend_engine(), stacks, suite, sizes, self.tell, self.cancelled)
        if report is None:
            return "Cancelled before every stack had decoded a prompt; no results."
        self._finished(report)
        return "Cancelled. The report has the prompts decoded by every stack." if self.cancelled() else "Measured."
