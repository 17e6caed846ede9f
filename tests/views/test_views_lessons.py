"""Lessons without a kernel: a page each, and slides."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hsd_viz import views
from hsd_viz.engine.recordings import GAMES, load_bundled
from hsd_viz.exercises import EXERCISES, editions
from hsd_viz.exercises.data import measured
from hsd_viz.text import escape
from hsd_viz.views import lessons
from hsd_viz.views.lesson_exercises import pattern_of
from tests.rows import column, find, select

MASTERS = editions.masters()


pytestmark = pytest.mark.usefixtures("run_once")


class Outline(HTMLParser):
    """The ids of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids = []
        self.sources = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag in ("script", "link", "img"):
            self.sources += [v for k, v in attrs if k in ("src", "href") and v != "data:,"]


@pytest.fixture(scope="module")
def deck(run_once):
    return lessons.deck()


def test_the_deck_has_each_figure_a_run_a_prediction_and_questions(deck, run_once):
    slides = re.split(r"<section data-lesson=", deck)[1:]
    for n in "123456789":
        own = "".join(slide for slide in slides if slide.startswith(f'"{n}"'))
        assert own.count("<figure>") == len(figures(run_once(MASTERS[int(n) - 1]))), n
        assert own.count('class="view"') >= 1, n
        assert own.count("Show the result") == 1, n
        assert own.count('class="question"') == 3, n
        assert escape(lessons.title_of(MASTERS[int(n) - 1])) in own
        assert "What to take home" in own
        assert "<h2>Exercise" not in own
        assert f'href="#lesson-{n}"' in deck
    outline = Outline(deck)
    assert [source for source in outline.sources if "lesson-" not in source] == []
    assert "default-src 'none'" in deck
    assert len(outline.ids) == len(set(outline.ids))
    assert len(deck) < 1_500_000


def test_a_page_and_slides_share_one_run_and_each_has_its_own_height(run_once, monkeypatch):
    ran = []

    def run(path):
        ran.append(path)
        return run_once(path)

    monkeypatch.setattr(lessons, "run", run)
    runner = lessons.each_once()
    height = first_figure(run_once(MASTERS[0])).layout.height
    lessons.page(MASTERS[0], runner=runner)
    lessons.deck(MASTERS[:1], runner)
    assert ran == MASTERS[:1]
    assert first_figure(run_once(MASTERS[0])).layout.height == height


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_a_slide_shows_all_that_its_text_can_name(path, run_once):
    """Everything that a section prints is on its slide; exercises have none."""
    deck = lessons.deck([path])
    section = ""
    shown = 0
    for step in run_once(path):
        if step.kind == "markdown":
            section = re.findall(r"^##? (.*)", step.text, re.M)[-1:] or [section]
            section = section[0]
        elif not section.startswith("Exercise"):
            if step.printed:
                shown += 1
                assert f"<pre tabindex=0>{escape(step.printed.rstrip())}</pre>" in deck, section
            for cell in texts_of(step.value):
                shown += 1
                assert f"{cell}</td>" in unescape(deck), section
    assert shown


def texts_of(value):
    """The texts in the table of a data frame."""
    if not hasattr(value, "to_numpy"):
        return []
    return [cell for cell in value.to_numpy().ravel() if isinstance(cell, str)]


def test_the_lecture_follows_the_slides_and_leaves_time(deck):
    slides = re.findall(
        r'data-lesson="(\d)"[^>]*><h[12]>(?:<small>.*?</small>)?(.*?)</h[12]>', deck
    )
    for place, (n, name) in enumerate(slides):
        if name == escape(lessons.title_of(MASTERS[int(n) - 1])):
            slides[place] = (n, "title")
    text = (Path(__file__).parents[2] / "docs/tutorial/teach.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| lesson (\d): (.*?) \|", text, re.M)
    places = []
    for _, lesson, names in rows:
        places += [slides.index((lesson, name)) for name in names.split(", ")]
    assert len(places) > 10
    assert places == sorted(places)
    assert f"take {sum(int(minutes) for minutes, *_ in rows)} minutes: 8 are left" in text


def figures(steps):
    """The figures that a lesson draws."""
    return [step.value for step in steps if hasattr(step.value, "to_plotly_json")]


def first_figure(steps):
    """The first figure that a lesson draws."""
    return figures(steps)[0]


def test_titles_state_the_repetition_of_the_recorded_run(run_once):
    two = first_figure(run_once(MASTERS[1]))
    eight = figures(run_once(MASTERS[7]))[-1]
    share = load_bundled("nano", GAMES / "planets").metrics()["repetition_share"]
    assert f"{share:.0%}" in two.layout.title.text
    rows = select(measured("heldout-greedy-cpu")["stacks"], stack="target")
    for trace, row in zip(eight.data, (rows[0], rows[0]["low_repetition"]), strict=True):
        assert trace.name.endswith(f": {row['outputs']}, {row['repetition_share']:.0%} repeated")
    assert list(eight.data[0].y) == list(eight.data[1].y)


def test_the_line_of_lesson_7_is_where_drafting_costs_what_it_adds(run_once):
    [figure] = [drawn for drawn in figures(run_once(MASTERS[6])) if drawn.data[0].type == "heatmap"]
    for alpha, gamma in zip(figure.data[1].x, figure.data[1].y, strict=True):
        assert sum(alpha**k for k in range(1, int(gamma) + 1)) == pytest.approx(0.1 * gamma)


