"""The tour links to the lessons, and every lesson to its step of the tour."""

from __future__ import annotations

import re

import pytest

import hsd_viz as hsd
from hsd_viz.exercises import editions
from hsd_viz.views.lessons import title_of
from hsd_viz.views.tour import STOPS

MASTERS = {int(path.stem[0]): path for path in editions.masters()}


def test_every_step_has_a_lesson_and_every_lesson_a_step():
    assert {stop["lesson"] for stop in STOPS} == set(MASTERS)


@pytest.mark.parametrize("number", MASTERS)
def test_a_lesson_links_to_the_step_about_it(number):
    [key] = re.findall(r"\?tour=(\w+)\)", MASTERS[number].read_text(encoding="utf-8"))
    assert next(stop["lesson"] for stop in STOPS if stop["key"] == key) == number


def test_the_card_names_its_lesson_and_sends_its_page(monkeypatch):
    page = hsd.dashboard()
    tour, sent = page.guide.tour, []
    monkeypatch.setattr(tour, "send", lambda content: sent.append(content))
    page.guide.follow("?tour=chance")
    assert tour.place["key"] == "chance" and tour.place["lesson"] == f"Lesson {title_of(MASTERS[3])}"
    tour._on_message(tour, {"kind": "lesson"}, [])
    [message] = sent
    assert message["kind"] == "lesson" and "Exercise 3.2" in message["html"]
    assert "?tour=chance" in message["html"] and "index.html" not in message["html"]


def test_an_unknown_step_is_reported_and_the_page_opens():
    page = hsd.dashboard()
    page.guide.follow("?tour=chanse")
    assert not page.guide.tour.place and page.trace is not None
    assert "no step 'chanse'" in page.notice.message and "did you mean 'chance'" in page.notice.message
