"""A trace as one page: small, whole, its text packed or escaped, its policy that of its own script."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import SIDE_BY_SIDE, load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.standalone import page
from hsd_viz.views.standalone_versus import page as versus_page
from hsd_viz.views.versus import page_data
from tests.changes import change_row

STRANGE = [
    "</script>",
    "<!--",
    "<script>alert(1)</script>",
    "שלום",
    "\u202eabc",
    "👩‍👩‍👧",
    "]]>",
    "\u2028",
    "&lt;",
    "'\"",
    "\ud800",
]


class Elements(HTMLParser):
    """What a parser finds in a page: its elements with their attributes, and what its scripts, styles and headings hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.held: list[tuple[str, dict, str]] = []
        self.within: list[tuple[str, dict]] = [("", {})]
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "link"):
            self.within.append(self.found[-1])

    def handle_endtag(self, tag):
        assert self.within.pop()[0] == tag

    def handle_data(self, data):
        self.held.append((*self.within[-1], data))

    def content(self, tag: str, **wanted) -> str:
        return "".join(
            text
            for t, attributes, text in self.held
            if t == tag and all(attributes.get(k) == v for k, v in wanted.items())
        )


def packed(elements: Elements) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(elements.content("script", id="run"))))


def strange_trace() -> Trace:
    trace = make_trace(
        prompt="".join(STRANGE), stack_resolved="</title><script>alert(2)</script> > target", device_name="<!-- a chip"
    )
    for k, text in enumerate(STRANGE):
        trace.pieces[100 + k] = text
        change_row(trace, "tokens", k % 3, text=text)
        change_row(trace, "drafts", k % 3, text=text)
    return trace


def two_hundred_and_fifty_six() -> Trace:
    """Two recorded runs of 128 tokens, one behind the other: what a run of 256 tokens through two draft models holds."""
    one, two = load_bundled("both"), load_bundled("hierarchy")
    after = 1 + max(r.id for r in one.round_rows)
    one.add_rows(tokens=[t._replace(index=t.index + 128, round=t.round + after) for t in two.token_rows])
    one.add_rows(drafts=[d._replace(round=d.round + after) for d in two.draft_rows])
    one.add_rows(
        rounds=[
            r._replace(id=r.id + after, parent=None if r.parent is None else r.parent + after) for r in two.round_rows
        ]
    )
    one.add_rows(
        calls=[
            c._replace(round=c.round + after if c.round >= 0 else -1, start_ns=c.start_ns + 2**31)
            for c in two.call_rows
        ]
    )
    one.pieces.update(two.pieces)
    return one


def side_by_side() -> list[Trace]:
    return [load_bundled(name, SIDE_BY_SIDE / "greedy") for name in ("plain", "databases", "both")]


def test_runs_side_by_side_are_one_page_with_all_that_their_view_shows():
    traces = side_by_side()
    text = versus_page(traces)
    assert len(text.encode()) < 500_000
    assert packed(Elements(text))["data"] == json.loads(json.dumps(page_data(traces)))
    assert versus_page(traces) == text


def test_runs_that_cannot_lie_side_by_side_make_no_page():
    with pytest.raises(ValueError, match="different prompts"):
        versus_page([side_by_side()[0], load_bundled("sampled")])


def test_strange_text_of_runs_side_by_side_is_no_element():
    traces = side_by_side()[:2]
    for trace in traces:
        trace.meta["prompt"] = "".join(STRANGE)
        trace.meta["stack_resolved"] = trace.meta["stack"] = "</title><script>alert(2)</script> > target"
        trace.token_rows = [t._replace(text=STRANGE[t.index % len(STRANGE)]) for t in trace.token_rows]
    text = versus_page(traces)
    text.encode("utf-8")
    elements = Elements(text)
    assert [attributes for tag, attributes in elements.found if tag == "script"] == [
        {"type": "text/plain", "id": "run"},
        {"type": "module"},
    ]
    assert "alert(" not in elements.content("script")


def test_a_run_of_256_tokens_stays_below_500_kilobytes():
    trace = two_hundred_and_fifty_six()
    assert len(trace) == 256
    text = page(trace)
    assert len(text.encode()) < 500_000
    assert len(packed(Elements(text))["data"]["tokens"]["text"]) == 256


@pytest.mark.parametrize("trace", [make_trace(), strange_trace(), Trace({})], ids=["plain", "strange", "empty"])
def test_the_whole_trace_is_inside_and_no_text_of_it_is_an_element(trace):
    text = page(trace)
    text.encode("utf-8")
    elements = Elements(text)
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert scripts == [{"type": "text/plain", "id": "run"}, {"type": "module"}]
    assert "alert(" not in elements.content("script")
    data = packed(elements)["data"]
    expected = json.loads(json.dumps({"run": "page", "seq": 1, **run_data.snapshot(trace)}))
    assert data == expected
    assert len(re.findall(r"</script>", text)) == 2
    assert "<!--" not in text


def test_text_of_the_head_is_escaped():
    elements = Elements(page(strange_trace()))
    assert elements.content("title") == "</title><script>alert(2)</script> > target · hsd_viz"
    assert elements.content("h1") == "</title><script>alert(2)</script> > target"
    assert "<!-- a chip" in elements.content("p")


def test_the_policy_allows_this_script_and_style_alone():
    elements = Elements(page(make_trace()))
    policy = next(
        a["content"] for tag, a in elements.found if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    script = "".join(
        text for tag, attributes, text in elements.held if tag == "script" and attributes == {"type": "module"}
    )
    for rule, text in (("script-src", script), ("style-src", elements.content("style"))):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'", rule
    assert "connect-src" not in rules and "unsafe" not in policy


@pytest.mark.parametrize(
    "write", [lambda: page(make_trace()), lambda: versus_page(side_by_side())], ids=["run", "runs"]
)
def test_nothing_in_it_has_an_address(write):
    # The namespace of SVG, and the lessons' address of a dashboard on this machine, which the tour replaces.
    text = write().replace("http://www.w3.org/2000/svg", "").replace("http://127.0.0.1:8866", "")
    assert not re.search(r"https?://|@import|\bsrc=", text)
    assert re.findall(r'href="([^"]*)"', text) == ["data:,"]


def test_the_same_trace_gives_the_same_page():
    assert page(make_trace()) == page(make_trace())


def test_it_says_how_it_is_read():
    elements = Elements(page(make_trace()))
    assert elements.content("summary") == "Help"
    assert "tabs" not in elements.content("p")
    for word in ("Draft, verify, accept, correct.", "Colours and shapes.", "Keys."):
        assert word in elements.content("b")


def test_figures_are_the_traces_own():
    trace = load_bundled("sampled")
    figures = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", page(trace).partition("<script")[0])
    m = trace.metrics()
    assert dict(figures) == {
        "tokens": str(m["tokens"]),
        "target rounds": str(m["rounds"]),
        "tokens per second, after prefill": f"{m['tokens_per_second']:.0f}",
        "speed-up over plain decoding": f"{m['tokens_per_second'] / trace.meta['plain']['tokens_per_second']:.2f}×",
        "mean acceptance length": f"{m['mean_acceptance_length']:.2f}",
        "acceptance rate": f"{m['acceptance_rate']:.0%}",
    }
