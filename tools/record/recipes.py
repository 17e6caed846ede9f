"""The recordings: what each one shows, and what is run for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hsd_viz.engine.recordings import TEMPERATURE
from hsd_viz.settings.engine_choices import DType
from hsd_viz.views.page_data import ABOUT
from tools.record.selection import Facts, supplied

PRESETS = {preset["name"]: preset["prompt"] for preset in ABOUT["prompts"]}


@dataclass(frozen=True, slots=True)
class Recipe:
    """One recording: its name, its description, and what is run.

    Attributes:
        name: of the file.
        title: shown in the list of recordings.
        blurb: what to look for.
        stack: that decodes.
        prompt: its text.
        options: of sampling.
        layers: that make the target costlier and change nothing else
            (:mod:`benchmarks.padding`).
        dtype: of the target's weights.
    """

    name: str
    title: str
    blurb: str
    stack: str
    prompt: str
    options: dict = field(default_factory=lambda: dict(SAMPLED))
    layers: int = 0
    dtype: DType = "int8"


@dataclass(frozen=True, slots=True)
class Selected:
    """A recording selected among the candidates: the run that ``score`` rates highest.

    Attributes:
        name: of the recording.
        blurb: its description; the number of candidates is added.
        stacks: stack -> title.
        prompts: names of presets.
        score: what a run is worth.
    """

    name: str
    blurb: str
    stacks: dict[str, str]
    prompts: tuple[str, ...]
    score: Callable[[Facts], Any]


SAMPLED: dict[str, Any] = {"temperature": TEMPERATURE, "seed": 1}
#: Most turns of interleaved runs, as a multiple of their number on an idle machine.
MAX_TURNS = 4
#: Seeds of the candidates.
SEEDS = range(16)
#: The candidates of a recording that are timed again.
FINALISTS = 8
_DATABASES = "db > target"

#: Readable, clearly faster, from several sources, fastest: what the dashboard opens with, if no
#: other run is better.
MIXED = Selected(
    name="mixed",
    blurb="Drafts of several sources at the usual temperature.",
    stacks={_DATABASES: "Databases", "db > small:3 > target": "Databases, then small"},
    prompts=("edit", "tests", "idioms", "docstring"),
    score=lambda facts: (-len(facts.missing), facts.speedup or 0.0),
)
#: Runs that show one part each: the databases one by one, and all of them under a hierarchy.
PARTS = (
    Selected(
        name="copied",
        blurb="The continuation repeats the prompt, so most accepted drafts are copied from it.",
        stacks={_DATABASES: "A text that is copied from"},
        prompts=("edit",),
        score=lambda facts: supplied(facts, ["context"]) - facts.repeated,
    ),
    Selected(
        name="idioms",
        blurb=(
            "Little repeats, but much is common: the model and statistics databases do their part."
        ),
        stacks={_DATABASES: "A text of idioms"},
        prompts=("idioms", "new", "empty"),
        score=lambda facts: supplied(facts, ["model", "statistics"]),
    ),
    Selected(
        name="new",
        blurb=(
            "Little to copy and few idioms: databases find little, and the target writes most "
            "tokens itself."
        ),
        stacks={_DATABASES: "A text that no database knows"},
        prompts=("new", "docstring"),
        score=lambda facts: supplied(facts, ()),
    ),
    Selected(
        name="both",
        blurb=(
            "The databases draft for nano, nano for small, small for the target: every level "
            "verifies the one below."
        ),
        stacks={"db > nano:4 > small:7 > target": "Databases, then nano, then small"},
        prompts=("edit", "tests", "idioms"),
        score=lambda facts: supplied(facts, ["context", "model", "statistics"]),
    ),
)

RECIPES = (
    Recipe(
        name="databases",
        title="Databases, on a command line",
        blurb=(
            "No draft model: drafts come from this text, from typical output of the target, and "
            "from a corpus."
        ),
        stack=_DATABASES,
        prompt=PRESETS["idioms"],
    ),
    Recipe(
        name="hierarchy",
        title="nano, then small",
        blurb=(
            "nano drafts for small, small for the target. Look for corrections by small that the "
            "target accepts."
        ),
        stack="nano:3 > small:6 > target",
        prompt=PRESETS["docstring"],
        options=SAMPLED | {"seed": 19},
    ),
    Recipe(
        name="padded",
        title="nano, then small, below a target of four times the size",
        blurb=(
            "The target with 24 more layers that cost time and change nothing, so its text is the "
            "same. nano drafts for small, small for the target. Faster than plain decoding, and "
            "by the benchmark no faster than one draft model: see the results."
        ),
        stack="nano:4 > small:8 > target",
        prompt=PRESETS["docstring"],
        options=SAMPLED | {"seed": 3},
        layers=24,
    ),
    Recipe(
        name="sampled",
        title="nano, sampled",
        blurb=(
            "Tokens are sampled, so acceptance is random: see u, q and p of each draft token, and "
            "the residual of each correction."
        ),
        stack="nano:4 > target",
        prompt=PRESETS["new"],
        options=SAMPLED | {"seed": 12},
    ),
    Recipe(
        name="plain",
        title="Plain decoding",
        blurb="One token per forward pass of the target: the reference for all other stacks.",
        stack="target",
        prompt=PRESETS["idioms"],
    ),
    Recipe(
        name="one-draft",
        title="nano, greedy",
        blurb=(
            "Classic speculative decoding: nano proposes four tokens, the target verifies them in "
            "one forward pass. Greedy text of a small model repeats itself, which makes it easy "
            "to draft."
        ),
        stack="nano:4 > target",
        prompt=PRESETS["new"],
        options={},
    ),
    Recipe(
        name="repetition",
        title="A model that repeats itself, greedy",
        blurb=(
            "Greedy decoding falls into a loop, which is easy to draft: high acceptance here says "
            "little about the method."
        ),
        stack=_DATABASES,
        prompt=PRESETS["edit"],
        options={},
    ),
)

#: Groups of recordings to compare: one prompt and one sampling setting each.
GROUPS: dict[str, tuple[str, dict]] = {
    "greedy": (PRESETS["new"], {}),
    "sampled": (PRESETS["docstring"], SAMPLED | {"seed": 14}),
}
#: The recordings of each group: name, title, blurb, stack.
SIDES = (
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
        "db > target",
    ),
    (
        "hierarchy",
        "nano, then small",
        "Hierarchical Speculative Decoding: nano for small, small for the target.",
        "nano:4 > small:8 > target",
    ),
    (
        "both",
        "Databases, then nano, then small",
        "The databases draft for nano, the lowest model.",
        "db > nano:4 > small:8 > target",
    ),
)
