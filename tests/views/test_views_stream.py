"""What the token stream sends: whole snapshots, numbered steps, nothing twice."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from make_trace import META, PIECES, STEPS, make_trace

from hsd_viz.trace import Trace
from hsd_viz.views import TokenStream, run_data

STATIC = Path(run_data.__file__).parent / "static"


@pytest.fixture
def stream():
    """A stream whose messages to the page are kept in ``sent``."""
    widget = TokenStream()
    widget.sent = []
    widget.send = lambda content, buffers=None: widget.sent.append(json.loads(json.dumps(content)))
    return widget


def test_shows_a_whole_trace_as_json():
    data = TokenStream(make_trace()).data
    assert json.loads(json.dumps(data)) == data
    assert data["tokens"]["text"] == ["<script>", "\\xe2\\x9c", "\n    "]
    assert (data["prompt_ids"], data["prompt"]) == ([1, 2], "def f")
    assert data["levels"] == ["db", "nano", "target"]
    assert len(data["drafts"]["node"]) == 3 and len(data["rounds"]["id"]) == 3
    assert data["drafts"]["p"][2] == 0.123457  # six digits are enough to look at


def test_a_live_run_is_numbered_and_ends_in_a_snapshot(stream):
    stream.begin(META, {1: "def", 2: " f"})
    assert stream.live and stream.data["tokens"]["text"] == [] and stream.data["pieces"] == {"1": "def", "2": " f"}
    stream.append(STEPS[0])
    stream.append([STEPS[1]])
    stream.append([])
    run = stream.data["run"]
    assert [(m["kind"], m["run"], m["first"], m["seq"], len(m["steps"])) for m in stream.sent] == [
        ("append", run, 1, 1, 1),
        ("append", run, 2, 2, 1),
    ]
    stream.end()
    assert not stream.live
    assert (stream.data["seq"], len(stream.data["tokens"]["text"])) == (2, 3)
    assert stream.data["pieces"] == {str(k): v for k, v in PIECES.items()}


def test_a_page_that_missed_steps_gets_all_and_the_number_of_the_last(stream):
    stream.begin(META)
    stream.append(STEPS[0])
    stream._handle_custom_msg({"kind": "sync"}, [])
    assert (stream.data["seq"], len(stream.data["tokens"]["text"])) == (1, 2)
    stream._handle_custom_msg({"kind": "nonsense"}, [])
    stream._handle_custom_msg("nonsense", [])
    stream.append(STEPS[1])
    assert stream.sent[-1]["first"] == 2


def test_every_run_has_a_name_of_its_own_and_lets_go_of_the_pin(stream):
    stream.show(make_trace())
    first = stream.data["run"]
    stream.pinned = 1
    stream.begin(META)
    assert stream.data["run"] != first
    assert stream.pinned == -1


def test_snapshots_and_steps_from_different_threads_never_disagree(stream):
    stream.begin(META)
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            stream._handle_custom_msg({"kind": "sync"}, [])
            assert len(stream.data["rounds"]["id"]) == 2 * stream.data["seq"]

    asker = threading.Thread(target=ask)
    asker.start()
    for _ in range(200):
        stream.append(STEPS[0])
    stop.set()
    asker.join()
    assert [m["seq"] for m in stream.sent] == list(range(1, 201))


def test_an_empty_trace_and_one_without_a_readable_stack_are_shown(stream):
    stream.show(Trace({}))
    assert stream.data["levels"] == []
    stream.show(make_trace(stack="???", stack_resolved=""))
    assert stream.data["levels"] == []


def test_scripts_put_text_on_the_page_as_text_and_fetch_nothing():
    # The name of a kind of element is no address.
    for path in STATIC.glob("*.js"):
        # The tour names the address of the dashboard on this machine, as a link.
        source = path.read_text().replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1:8866", "")
        # lit-html makes its templates so, from the literals of the sources.
        source = re.sub(r"\.innerHTML=\w+,", "", source, count=1)
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "document.write",
            "http://",
            "https://",
        ):
            assert forbidden not in source, (path.name, forbidden)
        assert not re.search(r"\bimport\b(?!\(URL\.createObjectURL)", source), path.name
    for path in STATIC.glob("*.css"):
        source = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in source and "@import" not in source
