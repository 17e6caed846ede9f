"""The lessons of the course without a kernel: one page per lesson, and a deck of slides. Each is a
single file that opens offline.

Cells are run when a page is written. Views are interactive; the answer to a prediction is folded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hsd_viz.disk import write_inside
from hsd_viz.exercises import CheckResult, editions
from hsd_viz.exercises.data import Quiz
from hsd_viz.exercises.editions import CellOutput, run
from hsd_viz.exercises.prediction import Prediction
from hsd_viz.figures import save
from hsd_viz.figures.charts import in_common_form
from hsd_viz.figures.lessons import SLIDER
from hsd_viz.text import escape
from hsd_viz.views.export import Exported, content_of, document, parts_of
from hsd_viz.views.lesson_exercises import (
    choice_of,
    exercise_card,
    guess_card,
    parser,
    part,
    question_parts,
)
from hsd_viz.views.page_data import STATIC
from hsd_viz.views.view import Chart

#: Height of a figure on a slide in pixels, so that the text and outputs of its section fit on 720
#: pixels as well.
_SLIDE_FIGURE = 310
_STYLE = (STATIC / "page_lessons.css").read_text(encoding="utf-8")
_SCRIPT = (STATIC / "page_lessons.js").read_text(encoding="utf-8")
#: Beginnings of the text of a section.
_BEGINNINGS = ("#", "**What to take home")
#: The heading of a section that a page folds at its end.
_APPENDIX = "## Appendix: "
#: Matches a fact of the opening: its name, and its text up to the next fact.
_FACT = re.compile(r"\*\*(\w+)\.\*\* (.*?)(?=\s\*\*\w+\.\*\*|\Z)", re.S)


class LessonWriter:
    """Writes the HTML of cells.

    Attributes:
        parts: the views to draw in the HTML.
    """

    def __init__(self) -> None:
        self.markdown = parser().render
        self.phrase = parser().renderInline
        self.parts: list[Any] = []

    def shown(self, step: CellOutput) -> str:
        """Return the output and the value of a cell."""
        printed = f"<pre tabindex=0>{escape(step.printed.rstrip())}</pre>" if step.printed else ""
        return printed + self.value(step.value)

    def value(self, value: Any) -> str:
        """Return the HTML of a cell's value; "" for a value that a page cannot show."""
        if isinstance(value, CheckResult):
            return exercise_card(value.exercise)
        if isinstance(value, Quiz):
            return part("quiz", [question_parts(question) for question in value])
        if isinstance(value, Exported) or _is_figure(value):
            return self._views(value)
        if hasattr(value, "to_numpy"):
            return _table(value)
        if hasattr(value, "_repr_html_"):
            return f'<div class="table" tabindex="0">{value._repr_html_()}</div>'
        return "" if value is None else f"<pre tabindex=0>{escape(value)}</pre>"

    def _views(self, value: Any) -> str:
        """Return the elements into which the page's script draws a view or a figure."""
        before = len(self.parts)
        if _is_figure(value):
            chart = Chart(in_common_form(value))
            # A reader reads a figure: its tools are in the notebook.
            chart.config = {**chart.config, "displayModeBar": False}
            self.parts.append(chart)
        else:
            self.parts += parts_of(value)
        places = "".join(
            f'<div class="view" id="view-{k}"></div>' for k in range(before, len(self.parts))
        )
        return f"<figure>{places}</figure>" if _is_figure(value) else places


def _is_figure(value: Any) -> bool:
    return hasattr(value, "to_plotly_json")


#: Matches a number of a table, with its unit.
_NUMBER = re.compile(r"[−+-]?\d[\d.,]*( ?[%×]| [A-Za-zµ]{1,4})?|-|✓|✗")


