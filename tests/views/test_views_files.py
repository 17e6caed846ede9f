"""Save and open: files that hold what the page shows, and a page that no file can harm."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile

import pytest
from make_trace import make_trace

from hsd_viz import load_bundled
from hsd_viz.engine.replay import bundled
from hsd_viz.trace import Trace
from hsd_viz.views import open_trace
from hsd_viz.views.app.dashboard import OPENED, Dashboard
from hsd_viz.views.open_trace import read_trace
from hsd_viz.views.save_forms import FORMS, saved

RUNS = [r.name for r in bundled()]


def send(widget, content: bytes, name: str) -> None:
    widget._on_message(None, {"kind": "file", "name": name, "size": len(content)}, [memoryview(content)])


@pytest.fixture(scope="module")
def page():
    return Dashboard(engine=object())


@pytest.fixture
def sent(page, monkeypatch):
    """What the page's Save tells its script."""
    messages: list[tuple] = []
    monkeypatch.setattr(page.files.save, "send", lambda content, buffers=None: messages.append((content, buffers)))
    return messages


@pytest.mark.parametrize("name", RUNS)
def test_a_saved_trace_is_the_trace_and_opens_again(name):
    trace = load_bundled(name)
    file = saved(trace, "trace")
    again = read_trace(file.content, file.name)
    assert again.to_dict() == trace.to_dict()
    assert (
        file.name.startswith("hsd_viz_")
        and file.name.endswith(".json.gz")
        and "/" not in file.name
        and " " not in file.name
    )


def test_tables_have_a_row_for_each_row():
    trace = load_bundled("both")
    with zipfile.ZipFile(io.BytesIO(saved(trace, "tables").content)) as archive:
        assert sorted(archive.namelist()) == ["calls.csv", "drafts.csv", "rounds.csv", "tokens.csv"]
        for table in ("tokens", "drafts", "rounds", "calls"):
            rows = list(csv.DictReader(io.StringIO(archive.read(f"{table}.csv").decode("utf-8"))))
            assert len(rows) == len(trace.rows(table))
            assert set(rows[0]) == set(trace.rows(table)[0]._fields)
    assert saved(trace, "tables").content == saved(trace, "tables").content


def test_page_and_timeline_are_those_of_the_export():
    from hsd_viz.trace.export import chrome_trace
    from hsd_viz.views.standalone import page

    trace = load_bundled("databases")
    assert saved(trace, "page").content.decode("utf-8") == page(trace)
    assert json.loads(saved(trace, "timeline").content) == json.loads(json.dumps(chrome_trace(trace)))


def test_names_are_plain_whatever_the_stack(page):
    trace = make_trace()
    trace.meta |= {
        "stack": 'nano:4 > "../../etc/passwd" > target',
        "stack_resolved": None,
        "created": "2026-01-02T03:04:05+00:00",
    }
    assert saved(trace, "page").name == "hsd_viz_nano-4-etc-passwd-target_20260102030405.html"
    trace.meta |= {"stack": "x" * 400, "created": None}
    assert len(saved(trace, "trace").name) < 80


def test_a_choice_brings_the_bytes_of_the_run_shown(page, sent):
    page.controls.recording.value = RUNS[1]
    for form in FORMS:
        sent.clear()
        page.files.save._on_message(None, {"kind": "save", "form": form}, [])
        ((content, (buffer,)),) = sent
        assert content["kind"] == "file" and content["name"].endswith(FORMS[form].ending)
        assert buffer == saved(load_bundled(RUNS[1]), form).content
    assert page.notice.message == ""


def test_what_cannot_be_saved_is_one_sentence_and_the_menu_works_again(page, sent, monkeypatch):
    page.files.save._on_message(None, {"kind": "save", "form": "../../x"}, [])
    assert (
        sent == [({"kind": "failed"}, None)]
        and "unknown form '../../x'" in page.notice.message
        and page.notice.details == ""
    )
    page.notice.clear()
    monkeypatch.setattr(page, "trace", None)
    page.files.save._on_message(None, {"kind": "save", "form": "trace"}, [])
    assert page.notice.message == "no run to save"
    page.notice.clear()
    page.files.busy = True
    page.files.save._on_message(None, {"kind": "save", "form": "trace"}, [])
    page.files.busy = False
    assert len(sent) == 2, "while a run goes on, nothing is saved"


