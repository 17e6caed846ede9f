"""The lessons of the course without a kernel: a page each, and a deck of slides. All in one file, offline.

Cells are run when the page is made. Views are interactive; results of predictions and answers to questions are folded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hsd_viz.card import escape
from hsd_viz.disk import write_whole
from hsd_viz.exercises import Result, editions
from hsd_viz.exercises.editions import Step, steps_of
from hsd_viz.exercises.forms import Guess, Quiz
from hsd_viz.figures.svg import svg
from hsd_viz.views.doors import Doors
from hsd_viz.views.page import document, parts_of
from hsd_viz.views.scripts import STATIC


class Writer:
    """Makes HTML of steps; ``parts`` are the views that it places."""

    def __init__(self) -> None:
        from markdown_it import MarkdownIt

        # The masters are part of the package; they contain HTML of their own.
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self.parts: list[Any] = []

    def markdown(self, text: str) -> str:
        """Return Markdown as HTML."""
        return self._markdown.render(text)

    def value(self, value: Any) -> str:
        """Return the value of a cell; "" for one that has nothing to show on a page."""
        if value is None or isinstance(value, Result):
            return ""
        if isinstance(value, Guess):
            return self._guess(value)
        if isinstance(value, Quiz):
            return "".join(map(self._question, value.questions))
        if isinstance(value, Doors):
            return "".join(map(self._part, parts_of(value)))
        if hasattr(value, "to_plotly_json"):
            return f"<figure>{svg(value, ink='currentColor', paper='none')}</figure>"
        if hasattr(value, "_repr_html_"):
            return f'<div class="table">{value._repr_html_()}</div>'
        return f"<pre>{escape(value)}</pre>"

    def _part(self, part: Any) -> str:
        self.parts.append(part)
        return f'<div class="view" id="view-{len(self.parts) - 1}"></div>'

    def _guess(self, guess: Guess) -> str:
        if guess.guess is None:
            guess.lock(guess.options[0] if guess.options else 0)
        options = "".join(f"<li>{escape(option)}</li>" for option in guess.options)
        question = f'<p class="question">{escape(guess.question)}</p>' + (f"<ul>{options}</ul>" if options else "")
        shown = self.value(guess.revealed)
        return f"{question}<details><summary>Show the result</summary>{shown}</details>"

    def _question(self, question: dict[str, Any]) -> str:
        right = next(answer for answer in question["answers"] if answer.get("correct"))
        choices = question["type"] != "numeric"
        options = "".join(f"<li>{escape(a['answer'])}</li>" for a in question["answers"]) if choices else ""
        answer = right["answer"] if choices else right.get("value", right.get("range"))
        said = f"<p><b>{escape(answer)}</b> {escape(right['feedback'])}</p>"
        asked = f'<p class="question">{escape(question["question"])}</p>' + (f"<ul>{options}</ul>" if options else "")
        return f"{asked}<details><summary>Show the answer</summary>{said}</details>"


def title_of(path: Path) -> str:
    """Return the title of a master."""
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


# --- notebooks --------------------------------------------------------------------------------------------------------


def add_figures(notebook: Path, master: Path) -> None:
    """Store each figure of a student notebook as SVG in its output, for pages that run nothing, as GitHub's."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell, step in zip(content["cells"], steps_of(master), strict=True):
        if hasattr(step.value, "to_plotly_json"):
            data = {"image/svg+xml": [svg(step.value)], "text/plain": [str(step.value.layout.title.text)]}
            cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    write_whole(notebook, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


# --- a page per lesson ------------------------------------------------------------------------------------------------


def page(path: Path, others: Sequence[Path] = ()) -> str:
    """Return a lesson as a page; ``others`` are all lessons, linked as pages of the same folder."""
    writer = Writer()
    body = "\n".join(part for step in steps_of(path) for part in _cells(writer, step))
    links = "".join(
        f"<li>{escape(title_of(p))}</li>"
        if p == path
        else f'<li><a href="{p.stem}.html">{escape(title_of(p))}</a></li>'
        for p in others
    )
    nav = f'<nav><a href="../index.html">All pages</a><ol>{links}</ol></nav>' if others else ""
    body = (
        f'<main class="lesson">{nav}{body}'
        "<footer>To do the exercises: <code>pip install hsd-viz jupyterlab</code>, <code>hsd-viz course copy "
        "my-course</code>, <code>jupyter lab my-course</code>.</footer></main>"
    )
    return document(writer.parts, body, title_of(path), style=_style())


def _cells(writer: Writer, step: Step) -> Iterator[str]:
    if step.kind == "markdown":
        yield writer.markdown(step.text)
        return
    yield f'<pre class="code"><code>{escape(step.text)}</code></pre>'
    if step.printed:
        yield f"<pre>{escape(step.printed.rstrip())}</pre>"
    yield writer.value(step.value)


# --- slides -----------------------------------------------------------------------------------------------------------


def deck(paths: Sequence[Path] | None = None) -> str:
    """Return slides of lessons (default: all) as one page with keyboard control and full screen."""
    paths = editions.masters() if paths is None else list(paths)
    writer = Writer()
    contents = "".join(f"<li>{escape(title_of(path))}</li>" for path in paths)
    slides = [("", f"<h1>Speculative decoding, hands on</h1><ol class='contents'>{contents}</ol>{_KEYS}")]
    for path in paths:
        slides += [(path.stem[0], content) for content in _slides(writer, list(steps_of(path)))]
    sections = "".join(f'<section data-lesson="{n}"><div>{content}</div></section>' for n, content in slides)
    body = f'<main class="deck">{sections}</main>{_CONTROLS}'
    script = (STATIC / "page_lessons.js").read_text(encoding="utf-8")
    return document(writer.parts, body, "Speculative decoding, hands on", style=_style(), run=script)


def _slides(writer: Writer, steps: list[Step]) -> Iterator[str]:
    """Yield the slides of one lesson: title, idea, prediction, recorded run, figure, questions, summary."""
    head, _, idea = steps[0].text.partition("\n\n**Goal.**")
    goal, _, idea = idea.partition("\n\n")
    needs = goal.partition("\n**Before.**")
    minutes = needs[2].partition("**Time.**")[2].partition("**")[0]
    yield f"{writer.markdown(head)}{writer.markdown(needs[0])}<p class='soft'>{escape(minutes)}</p>"
    yield f"<h2>{escape(head.lstrip('# '))}</h2>{writer.markdown(idea)}"
    text = printed = ""
    for step in steps[1:]:
        if step.kind == "markdown":
            *before, text = re.split(r"\n(?=## )", step.text)
            yield from (writer.markdown(part) for part in before if part.startswith("## "))
            printed = ""
        elif isinstance(step.value, Guess | Quiz | Doors) or hasattr(step.value, "to_plotly_json"):
            shown = f"<pre>{escape(printed.rstrip())}</pre>" if printed else ""
            yield f"{writer.markdown(text)}{shown}{writer.value(step.value)}"
            printed = ""
        else:
            printed += step.printed
    yield f'<div class="summary">{writer.markdown(steps[-1].text)}</div>'


_KEYS = (
    "<p class='soft'><kbd>→</kbd> <kbd>Space</kbd> next · <kbd>←</kbd> back · <kbd>1</kbd>–<kbd>8</kbd> lesson · "
    "<kbd>R</kbd> reveal · <kbd>F</kbd> full screen · <kbd>Esc</kbd> leave a view</p>"
)
_CONTROLS = (
    '<nav class="controls"><button id="back" aria-label="Previous slide">←</button><output id="place"></output>'
    '<button id="next" aria-label="Next slide">→</button><button id="full">Full screen</button></nav>'
)


def _style() -> str:
    return (STATIC / "page_lessons.css").read_text(encoding="utf-8")
