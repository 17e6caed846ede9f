"""The tab Your traffic: a log of another server, replayed with any drafter. No model runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets
import traitlets

from hsd_viz import figures
from hsd_viz.stack import parse
from hsd_viz.tables import sentence
from hsd_viz.views.blocks import spelled_out
from hsd_viz.views.chart import Chart
from hsd_viz.views.controls import Prose
from hsd_viz.views.drop_file import DropFile
from hsd_viz.views.notice import Notice
from hsd_viz.views.reports import table_spec
from hsd_viz.views.save import Save
from hsd_viz.views.save_forms import Form, SavedFile
from hsd_viz.views.scripts import Part
from hsd_viz.views.section import Page, Section
from hsd_viz.views.work_form import Host, WorkForm

if TYPE_CHECKING:
    from hsd_viz.logs.report import ReplayReport

#: Largest log and tokenizer, bytes; larger logs are for the command.
MOST_LOG, MOST_TOKENIZER = 500_000_000, 50_000_000
#: Seconds between progress updates, and steps of the bar.
EVERY, STEPS = 0.2, 1000
LADDER, IDS, OWN = "target", "", "own"
TOKENIZERS = (("the ladder's, with its databases", LADDER), ("none: token ids", IDS), ("another model's file", OWN))
COSTS = (("0.15 steps per token (small CPU)", "cpu"), ("free up to 16 tokens (GPU with room)", "free16"))
STATES = (("cold: each request alone", "cold"), ("warm: learn from all requests", "warm"), ("both", "both"))
HINT = (
    "JSON lines or one array, also .gz, up to 500 MB: prompt and output as text or token ids, OpenAI chat logs, AIPerf "
    "raw records, ShareGPT."
)


class ReplayForm(WorkForm):
    """The form of a replay. ``finished(report)`` is called from the worker thread."""

    START = ("Replay", "Count the forward passes that each drafter would have needed (Ctrl+Enter)")
    CANCEL = ("Stop and keep what was replayed", "cancelling")
    TAKEN = "a run is in progress: replay after it ends"
    FAILED = "Replay failed"

    def __init__(self, host: Host, finished: Callable[[ReplayReport], None]) -> None:
        from hsd_viz.logs.replay import DRAFTERS

        super().__init__(host, DRAFTERS, "Drafters, one per line", rows=len(DRAFTERS))
        self._finished, self._told = finished, 0.0
        self._log: Path | None = None
        self._own: Path | None = None
        refuse = lambda error: self.notice.error(error, "Open failed")
        self.file = DropFile("Open a log", HINT, ".jsonl,.json,.gz", MOST_LOG, self._on_log, refuse)
        self.tokenizer = widgets.Dropdown(options=TOKENIZERS, value=LADDER, description="Tokenizer of the log")
        hint = "The tokenizer.json of the log's model."
        self.own = DropFile("Open a tokenizer", hint, ".json", MOST_TOKENIZER, self._on_tokenizer, refuse)
        self.costs = widgets.Dropdown(options=COSTS, description="Cost of verifying a draft")
        self.state = widgets.Dropdown(options=STATES, description="suffix and ngram-cache")
        self.bar = widgets.IntProgress(0, 0, STEPS)
        self.bar.add_class("hsd-progress")
        fields = widgets.Box([self.tokenizer, self.costs, self.state])
        fields.add_class("hsd-fields")
        self.tokenizer.observe(lambda change: self._show_own(change["new"]), "value")
        self._show_own(LADDER)
        self.going(False)
        names = Prose(spelled_out(parse(f"{name} > target") for name in DRAFTERS))
        self.lay_out(self.file, fields, self.own, self.stacks, names, below=[self.bar])

    def _show_own(self, chosen: str) -> None:
        self.own.layout.display = None if chosen == OWN else "none"

    def _on_log(self, path: Path) -> None:
        self._log = path
        self.notice.clear()

    def _on_tokenizer(self, path: Path) -> None:
        self._own = path
        self.notice.clear()

    def prepare(self) -> Callable[[], str]:
        names = [line.strip() for line in self.stacks.value.splitlines() if line.strip()]
        if self._log is None or not self._log.exists():
            raise ValueError("no log: drop a file on the field above, or open one")
        if not names:
            raise ValueError("no drafters: write one per line")
        chosen = self.tokenizer.value
        if chosen == OWN and (self._own is None or not self._own.exists()):
            raise ValueError("no tokenizer: open the tokenizer.json of the log's model, or choose another")
        tokenizer = self._own if chosen == OWN else chosen or None
        options = {"drafters": names, "verify_cost": self.costs.value, "state": self.state.value}
        return partial(self._replay, self._log, tokenizer, options)

    def _replay(self, log: Path, tokenizer: str | Path | None, options: dict[str, Any]) -> str:
        from hsd_viz.logs.report import replay

        self.said.value = "reading the log"
        try:
            report = replay(log, tokenizer=tokenizer, progress=self._tell, cancelled=self.cancelled, **options)
        except ModuleNotFoundError as error:
            raise ValueError(f"the package {error.name} is not installed: a log of text needs it") from None
        if not report.drafters:
            return "Cancelled before a request was replayed; no results."
        self._finished(report)
        return "Cancelled. The result has the requests replayed so far." if not report.complete else "Replayed."

    def _tell(self, done: int, size: int, words: str) -> None:
        now = time.monotonic()
        if not self.cancelled() and now - self._told >= EVERY:
            self._told = now
            self.bar.value = round(STEPS * done / max(1, size))
            self.said.value = f"{done / max(1, size):.0%}: {words}"

    def going(self, going: bool) -> None:
        super().going(going)
        self.bar.layout.display = None if going else "none"
        self.bar.value = 0


class ReplayTables(Part):
    """The result of a replay: summary, notes and tables. All text of the log's origin is set as text."""

    view = traitlets.Unicode("tables").tag(sync=True)

    spec = traitlets.Dict().tag(sync=True)

    def __init__(self, report: ReplayReport) -> None:
        # On a narrow page the first table keeps its first columns, ordered by importance.
        tables = [table_spec(replace(table, note=sentence(table.note))) for table in report.tables()]
        tables = [{**table, "folds": not k} for k, table in enumerate(tables)]
        super().__init__(
            spec={
                "answer": [list(part) for part in report.answer()],
                "warnings": [sentence(line) for line in report.notes()],
                "intro": [f"Log {next(report.introduction())}."],
                "tables": tables,
            }
        )


