"""What Python sends to the page is what the page's types say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.trace import Stage, Trace
from hsd_viz.views import TokenStream, contract
from hsd_viz.views.linked import page_palette
from hsd_viz.views.readout import BADGES, Readout
from tools.contract import FILE, conforms, source


def test_the_types_of_the_page_are_those_of_python():
    assert FILE.read_text(encoding="utf-8") == source(), "run `python -m tools.contract`"


@pytest.mark.parametrize("name", ["made", "empty", *(r.name for r in bundled())])
def test_a_run_conforms(name):
    trace = {"made": make_trace, "empty": lambda: Trace({})}.get(name, lambda: load_bundled(name))()
    data = json.loads(json.dumps(TokenStream(trace).data))
    assert conforms(data, contract.Snapshot)
    assert not conforms({**data, "levels": None}, contract.Snapshot)
    assert not conforms({**data, "tokens": [[1, "x"]]}, contract.Snapshot)


def test_messages_the_palette_and_the_state_of_a_run_conform(monkeypatch):
    stream, sent = TokenStream(), []
    monkeypatch.setattr(stream, "send", sent.append)
    trace = make_trace()
    stream.begin(trace.meta)
    from hsd_viz.trace import Step

    stream.append(Step(trace.token_rows, trace.draft_rows, trace.round_rows, trace.call_rows, trace.pieces))
    assert [conforms(json.loads(json.dumps(m)), contract.Append) for m in sent] == [True]
    assert conforms(page_palette(), contract.PaletteData)
    readout = Readout()
    for kind in BADGES:
        readout.show(trace, "live" if kind == "finished" else kind, running=kind == "live")
        assert conforms(readout.origin, contract.Origin)
        assert conforms(readout.tiles, list[contract.Tile])
    for act in (lambda: readout.busy(Stage("loading nano", 1, 3)), readout.idle):
        act()
        assert conforms(readout.stage, contract.Progress)


def test_what_does_not_conform_is_found():
    cases: list[tuple[Any, Any]] = [
        (True, int),
        ("1", int),
        (None, int),
        ([1, "2"], list[int]),
        ({"a": 1}, dict[str, str]),
    ]
    assert [conforms(value, kind) for value, kind in cases] == [False] * len(cases)
