"""Colours can be read and told apart by everybody, and those of sources have no other meaning."""

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.figures import palette
from hsd_viz.figures.palette import HUES, INKS, KINDS, TINT
from tests.changes import channels, contrast

#: What the eye sees of linear sRGB: all, or without cones of one kind (Machado and others, 2009,
#: severity 1).
EYES = {
    "all": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
#: From linear sRGB to cones, and from their cube roots to OKLab.
CONES = [
    [0.412221, 0.536333, 0.051446],
    [0.211903, 0.6807, 0.107397],
    [0.088302, 0.281719, 0.629979],
]
LAB = [
    [0.210454, 0.793618, -0.004072],
    [1.977998, -2.428592, 0.450594],
    [0.025904, 0.782772, -0.808676],
]
CODE = Path(__file__).parents[2]
PAGES = {"light": ["#ffffff", "#f6f8fa"], "dark": ["#111111", "#212121", "#1f2124"]}


def seen(colour: str, eye: str) -> np.ndarray:
    c = np.array(channels(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return LAB @ np.cbrt(CONES @ np.clip(EYES[eye] @ linear, 0, 1))


def blended(ink: list[float], page: list[float], share: float) -> list[float]:
    """Return a colour of which ``share`` is ink, on a page."""
    return (share * np.array(ink) + (1 - share) * np.array(page)).tolist()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_two_sources_differ_for_every_eye_and_from_all_else(theme):
    inks = INKS[theme == "dark"]
    sources = [getattr(hue, theme) for hue in HUES.values()]
    pairs = []
    for eye in EYES:
        for one, other in combinations(sources, 2):
            pairs.append((one, other, eye))
    others = [inks.accent, inks.loss, *(getattr(hue, theme) for hue in KINDS.values())]
    pairs += product(sources, others, ["all"])
    for one, other, eye in pairs:
        assert np.linalg.norm(seen(one, eye) - seen(other, eye)) >= 0.08, (one, other, eye)
    files = (*CODE.glob("js/[!n]*/*.css"), *CODE.glob("hsd_viz/templates/*"))
    written_colours = set()
    for file in files:
        written_colours |= set(re.findall(r"#[0-9a-f]{6}\b", file.read_text(encoding="utf-8")))
    assert written_colours, "a source's colour by hand"
    assert written_colours & set(sources) <= {inks.text}, "a source's colour by hand"


@pytest.mark.parametrize("theme", PAGES)
@pytest.mark.parametrize("name", HUES)
def test_inks_read_on_their_tint(name, theme):
    ink = channels(getattr(HUES[name], theme))
    for page in map(channels, PAGES[theme]):
        tinted = blended(ink, page, TINT)
        assert contrast(ink, tinted) >= 4.5
        # A token in the round under the pointer, and the pinned one (page colour on ink).
        marked = blended(ink, page, 0.26)
        assert contrast(ink, marked) >= 3
        assert contrast(page, ink) >= 4.5


def test_every_source_has_a_family_and_words():
    assert palette.label("context") == "copying"
    assert palette.label("lookup") == "prompt lookup"
    assert palette.label("suffix") == "copying (suffix tree)"
    assert palette.label("my/model") == "my/model, draft model"
    assert palette.family("my/model") == "draft"
    assert palette.family("target") == "target"
    # A source that happens to be called like a family is still a model of that name.
    assert palette.family("baseline") == "draft"
    for theme in PAGES:
        inks = {getattr(hue, theme) for hue in HUES.values()}
        assert len(inks) == len(HUES), "inks differ"


def test_what_copies_from_the_text_has_one_colour_as_a_source_and_as_a_stack():
    assert palette.family("suffix") == palette.family("context") == "context"
    drawn = {row: palette.bar_of(row) for row in ("suffix > target", "db[context] > target")}
    assert set(drawn.values()) == {"context"}
    assert palette.bar_of("suffix > nano > target") == "baseline"
    assert palette.bar_of("lookup > target") == "baseline"
