"""Lessons without a kernel: a page each, and slides."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from hsd_viz.exercises import editions
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


@pytest.fixture(scope="module")
def deck():
    return lessons.deck()


def test_the_deck_has_for_each_lesson_a_figure_a_run_a_prediction_and_questions(deck):
    slides = re.split(r"<section data-lesson=", deck)[1:]
    for n in "12345678":
        own = "".join(slide for slide in slides if slide.startswith(f'"{n}"'))
        assert own.count("<figure>") == 1 and own.count('class="view"') >= 1, n
        assert own.count("Show the result") == 1 and own.count("Show the answer") == 3, n
        assert lessons.title_of(MASTERS[int(n) - 1]) in own


def test_the_deck_is_one_file_that_loads_nothing(deck):
    outline = Outline(deck)
    assert outline.sources == [] and "default-src 'none'" in deck
    assert len(outline.ids) == len(set(outline.ids))
    assert len(deck) < 1_500_000


def test_a_prediction_has_what_was_printed_for_it(deck):
    [slide] = [s for s in deck.split("<section") if s.startswith(' data-lesson="2"') and "does the target accept" in s]
    assert "draft:" in slide and slide.index("draft:") < slide.index("Show the result")


def test_the_rule_of_lesson_3_has_a_slide_after_its_prediction(deck):
    slides = [s for s in deck.split("<section") if s.startswith(' data-lesson="3"')]
    [asked] = [n for n, s in enumerate(slides) if "must it be accepted" in s]
    assert "<h2>The rule</h2>" in slides[asked + 1] and not any("The rule" in s for s in slides[:asked])


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_a_page_has_every_cell_its_results_and_links_to_all_lessons(path):
    page = lessons.page(path, MASTERS)
    assert len(re.findall(r"Exercise \d\.\d", page)) == path.read_text(encoding="utf-8").count("## Exercise ")
    assert "raise NotImplementedError" in page and "BEGIN SOLUTION" not in page
    assert {f"{p.stem}.html" for p in MASTERS} - {path.stem + ".html"} <= set(re.findall(r'href="([^"]+)"', page))
    assert page.count("<figure>") == 1 and "✗ not yet" not in page
    assert Outline(page).sources == []