def test_a_file_of_ones_own_becomes_a_recorded_run(page):
    c = page.controls
    c.recording.value = RUNS[0]
    mine = load_bundled(RUNS[2])
    send(page.files.open, saved(mine, "trace").content, "mine.json.gz")
    assert page.notice.message == "" and c.recording.value == OPENED and page.blurb.value == "Opened from mine.json.gz."
    assert (
        page.trace.to_dict() == mine.to_dict() and page.stream.data["prompt"] == mine.meta["prompt"] == c.prompt.value
    )
    c.recording.value = RUNS[0]
    assert page.trace.to_dict() == load_bundled(RUNS[0]).to_dict()
    c.recording.value = OPENED
    assert page.trace.to_dict() == mine.to_dict(), "it stays in the list"
    # Not packed, and another: it takes the place of the one before.
    other = load_bundled(RUNS[3])
    send(page.files.open, other.to_bytes(packed=False), "other.json")
    assert page.trace.to_dict() == other.to_dict()
    assert [label for label, value in c.recording.options if value == OPENED] == ["other.json (your file)"]
    page.files.busy = True
    send(page.files.open, mine.to_bytes(), "mine.json.gz")
    page.files.busy = False
    assert (
        page.notice.message == "a run is in progress: open the file after it ends"
        and page.trace.to_dict() == other.to_dict()
    )


def test_a_run_of_models_that_this_page_does_not_run_can_be_looked_at(page):
    trace = load_bundled(RUNS[0])
    trace.meta |= {"stack": "some/model > other/model", "stack_resolved": "some/model:4 > other/model"}
    send(page.files.open, trace.to_bytes(), "theirs.json.gz")
    assert page.notice.message == "" and page.readout.origin["stack"] == "some/model:4 > other/model"
    page.controls.run.click()
    assert "not allowed on this page" in page.notice.message


def changed(change) -> bytes:
    data = json.loads(json.dumps(make_trace().to_dict()))
    change(data)
    return json.dumps(data).encode()


BROKEN = {
    "empty": b"",
    "no JSON": b"{",
    "another thing": b'{"stacks": []}',
    "a list": b"[1]",
    "deep": b"[" * 200_000,
    "half a file": make_trace().to_bytes()[:-40],
    "no gzip": b"\x1f\x8b" + b"x" * 100,
    "newer": changed(lambda d: d.update(schema=99)),
    "no prompt": changed(lambda d: d["meta"].pop("prompt")),
    "a text for a time": changed(lambda d: d["meta"].update(wall_ns="long")),
    "a text for a temperature": changed(lambda d: d["meta"].update(sampling={"temperature": "hot"})),
    "a list for the sampling": changed(lambda d: d["meta"].update(sampling=[1])),
    "token ids that are none": changed(lambda d: d["meta"].update(prompt_ids=["a"])),
    "a token id beyond all vocabularies": changed(lambda d: d["tokens"]["token_id"].__setitem__(0, 2**40)),
    "a negative token id": changed(lambda d: d["meta"].update(prompt_ids=[-1])),
    "an endless limit": changed(lambda d: d["meta"].update(max_new_tokens=float("inf"))),
    "no number": changed(lambda d: d["tokens"]["p"].__setitem__(0, float("nan"))),
    "half a character": changed(lambda d: d["tokens"]["text"].__setitem__(0, "\ud800")),
    "a huge number": changed(lambda d: d["tokens"]["p"].__setitem__(0, 10**400)),
    "a round that is its own parent": changed(lambda d: d["rounds"]["parent"].__setitem__(0, d["rounds"]["id"][0])),
    "a parent that is not there": changed(lambda d: d["rounds"]["parent"].__setitem__(0, 12345)),
    "a token too many": changed(lambda d: d["tokens"]["index"].__setitem__(0, 7)),
    "no tokens": Trace(make_trace().meta).to_bytes(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_one_sentence_and_nothing_is_lost(page, what):
    page.controls.recording.value = RUNS[0]
    page.controls.recording.value = RUNS[1]
    before, form = page.trace, page.controls.prompt.value
    send(page.files.open, BROKEN[what], "broken.json.gz")
    said = page.notice.message
    assert said.startswith("broken.json.gz") and len(said) < 200 and "\n" not in said
    assert page.notice.details == "" and page.notice.title == "Open failed"
    assert page.trace is before and page.controls.recording.value == RUNS[1] and page.controls.prompt.value == form
    if what == "newer":
        assert "update hsd_viz" in said


def test_a_file_that_is_too_large_is_refused_packed_or_unpacked(page, monkeypatch):
    page.files.open._on_message(None, {"kind": "too large", "name": "huge.json.gz"}, [])
    assert page.notice.message == "huge.json.gz is too large: the maximum is 8 MB"
    # A few bytes that unpack to many times the limit.
    monkeypatch.setattr(open_trace, "MAX_UNPACKED", 1_000_000)
    send(page.files.open, gzip.compress(b" " * 30_000_000), "bomb.json.gz")
    assert page.notice.message == "bomb.json.gz is too large: the maximum for a file of its size is 1 MB unpacked"
    monkeypatch.setattr(open_trace, "MOST_TOKENS", 2)
    with pytest.raises(ValueError, match=r"has \d+ tokens, prompt included; the maximum is 2"):
        read_trace(make_trace().to_bytes(), "long.json.gz")
    with pytest.raises(ValueError, match=r"^x{59}… is not a valid trace"):
        read_trace(b"", "x" * 5000)
