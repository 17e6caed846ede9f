"""A small bench from the page: a few prompts of a shipped suite, a few stacks, taken in turns in a worker thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets as widgets

from hsd_viz.stack import parse
from hsd_viz.views.controls import Prose, allowed
from hsd_viz.views.notice import Notice

STACKS = ("db > target", "hd > target", "lookup > target")
#: What a page measures at the most: minutes, not hours, on a slow machine.
MOST_STACKS, MOST_PROMPTS, MOST_TOKENS, MOST_REPEATS = 6, 12, 128, 3
#: Seconds between two updates of the progress.
EVERY = 0.2


class Host(Protocol):
    """The page that a bench runs on: it lends its engine, and starts nothing else meanwhile.

    ``model_names`` are the models allowed (``None``: any). ``hold()`` is false while a run goes on.
    """

    @property
    def model_names(self) -> Sequence[str] | None: ...

    def hold(self) -> bool: ...

    def release(self) -> None: ...

    def lend_engine(self) -> Any: ...


def read_request(text: str, names: Sequence[str] | None) -> list[str]:
    """The stacks of ``text``, one a line. Raises ``ValueError`` with one sentence."""
    written = [line.strip() for line in text.splitlines() if line.strip()]
    if not written:
        raise ValueError("write the stacks to measure, one a line")
    if len(written) > MOST_STACKS:
        raise ValueError(f"{len(written)} stacks are more than this page measures at once: write {MOST_STACKS} at the most")
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
) -> dict[str, Any] | None:
    """The report of a small bench on the shipped suite of that name; ``None`` where it was cancelled before all stacks had decoded a
    prompt. ``sizes``: prompts, new tokens each, repeats."""
    from hsd_viz.bench import Settings, build_report, load_suite, run_bench
    from hsd_viz.bench.machine import describe

    prompts, tokens, repeats = sizes
    settings = Settings(tokens, repeats=repeats)
    done = run_bench(engine, stacks, load_suite(suite).limited(prompts), settings, progress=tell, cancelled=cancelled)
    if not done.prompts:
        return None
    machine = describe()
    models = engine.models
    facts = {"target": models.target, "padding": models.padding_note, "databases": None, "device": engine.device}
    return build_report(done, machine, {**facts, "dtype": engine.dtype, "threads": machine["threads"]})


class BenchRun(widgets.VBox):
    """The form, its buttons and its progress. ``finished(report)`` is called, from the worker thread, with what was measured."""

    def __init__(self, host: Host, finished: Callable[[dict[str, Any]], None]) -> None:
        from hsd_viz.bench.suites import SHIPPED

        self._host, self._finished = host, finished
        self._stop = threading.Event()
        self._told = 0.0
        self.thread: threading.Thread | None = None
        self.notice = Notice()
        self.stacks = widgets.Textarea("\n".join(STACKS), description="Stacks, one a line (plain decoding is added)", rows=4)
        self.stacks.add_class("hsd-code")
        self.stacks.add_class("hsd-lines")
        # Names from a list, never a path: what a page may read is what comes with the package.
        self.suite = widgets.Dropdown(options=list(SHIPPED), description="Suite")
        self.about = Prose(SHIPPED[self.suite.value])
        self.suite.observe(lambda change: setattr(self.about, "value", SHIPPED[change["new"]]), "value")
        self.prompts = widgets.BoundedIntText(4, min=1, max=MOST_PROMPTS, description=f"Prompts (1–{MOST_PROMPTS})")
        self.tokens = widgets.BoundedIntText(48, min=8, max=MOST_TOKENS, description=f"Tokens (8–{MOST_TOKENS})")
        self.repeats = widgets.BoundedIntText(1, min=1, max=MOST_REPEATS, description=f"Repeats (1–{MOST_REPEATS})")
        self.start = widgets.Button(description="Measure", tooltip="Decode the prompts with each stack in turn")
        self.start.add_class("hsd-primary")
        self.cancel = widgets.Button(description="Cancel", tooltip="Stop after the decode in progress", disabled=True)
        self.bar = widgets.IntProgress(0, 0, 1)
        self.bar.add_class("hsd-progress")
        self.said = Prose()
        self._going(False)
        fields = widgets.Box([self.prompts, self.tokens, self.repeats])
        fields.add_class("hsd-fields")
        buttons = widgets.Box([self.start, self.cancel])
        buttons.add_class("hsd-buttons")
        words = Prose(
            "Greedy, on the first prompts of a suite, from each kind of text in turn. Timed while this page and its browser "
            "run: for figures to rely on, hsd-viz bench measures more prompts, alone and repeatedly."
        )
        super().__init__([words, self.suite, self.about, self.stacks, fields, buttons, self.said, self.bar, self.notice])
        for name in ("hsd-form", "hsd-measure"):
            self.add_class(name)
        self.start.on_click(self.notice.guard(self._on_start))
        self.cancel.on_click(self.notice.guard(self._on_cancel))

    def _on_start(self, _button: Any) -> None:
        self.notice.clear()
        stacks = read_request(self.stacks.value, self._host.model_names)
        if not self._host.hold():
            raise ValueError("a run goes on: measure when it has ended")
        self._stop.clear()
        self._going(True)
        self.said.value = "loading the models"
        sizes = (self.prompts.value, self.tokens.value, self.repeats.value)
        self.thread = threading.Thread(target=self._work, args=(stacks, self.suite.value, sizes), name="hsd-viz bench", daemon=True)
        self.thread.start()

    def _on_cancel(self, _button: Any) -> None:
        self._stop.set()
        self.said.value = "cancelling: the decode in progress goes to its end"

    def _work(self, stacks: list[str], suite: str, sizes: tuple[int, int, int]) -> None:
        said = ""
        try:
            engine = self._host.lend_engine()
            report = measure(engine, stacks, suite, sizes, self._tell, self._stop.is_set)
            if report is None:
                said = "Cancelled before every stack had decoded a prompt: nothing was measured."
            else:
                self._finished(report)
                said = "Cancelled: the report has the prompts that every stack had decoded by then." if self._stop.is_set() else "Measured."
        except Exception as error:  # shown as a card: nobody else hears of it
            self.notice.error(error, "That cannot be measured")
        finally:
            self.said.value = said
            self._going(False)
            self._host.release()

    def _tell(self, progress: Any) -> None:
        now = time.monotonic()
        if self._stop.is_set() or now - self._told < EVERY:
            return
        self._told = now
        self.bar.max, self.bar.value = max(1, progress.total), progress.done
        doing = progress.note or (f"{progress.stack} on {progress.prompt}" if progress.prompt else f"{progress.stack}, warming up")
        self.said.value = f"{progress.done} of {progress.total} decodes: {doing}"

    def _going(self, going: bool) -> None:
        self.start.disabled, self.cancel.disabled = going, not going
        self.bar.layout.display = None if going else "none"
        self.bar.value = 0