def _page(report: ReplayReport) -> bytes:
    from hsd_viz.tables import page

    return page(f"Replay of {report.log['name']}", report.introduction(), report.tables()).encode("utf-8")


def _json(report: ReplayReport) -> bytes:
    return (json.dumps(report.to_dict(), indent=1) + "\n").encode("ascii")


FORMS = {
    "report": Form("Report", "all values, no text of the log", ".json", "application/json", _json),
    "page": Form("Page", "opens in any browser, offline", ".html", "text/html", _page),
}


class LogsSection(Section):
    follows = False
    words = (
        "What drafters would have brought on your own traffic. Drafts never change a text, so a log of prompts and "
        "outputs is enough: no model runs. The log stays on this machine and is deleted with the page; results hold no "
        "text of it."
    )

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.notice, self.result = Notice(), widgets.VBox()
        self.result.add_class("hsd-views")
        self.shown: ReplayReport | None = None

    def build(self) -> None:
        self.form = ReplayForm(self.page, self.show)  # type: ignore[arg-type]
        self.form.add_class("hsd-wide-form")
        self.chart = Chart()
        self.save = Save(FORMS, self._make, lambda error: self.notice.error(error, "Save failed"), "Save result")
        self.save.add_class("hsd-save-one")
        self.add(self.form, self.notice, self.result)

    def show(self, report: ReplayReport) -> None:
        """Show the result of a replay."""
        self.shown = report
        self.chart.show(figures.replayed(report))
        old = [child for child in self.result.children if isinstance(child, ReplayTables)]
        self.result.children = (ReplayTables(report), self.chart, self.save)
        for widget in old:
            widget.close()

    def _make(self, form: str) -> SavedFile:
        if self.shown is None or form not in FORMS:
            raise ValueError("no result is shown: replay a log to save one")
        kind = FORMS[form]
        return SavedFile(f"hsd_viz_replay{kind.ending}", kind.type, kind.make(self.shown))
