"""Record answers of SmolLM2: the runs that the page opens with.

    python -m tools.record.answers         # the runs
    python -m tools.record.answers --race  # the first of them by several stacks, to compare

Each stack and plain decoding of its prompt alternate, and the fastest run of each is kept, as in
:mod:`tools.record.traces`. The seed of an answer is the first with which it ends by itself, does
not repeat itself, and has a round that shows a rejection: a rule, so that no run is selected for
its speed-up.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from hsd_viz.engine.beside_plain import note_plain
from hsd_viz.engine.local import LocalEngine, load_engine
from hsd_viz.engine.recordings import ANSWERS, SIDE_BY_SIDE, TEMPERATURE, load_bundled
from hsd_viz.settings.engine_choices import DType
from hsd_viz.terminal import Status, ignore_status
from hsd_viz.trace import Trace
from hsd_viz.trace.rows import RoundRow
from tools.record.recipes import Recipe
from tools.record.selection import REPEATED, measured, speedup
from tools.record.traces import fastest, rule_of, save_recording, write_index

#: Most tokens of an answer, and the seeds that are tried.
TOKENS = 160
SEEDS = range(64)
#: What the recordings call their target, wherever its file was.
MODEL = "SmolLM2-135M-Instruct"
_DATABASES = "db > target"


COUNCIL = (
    "The council of Ashford approved a new bridge over the river on Tuesday after a debate of four "
    "hours. Maya Lindqvist, an architect, said that the decision was long overdue. The plan will "
    "cost about 40 million and is expected to be finished in June. Opponents argued that the money "
    "should be spent on schools and clinics instead."
)
SKY = "Why is the sky blue?"
SWIM = "Give three short tips for learning to swim."
ANSWERS_OF = (
    Recipe(
        name="summary",
        title="A summary",
        blurb="Names and phrases come from the prompt: copying finds them there.",
        stack=_DATABASES,
        prompt=f"Summarize the following text in one or two sentences.\n\n{COUNCIL}",
    ),
    Recipe(
        name="list",
        title="A list that everybody can guess",
        blurb=(
            "The days return again and again, each with something else after it: copying proposes "
            "what came last, and often the target goes another way."
        ),
        stack=_DATABASES,
        prompt=(
            "List the days of the week, and say in a few words what many people do on each of them."
        ),
    ),
    Recipe(
        name="translation",
        title="A translation",
        blurb=(
            "Little of the answer is in the prompt: copying and the model database find a few "
            "tokens each."
        ),
        stack=_DATABASES,
        prompt=(
            "Translate German to English: Die Kinder spielen am Fluss, und ihre Eltern trinken "
            "Kaffee."
        ),
    ),
    Recipe(
        name="arithmetic",
        title="A calculation",
        blurb="The numbers of the question return in every line. The result need not be right.",
        stack=_DATABASES,
        prompt=(
            "Tom has 12 apples and buys 5 more. Then he gives 3 to Anna. How many apples does Tom "
            "have left? Think step by step."
        ),
    ),
    Recipe(
        name="code",
        title="A function in Python",
        blurb="Code repeats its own names, and its idioms are in the databases.",
        stack=_DATABASES,
        prompt="Write a Python function that counts the vowels in a string.",
    ),
    Recipe(
        name="explanation",
        title="An explanation",
        blurb="New sentences: databases find little, and the target writes most tokens itself.",
        stack=_DATABASES,
        prompt=SKY,
    ),
    Recipe(
        name="one-draft",
        title="nano",
        blurb=(
            "nano has two layers of the target, trained on its text, and proposes three tokens. "
            "They are sampled: see u, q and p of each, and the residual of each correction."
        ),
        stack="nano:3 > target",
        prompt=SWIM,
    ),
    Recipe(
        name="hierarchy",
        title="Databases, then nano",
        blurb=(
            "The databases draft for nano, and nano for the target: every level verifies the one "
            "below."
        ),
        stack="db > nano:2 > target",
        prompt=SWIM,
    ),
    Recipe(
        name="copy",
        title="Databases, then a copy of the target",
        blurb=(
            "The target has 16-bit weights here. A copy with those of its file, most of 4 bits, "
            "drafts for it and agrees nearly always; the databases save the copy some of its "
            "passes."
        ),
        stack="db > target[int8]:5 > target",
        prompt=SKY,
        dtype="bfloat16",
    ),
    Recipe(
        name="plain",
        title="Plain decoding of an explanation",
        blurb="One token per forward pass of the target: the reference for all other stacks.",
        stack="target",
        prompt=SKY,
    ),
)


def record_answers(
    engine_of: Callable[[str], LocalEngine],
    out: Path = ANSWERS,
    *,
    answers: Sequence[Recipe] = ANSWERS_OF,
    repeats: int = 5,
    seeds: Sequence[int] = SEEDS,
    tokens: int = TOKENS,
    progress: Status = ignore_status,
) -> list[Path]:
    """Record every answer, write ``index.json`` beside the traces, and return the paths.

    The page opens with the first of ``answers``. ``engine_of`` returns the engine of a type of
    weights.
    """
    paths = []
    index: list[dict] = []
    for answer in answers:
        engine = engine_of(answer.dtype)
        seed = first_seed(engine, answer, seeds, tokens)
        stacks = list(dict.fromkeys([answer.stack, "target"]))
        options = {"temperature": TEMPERATURE, "seed": seed, "max_new_tokens": tokens}
        trace, *plain = fastest(engine, stacks, repeats, answer.prompt, chat=True, **options)
        for other in plain:
            note_plain(trace, other)
        trace.meta["models"][-1]["model"] = MODEL
        recipe = Recipe(answer.name, answer.title, answer.blurb, answer.stack, answer.prompt)
        paths.append(save_recording(trace, recipe, out, index))
        times = speedup(trace)
        progress(f"{answer.name}: seed {seed}, {len(trace)} tokens, {times and round(times, 2)}")
    paths.append(write_index(out, index))
    return paths


#: Where the page has the first answer by several stacks.
RACE = SIDE_BY_SIDE / ANSWERS_OF[0].name
#: The stacks that the first answer is compared with: name, title, blurb, stack.
RACERS = (
    ("plain", "Plain decoding", "One token per forward pass of the target.", "target"),
    (
        "published",
        "Hierarchy Drafting",
        "Three databases, accessed in order, as in the paper.",
        "hd > target",
    ),
    (
        "databases",
        "Databases",
        "This project's database drafting: one scored draft tree from all databases.",
        _DATABASES,
    ),
    (
        "one-draft",
        "nano",
        "nano has two layers of the target, trained on its text.",
        "nano:3 > target",
    ),
    (
        "both",
        "Databases, then nano",
        "The databases draft for nano, and nano for the target.",
        "db > nano:2 > target",
    ),
)


def record_race(
    engine: LocalEngine,
    out: Path = RACE,
    *,
    answers: Path = ANSWERS,
    repeats: int = 5,
    tokens: int = TOKENS,
    progress: Status = ignore_status,
) -> list[Path]:
    """Record the first answer by all stacks of :data:`RACERS`, with the seed of its recording, and
    return the paths.

    The stacks alternate, and the fastest run of each is kept. The run by the answer's own stack
    becomes its recording: one run has one speed-up on all tabs.
    """
    first = ANSWERS_OF[0]
    sampling = load_bundled(first.name, ANSWERS).meta["sampling"]
    options = {"temperature": sampling["temperature"], "seed": sampling["seed"]}
    recipes = [
        Recipe(name, title, blurb, stack, first.prompt) for name, title, blurb, stack in RACERS
    ]
    stacks = [recipe.stack for recipe in recipes]
    traces = fastest(
        engine, stacks, repeats, first.prompt, chat=True, max_new_tokens=tokens, **options
    )
    paths = []
    index: list[dict] = []
    for recipe, trace in zip(recipes, traces, strict=True):
        note_plain(trace, traces[0])
        trace.meta["models"][-1]["model"] = MODEL
        paths.append(save_recording(trace, recipe, out, index))
        progress(f"{recipe.name}: {trace.metrics()['tokens_per_second']:.0f} tokens/s")
    paths.append(write_index(out, index))
    return [*paths, *replace_answer(traces[stacks.index(first.stack)], first, answers)]


def replace_answer(trace: Trace, answer: Recipe, folder: Path) -> list[Path]:
    """Save a run as the recording of an answer that is in ``folder``, and return the paths."""
    rows: list[dict] = []
    path = save_recording(trace, answer, folder, rows)
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    replaced = [rows[0] if row["name"] == answer.name else row for row in index]
    return [path, write_index(folder, replaced)]


def first_seed(engine: LocalEngine, answer: Recipe, seeds: Sequence[int], tokens: int) -> int:
    """Return the first seed with which an answer is readable.

    Raises:
        ValueError: if there is none.
    """
    for seed in seeds:
        trace = engine.run(
            answer.prompt,
            answer.stack,
            chat=True,
            temperature=TEMPERATURE,
            seed=seed,
            max_new_tokens=tokens,
            rule=rule_of([answer.stack], TEMPERATURE),
        )
        if is_readable(trace):
            return seed
    raise ValueError(f"no seed of {len(seeds)} makes a complete answer of {answer.name}")


def is_readable(trace: Trace) -> bool:
    """Return whether an answer ends by itself, repeats little of itself, and shows a rejection.

    A round that shows one accepts a token before it. Plain decoding has no drafts.
    """
    repeated = measured(trace.metrics()["repetition_share"])
    complete = trace.meta["stop_reason"] == "eos" and repeated <= REPEATED
    return complete and (trace.meta["stack"] == "target" or any(map(_shows, trace.round_rows)))


def _open_engine(dtype: DType) -> LocalEngine:
    engine = load_engine(family="smollm2", device="cpu", dtype=dtype, threads=1)
    engine.wait_ready()
    return engine


def _shows(one: RoundRow) -> bool:
    return one.parent is None and one.outcome == "correction" and one.accepted >= 1


def main() -> None:
    """Record all answers, or the race, with the family that is installed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--race", action="store_true", help="record the first answer by stacks")
    options = parser.parse_args()
    if options.race:
        race = options.out or RACE
        record_race(_open_engine(ANSWERS_OF[0].dtype), race, progress=print)
    else:
        record_answers(cache(_open_engine), options.out or ANSWERS, progress=print)


if __name__ == "__main__":
    main()
