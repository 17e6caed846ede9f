"""The frame of self-contained pages: scripts and data in one HTML file that opens offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from typing import Any

from hsd_viz.views.linked import page_palette
from hsd_viz.views.scripts import BUNDLE, STATIC


def whole(
    *,
    title: str,
    header: str,
    how: str,
    body: str,
    footer: str,
    data: dict[str, Any],
    states: dict[str, dict[str, Any]],
) -> str:
    """Return a page as HTML. ``title`` and ``footer`` are text; ``header``, ``how`` (help) and ``body`` are HTML.

    ``states`` are the traits of the page's views by name (``data-view``). The first view gets ``data``, packed by gzip and base64 so that no text can close its element. The content security
    policy allows only the page's own script and style, by hash, and no connections.
    """
    content = {"data": data, "palette": page_palette(), "states": states}
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
    script, style = BUNDLE, (STATIC / "page.css").read_text(encoding="utf-8")
    # Only these sequences could close the script or style element early or keep it open.
    assert not re.search(r"<(/script|script|!--|/style)", script + style, re.IGNORECASE)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri "
        "'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{escaped(title)} · hsd_viz</title>
<style>{style}</style>
</head>
<body>
<main class="hsd-page">
{header}
<details class="hsd-page-how"><summary>Help</summary>
{how}
</details>
<p id="start">Loading …</p>
<noscript><p>This page needs JavaScript.</p></noscript>
{body}
<footer>{escaped(footer)}</footer>
</main>
<script type="text/plain" id="run">{packed}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def escaped(text: str) -> str:
    """Escape text for HTML; lone surrogates become U+FFFD."""
    return html.escape(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
