"""Record the bundled traces: real runs of the shipped ladder, checked before they are saved.

python -m tools.record                 # all recipes, and the index
python -m tools.record --side-by-side  # one prompt with several stacks
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.padding import padded_name, save_padded
from hsd_viz.decoding.options import DEFAULT_RULE
from hsd_viz.disk import write_whole
from hsd_viz.engine.beside_plain import note_plain
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.recordings import SIDE_BY_SIDE, TRACES
from hsd_viz.measure.bench.block import impossible
from hsd_viz.settings.ranges import check_range
from hsd_viz.stack import parse
from hsd_viz.terminal import Status, ignore_status
from hsd_viz.trace import Trace
from hsd_viz.trace.identities import check
from tools.record.recipes import (
    FINALISTS,
    GROUPS,
    MAX_TURNS,
    MIXED,
    PARTS,
    PRESETS,
    RECIPES,
    SAMPLED,
    SEEDS,
    SIDES,
    Recipe,
)
from tools.record.selection import Facts, facts, measured, opening, speedup
from tools.record.tour import write_tour


def record_traces(
    out: Path | None = None,
    *,
    tokens: int = 128,
    repeats: int = 5,
    seeds: Sequence[int] = SEEDS,
    progress: Status = ignore_status,
) -> list[Path]:
    """Record every recipe, write ``index.json`` beside the traces, and return the paths.

    On the CPU with one thread. The selected recordings are the best of one run per candidate
    (stack, prompt, seed). Each recording and plain decoding of its prompt alternate, ``repeats``
    times after one warm-up; the fastest run of each is used, the plain one as figures in the meta
    of the other (:func:`hsd_viz.engine.note_plain`). Each trace must satisfy all identities
    (:func:`hsd_viz.trace.metrics.check`). The index begins with the run that
    :func:`tools.record.selection.opening` selects.
    """
    folder = Path(out) if out is not None else TRACES
    paths = []
    index: list[dict[str, Any]] = []
    shown = {}
    with _engine() as engine:
        chosen = _selected(engine, seeds, progress, max_new_tokens=tokens)
        for recipe in (*chosen, *RECIPES):
            stacks = list(dict.fromkeys([recipe.stack, "target"]))
            with _engine(recipe.layers) if recipe.layers else nullcontext(engine) as own:
                trace, *plain = fastest(
                    own, stacks, repeats, recipe.prompt, max_new_tokens=tokens, **recipe.options
                )
            trace.meta["models"][-1]["model"] = padded_name("target", recipe.layers)
            for other in plain:
                note_plain(trace, other)
            paths.append(save_recording(trace, recipe, folder, index))
            shown[recipe.name] = facts(trace)
            lacks = ", ".join(shown[recipe.name].missing) or "nothing"
            progress(f"{recipe.name}: {_figures(trace)}; lacks: {lacks}")
    first = opening(shown.items())
    progress(f"the dashboard opens on {first}")
    index.sort(key=lambda row: row["name"] != first)
    paths.append(write_index(folder, index))
    return [*paths, write_tour()] if folder == TRACES else paths


def _selected(
    engine: LocalEngine, seeds: Sequence[int], progress: Status, **options: Any
) -> list[Recipe]:
    """Run all candidates once, time the best again, and return the recipe of each selected
    recording.
    """
    runs: dict[tuple[str, str, int], Facts] = {}

    def run(stacks: Sequence[str], prompt: str, seed: int, repeats: int) -> None:
        sampling = {**SAMPLED, "seed": seed}
        plain, *traces = fastest(
            engine, ["target", *stacks], repeats, PRESETS[prompt], **options, **sampling
        )
        for stack, trace in zip(stacks, traces, strict=True):
            note_plain(trace, plain)
            runs[stack, prompt, seed] = facts(trace)

    stacks_of_prompt: dict[str, set[str]] = {}
    for selected in (MIXED, *PARTS):
        for prompt in selected.prompts:
            stacks_of_prompt.setdefault(prompt, set()).update(selected.stacks)
    for prompt in sorted(stacks_of_prompt):
        progress(f"candidates: prompt {prompt}")
        for seed in seeds:
            run(sorted(stacks_of_prompt[prompt]), prompt, seed, repeats=1)
    recipes = []
    for selected in (MIXED, *PARTS):
        own = [key for key in runs if key[0] in selected.stacks and key[1] in selected.prompts]

        def score(key, selected=selected):
            return selected.score(runs[key])

        best = sorted(own, key=score, reverse=True)[:FINALISTS]
        # The best of single runs are the lucky ones, too.
        for stack, prompt, seed in best:
            run([stack], prompt, seed, repeats=3)
        stack, prompt, seed = max(best, key=score)
        recipe = Recipe(
            name=selected.name,
            title=selected.stacks[stack],
            blurb=f"{selected.blurb} Selected by measurement from {len(own)} runs.",
            stack=stack,
            prompt=PRESETS[prompt],
            options={**SAMPLED, "seed": seed},
        )
        recipes.append(recipe)
    return recipes


def _figures(trace: Trace) -> str:
    times = speedup(trace)
    length = f"{trace.metrics()['mean_acceptance_length']:.2f} tokens per target forward pass"
    return length + (f", {times:.2f}x plain decoding" if times else "")


def record_side_by_side(
    out: Path | None = None,
    *,
    tokens: int = 128,
    repeats: int = 9,
    progress: Status = ignore_status,
) -> list[Path]:
    """Record each group of :data:`GROUPS` into its own folder with an ``index.json``, and return
    the paths.

    On the CPU with one thread, in the fastest runtime. The stacks of a group alternate, ``repeats``
    times after one warm-up, and the fastest run of each stack is used.
    """
    paths = []
    with _engine() as engine:
        for group, (prompt, options) in GROUPS.items():
            folder = (Path(out) if out is not None else SIDE_BY_SIDE) / group
            recipes = [
                Recipe(name, title, blurb, stack, prompt, options)
                for name, title, blurb, stack in SIDES
            ]
            traces = fastest(
                engine,
                [r.stack for r in recipes],
                repeats,
                prompt,
                max_new_tokens=tokens,
                **options,
            )
            index: list[dict] = []
            for recipe, trace in zip(recipes, traces, strict=True):
                note_plain(trace, traces[0])
                paths.append(save_recording(trace, recipe, folder, index))
                progress(
                    f"{group}, {recipe.name}: {trace.metrics()['tokens_per_second']:.0f} tokens/s"
                )
            paths.append(write_index(folder, index))
    return paths


def fastest(
    engine: LocalEngine, stacks: Sequence[str], repeats: int, prompt: str, **options: Any
) -> list[Trace]:
    """Return each stack's fastest of ``repeats`` interleaved runs after a warm-up; its meta records
    their number.

    While a speed-up exceeds the acceptance length, which only other load can cause, the turns are
    continued.
    """
    check_range("the number of repeats", repeats, 1)
    rule = rule_of(stacks, options.get("temperature", 0.0))

    def turn():
        return [engine.run(prompt, stack, rule=rule, **options) for stack in stacks]

    turn()  # a warm-up
    fastest = turn()
    for done in range(1, MAX_TURNS * repeats + 1):
        if done > 1:
            pairs = zip(fastest, turn(), strict=True)
            fastest = [min(pair, key=_seconds) for pair in pairs]
        if done >= repeats and not _disturbed(stacks, fastest):
            break
    for trace in fastest:
        trace.meta["fastest_of"] = done
    return fastest


def rule_of(stacks: Sequence[str], temperature: float) -> str:
    """Return the rule of a recording.

    Sampled drafts of models are verified by the token rule, whose arithmetic the page shows for
    each token.
    """
    has_drafts = any(len(parse(stack).models) > 1 for stack in stacks)
    return "token" if temperature and has_drafts else DEFAULT_RULE


def _seconds(trace: Trace) -> float:
    return measured(trace.metrics()["seconds"])


def _disturbed(stacks: Sequence[str], traces: Sequence[Trace]) -> bool:
    """Return whether a run is faster than its acceptance length allows, so that other load slowed
    plain decoding.
    """
    plain = dict(zip(stacks, traces, strict=True)).get("target")
    if plain is None:
        return False
    plain_speed = measured(plain.metrics()["tokens_per_second"])
    for trace in traces:
        figures = trace.metrics()
        gain = measured(figures["tokens_per_second"]) / plain_speed
        if impossible(gain, figures["mean_acceptance_length"]):
            return True
    return False


@contextmanager
def _engine(layers: int = 0) -> Iterator[LocalEngine]:
    """Yield the engine for recordings, its target padded with layers; restore torch's number of
    threads afterwards.
    """
    threads = torch.get_num_threads()
    with TemporaryDirectory() as folder:
        try:
            with load_engine(
                save_padded("target", layers, 0, folder), device="cpu", dtype="int8", threads=1
            ) as engine:
                engine.wait_ready()
                yield engine
        finally:
            torch.set_num_threads(threads)


def save_recording(trace: Trace, recipe: Recipe, folder: Path, index: list[dict]) -> Path:
    """Check a trace, save it and add it to the index."""
    check(trace)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recipe.name}.json.gz"
    times = None if recipe.stack == "target" else speedup(trace)
    row = {
        "name": recipe.name,
        "file": path.name,
        "title": recipe.title,
        "blurb": recipe.blurb,
        "stack": recipe.stack,
    }
    index.append({**row, "speedup": times and round(times, 3)})
    return trace.save(path)


def write_index(folder: Path, index: list[dict]) -> Path:
    write_whole(folder / "index.json", json.dumps(index, indent=1) + "\n")
    return folder / "index.json"
