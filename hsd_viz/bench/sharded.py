"""Benches and plans on Ray: one part is a few prompts with all stacks, interleaved, so that ratios hold anywhere."""

import functools
import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from hsd_viz.bench.checkpoint import Checkpoint
from hsd_viz.bench.output import rows_of
from hsd_viz.bench.plan import Decodes, Work, decodes
from hsd_viz.bench.report import Shard
from hsd_viz.bench.runner import Measurement, Settings, measured, read_stacks, run_bench
from hsd_viz.cluster import sweep
from hsd_viz.prompts.suites import Suite
from hsd_viz.terminal import Progress

#: Prompts of a part.
SHARD = 4


def run_sharded(
    options: dict[str, Any],
    stacks: Sequence[str],
    suite: Suite,
    settings: Settings,
    *,
    address: str,
    template: str = "auto",
    checkpoint: Checkpoint,
    progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Measurement, tuple[Shard, ...]]:
    """Measure as :func:`~hsd_viz.bench.runner.run_bench`, on a cluster; ``options`` are those of the engine. Finished
    parts are stored in ``checkpoint``. Raises: ValueError: if the bench cannot be divided or Ray fails.
    """
    if settings.state != "cold" or settings.tune_baselines:
        raise ValueError("a bench on Ray has no memory from prompt to prompt: use --state cold and default baselines")
    rows = rows_of(read_stacks(stacks), settings.state)
    done = lambda p: all(len(checkpoint.done.get((name, p.id), ())) >= settings.repeats for name in rows)
    prompts = [p for p in suite.prompts if p.id not in checkpoint.left_out and not done(p)]
    shards = [tuple(prompts[k : k + SHARD]) for k in range(0, len(prompts), SHARD)]
    parts = [(options, stacks, replace(suite, prompts=shard), settings, template) for shard in shards]
    profiles: dict[str, list] = {}
    found: list[Shard] = []
    used, complete = None, False
    finished = len(suite.prompts) - len(prompts)
    progress(Progress(finished, len(suite.prompts), "", "", f"{len(shards)} parts on Ray"))
    try:
        with closing(sweep(_measure, parts, address, **_resources(options))) as results:
            for part in results:
                store, own, used = part.result
                for (row, prompt), outputs in store.done.items():
                    for output in outputs:
                        checkpoint.add(row, prompt, output)
                for prompt, why in store.left_out.items():
                    checkpoint.leave_out(prompt, why)
                for row, rounds in own.items():
                    profiles.setdefault(row, []).extend(rounds)
                shard = shards[part.number]
                found.append(Shard(tuple(p.id for p in shard), part.node, part.processor))
                finished += len(shard)
                progress(Progress(finished, len(suite.prompts), "", "", f"{part.node}: {shard[-1].id}"))
        complete = True
    except KeyboardInterrupt:
        pass
    return measured(suite, settings, rows, checkpoint, complete, profiles, used), tuple(found)


def planning(options: dict[str, Any], address: str) -> Callable[..., Decodes]:
    """Return what takes the place of :func:`hsd_viz.bench.plan.decodes`, on the nodes of a cluster. The costs by model
    are those of the first part that finishes.
    """

    def decode_parts(
        engine: Any,
        work: Work,
        numbers: Sequence[int],
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
    ) -> Decodes:
        parts = [(options, work, numbers[k : k + SHARD]) for k in range(0, len(numbers), SHARD)]
        done: dict[tuple[int, str], list] = {}
        costs: dict[str, Any] = {}
        complete = False
        with suppress(KeyboardInterrupt), closing(sweep(_plan, parts, address, **_resources(options))) as results:
            for part in results:
                own, prices, _ = part.result
                done |= own
                costs = costs or prices
                finished = len(done) // len(work.stacks)
                progress(Progress(finished, len(numbers), "", "", f"measured on {part.node}"))
                if cancelled():
                    break
            else:
                complete = True
        return done, costs, complete

    return decode_parts


def _plan(part: tuple) -> tuple:
    options, work, numbers = part
    return decodes(_engine(json.dumps(options)), work, numbers)


def _resources(options: dict[str, Any]) -> dict[str, Any]:
    return {"cpus": options.get("threads") or 1, "gpus": int(str(options.get("device")).startswith("cuda"))}


def _measure(part: tuple) -> tuple[Checkpoint, dict[str, list], str | None]:
    options, stacks, suite, settings, template = part
    store = Checkpoint()
    found = run_bench(_engine(json.dumps(options)), stacks, suite, settings, template=template, checkpoint=store)
    if not found.complete:
        raise ValueError("a part of the bench was interrupted")
    return store, found.profiles, found.template


@functools.lru_cache(1)
def _engine(options: str) -> Any:
    """Return the engine of this process, which several parts may use."""
    from hsd_viz.engine.local import load_engine

    return load_engine(**json.loads(options))