def test_puzzles_are_solved_on_their_page_without_a_script():
    page = lessons.page(editions.notebooks()[-1], MASTERS, "slides.html")
    assert page.count('<div class="tries">') == 12
    assert page.count("<label>") == 4 * 11
    [emitted, *_] = re.findall(
        r"<span>emitted\(drafted=(.*?), accepted=(.*?)\) =</span> .*?pattern=\"(.*?)\">", page
    )
    assert int(emitted[2]) == int(emitted[1]) + 1
    pattern = pattern_of([Fraction(1, 4), 0])
    for given, right in [
        ("[0.25, 0]", True),
        ("1/4,0", True),
        ("[1/4, 1]", False),
        ("[1/40, 0]", False),
    ]:
        assert bool(re.fullmatch(pattern, given)) is right, given
    quarter = pattern_of(Fraction(1, 4))
    third = pattern_of(Fraction(1, 3))
    assert not re.fullmatch(quarter, "0x25")
    assert not re.fullmatch(third, "0.333333")
    assert re.fullmatch(pattern_of(True), "yes")


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_a_page_has_every_cell_its_results_and_links_to_all_lessons(path, run_once):
    page = lessons.page(path, MASTERS)
    assert "127.0.0.1" not in page
    assert "On Colab only" not in page
    has_step = "?tour=" in path.read_text(encoding="utf-8")
    opens_step = "127.0.0.1:8866/?tour=" in lessons.page(path)
    assert opens_step == has_step, "the page that the tour opens"
    at = MASTERS.index(path)
    near = page.split('class="neighbours"')[1].split("</nav>")[0]
    around = []
    for p in MASTERS[max(0, at - 1) : at + 2]:
        if p != path:
            around.append(f"{p.stem}.html")
    assert re.findall(r'href="([^"]+)"', near) == around
    assert len(re.findall(r"Exercise \d\.\d", page)) == path.read_text(encoding="utf-8").count(
        "## Exercise "
    )
    assert "raise NotImplementedError" not in page, "nothing can be replaced on a page"
    assert 'check("' not in page
    assert page.count("<summary>Code</summary>") == page.count('<details class="source">') > 3
    assert "BEGIN SOLUTION" not in page
    assert {f"{p.stem}.html" for p in MASTERS} - {path.stem + ".html"} <= set(
        re.findall(r'href="([^"]+)"', page)
    )
    assert page.count("<figure>") == len(figures(run_once(path)))
    assert "✗ not yet" not in page
    assert page.count("Show the result") == 1
    assert page.count('<div class="tries">') == len(re.findall(r"Exercise \d\.\d", page))
    assert Outline(page).sources == []


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_every_exercise_of_a_lesson_is_a_choice_with_one_right_line(path):
    page = lessons.page(path)
    exercises = page.split('<div class="tries">')[1:]

    assert f"{len(exercises)} exercises, all answered on this page" in page
    for exercise in exercises:
        card = exercise.split("</ol>")[0]
        assert card.count("<mark>?</mark>") == 1
        assert card.count("data-right") == card.count("✓ Yes.") == 1
        assert card.count("✗ No: ") >= 1


def test_handles_of_a_prediction_begin_where_nothing_is_saved(run_once):
    page = lessons.page(MASTERS[0])

    sliders = re.findall(r'value="([\d.]+)" data-place="(\d+)" data-answer="([\d.]+)"', page)
    assert [(float(value), int(place)) for value, place, _ in sliders] == [(2, 2), (8, 8)]
    [data] = re.findall(r'data-curve="(.*?)"', page)
    curve = json.loads(unescape(data))
    measured = {place: value for place, value in curve["measured"]}
    for _, place, answer in sliders:
        assert measured[int(place)] == pytest.approx(float(answer))


def test_a_choice_is_in_words_and_its_code_is_shown_with_the_code():
    page = lessons.page(MASTERS[6])

    card = page.split('<div class="tries">')[1].split("</ol>")[0]
    assert "<span>1 500<code" in card
    assert "✗ No: these are the draft tokens, 400 + 200 + 100." in card
    assert card.count('<code class="for-code">') == 4
    assert card.count('<pre class="code for-code"') == 1
    assert "tokens_per_round(alpha=" not in page


def test_what_most_readers_skip_is_folded_after_the_questions():
    page = lessons.page(MASTERS[0], MASTERS)

    titles = re.findall(r'<details class="appendix"><summary>(.*?)</summary>', page)
    assert titles[-1] == "About this lesson, and its notebook"
    assert {"The words of all lessons", "Recorded runs", "A forward pass, whole"} <= set(titles)
    assert page.index('class="quiz"') < page.index('class="appendix"')
    assert "Appendix" not in page


def test_the_tour_links_to_the_lessons_and_each_of_them_to_its_step():
    """No recording has drafts that stop when unsure, so lesson 9 has no step."""
    stops = json.loads((Path(views.__file__).parent / "tour.json").read_text(encoding="utf-8"))
    steps = {}
    for path in MASTERS:
        steps[path] = re.findall(r"\?tour=(\w+)\)", path.read_text(encoding="utf-8"))
    assert set(column(stops, "lesson")) == set(range(1, 9))
    assert steps.pop(MASTERS[8]) == []
    for path, [key] in steps.items():
        assert find(stops, key=key)["lesson"] == int(path.stem[0])


@pytest.mark.parametrize("number", ["1.1", "3.2", "3.4", "7.2"])
def test_an_exercise_asks_on_a_page_and_gives_a_task_in_the_notebook(number, run_once):
    [path] = [path for path in MASTERS if path.stem[0] == number[0]]
    asked = lessons.LessonWriter().markdown(EXERCISES[number].question.asked)

    section = lessons.page(path).partition(f"<h2>Exercise {number}")[2].partition("<h2>")[0]

    assert "?" in asked
    assert asked.strip() in section
    assert "The check" not in section
    assert EXERCISES[number].question.asked not in path.read_text(encoding="utf-8")
