"""Colours can be read: every source's ink on its own tint, in both themes, and the words beside it."""

from __future__ import annotations

import pytest

from hsd_viz.figures import palette
from hsd_viz.figures.palette import HUES, TINT
from tests.changes import channels, contrast

PAGES = {"light": ["#ffffff", "#f6f8fa"], "dark": ["#111111", "#212121", "#191a1c"]}


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


def test_every_source_has_a_family_and_words():
    assert palette.label("context") == "context database"
    assert palette.label("lookup") == "lookup, baseline"
    assert palette.label("my/model") == "my/model, draft model"
    assert palette.family("my/model") == "draft" and palette.family("target") == "target"
    # A source that happens to be called like a family is still a model of that name.
    assert palette.family("baseline") == "draft"
    assert all(len({getattr(hue, theme) for hue in HUES.values()}) == len(HUES) for theme in PAGES), "inks differ"
