"""The lessons of the course without a kernel: a page each, and a deck of slides. All in one file,
offline.

Cells are run when the page is made. Views are interactive; answers to questions are folded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hsd_viz.disk import write_inside
from hsd_viz.exercises import CheckResult, Exercise, editions
from hsd_viz.exercises.editions import CellOutput, run, solutions
from hsd_viz.figures import save
from hsd_viz.results.page import template
from hsd_viz.text import escape
from hsd_viz.views.export import Exported, content_of, document, parts_of
from hsd_viz.views.page_data import STATIC
from hsd_viz.views.view import as_widget

#: The height of a figure on a slide, in pixels: text and outputs of its section fit on 720 of them,
#: too.
_SLIDE_FIGURE = 310
_STYLE = (STATIC / "page_lessons.css").read_text(encoding="utf-8")


class LessonWriter:
    """Makes HTML of steps; ``parts`` are the views that it places."""

    def __init__(self) -> None:
        from markdown_it import MarkdownIt

        # The masters are part of the package; they contain HTML of their own.
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table").render
        self.parts: list[Any] = []

    def shown(self, step: CellOutput) -> str:
        """Return what a cell printed, and its value; folded where a question asks for it."""
        printed = f"<pre tabindex=0>{escape(step.printed.rstrip())}</pre>" if step.printed else ""
        content = printed + self.value(step.value)
        return _html("folded", content) if step.text.startswith(editions.GUESS) else content

    def value(self, value: Any) -> str:
        """Return the value of a cell; "" for one that has nothing to show on a page."""
        if isinstance(value, CheckResult):
            return tries(value.exercise)
        if isinstance(value, Exported) or _is_figure(value):
            before = len(self.parts)
            self.parts += parts_of(as_widget(value))
            places = "".join(
                f'<div class="view" id="view-{k}"></div>' for k in range(before, len(self.parts))
            )
            return f"<figure>{places}</figure>" if _is_figure(value) else places
        if hasattr(value, "_repr_html_"):
            return f'<div class="table" tabindex="0">{value._repr_html_()}</div>'
        return "" if value is None else f"<pre tabindex=0>{escape(value)}</pre>"


def _is_figure(value: Any) -> bool:
    return hasattr(value, "to_plotly_json")


def _html(macro: str, *given: Any) -> str:
    return str(getattr(template("lessons.html").module, macro)(*given)).strip()


def tries(exercise: Exercise) -> str:
    """Return some cases of an exercise as fields that say whether their value is right, without a
    script, and its hints. Only exact values of the function itself have fields: no measured number,
    and no law of a program.
    """
    cases = list(islice(exercise.cases(), 300))
    cases = cases[len(cases) // 8 :: max(1, len(cases) // 4)][:4]
    name = solutions()[exercise.number].name
    exact = all(case.description.startswith(f"{name}(") and _exact(case.expected) for case in cases)
    return _html(
        "tries",
        [(case.description, _pattern(case.expected)) for case in cases if exact],
        exercise.hints,
    )


def _exact(value: Any) -> bool:
    return isinstance(value, (int, Fraction)) or (
        isinstance(value, list) and all(map(_exact, value))
    )


def _pattern(value: Any) -> str:
    """Return a regular expression of the ways to write a value."""
    if isinstance(value, bool):
        return f"{value}|{str(value).lower()}|{'yes' if value else 'no'}"
    if isinstance(value, list):
        return rf"\[?{' *, *'.join(f'({_pattern(item)})' for item in value)}\]?"
    decimal = f"{float(value):g}"
    ways = dict.fromkeys([str(value), *([decimal] if Fraction(decimal) == value else [])])
    return "|".join(way.replace(".", "\\.") for way in ways)


def title_of(path: Path) -> str:
    """Return the title of a master."""
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def add_figures(notebook: Path, master: Path) -> None:
    """Store each figure of a student notebook as SVG in its output, for pages that run nothing, as
    GitHub's. Needs kaleido and a browser (:func:`hsd_viz.figures.save`).
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell, step in zip(content["cells"], run(master), strict=True):
        if _is_figure(step.value):
            with TemporaryDirectory() as folder:
                picture = save(step.value, Path(folder) / "figure.svg").read_text(encoding="utf-8")
            data = {"image/svg+xml": [picture], "text/plain": [str(step.value.layout.title.text)]}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    drawn = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_inside(notebook.parent, notebook.name, drawn)


