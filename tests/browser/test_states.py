"""What a page goes through: a neighbour that runs too, a reload in mid-run, files that are no traces, text that is no plain text."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from hsd_viz import bundled, load_bundled
from hsd_viz.listen import free_port
from hsd_viz.trace import Trace
from hsd_viz.views.app.server import command

from .conftest import server
from .test_explorer import open_tab
from .test_save_open import open_file, save
from .test_voila import TOKENS, field, fill, idle, opened

pytestmark = pytest.mark.browser
RUNNING = "document.querySelector('.hsd-live') && document.querySelectorAll('.hsd-out .hsd-tok').length > 5"
#: Markup, another writing direction and its overrides, signs of several characters, marks on nothing, what cannot be seen.
STRANGE = (
    "<script>window.pwned=1</script>",
    "<img src=x onerror='window.pwned=1'>",
    "&lt;b&gt;&amp;",
    "שלום עולם",
    "مرحبا",
    "\u202eabc\u202c",
    "🙂👩‍👩‍👧🏳️‍🌈",
    "e\u0301\u0302\u0303",
    "\u0301",
    "\u200b\ufeff",
    "\t\n    ",
    "a\u0000b\x1b[31m",
    "漢字かな",
)
#: Elements that no view of ours makes; the pictures apart that plotly keeps ready.
MARKED = ":is(.hsd-app, .hsd-page) :is(script, img:not(.plot-img), iframe, object, [onerror])"


@pytest.fixture(scope="module")
def own_server(tmp_path_factory) -> Iterator[tuple[str, Path]]:
    """The dashboard, and what its server and kernels write."""
    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, None)
    log = tmp_path_factory.mktemp("log") / "voila"
    with (
        folder,
        server(arguments, {**environment, "HF_HUB_OFFLINE": "1"}, f"http://127.0.0.1:{port}/voila/static/x", log),
    ):
        yield f"http://127.0.0.1:{port}/", log


def begin(page, prompt: str, stack: str, tokens: int) -> None:
    fill(page, "Prompt", prompt)
    fill(page, "Stack", stack)
    fill(page, "New tokens", str(tokens))
    page.get_by_role("button", name="Run", exact=True).click()


@pytest.mark.slow
def test_two_pages_run_at_the_same_time_and_show_each_its_own(open_page, own_server):
    url, _ = own_server
    pages = [opened(open_page, url), opened(open_page, url)]
    prompts = ("def first_of_two(", "class SecondOfTwo")
    for shown, prompt in zip(pages, prompts, strict=True):
        begin(shown.page, prompt, "target", 600)
    for shown in pages:
        shown.page.wait_for_function(RUNNING)
    # The first one goes on while the second does.
    assert all(shown.page.evaluate(RUNNING) for shown in pages)
    expect(pages[0].page.locator(".hsd-badge")).to_have_text("Live run")
    pages[1].page.get_by_role("button", name="Cancel", exact=True).click()
    for shown, prompt in zip(pages, prompts, strict=True):
        idle(shown.page)
        expect(shown.page.locator(".hsd-badge")).to_have_text("Finished run")
        expect(shown.page.locator(".hsd-prompt")).to_have_text(prompt)
        expect(shown.page.get_by_role("alert")).to_have_count(0)
    # Cancelling the one has not touched the other.
    counts = [shown.page.locator(TOKENS).count() for shown in pages]
    assert counts[0] == 600 and 5 < counts[1] < 600
    expect(pages[0].page.locator(".hsd-foot")).not_to_contain_text("cancelled")
    expect(pages[1].page.locator(".hsd-foot")).to_contain_text("cancelled")
    for shown in pages:
        shown.check()


def test_a_reload_in_mid_run_comes_back_with_a_recording(open_page, own_server):
    url, log = own_server
    shown = opened(open_page, url)
    page = shown.page
    begin(page, "def walk(", "target", 600)
    page.wait_for_function(RUNNING)
    page.reload(wait_until="domcontentloaded")
    page.wait_for_selector(TOKENS)
    expect(page.locator(".hsd-badge")).to_have_text("Recording")
    expect(page.get_by_role("alert")).to_have_count(0)
    first = load_bundled(bundled()[0].name)
    expect(page.locator(TOKENS)).to_have_count(len(first))
    begin(page, "def again(", "db > target", 24)
    idle(page)
    expect(page.locator(".hsd-badge")).to_have_text("Finished run")
    expect(page.locator(TOKENS)).to_have_count(24)
    expect(page.locator(".hsd-prompt")).to_have_text("def again(")
    # A run of another length: had the one before the reload gone on, its tokens would come between.
    begin(page, "def once more(", "target", 60)
    idle(page)
    expect(page.locator(TOKENS)).to_have_count(60)
    begin(page, "def again(", "db > target", 24)
    idle(page)
    expect(page.locator(TOKENS)).to_have_count(24)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert "Traceback" not in log.read_text(errors="replace")
    shown.check()


def broken_files() -> dict[str, tuple[bytes, str]]:
    """Name → (content, words of what is said of it)."""
    good = load_bundled("both").to_dict()

    def but(**parts) -> bytes:
        return json.dumps({**good, **parts}).encode()

    def table(name: str, column: str, change) -> bytes:
        return but(**{name: {**good[name], column: change(list(good[name][column]))}})

    whole = gzip.compress(json.dumps(good).encode())
    noise = random.Random(0).randbytes(5000)
    misfit = "its parts are inconsistent"
    return {
        "text.json": (b"def main():\n", "is not a valid trace"),
        "empty.json": (b"", "is not a valid trace"),
        "list.json": (b"[1, 2, 3]", "not an hsd_viz trace"),
        "deep.json": (b"[" * 200_000, "is not a valid trace"),
        "noise.json.gz": (noise, "is not a valid trace"),
        "cut.json.gz": (whole[: len(whole) // 2], "incomplete or damaged"),
        "flipped.json.gz": (whole[:2000] + noise[:50] + whole[2050:], "is not a valid trace"),
        "newer.json": (but(schema=99), "update hsd_viz"),
        "odd.json": (but(schema="one"), "schema version"),
        "headless.json": (but(meta={}), "its meta lacks"),
        "uneven.json": (table("tokens", "text", lambda v: v[:-1]), "are not lists of one length"),
        "nan.json": (table("drafts", "score", lambda v: [float("nan")] * len(v)), misfit),
        "orphans.json": (table("drafts", "round", lambda v: [10_000_000] * len(v)), misfit),
        "verdicts.json": (table("drafts", "verdict", lambda v: ["accepted"] * len(v)), misfit),
        "kinds.json": (table("tokens", "kind", lambda v: ["bonus"] * len(v)), misfit),
        "slow.json": (table("calls", "duration_ns", lambda v: [10**15] * len(v)), misfit),
        "large.json": (b" " * 8_000_001, "is too large"),
    }


def test_files_that_are_no_traces_are_one_sentence_each_and_nothing_is_lost(open_page, own_server, tmp_path):
    url, log = own_server
    shown = opened(open_page, url)
    page = shown.page
    stack, tokens = page.locator(".hsd-origin-stack").text_content(), page.locator(TOKENS).count()
    page.locator(TOKENS).nth(30).click()
    alert = page.get_by_role("alert")
    for name, (content, words) in broken_files().items():
        path = tmp_path / name
        path.write_bytes(content)
        open_file(page, path)
        expect(alert, name).to_contain_text(words)
        expect(alert.locator("p"), name).to_have_count(1)
        said = alert.locator("p").text_content()
        assert name in said and "Traceback" not in said and "\n" not in said
        expect(alert.locator("details"), name).to_have_count(0)
        assert page.locator(".hsd-origin-stack").text_content() == stack and page.locator(TOKENS).count() == tokens
        expect(page.locator(".hsd-out .hsd-pinned"), name).to_have_attribute("data-i", "30")
        page.get_by_role("button", name="Dismiss").click()
        expect(alert).to_have_count(0)
    path = tmp_path / "good.json.gz"
    path.write_bytes(load_bundled("hierarchy").to_bytes())
    open_file(page, path)
    expect(page.locator(".hsd-origin-stack")).to_have_text(load_bundled("hierarchy").meta["stack_resolved"])
    assert "Traceback" not in log.read_text(errors="replace")
    shown.check()


def strange_run() -> Trace:
    """A recorded run whose texts are all strange: every token's, those of its drafts, its prompt and its machine's name."""
    trace = load_bundled("both")
    ids = sorted(trace.pieces)
    trace.pieces.update({token: STRANGE[place % len(STRANGE)] for place, token in enumerate(ids)})
    rows = [t._replace(text=trace.pieces[t.token_id]) for t in trace.token_rows]
    # Bytes that are no character by themselves.
    rows[5] = rows[5]._replace(text="\\xe2\\x9c", raw="e29c")
    rows[6] = rows[6]._replace(text="\\xf0\\x9f", raw="f09f")
    trace.token_rows = rows
    trace.draft_rows = [d._replace(text=trace.pieces[d.token_id]) for d in trace.draft_rows]
    trace.meta |= {"prompt": "".join(STRANGE), "device_name": STRANGE[1], "created": "<b>now</b>"}
    return trace


def literal(page) -> None:
    """Nothing that a run brought along has become an element, and none of its scripts ran."""
    assert page.locator(MARKED).count() == 0
    assert page.evaluate("window.pwned") is None


@pytest.mark.slow
def test_strange_text_is_text_everywhere(open_page, own_server, tmp_path):
    url, _ = own_server
    shown = opened(open_page, url)
    page = shown.page
    trace = strange_run()
    path = tmp_path / "<img src=x onerror=window.pwned=1>.json.gz"
    path.write_bytes(trace.to_bytes())
    open_file(page, path)
    expect(page.locator(".hsd-foot")).to_contain_text(STRANGE[1])
    expect(page.locator(".hsd-lede").first).to_have_text(f"Opened from {path.name}.")
    expect(page.locator(TOKENS)).to_have_count(len(trace))
    literal(page)

    # The text: each token is itself, in its place, whichever way it is written.
    shown_texts = page.eval_on_selector_all(TOKENS, "all => all.map((t) => t.textContent)")
    for row, text in zip(trace.token_rows, shown_texts, strict=True):
        if row.raw is None and row.text in (*STRANGE[:5], STRANGE[-1]):
            assert row.text in text
    everything = page.locator(".hsd-out").inner_text()
    assert "‹U+202E›abc" in everything and "\u202e" not in everything and "\u0000" not in everything
    for kind in (3, 4):
        where = [i for i, t in enumerate(trace.token_rows) if t.text == STRANGE[kind]]
        assert all(
            page.locator(f'{TOKENS}[data-i="{i}"]').evaluate("t => getComputedStyle(t).unicodeBidi") == "normal"
            for i in where
        ), "isolated, the tokens of a word would be ordered from left to right"
    page.locator(f'{TOKENS}[data-i="5"]').click()
    expect(page.locator(".hsd-card")).to_contain_text("e29c")
    script = next(t.index for t in trace.token_rows if t.text == STRANGE[0])
    page.locator(f'{TOKENS}[data-i="{script}"]').click()
    expect(page.locator(".hsd-card .hsd-big")).to_have_text(STRANGE[0])
    expect(page.locator(".hsd-player-words")).to_contain_text(STRANGE[0])

    # Every tab, with the cursor going over all of the run.
    drafted = {d.text for d in trace.draft_rows}
    assert drafted >= {STRANGE[0], STRANGE[3]}
    for title in ("Why", "Time", "Databases"):
        open_tab(page, title)
        bar = page.get_by_role("slider", name="Events of the run")
        bar.press("Home")
        for _ in range(12):
            bar.press("Shift+ArrowRight")
        literal(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), title
        if title == "Why":
            expect(page.locator(".hsd-sc-chip[data-key] code").first).to_be_visible()
    # What the map says of a pair is told in the words of the run.
    open_tab(page, "Databases")
    page.get_by_role("region", name="Temporal locality of the text").get_by_role("group").first.focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    literal(page)
    shown.check()

    # The page that is saved, opened from the disk.
    name, content = save(page, "Page")
    alone = open_page()
    requests: list[str] = []
    alone.page.on("request", lambda request: requests.append(request.url))
    alone.page.unroute_all()
    saved = tmp_path / name
    saved.write_bytes(content)
    alone.page.goto(saved.as_uri())
    expect(alone.page.locator(TOKENS)).to_have_count(len(trace))
    expect(alone.page.locator(".hsd-page-facts").last).to_contain_text(STRANGE[1])
    alone.page.locator(f'{TOKENS}[data-i="{script}"]').click()
    expect(alone.page.locator(".hsd-card .hsd-big")).to_have_text(STRANGE[0])
    literal(alone.page)
    assert requests == [saved.as_uri()] and alone.errors == []


def test_a_strange_prompt_is_decoded_and_compared_as_text(open_page, own_server):
    url, log = own_server
    shown = opened(open_page, url)
    page = shown.page
    prompt = "".join(STRANGE[:8])
    begin(page, prompt, "db > nano:4 > target", 24)
    expect(page.locator(".hsd-prompt")).to_contain_text(STRANGE[0])
    idle(page)
    expect(page.locator(TOKENS)).to_have_count(24)
    literal(page)
    open_tab(page, "Compare")
    panel = page.get_by_role("tabpanel", name="Compare")
    field(page, "Stacks, one per line").fill("target\ndb > target")
    field(page, "Stacks, one per line").blur()
    panel.get_by_role("button", name="Decode and compare", exact=True).click()
    expect(panel.locator(".hsd-versus")).to_contain_text("שלום")
    literal(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert "Traceback" not in log.read_text(errors="replace")
    shown.check()
