"""Files of the page: saved, opened again, and refused where they are broken."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from hsd_viz.engine.recordings import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.export import run_page
from hsd_viz.views.page_data import offered, recorded_runs
from tests.views.make_trace import make_trace

RUNS = [*offered()]


@pytest.mark.parametrize("name", RUNS)
def test_a_recording_is_sent_as_columns_saved_and_opened_again(page, name):
    trace = recorded_runs()[name]()
    _, (sent,) = page.ask("recording", name=name)
    assert json.loads(sent) == json.loads(json.dumps(run_data.snapshot(trace, name)))
    message, (content,) = page.ask("file", about="trace", run=name)
    assert re.fullmatch(r"hsd_viz_[\w-]+\.json\.gz", message["name"])
    assert run_data.read_trace(content, message["name"]).to_dict() == trace.to_dict()
    _, (opened,) = page.ask("open", [(message["name"], content)])
    assert json.loads(opened)["tokens"] == json.loads(json.dumps(run_data.tables(trace)))["tokens"]


@pytest.mark.parametrize("seed", [0, 2**53 - 1, 2**53, 2**62 + 1, 2**63 - 1])
def test_a_seed_survives_a_browser_to_the_last_digit(page, seed):
    trace = make_trace()
    trace.meta["sampling"]["seed"] = seed
    sent = json.dumps(run_data.snapshot(trace, "r"))
    # Numbers of JavaScript have 53 bits.
    kept = json.loads(sent, parse_int=lambda digits: int(float(digits)))
    assert run_data.trace_from(kept).meta["sampling"]["seed"] == seed
    assert page.ask("take", snapshot=kept)[0]["kind"] == "done"
    _, (content,) = page.ask("file", about="trace", run="r")
    assert run_data.read_trace(content, "r").meta["sampling"]["seed"] == seed


@pytest.mark.parametrize("seed", ["luck", "-1", "1.5"])
def test_a_run_whose_seed_is_another_text_is_refused(page, seed):
    trace = make_trace()
    kept = run_data.snapshot(trace, "r")
    kept["meta"]["sampling"] = {"seed": seed}
    assert page.ask("take", snapshot=kept)[0]["kind"] == "failed"


def test_the_page_of_a_run_is_that_of_the_export(page):
    page.ask("recording", name="both")
    assert page.ask("file", about="page", run="both")[1][0].decode() == run_page(
        load_bundled("both")
    )
    for about in ("../../x", "trace"):
        assert (
            page.ask("file", about=about, run="" if about == "trace" else "both")[0]["kind"]
            == "failed"
        )


def changed(change) -> bytes:
    data = json.loads(json.dumps(make_trace().to_dict()))
    change(data)
    return json.dumps(data).encode()


BROKEN = {
    "empty": b"",
    "no JSON": b"{",
    "another thing": b'{"stacks": []}',
    "deep": b"[" * 200_000,
    "half a file": make_trace().to_bytes()[:-40],
    "no gzip": b"\x1f\x8b" + b"x" * 100,
    "newer": changed(lambda d: d.update(schema=99)),
    "no prompt": changed(lambda d: d["meta"].pop("prompt")),
    "a text for a time": changed(lambda d: d["meta"].update(wall_ns="long")),
    "a text for a temperature": changed(
        lambda d: d["meta"].update(sampling={"temperature": "hot"})
    ),
    "a list for the sampling": changed(lambda d: d["meta"].update(sampling=[1])),
    "a list for the device": changed(lambda d: d["meta"].update(device=[1])),
    "a text for the models": changed(lambda d: d["meta"].update(models="x")),
    "a text for a plain speed": changed(
        lambda d: d["meta"].update(plain={"tokens_per_second": "x"})
    ),
    "token ids that are none": changed(lambda d: d["meta"].update(prompt_ids=["a"])),
    "a token id beyond all vocabularies": changed(
        lambda d: d["tokens"]["token_id"].__setitem__(0, 2**40)
    ),
    "an endless limit": changed(lambda d: d["meta"].update(max_new_tokens=float("inf"))),
    "no number": changed(lambda d: d["tokens"]["p"].__setitem__(0, float("nan"))),
    "half a character": changed(lambda d: d["tokens"]["text"].__setitem__(0, "\ud800")),
    "a huge number": changed(lambda d: d["tokens"]["p"].__setitem__(0, 10**400)),
    "a round that is its own parent": changed(
        lambda d: d["rounds"]["parent"].__setitem__(0, d["rounds"]["id"][0])
    ),
    "a token too many": changed(lambda d: d["tokens"]["index"].__setitem__(0, 7)),
    "no tokens": Trace(make_trace().meta).to_bytes(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_one_sentence(page, what):
    message, _ = page.ask("open", [("broken.json.gz", BROKEN[what])])
    said = message["message"]
    assert message["kind"] == "failed"
    assert said.startswith("broken.json.gz")
    assert len(said) < 200
    assert "\n" not in said
    assert message["details"] == ""
    assert page.app.trace is None
    if what == "newer":
        assert "update hsd_viz" in said


def test_a_file_that_is_too_large_is_refused(page, monkeypatch):
    monkeypatch.setattr(run_data, "MAX_UNPACKED", 1_000_000)
    message, _ = page.ask("open", [("bomb.json.gz", gzip.compress(b" " * 30_000_000))])
    assert (
        message["message"]
        == "bomb.json.gz is too large: the maximum for a file of its size is 1 MB unpacked"
    )
    monkeypatch.setattr(run_data, "MAX_TOKENS", 2)
    with pytest.raises(ValueError, match=r"has \d+ tokens, prompt included; the maximum is 2"):
        run_data.read_trace(make_trace().to_bytes(), "long.json.gz")


def test_a_comparison_is_saved_as_a_page(page):
    runs = [run_data.snapshot(load_bundled(name), name) for name in ("databases", "hierarchy")]
    message, (content,) = page.ask("file", about="comparison", options={"runs": runs})
    assert message["name"].startswith("hsd_viz_compare_")
    assert b"hsd-content" in content
    assert (
        "select two or three"
        in page.ask("file", about="comparison", options={"runs": runs[:1]})[0]["message"]
    )