#: Links to a dashboard on the reader's own machine, a paragraph each.
_TOUR = re.compile(r"^\[Tour\]\(http://127\.0\.0\.1:[^\n]*\n?", re.M)


#: Runs a lesson: returns its cells with their outputs.
Runner = Callable[[Path], Iterable[CellOutput]]


def each_once() -> Runner:
    """Return a runner that runs each lesson once, for all pages and slides that show it."""
    return cache(lambda path: list(run(path)))


def page(
    path: Path, others: Sequence[Path] = (), slides: str = "", runner: Runner | None = None
) -> str:
    """Return a lesson as a page.

    Args:
        path: of the lesson.
        others: all lessons, linked as pages of the same folder; with them, links to a dashboard on
            the reader's own machine are left out.
        slides: the file of the deck, linked, too.
        runner: runs the lesson.
    """
    writer = LessonWriter()
    cells = []
    for step in (runner or run)(path):
        if step.text != editions.COLAB:
            cells.append(_cell(writer, step, tour=not others))
    links = [(f"{other.stem}.html", title_of(other)) for other in others]
    body = _html("page", "\n".join(cells), title_of(path), links, slides)
    return document(content_of(writer.parts), body, title_of(path), style=_STYLE)


def _cell(writer: LessonWriter, step: CellOutput, *, tour: bool) -> str:
    if step.kind == "markdown":
        return writer.markdown(step.text if tour else _TOUR.sub("", step.text))
    if isinstance(step.value, CheckResult):
        # Its fields check an answer here; the cell checks a function in the notebook.
        return writer.shown(step)
    if editions.UNSOLVED in step.text:
        return _html("task", step.text.replace(editions.UNSOLVED, "..."))
    shown = writer.shown(step)
    # Code is below what it shows; a cell that only prepares others shows nothing.
    return f"{shown}\n{_html('code', step.text)}" if shown else ""


def deck(paths: Sequence[Path] | None = None, runner: Runner | None = None) -> str:
    """Return slides of lessons (default: all) as one page, a screen each: Space or Page Down shows
    the next one.

    A slide is a section of a lesson with all that its cells show, or its summary; exercises are
    left out. ``runner`` runs the lessons.
    """
    paths = paths or editions.masters()
    writer = LessonWriter()
    slides = []
    for path in paths:
        for slide in _slides(writer, path, runner or run):
            slides.append((path.stem[0], slide))
    body = _html("deck", [(path.stem[0], title_of(path)) for path in paths], slides)
    return document(content_of(writer.parts), body, "Speculative decoding, hands on", style=_STYLE)


def _slides(writer: LessonWriter, path: Path, runner: Runner) -> Iterator[str]:
    slides: list[str] = []
    for step in runner(path):
        if step.kind == "markdown":
            for part in re.split(r"\n(?=## )", step.text):
                html = writer.markdown(part)
                if part.startswith(("#", "**What to take home")):
                    slides.append(html)
                else:
                    slides[-1] += html
        else:
            if _is_figure(step.value):
                # A copy: the page of the lesson shows the figure at its own height.
                figure = deepcopy(step.value)
                figure.update_layout(height=_SLIDE_FIGURE, margin={"t": 60, "b": 50})
                step = step._replace(value=figure)
            slides[-1] += writer.shown(step)
    title = f"<small>{escape(title_of(path))}</small>"
    yield from (
        slide.replace("<h2>", f"<h2>{title}", 1) for slide in slides if "<h2>Exercise" not in slide
    )
