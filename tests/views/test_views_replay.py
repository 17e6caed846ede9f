"""The list of recorded traces."""

from __future__ import annotations

import json

import pytest

from hsd_viz.engine.recordings import bundled, load_bundled
from hsd_viz.trace import TraceError
from tests.views.make_trace import make_trace


@pytest.fixture
def folder(tmp_path):
    make_trace().save(tmp_path / "one.json.gz")
    row = {
        "name": "one",
        "file": "one.json.gz",
        "title": "One",
        "blurb": "A small one.",
        "stack": "db > nano > target",
    }
    (tmp_path / "index.json").write_text(json.dumps([row]))
    return tmp_path


def test_the_index_is_read(folder, tmp_path_factory):
    (recording,) = bundled(folder)
    assert recording.name == "one"
    assert recording.title == "One"
    assert load_bundled("one", folder).to_dict() == make_trace().to_dict()
    assert bundled(tmp_path_factory.mktemp("empty")) == []


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "x"}]', "3"])
def test_a_broken_index_is_one_sentence(folder, text):
    (folder / "index.json").write_text(text)
    with pytest.raises(TraceError, match="list of recorded traces"):
        bundled(folder)
