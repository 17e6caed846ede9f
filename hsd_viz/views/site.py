"""Builds the static site: an article with live decoding in the reader's tab, recorded runs, races,
lessons and reports.

Any web server or file share can serve it: it needs no special headers, and all addresses are
relative. Opened as files, it only shows recordings, since browsers forbid such pages to start
workers or read other files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import followed, write_whole
from hsd_viz.engine import tab
from hsd_viz.engine.tab_family import write_family
from hsd_viz.errors import UserError
from hsd_viz.exercises import editions
from hsd_viz.exercises.data import measured
from hsd_viz.latency.cards import gpu_of
from hsd_viz.latency.configs import shape_of
from hsd_viz.latency.hardware import Machine
from hsd_viz.measure.bench.report import read_report
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.models.families import DEFAULT, Family, find_family
from hsd_viz.results.page import template
from hsd_viz.settings.spelling import spelled
from hsd_viz.stack import TARGET
from hsd_viz.terminal import Status, ignore_status
from hsd_viz.views import lessons, run_data
from hsd_viz.views.export import document
from hsd_viz.views.page_data import STATIC, about, offered, recorded_runs, saved_reports

#: Name of a file that marks a site, so that no other folder is ever replaced.
MARK = ".hsd-viz-site"
RECORDINGS = "recordings.html"
#: Scripts and styles of the site, built from ``js/``.
_SCRIPTS = ("elements.js", "site.js", "site.css", "tab-worker.js", "hsd-viz.js", "page.css")
#: The game before its first pass, as ``<template>`` elements per text and language; built from
#: ``js/``.
_BOARDS = "first_boards.html"
#: The script that shows one of them; it is in the page itself, so that the first paint waits for no
#: request.
_SHOW_BOARD = "show_board.js"
#: Data of the page that the article does not use.
_UNUSED = ("suites", "recordings", "races")
#: A machine on which verification is nearly free: one card, weights of one byte, and models of 70,
#: 8 and 1 billion parameters.
_GPU = "H200"
_WEIGHTS = "fp8"
_CONTEXT = 2048
_WIDEST = 64
_MODELS = {TARGET: "llama-70b", "small": "llama-8b", "nano": "llama-1b"}
_ABOUT_RUNS = (
    "Recorded: text, rounds, draft trees and timeline. Bars: the speed; the line across them is "
    "plain decoding."
)
#: Links from a report to other pages of the site.
_REPORT_LINKS = (
    ("../index.html", "All pages"),
    ("../index.html#game", "Play: beat the drafter"),
    (f"../{RECORDINGS}?tab=compare", "Compare recorded runs"),
)


class Page(NamedTuple):
    """A link of the index.

    Attributes:
        file: its address in the site.
        title: its title.
        text: its description.
        content: the function that writes its page; ``None``: the page is written elsewhere.
        speedup: of a recorded run, its measured speed-up over plain decoding, if it has one.
    """

    file: str
    title: str
    text: str
    content: Callable[[], str] | None = None
    speedup: float | None = None


def sections() -> list[tuple[str, str, list[Page]]]:
    """Return the title, the description and the pages of each section: recordings, lessons and
    reports of the project.
    """
    runs = [
        Page(f"{RECORDINGS}?trace={name}", one.title, one.blurb, speedup=one.speedup)
        for name, one in offered().items()
    ]
    runs.append(
        Page(
            f"{RECORDINGS}?tab=compare",
            "Runs of one prompt",
            "Several stacks, side by side and on one clock.",
        )
    )
    masters = editions.masters()
    runner = lessons.each_once()
    taught = []
    measurements = []
    for path in editions.notebooks():
        goal = path.read_text(encoding="utf-8").partition("**Goal.**")[2].partition("\n")[0].strip()
        content = partial(lessons.page, path, masters, "slides.html", runner)
        taught.append(Page(f"lessons/{path.stem}.html", lessons.title_of(path), goal, content))
    about_slides = "All lessons, to project: figures, recorded runs, questions."
    slides = partial(lessons.deck, masters, runner)
    taught.append(Page("lessons/slides.html", "Slides", about_slides, slides))
    for title, path in saved_reports().items():
        report = BenchResult(read_report(path.read_bytes(), path.name))
        content = partial(report.to_html, links=_REPORT_LINKS)
        measurements.append(Page(f"reports/{path.stem}.html", title, "", content))
    return [
        ("Runs", _ABOUT_RUNS, runs),
        ("Lessons", "The course, with its figures and recorded runs.", taught),
        ("Measurements", "Benchmarks with intervals, machine and settings.", measurements),
    ]


def build(
    out: Path,
    progress: Status = ignore_status,
    families: Sequence[str | Family] = (),
) -> int:
    """Write the site to a folder, which is created or replaced, and return its size in bytes.

    If ``out`` is a symbolic link, the folder that it points to is replaced. Visitors can download
    ``families``, in addition to the shipped models, and decode with them in their tabs.

    Raises:
        UserError: if the folder exists and is not a site, or a family is not installed.
    """
    chosen = [find_family(family) for family in families]
    for family in chosen:
        if family.name == DEFAULT:
            raise UserError(
                f"the family {DEFAULT} is on each site: it needs no {spelled('family')}"
            )
        family.path(family.names[-1])
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / MARK).is_file())):
        raise UserError(
            f"{out} exists and is not a site made by this command: give a new or empty folder"
        )
    chapters = sections()
    out = followed(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Write to a temporary folder beside it first, so that the site appears complete or not at all.
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        draft = Path(folder) / "new"
        for title, _, pages in chapters:
            for page in pages:
                if page.content is not None:
                    progress(f"{title}: {page.title}")
                    write_whole(draft / page.file, page.content())
        editions.write(draft / "lessons", "student")
        offers = _write_families(draft, chosen, progress)
        _write_explorer(draft, progress, article=True, offers=offers)
        index = template("site.html").render(
            data=_data() | {"offers": offers},
            boards=(STATIC / _BOARDS).read_text(encoding="utf-8"),
            show_board=_inline_script(STATIC / _SHOW_BOARD),
            sections=chapters,
        )
        write_whole(draft / "index.html", index)
        write_whole(draft / MARK, "")
        _replace(out, draft, Path(folder) / "old")
    return sum(file.stat().st_size for file in out.rglob("*") if file.is_file())


def _inline_script(path: Path) -> dict[str, str]:
    """Return a script to include in a page, with the hash by which its policy allows it."""
    script = path.read_text(encoding="utf-8").strip()
    digest = hashlib.sha256(script.encode()).digest()
    return {"script": script, "hash": base64.b64encode(digest).decode()}


def _replace(out: Path, draft: Path, old: Path) -> None:
    """Move ``draft`` to ``out``, and what was there to ``old``; if interrupted, move it back."""
    try:
        if out.exists():
            out.rename(old)
        draft.rename(out)
    except BaseException:
        if old.exists() and not out.exists():
            old.rename(out)
        raise


def build_explorer(out: Path, progress: Status = ignore_status) -> None:
    """Write only the explorer, with the runtime that decodes in a tab, to an empty folder."""
    _write_explorer(out, progress, article=False, offers=[])
    shutil.copyfile(out / "explore.html", out / "index.html")


def _write_families(
    out: Path, families: Sequence[Family], progress: Status
) -> list[dict[str, Any]]:
    """Write the files of each family; return the names, titles and sizes of the families."""
    offers = []
    for family in families:
        progress(f"Runtime: {family.name}")
        size = write_family(family, out / "runtime" / family.name)
        offers.append({"family": family.name, "title": family.title, "bytes": size})
    return offers


def _write_explorer(
    out: Path, progress: Status, article: bool, offers: Sequence[dict[str, Any]]
) -> None:
    """Write the explorer, its runtime and its recordings; with ``article``, link to the article."""
    progress("Runtime: models, databases")
    (out / "runtime").mkdir(parents=True, exist_ok=True)
    for name in _SCRIPTS:
        shutil.copyfile(STATIC / name, out / name)
    for name, path in tab.files().items():
        shutil.copyfile(path, out / "runtime" / name)
    write_whole(out / "runtime" / "manifest.json", json.dumps(tab.manifest()))
    progress("Explorer: recordings")
    runs = {
        name: run_data.snapshot(load(), f"recordings/{name}")
        for name, load in recorded_runs().items()
    }
    for name, run in runs.items():
        write_whole(out / "recordings" / f"{name}.json", json.dumps(run))
    # The same page with all recordings included, which can be opened as a file.
    content = {"about": about(), "runs": runs}
    all_runs = document(content, '<main class="hsd-page"></main>', "Recorded runs")
    write_whole(out / RECORDINGS, all_runs)
    data = about() | {"offers": offers}
    if article:
        data["lessons"] = f"lessons/{editions.notebooks()[0].stem}.html"
    page = template("explore.html").render(data=data, article=article)
    write_whole(out / "explore.html", page)


def _data() -> dict[str, Any]:
    """Return the data of the article's scenes besides that of the page: costs predicted for a
    GPU.
    """
    machine = Machine(gpu_of(_GPU))
    costs: dict[str, list[float]] = {}
    for name, model in _MODELS.items():
        shape = shape_of(model)
        costs[name] = []
        for tokens in range(1, _WIDEST + 1):
            step = machine.step_ms(shape, tokens=tokens, context=_CONTEXT, weights=_WEIGHTS)
            costs[name].append(step)
    used = {name: value for name, value in about().items() if name not in _UNUSED}
    return {
        **used,
        "bytes": sum(path.stat().st_size for path in tab.files().values()),
        "gpu": {
            "words": f"one {_GPU} with {_WEIGHTS} weights",
            "models": _MODELS,
            "milliseconds": costs,
        },
        "native": {
            name: measured(f"curves-{name}-cpu")["milliseconds"]["native"] for name in _MODELS
        },
    }
