"""Lessons without a kernel."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hsd_viz import views
from hsd_viz.engine.replay import load_bundled
from hsd_viz.exercises import editions
from hsd_viz.exercises.data import measured
from hsd_viz.exercises.editions import run
from hsd_viz.views import lessons

MASTERS = editions.masters()


class Outline(HTMLParser):
    """The ids of a page, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.sources = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag in ("script", "link", "img"):
            self.sources += [v for k, v in attrs if k in ("src", "href") and v != "data:,"]


def test_titles_state_the_repetition_of_the_recorded_run():
    [two, eight] = (next(s for s in run(MASTERS[k]) if hasattr(s.value, "to_plotly_json")).value for k in (1, 7))
    share = load_bundled("one-draft").metrics()["repetition_share"]
    assert f"{share:.0%}" in two.layout.title.text
    rows = [r for r in measured("heldout-greedy-cpu")["stacks"] if r["stack"] == "target"]
    for trace, row in zip(eight.data, (rows[0], rows[0]["low_repetition"]), strict=True):
        assert trace.name.endswith(f": {row['outputs']}, {row['repetition_share']:.0%} repeated")
    assert list(eight.data[0].y) == list(eight.data[1].y)


def test_the_line_of_lesson_7_is_where_drafting_costs_what_it_adds():
    figure = next(s.value for s in run(MASTERS[6]) if hasattr(s.value, "to_plotly_json"))
    for alpha, gamma in zip(figure.data[1].x, figure.data[1].y, strict=True):
        assert sum(alpha**k for k in range(1, int(gamma) + 1)) == pytest.approx(0.1 * gamma)


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_a_page_has_every_cell_its_results_and_links_to_all_lessons(path):
    page = lessons.page(path, MASTERS)
    assert "127.0.0.1" not in page and "On Colab only" not in page
    assert "127.0.0.1:8866/?tour=" in lessons.page(path), "the page that the tour opens"
    at = MASTERS.index(path)
    near = page.split('class="neighbours"')[1].split("</nav>")[0]
    assert re.findall(r'href="([^"]+)"', near) == [
        f"{p.stem}.html" for p in MASTERS[max(0, at - 1) : at + 2] if p != path
    ]
    assert len(re.findall(r"Exercise \d\.\d", page)) == path.read_text(encoding="utf-8").count("## Exercise ")
    assert "raise NotImplementedError" in page and "BEGIN SOLUTION" not in page
    assert {f"{p.stem}.html" for p in MASTERS} - {path.stem + ".html"} <= set(re.findall(r'href="([^"]+)"', page))
    assert page.count("<figure>") == 1 and "✗ not yet" not in page and page.count("Show the result") == 1
    assert page.count("<summary>Hint") >= len(re.findall(r"Exercise \d\.\d", page))
    assert Outline(page).sources == []


def test_the_tour_links_to_the_lessons_and_every_lesson_to_its_step():
    stops = json.loads((Path(views.__file__).parent / "tour.json").read_text(encoding="utf-8"))
    found = {path: re.findall(r"\?tour=(\w+)\)", path.read_text(encoding="utf-8")) for path in MASTERS}
    assert {stop["lesson"] for stop in stops} == {int(path.stem[0]) for path in MASTERS}
    for path, [key] in found.items():
        assert next(stop["lesson"] for stop in stops if stop["key"] == key) == int(path.stem[0])
