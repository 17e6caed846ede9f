"""Sweeps on Ray count as one process does. Needs the extra ``cluster``."""

from __future__ import annotations

import json

import pytest

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


def test_replay_on_ray_counts_the_same(tmp_path):
    from hsd_viz.logs.report import replay, replay_sharded

    log = tmp_path / "log.jsonl"
    log.write_text(
        "".join(json.dumps({"prompt_ids": [k, 2, 3], "output_ids": [4, 5, k] * 20}) + "\n" for k in range(9))
    )
    drafters = ("lookup", "sam", "db[context]")
    there, here = replay_sharded(log, address="local", drafters=drafters), replay(log, drafters=drafters)
    timeless = lambda report: [{k: v for k, v in row.items() if k != "seconds"} for row in report.to_dict()["drafters"]]
    assert timeless(there) == timeless(here)
    assert there.requests == here.requests and there.complete
