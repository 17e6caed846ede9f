"""The tour links to the lessons, and every lesson to its step of the tour."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hsd_viz import views
from hsd_viz.exercises import editions

STOPS = json.loads((Path(views.__file__).parent / "tour.json").read_text(encoding="utf-8"))
MASTERS = {int(path.stem[0]): path for path in editions.masters()}


def test_every_step_has_a_lesson_and_every_lesson_a_step():
    assert {stop["lesson"] for stop in STOPS} == set(MASTERS)


@pytest.mark.parametrize("number", MASTERS)
def test_a_lesson_links_to_the_step_about_it(number):
    [key] = re.findall(r"\?tour=(\w+)\)", MASTERS[number].read_text(encoding="utf-8"))
    assert next(stop["lesson"] for stop in STOPS if stop["key"] == key) == number
