"""The documentation: commands and links exist, every page is in the navigation, and the built site
loads nothing from a network.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from itertools import chain, pairwise
from pathlib import Path

import pytest
import yaml

from tests.rows import find
from tools.docs import pictures

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
named = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


@named
def test_links_exist(page):
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    local = []
    for link in links:
        if not link.startswith(("http://", "https://", "#")):
            local.append(link.partition("#")[0])
    assert [link for link in local if not (page.parent / link).exists()] == []


@named
def test_commands_exist(page):
    from hsd_viz.cli import build_parser

    commands = re.findall(r"^hsd-viz ([a-z]\w*)", page.read_text(encoding="utf-8"), re.M)
    known = find(build_parser()._actions, dest="command").choices
    assert set(commands) <= set(known)


def options_of(command: str) -> dict[str, str]:
    """The options of a command that do not differ between the rows and the reports of a table."""
    words = shlex.split(command)[2:]
    given = dict(pairwise(words))
    varied = ("--stack", "--json", "--temperature", "--profile")
    options = {}
    for word in words:
        if word.startswith("--") and word not in varied:
            options[word] = given[word]
    return options


@pytest.mark.parametrize("part", ["t07", "t1", "greedy"])
def test_the_command_of_the_report_is_the_one_that_was_run(part):
    section = (DOCS / "report.md").read_text(encoding="utf-8").partition("## 5.")[2]
    (shown,) = re.findall(r"`(hsd-viz bench --suite [^`]*)`", section)
    measured = json.loads((DOCS / "bench" / f"heldout-{part}-cpu.json").read_text())
    assert options_of(shown) == options_of(measured["command"])


@named
def test_modules_and_files_exist(page):
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"python -m ((?:benchmarks|tools)[\w.]+\w)", text)) - {
        "benchmarks.NAME",
        "tools.NAME",
    }
    missing = []
    for name in modules:
        place = ROOT / name.replace(".", "/")
        if not place.with_suffix(".py").exists() and not (place / "__main__.py").exists():
            missing.append(name)
    paths = set(
        re.findall(r"`((?:hsd_viz|tests|tools|benchmarks|docs)/[\w/.-]+\.(?:py|md|json))`", text)
    )
    assert (
        missing + [path for path in paths if "NAME" not in path and not (ROOT / path).exists()]
        == []
    )


def test_the_readme_is_short_and_samples_first():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "--temperature 0.7" in next(line for line in lines if line.startswith("hsd-viz decode"))


def test_no_picture_is_older_than_its_data():
    taken = json.loads(pictures.TAKEN.read_text())
    assert set(taken) <= set(pictures.PICTURES) == set(pictures.DATA)
    old = [name for name, data in taken.items() if data != pictures.data_hash(name)]
    assert old == [], f"run `python -m tools.docs.pictures {' '.join(old)}`"


def test_the_ten_files_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"^\d+\. `(hsd_viz/[\w/.]+)`:", text, re.M)
    missing = [name for name in files if not (ROOT / name).is_file()]
    assert len(files) == 10
    assert missing == []


def pages_of(nav) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav if isinstance(nav, list) else nav.values()
    return list(chain(*map(pages_of, parts)))


def test_every_page_is_in_the_navigation():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert sorted(pages_of(nav)) == sorted(
        str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")
    )


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="mkdocs is not installed")
def test_the_site_loads_nothing_from_a_network(tmp_path):
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path / "site"),
    ]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    pages, styles = (list((tmp_path / "site").rglob(f"*.{kind}")) for kind in ("html", "css"))
    element = r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]+"
    loaded = []
    for page in pages:
        loaded += re.findall(element, page.read_text())
    address = r"(?:url\([\"']?|@import [\"']?)(?:https?:)?//\S+"
    for style in styles:
        loaded += re.findall(address, style.read_text())
    assert pages
    assert loaded == []
