"""Colours can be read: every source's ink on its own tint, in both themes, and the words beside it."""

from __future__ import annotations

import pytest

from hsd_viz.figures import palette
from hsd_viz.figures.palette import HUES, TINT

PAGES = {"light": ["#ffffff", "#f6f8fa"], "dark": ["#111111", "#212121", "#191a1c"]}
MUTED = {"light": "#57606a", "dark": "#a2abb6"}


def channels(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", PAGES)
@pytest.mark.parametrize("name", HUES)
def test_inks_read_on_their_tint(name, theme):
    ink = channels(getattr(HUES[name], theme))
    for page in map(channels, PAGES[theme]):
        tinted = [TINT * i + (1 - TINT) * p for i, p in zip(ink, page, strict=True)]
        assert contrast(ink, tinted) >= 4.5
        # A token in the round under the pointer, and the pinned one (page colour on ink).
        marked = [0.26 * i + 0.74 * p for i, p in zip(ink, page, strict=True)]
        assert contrast(ink, marked) >= 3
        assert contrast(page, ink) >= 4.5


@pytest.mark.parametrize("theme", PAGES)
def test_muted_text_reads(theme):
    for page in PAGES[theme]:
        assert contrast(channels(MUTED[theme]), channels(page)) >= 4.5


def test_every_source_has_a_family_and_words():
    assert palette.label("context") == "context database"
    assert palette.label("lookup") == "lookup, baseline"
    assert palette.label("my/model") == "my/model, draft model"
    assert palette.family("my/model") == "draft" and palette.family("target") == "target"
    # A source that happens to be called like a family is still a model of that name.
    assert palette.family("baseline") == "draft"


def test_inks_differ():
    for theme in PAGES:
        assert len({getattr(hue, theme) for hue in HUES.values()}) == len(HUES)
