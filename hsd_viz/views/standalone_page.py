"""The frame of a page that stands alone: views' own scripts and data in one file, nothing fetched. It opens from a disk, offline."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hsd_viz.views.linked import SHARED, page_palette
from hsd_viz.views.scripts import STATIC, joined

_EXPORTED = re.compile(r"^export \{[^}]*\};$", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class View:
    """A view of such a page: the ``name`` of its place (``data-view``), its own ``files`` behind those that all linked views share, its
    style sheet, and the traits that its script reads."""

    name: str
    files: tuple[str, ...]
    style: str
    state: dict[str, Any]


def whole(
    *, title: str, header: str, how: str, body: str, footer: str, data: dict[str, Any], views: Sequence[View]
) -> str:
    """The HTML of a page. ``title`` and ``footer`` are text; ``header``, ``how`` (how to read it) and ``body`` are HTML; the first view
    gets ``data``.

    The data are packed (gzip, base64), so that no text in them can end the element they stand in. The page's policy lets its own
    script and style run, by their hashes, and forbids every connection.
    """
    content = {"data": data, "palette": page_palette(), "states": {view.name: view.state for view in views}}
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode("ascii"), mtime=0)).decode("ascii")
    script, style = _script(views), joined("standalone.css", "linked.css", *(view.style for view in views), "paper.css")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
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
<details class="hsd-page-how"><summary>How to read this</summary>
{how}
</details>
<p id="start">Unpacking the run …</p>
<noscript><p>This page shows recorded runs by a script of its own; scripts are turned off here.</p></noscript>
{body}
<footer>{escaped(footer)}</footer>
</main>
<script type="text/plain" id="run">{packed}</script>
<script>{script}</script>
</body>
</html>
"""


def escaped(text: str) -> str:
    """Text from a trace as HTML; half characters, which no file can hold, as U+FFFD."""
    return html.escape(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _script(views: Sequence[View]) -> str:
    """All scripts as one: the shared part once, each view in a scope of its own, then what starts them."""
    shared = "\n".join(_EXPORTED.sub("", (STATIC / name).read_text(encoding="utf-8")) for name in SHARED)
    parts = []
    for view in views:
        source, found = _DEFAULT.subn(
            "return ", "\n".join(_EXPORTED.sub("", (STATIC / f).read_text(encoding="utf-8")) for f in view.files)
        )
        assert found == 1, f"{view.name} exports no widget"
        parts.append(f"views.{view.name} = (() => {{\n{source}\n}})();")
    start = (STATIC / "standalone.js").read_text(encoding="utf-8")
    script = "\n".join(["(() => {", '"use strict";', shared, "const views = {};", *parts, start, "})();"])
    # Within a script element these alone could end it, or keep it from ending.
    assert not re.search(r"<(/script|script|!--)", script, re.IGNORECASE)
    return script


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"
