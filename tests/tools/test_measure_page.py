"""The tools that measure the page press what is on it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_tools_press_buttons_that_the_page_has():
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("js/[!n]*/**/*.ts")]
    page = "\n".join(sources)
    names = set()
    for tool in ROOT.glob("tools/**/*.py"):
        text = tool.read_text(encoding="utf-8")
        names |= set(re.findall(r'get_by_role\("(?:button|tab)", name="([^"]+)"', text))
    assert names
    assert {name for name in names if name not in page} == set()
