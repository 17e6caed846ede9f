"""The events of a run are the same in Python and in the browser, and so are their places."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.views import payload
from hsd_viz.views.events import events_of

NODE = shutil.which("node")
LOADER = Path(__file__).parents[1] / "js" / "load.mjs"
SCRIPT = """
import { readFileSync } from "node:fs";
const { load } = await import(process.argv[2]);
const { createStore } = await load("player.js");
const found = JSON.parse(readFileSync(0, "utf8")).map((snapshot) => {
  const store = createStore();
  store.adopt(snapshot);
  return store.index().events.map((e) => [e.kind, e.round, e.token, e.draft ? e.draft.node : null]);
});
console.log(JSON.stringify(found));
"""


@pytest.mark.skipif(NODE is None, reason="node is missing; to install it: apt-get install nodejs")
def test_python_and_the_page_count_the_same_events(tmp_path):
    traces = [make_trace(), *(load_bundled(r.name) for r in bundled())]
    runs = json.dumps([{"run": str(i), "seq": 1, **payload.snapshot(t)} for i, t in enumerate(traces)])
    script = tmp_path / "events.mjs"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([NODE, str(script), LOADER.as_uri()], input=runs, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    for trace, page in zip(traces, json.loads(done.stdout), strict=True):
        ours = [[e.kind, e.round, e.token, e.draft.node if e.draft else None] for e in events_of(trace)]
        assert ours == page and len(ours) > len(trace.token_rows) // 2


def test_a_run_without_tokens_has_no_events():
    from hsd_viz.trace import Trace

    assert events_of(Trace({})) == []
