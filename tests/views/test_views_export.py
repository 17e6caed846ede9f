"""Exported pages: whole, small, their text packed or escaped, with no address and no connection."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser

import pytest

from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.export import run_page
from tests.changes import change_row
from tests.rows import column
from tests.views.make_trace import make_trace

STRANGE = (
    *(
        "</script>",
        "<!--",
        "<script>alert(1)</script>",
        "שלום",
        "\u202eabc",
        "👩‍👩‍👧",
        "]]>",
        "\u2028",
        "&lt;",
    ),
    *("'\"", "\ud800"),
)


class Elements(HTMLParser):
    """What a parser finds in a page: its elements with their attributes, and what they hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.held: list[tuple[str, dict, str]] = []
        self.within: list[tuple[str, dict]] = [("", {})]
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "link"):
            self.within.append(self.elements[-1])

    def handle_endtag(self, tag):
        assert self.within.pop()[0] == tag

    def handle_data(self, data):
        self.held.append((*self.within[-1], data))

    def content(self, tag: str, **wanted) -> str:
        def fits(attributes):
            return all(attributes.get(k) == v for k, v in wanted.items())

        return "".join(text for t, attributes, text in self.held if t == tag and fits(attributes))


def packed(text: str) -> dict:
    return json.loads(
        gzip.decompress(base64.b64decode(Elements(text).content("script", id="hsd-content")))
    )


def strange_trace() -> Trace:
    stack = "</title><script>alert(2)</script> > target"
    trace = make_trace(prompt="".join(STRANGE), stack_resolved=stack, device_name="<!-- a chip")
    for k, text in enumerate(STRANGE):
        trace.pieces[100 + k] = text
        change_row(trace, "tokens", k % 3, text=text)
        change_row(trace, "drafts", k % 3, text=text)
    return trace


def side_by_side() -> list[Trace]:
    return [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases", "both")]


@pytest.mark.parametrize(
    "trace", [make_trace(), strange_trace(), Trace({})], ids=["plain", "strange", "empty"]
)
def test_the_whole_trace_is_inside_and_no_text_of_it_is_an_element(trace):
    text = run_page(trace)
    text.encode("utf-8")
    elements = Elements(text)
    scripts = [attributes for tag, attributes in elements.elements if tag == "script"]
    assert scripts == [{"type": "text/plain", "id": "hsd-content"}, {"type": "module"}]
    assert "alert(" not in elements.content("script")
    content = packed(text)
    (name,) = column(content["about"]["recordings"], "name")
    assert content["runs"][name] == json.loads(json.dumps(run_data.snapshot(trace, name)))
    assert len(re.findall(r"</script>", text)) == 2
    assert "<!--" not in text
    assert elements.content("title") == f"{trace.stack or 'a recorded run'} · hsd_viz"
    assert run_page(trace) == text


def test_runs_side_by_side_are_one_page():
    traces = side_by_side()
    text = run_page(*traces)
    content = packed(text)
    assert column(content["about"]["races"][0]["runs"], "stack") == column(traces, "stack")
    assert len(content["runs"]) == 3
    assert len(text.encode()) < 750_000


@pytest.mark.parametrize(
    "write",
    [lambda: run_page(make_trace()), lambda: run_page(*side_by_side())],
    ids=["run", "runs"],
)
def test_nothing_in_it_has_an_address_or_a_connection(write):
    # The namespace of SVG, and the lessons' address of a dashboard on this machine, which the tour
    # replaces.
    text = write().replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1:8866", "")
    assert not re.search(r"https?://|@import|\bsrc=", text)
    assert re.findall(r'href="([^"$]*)"', text) == ["data:,"]
    policy = next(
        a["content"]
        for tag, a in Elements(text).elements
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "connect-src" not in rules
