"""Sweeps on Ray: the same counts as without, a lost node, resuming. Needs the extra ``cluster``."""

from __future__ import annotations

import json

import pytest

from hsd_viz.bench import Settings, load_suite, run_bench
from hsd_viz.bench.checkpoint import Checkpoint

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
STACKS = ["db > target", "nano:4 > target"]
#: With a budget drafts do not depend on measured times.
SETTINGS = Settings(max_new_tokens=16, repeats=1, budget=16)
OPTIONS = {"threads": 1, "device": "cpu"}


def counts(measurement):
    return {
        name: [(o.token_ids, o.drafted, o.accepted, o.target_forwards) for o in outputs]
        for name, outputs in measurement.outputs.items()
    }


@pytest.fixture(scope="module")
def suite():
    return load_suite("heldout").limited(10)


@pytest.fixture(scope="module")
def alone(suite):
    from hsd_viz.engine.local import load_engine

    return counts(run_bench(load_engine(**OPTIONS), STACKS, suite, SETTINGS))


@pytest.mark.parametrize("lost", [False, True], ids=["two nodes", "one node killed"])
def test_two_nodes_count_as_one_process(lost, suite, alone, tmp_path):
    from ray.cluster_utils import Cluster

    from hsd_viz.bench.sharded import run_sharded

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    second = cluster.add_node(num_cpus=1)
    seen = []

    def progress(p):
        seen.append(p.done)
        if lost and len(seen) == 2:  # after the first part, while others run
            cluster.remove_node(second, allow_graceful=False)

    try:
        path = tmp_path / "checkpoint"
        found, shards = run_sharded(
            OPTIONS,
            STACKS,
            suite,
            SETTINGS,
            address=cluster.address,
            checkpoint=Checkpoint(path, {}),
            progress=progress,
        )
    finally:
        cluster.shutdown()
    assert found.complete and counts(found) == alone
    assert sorted(id for shard in shards for id in shard.prompts) == sorted(p.id for p in suite.prompts)
    assert seen == sorted(seen) and seen[-1] == len(suite.prompts)
    assert sum("output" in json.loads(line) for line in path.read_text().splitlines()) == len(suite.prompts) * 3


def test_finished_parts_are_not_run_again(suite, alone, monkeypatch):
    from hsd_viz.bench import sharded

    store = Checkpoint()
    sent = []

    def sweep(work, parts, address, **resources):
        from hsd_viz.cluster import Part

        for number, part in enumerate(parts):
            sent.append([p.id for p in part[2].prompts])
            if len(sent) == 2:
                raise KeyboardInterrupt
            yield Part(number, work(part), "here", None)

    monkeypatch.setattr(sharded, "sweep", sweep)
    run = lambda: sharded.run_sharded(OPTIONS, STACKS, suite, SETTINGS, address="local", checkpoint=store)
    assert not run()[0].complete
    found, shards = run()
    assert found.complete and counts(found) == alone
    assert sent[0] not in sent[1:] and len(shards) == 2


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
