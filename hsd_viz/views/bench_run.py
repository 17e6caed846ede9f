"""A small bench on the page: a few prompts of a bundled suite, stacks in alternation, in a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.stack import HFStack, parse, parse_bench
from hsd_viz.views.controls import Prose, allowed
from hsd_viz.views.number_field import NumberField
from hsd_viz.views.work_form import Host, WorkForm

if TYPE_CHECKING:
    from hsd_viz.bench import Report

STACKS = ("db > target", "hd > target", "lookup > target")
#: Limits that keep a measurement to minutes on a slow machine.
MOST_STACKS, MOST_PROMPTS, MOST_TOKENS, MOST_REPEATS = 6, 12, 128, 3
#: Seconds between progress updates.
EVERY = 0.2


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
    """Run a small bench on a bundled suite; return ``None`` if cancelled before all stacks decoded a prompt.

    ``sizes``: prompts, new tokens each, repeats.
    """
    if isinstance(engine, RemoteEngine):
        raise ValueError("this page decodes on a server that others use as well: measure there with `hsd-viz bench`")
    from hsd_viz.bench import Settings, build_report, load_suite, run_bench
    from hsd_viz.machine import describe

    prompts, tokens, repeats = sizes
    settings = Settings(tokens, repeats=repeats)
    done = run_bench(engine, stacks, load_suite(suite).limited(prompts), settings, progress=tell, cancelled=cancelled)
    if not done.prompts:
        return None
    machine = describe()
    models = engine.models
    facts = {"target": models.target, "padding": models.padding_note, "databases": None, "device": engine.device}
    return build_report(done, machine, {**facts, "dtype": engine.dtype, "threads": machine["threads"]})


class BenchRun(WorkForm):
    """The form of a small bench. ``finished(report)`` is called from the worker thread."""

    START = ("Measure", "Decode the prompts with each stack in turn (Ctrl+Enter)")
    CANCEL = ("Stop after the current decode", "cancelling after the current decode")
    TAKEN = "a run is in progress: measure after it ends"
    FAILED = "Measurement failed"

    def __init__(self, host: Host, finished: Callable[[Report], None]) -> None:
        from hsd_viz.prompts.suites import SHIPPED

        super().__init__(host, STACKS, "Stacks, one per line (plain decoding is added)", rows=4)
        self._finished, self._told = finished, 0.0
        # Names from a list, never a path: the page may only read bundled suites.
        self.suite = widgets.Dropdown(options=list(SHIPPED), description="Suite")
        self.about = Prose(SHIPPED[self.suite.value])
        self.suite.observe(lambda change: setattr(self.about, "value", SHIPPED[change["new"]]), "value")
        self.prompts = NumberField(f"Prompts (1–{MOST_PROMPTS})", 4, 1, MOST_PROMPTS, whole=True)
        self.tokens = NumberField(f"Tokens (8–{MOST_TOKENS})", 48, 8, MOST_TOKENS, whole=True)
        self.repeats = NumberField(f"Repeats (1–{MOST_REPEATS})", 1, 1, MOST_REPEATS, whole=True)
        self.bar = widgets.IntProgress(0, 0, 1)
        self.bar.add_class("hsd-progress")
        fields = widgets.Box([self.prompts, self.tokens, self.repeats])
        fields.add_class("hsd-fields")
        words = Prose(
            "Greedy decoding of the first prompts of a suite, alternating between kinds of text. The page and its "
            "browser affect the timing; use hsd-viz bench for reliable results."
        )
        self.going(False)
        self.lay_out(words, self.suite, self.about, self.stacks, fields, below=[self.bar])

    def prepare(self) -> Callable[[], str]:
        stacks = read_request(self.stacks.value, self._host.model_names)
        return partial(
            self._measure, stacks, self.suite.value, (self.prompts.value, self.tokens.value, self.repeats.value)
        )

    def _measure(self, stacks: list[str], suite: str, sizes: tuple[int, int, int]) -> str:
        report = measure(self._host.lend_engine(), stacks, suite, sizes, self._tell, self.cancelled)
        if report is None:
            return "Cancelled before every stack had decoded a prompt; no results."
        self._finished(report)
        return "Cancelled. The report has the prompts decoded by every stack." if self.cancelled() else "Measured."

    def _tell(self, progress: Any) -> None:
        now = time.monotonic()
        if self.cancelled() or now - self._told < EVERY:
            return
        self._told = now
        self.bar.max, self.bar.value = max(1, progress.total), progress.done
        doing = progress.note or (
            f"{progress.stack} on {progress.prompt}" if progress.prompt else f"{progress.stack}, warming up"
        )
        self.said.value = f"{progress.done} of {progress.total} decodes: {doing}"

    def going(self, going: bool) -> None:
        super().going(going)
        self.bar.layout.display = None if going else "none"
        self.bar.value = 0
