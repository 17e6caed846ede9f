"""A static site: an article with live decoding in the reader's tab, recorded runs, races, lessons and reports.

Any web server or file share serves it, with no headers of its own; all addresses are relative. Opened as files it shows
what was recorded: browsers let no page of a folder start a worker or read other files.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import write_whole
from hsd_viz.engine import tab
from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.exercises.data import measured
from hsd_viz.latency.hardware import Machine, gpu_of, shape_of
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.export import run_page, runs_page
from hsd_viz.views.page_data import STATIC, about, recorded_runs, report_of, sampling_words, saved_reports, template

#: A file in each site, so that only a site is ever replaced.
MARK = ".hsd-viz-site"
#: Built from ``js/site`` and ``js/tab``.
_SCRIPTS = ("site.js", "site.css", "tab-worker.js", "hsd-viz.js", "page.css")
#: Where verification is nearly free: one card, weights of one byte, and models of 70, 8 and 1 billion parameters.
_GPU, _WEIGHTS, _CONTEXT, _WIDEST = "H200", "fp8", 2048, 64
_MODELS = {"target": "llama-70b", "small": "llama-8b", "nano": "llama-1b"}


class Page(NamedTuple):
    """A page of the site: its file relative to the index, and what the index says about it."""

    file: str
    title: str
    content: Callable[[], str]
    stack: str = ""
    text: str = ""
    figures: str = ""


def sections() -> list[tuple[str, str, list[Page]]]:
    """Return title, description and pages of each section: the recordings, the lessons and the project's reports."""
    return [
        ("Runs", "One run each: text, rounds, draft trees and timeline.", list(_runs())),
        ("Races", "The same prompt with several stacks, on one clock.", list(_races())),
        ("Lessons", "The course, with its figures and recorded runs.", list(_lessons())),
        ("Measurements", "Benchmarks with intervals, machine and settings.", list(_reports())),
    ]


def build(out: Path, say: Callable[[str], None] = lambda text: None) -> int:
    """Write the site to a folder, which is created or replaced, and return its size in bytes.

    Raises:
        ValueError: if the folder exists and is not a site of this command.
    """
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / MARK).is_file())):
        raise ValueError(f"{out} exists and is not a site made by this command: give a new or empty folder")
    found = sections()
    out.parent.mkdir(parents=True, exist_ok=True)
    # In a temporary folder beside it first: the site appears whole or not at all.
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        draft = Path(folder) / "new"
        for title, _, pages in found:
            for page in pages:
                say(f"{title}: {page.title}")
                write_whole(draft / page.file, page.content())
        say("Runtime: models, databases")
        _copy_runtime(draft)
        say("Explorer: recordings")
        for name, load in recorded_runs().items():
            run = run_data.snapshot(load(), f"recordings/{name}")
            write_whole(draft / "recordings" / f"{name}.json", json.dumps(run))
        write_whole(draft / "explore.html", _template("explore.html", about()))
        write_whole(draft / "index.html", _template("site.html", _data(), sections=found))
        write_whole(draft / MARK, "")
        if out.exists():
            out.rename(Path(folder) / "old")
        draft.rename(out)
    return sum(file.stat().st_size for file in out.rglob("*") if file.is_file())


def _template(name: str, data: dict[str, Any], **given: Any) -> str:
    from markupsafe import Markup

    # No text can close the element that holds the data.
    return template(name).render(data=Markup(json.dumps(data).replace("<", "\\u003c")), **given)


def _copy_runtime(out: Path) -> None:
    """Copy the page's scripts, and what its worker reads, with a manifest of it."""
    for name in _SCRIPTS:
        shutil.copyfile(STATIC / name, out / name)
    (out / "runtime").mkdir()
    for name, path in tab.files().items():
        shutil.copyfile(path, out / "runtime" / name)
    write_whole(out / "runtime" / "manifest.json", json.dumps(tab.manifest()))


def _data() -> dict[str, Any]:
    """Return what the article's scenes need besides the runtime and the page's data: costs, predicted for a GPU."""
    machine = Machine(gpu_of(_GPU))
    costs = {
        name: [
            machine.step_ms(shape_of(model), tokens=m, context=_CONTEXT, weights=_WEIGHTS)
            for m in range(1, _WIDEST + 1)
        ]
        for name, model in _MODELS.items()
    }
    return {
        **about(),
        "gpu": {"words": f"one {_GPU} with {_WEIGHTS} weights", "models": _MODELS, "milliseconds": costs},
        "native": {name: measured(f"curves-{name}-cpu")["milliseconds"]["native"] for name in _MODELS},
    }


def _runs() -> Iterator[Page]:
    for recording in bundled():
        trace = load_bundled(recording.name)
        yield Page(
            f"runs/{recording.name}.html",
            recording.title,
            lambda trace=trace: run_page(trace),
            recording.stack,
            recording.blurb,
            _figures(trace),
        )


def _races() -> Iterator[Page]:
    for folder in sorted(path for path in SIDE_BY_SIDE.iterdir() if path.is_dir()):
        names = [r.name for r in bundled(folder) if r.name in ("plain", "databases", "both")]
        title = f"Plain decoding, databases, and databases below a draft model ({folder.name})"
        if len(names) > 1:
            race = lambda f=folder, n=names: runs_page([load_bundled(name, f) for name in n])
            yield Page(f"races/{folder.name}.html", title, race)


def _lessons() -> Iterator[Page]:
    from hsd_viz.exercises import editions
    from hsd_viz.views.lessons import page, title_of

    masters = editions.masters()
    for path in editions.notebooks():
        text = path.read_text(encoding="utf-8").partition("**Goal.**")[2].partition("\n")[0].strip()
        yield Page(f"lessons/{path.stem}.html", title_of(path), lambda p=path: page(p, masters), text=text)


def _reports() -> Iterator[Page]:
    from hsd_viz.bench.page import page

    for title, path in saved_reports().items():
        report = report_of(path.read_bytes(), path.name)
        yield Page(f"reports/{path.stem}.html", title, lambda r=report: page(r))


def _figures(trace: Trace) -> str:
    metrics = trace.metrics()
    length = metrics["mean_acceptance_length"]
    sampling = sampling_words(trace.meta.get("sampling") or {})
    facts = [f"{metrics['tokens']} tokens", sampling, length and f"{length:.2f} tokens per target forward pass"]
    return " · ".join(fact for fact in facts if fact)