def _table(frame: Any) -> str:
    """Return a data frame as a table. A named index becomes the first column."""
    if frame.index.name:
        frame = frame.reset_index()
    columns = []
    for name in frame.columns:
        cells = [_as_text(value) for value in frame[name]]
        columns.append((str(name), cells, all(map(_NUMBER.fullmatch, cells))))
    rows = list(zip(*(cells for _, cells, _ in columns), strict=True))
    return part("table", [(name, is_number) for name, _, is_number in columns], rows)


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "✓" if value else "✗"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def title_of(path: Path) -> str:
    """Return the title of a master."""
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def add_figures(notebook: Path, master: Path) -> None:
    """Store each figure of a student notebook as SVG in its output, for pages that do not run
    notebooks, such as GitHub's. Needs kaleido and a browser (:func:`hsd_viz.figures.save`).
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell, step in zip(content["cells"], run(master), strict=True):
        if _is_figure(step.value):
            figure = in_common_form(step.value)
            with TemporaryDirectory() as folder:
                picture = save(figure, Path(folder) / "figure.svg").read_text(encoding="utf-8")
            data = {"image/svg+xml": [picture], "text/plain": [str(figure.layout.title.text)]}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    drawn = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_inside(notebook.parent, notebook.name, drawn)


#: Matches paragraphs with a link to a dashboard on the reader's machine.
_TOUR = re.compile(r"^\[Tour\]\(http://127\.0\.0\.1:[^\n]*\n?", re.M)


#: A function that runs a lesson and returns its cells with their outputs.
Runner = Callable[[Path], Iterable[CellOutput]]


def each_once() -> Runner:
    """Return a runner that caches outputs, so that each lesson runs once for all pages and
    slides.
    """
    return cache(lambda path: list(run(path)))


def page(
    path: Path, others: Sequence[Path] = (), slides: str = "", runner: Runner | None = None
) -> str:
    """Return a lesson as a page.

    Args:
        path: of the lesson.
        others: all lessons, linked as pages of the same folder, which has their notebooks, too;
            with them, links to a dashboard on the reader's own machine are left out.
        slides: the file of the deck, linked, too.
        runner: runs the lesson.
    """
    writer = LessonWriter()
    steps = [step for step in (runner or run)(path) if step.text != editions.COLAB]
    opening, *sections = _sections(steps)
    title, facts, text = _opening(writer, opening[0])
    exercises = sum(isinstance(step.value, CheckResult) for step in steps)
    written = [part("opening", title, facts, exercises), text]
    written.append(_section(writer, opening[1:], tour=not others))
    last = []
    for section in sections:
        heading, _, rest = section[0].text.partition("\n")
        if heading.startswith(_APPENDIX):
            section[0] = section[0]._replace(text=rest)
            content = _section(writer, section, tour=not others)
            last.append(part("appendix", heading.removeprefix(_APPENDIX), content))
        else:
            written.append(_section(writer, section, tour=not others))
    about = part("about", facts, exercises, path.stem if others else "")
    last.append(part("appendix", "About this lesson, and its notebook", about))
    links = [(f"{other.stem}.html", title_of(other)) for other in others]
    content = "\n".join([*written, *last])
    body = part("page", content, title_of(path), links, slides, _SCRIPT)
    return document(content_of(writer.parts), body, title_of(path), style=_STYLE)


def _sections(steps: Iterable[CellOutput]) -> Iterator[list[CellOutput]]:
    """Yield the cells of each section; the first one of a section begins with its heading."""
    section: list[CellOutput] = []
    for step in steps:
        texts = re.split(r"\n(?=## )", step.text) if step.kind == "markdown" else [step.text]
        for text in texts:
            if section and step.kind == "markdown" and text.startswith(_BEGINNINGS):
                yield section
                section = []
            section.append(step._replace(text=text))
    yield section


def _opening(writer: LessonWriter, step: CellOutput) -> tuple[str, dict[str, str], str]:
    """Return the title of a lesson, its facts by name, and the text before its first cell."""
    title, facts, *rest = step.text.split("\n\n", 2)
    words_of_fact = {}
    for name, words in _FACT.findall(facts):
        words_of_fact[name] = writer.phrase(" ".join(words.split()))
    return title.lstrip("# "), words_of_fact, writer.markdown("\n\n".join(rest))


def _section(writer: LessonWriter, section: Sequence[CellOutput], *, tour: bool) -> str:
    """Return a section; what follows a prediction is folded with its answers."""
    is_exercise = bool(section) and section[0].text.startswith("## Exercise")
    section = _as_asked(_without_task(section))
    written = []
    for k, step in enumerate(section):
        if isinstance(step.value, Prediction):
            folded = [part("code", step.text)]
            folded += [_cell(writer, later, tour=tour) for later in section[k + 1 :]]
            written.append(guess_card(step.value, "\n".join(folded)))
            break
        if is_exercise and _is_given(step):
            written.append(part("task", step.text, True))
            continue
        written.append(_cell(writer, step, tour=tour))
    return "\n".join(written)


def _without_task(section: Sequence[CellOutput]) -> list[CellOutput]:
    """Return the cells of a section; of an exercise that is a line to choose without the function
    to write.
    """
    has_choice = any(
        isinstance(step.value, CheckResult) and choice_of(step.value.exercise) for step in section
    )
    return [step for step in section if not (has_choice and editions.UNSOLVED in step.text)]


def _as_asked(section: Sequence[CellOutput]) -> Sequence[CellOutput]:
    """Return the cells of a section; the task of an exercise is the question of a page, without the
    other texts of the task.
    """
    for step in section:
        if isinstance(step.value, CheckResult) and step.value.exercise.question.asked:
            heading, *rest = section
            title, _, _ = heading.text.partition("\n")
            question = f"{title}\n\n{step.value.exercise.question.asked}\n"
            cells = [step for step in rest if step.kind == "code"]
            return [heading._replace(text=question), *cells]
    return section


def _is_given(step: CellOutput) -> bool:
    """Return whether a cell defines a function that its exercise is about."""
    is_definition = step.kind == "code" and step.text.startswith("def ")
    return is_definition and editions.UNSOLVED not in step.text


def _cell(writer: LessonWriter, step: CellOutput, *, tour: bool) -> str:
    if step.kind == "markdown":
        return writer.markdown(step.text if tour else _TOUR.sub("", step.text))
    if isinstance(step.value, CheckResult | Quiz):
        # On a page, fields check the answers; the cell's check of a function is for notebooks.
        return writer.shown(step)
    if editions.UNSOLVED in step.text:
        return part("task", step.text.replace(editions.UNSOLVED, "..."))
    shown = writer.shown(step)
    # Code is below its output; a cell without output, which prepares others, is left out.
    return f"{shown}\n{part('code', step.text)}" if shown else ""


def deck(paths: Sequence[Path] | None = None, runner: Runner | None = None) -> str:
    """Return the slides of lessons (default: all) as one page with a screen per slide; Space or
    Page Down shows the next one.

    A slide is a section of a lesson with the outputs of its cells, or the summary. Exercises are
    left out. ``runner`` runs the lessons.
    """
    paths = paths or editions.masters()
    writer = LessonWriter()
    slides = []
    for path in paths:
        for slide in _slides(writer, path, runner or run):
            slides.append((path.stem[0], slide))
    body = part("deck", [(path.stem[0], title_of(path)) for path in paths], slides)
    return document(content_of(writer.parts), body, "Speculative decoding, hands on", style=_STYLE)


def _slides(writer: LessonWriter, path: Path, runner: Runner) -> Iterator[str]:
    title = f"<small>{escape(title_of(path))}</small>"
    for section in _sections(step for step in runner(path) if step.text != editions.COLAB):
        if not section[0].text.startswith("## Exercise"):
            slide = _slide(writer, section)
            slide = slide.replace(f"<h2>{_APPENDIX.lstrip('# ')}", "<h2>", 1)
            yield slide.replace("<h2>", f"<h2>{title}", 1)


def _slide(writer: LessonWriter, section: Sequence[CellOutput]) -> str:
    """Return a section as a slide; what follows a prediction is folded with its answers."""
    shown = []
    for k, step in enumerate(section):
        if isinstance(step.value, Prediction):
            folded = _slide(writer, section[k + 1 :])
            shown.append(part("folded", step.value, folded))
            break
        if step.kind == "markdown":
            shown.append(writer.markdown(step.text))
            continue
        if _is_figure(step.value):
            # Copy, since the page of the lesson shows the figure at its original height.
            figure = deepcopy(in_common_form(step.value))
            height = _SLIDE_FIGURE + (SLIDER if figure.layout.sliders else 0)
            step = step._replace(value=figure.update_layout(height=height))
        shown.append(writer.shown(step))
    return "".join(shown)
