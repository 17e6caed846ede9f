"""The static site: complete, small, self-contained."""

import json
import os
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hsd_viz.engine.recordings import bundled
from hsd_viz.models.families import CODE
from hsd_viz.views.page_data import offered
from hsd_viz.views.site import Page, build, sections


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.linked: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag, attrs):
        links = [value for name, value in attrs if name in ("href", "src") and value]
        self.linked += links
        self.loaded += links if tag != "a" else []


@pytest.fixture(scope="module")
def site(tmp_path_factory, run_once):
    out = tmp_path_factory.mktemp("site") / "out"
    size = build(out)
    assert size == sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return out


def test_the_site_is_small(site):
    assert sum(file.stat().st_size for file in site.rglob("*") if file.is_file()) <= 48_000_000


def test_every_page_is_linked_and_every_link_leads_to_a_page(site):
    links = Links()
    links.feed((site / "index.html").read_text())
    pages = []
    for file in site.rglob("*.html"):
        if file.name != "index.html":
            pages.append(str(file.relative_to(site)))
    own = ("data:", "#")
    files = [*pages, "site.css", "site.js"]
    assert {link.partition("?")[0] for link in links.linked if not link.startswith(own)} == set(
        files
    )
    assert {f"recordings.html?trace={recording.name}" for recording in bundled()} <= set(
        links.linked
    )
    assert any(page.startswith("reports/") for page in pages)


def test_the_card_of_a_recorded_run_has_its_speedup(site):
    cards = re.findall(r"<li>.*?</li>", (site / "index.html").read_text(), re.DOTALL)
    shown = {}
    for card in cards:
        name = re.search(r'href="recordings\.html\?trace=([^"]+)"', card)
        speed = re.search(r"<b>([\d.]+)&nbsp;×</b>", card)
        if name is not None:
            shown[name[1]] = speed and speed[1]
    expected = {}
    for name, recording in offered().items():
        expected[name] = recording.speedup and f"{recording.speedup:.2f}"
    assert shown == expected
    assert len(set(shown.values())) > 2


def test_no_page_loads_anything(site):
    for page in site.rglob("*.html"):
        text = page.read_text()
        links = Links()
        links.feed(text)
        assert not [link for link in links.loaded if re.match("(https?:)?//", link)], page
        assert "default-src 'none'" in text, page


def test_the_runtime_is_the_one_of_its_manifest(site):
    manifest = json.loads((site / "runtime" / "manifest.json").read_text())
    for name, facts in manifest["files"].items():
        content = (site / "runtime" / name).read_bytes()
        assert facts == {"bytes": len(content), "crc32": zlib.crc32(content)}
    assert set(manifest["models"]) == set(CODE.names)
    assert manifest["databases"].keys() == {
        "model",
        "statistics",
    }
    small = ("hsd-viz.wasm", "tokenizer.json", "nano.safetensors", "small.safetensors")
    assert sum(manifest["files"][name]["bytes"] for name in small) <= 6_500_000


def test_a_site_is_replaced_and_nothing_else(site, tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.views.site.sections", lambda: sections()[2:])  # the reports alone
    (site / "reports" / "old.html").write_text("x")
    build(site)
    assert (site / "reports").is_dir()
    assert not (site / "reports" / "old.html").exists()
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match="is not a site made by this command"):
        build(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "x"


def test_an_interrupt_between_the_renames_leaves_the_site(tmp_path, monkeypatch):
    monkeypatch.setattr("hsd_viz.views.site.sections", list)
    site = tmp_path / "site"
    build(site)
    (site / "mine.txt").write_text("x")
    rename = Path.rename

    def interrupted(self, target):
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build(site)
    assert (site / "mine.txt").read_text() == "x"


def test_a_link_still_leads_to_the_site_that_is_built_again(tmp_path, monkeypatch):
    page = Page("lessons/a.html", "A lesson", "", lambda: "<p>a lesson</p>")
    monkeypatch.setattr("hsd_viz.views.site.sections", lambda: [("Lessons", "One.", [page])])
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "site")
    for _ in range(2):
        build(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "site" / "index.html").is_file()
    assert os.listdir(tmp_path / "folder") == ["site"]
