"""The lessons decode with SmolLM2, or with the code family where it is not installed: both are
tested.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from hsd_viz.exercises import editions, lesson_model
from hsd_viz.exercises.lesson_model import LiveModel, live_model
from hsd_viz.models.families import FAMILIES, SMOLLM2, PackagedFile
from tests.exercises import lessons

MISSING = "the family smollm2 is not installed: run `hsd-viz models install smollm2` (98 MB)"
DECODING = ("1", "2", "5", "7", "8")
each_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def without_smollm2(monkeypatch):
    monkeypatch.setattr(PackagedFile, "find", lambda self: None)


def model_of(family: str) -> LiveModel:
    if not FAMILIES[family].is_installed:
        pytest.skip(f"{family} is not installed")
    return lesson_model._load(family)


@cache
def passes(family: str, place: int, stack: str, n: int = 0) -> int:
    """Return the passes of the target over 64 tokens of greedy decoding."""
    model = model_of(family)
    trace = model.run(model.kinds[place], stack, n, max_new_tokens=64, temperature=0)
    return trace.metrics()["target_forwards"]


def text_of(number: str) -> str:
    [text] = [text for name, text in lessons.MASTERS.items() if name[0] == number]
    return " ".join(text.split())


def listed(counts: list[int]) -> tuple[str, str]:
    *first, last = counts
    return ", ".join(map(str, first)), str(last)


@each_family
def test_lesson_1_states_the_passes_of_every_machine(family):
    alone = passes(family, 3, "target")
    drafted = passes(family, 3, "db > target")

    stated = {
        "smollm2": f"SmolLM2 needs {alone} passes and {drafted} passes on every machine",
        "code": f"on every machine, the code family {alone} and {drafted}.",
    }
    assert stated[family] in text_of("1")


@each_family
def test_lesson_2_states_the_passes_of_every_machine(family):
    stacks = ("target", "db > target", "nano:3 > target")
    alone, databases, nano = (passes(family, 5, stack) for stack in stacks)

    stated = {
        "smollm2": f"SmolLM2 needs {alone} passes alone, {databases} with databases and {nano} "
        "with `nano` on every machine",
        "code": f"on every machine, the code family {alone}, {databases} and {nano}.",
    }
    assert stated[family] in text_of("2")


def test_lesson_5_states_which_database_supplied_what():
    model = model_of("smollm2")
    runs = {}
    for kind in ("rewrite", "explain"):
        runs[kind] = model.run(
            kind, "db > target", max_new_tokens=48, temperature=0.7, seed=1
        ).metrics()
    rewrite = runs["rewrite"]
    explain = runs["explain"]

    assert (
        f"`rewrite` takes {rewrite['target_forwards']} passes for {rewrite['tokens']} tokens and "
        f"has {rewrite['emitted_by_source']['context']} tokens from its own text"
    ) in text_of("5")
    assert (
        f"`explain` takes {explain['target_forwards']} passes for {explain['tokens']}, "
        f"with nothing to copy: {explain['emitted_by_source']['model']} tokens come from the "
        "model database"
    ) in text_of("5")
    assert set(explain["emitted_by_source"]) == {"target", "model"}


@each_family
def test_lesson_7_states_the_passes_of_every_machine(family):
    one, two, three = (passes(family, 5, f"nano:{gamma} > target") for gamma in (1, 2, 3))

    stated = {
        "smollm2": f"SmolLM2 needs {one}, {two} and {three} passes on every machine",
        "code": f"on every machine, the code family {one}, {two} and {three}.",
    }
    assert stated[family] in text_of("7")


def test_lesson_7_states_what_the_third_token_costs():
    model = model_of("smollm2")
    two, three = (
        model.run(
            model.kinds[5], f"nano:{gamma} > target", max_new_tokens=64, temperature=0
        ).metrics()
        for gamma in (2, 3)
    )
    saved = two["target_forwards"] - three["target_forwards"]
    more = three["drafted"] - two["drafted"]

    assert f"saves {saved} pass of the target for {more} more of `nano`" in text_of("7")


@each_family
def test_lesson_8_states_the_passes_of_every_machine(family):
    stated = []
    for stack in ("target", "db > target", "nano:1 > target"):
        total = sum(passes(family, place, stack, n) for place, n in product(range(6), (0, 1)))
        stated.append(f"{total} with `{stack}`")

    assert f"{stated[0]}, {stated[1]} and {stated[2]}" in text_of("8")


@pytest.mark.parametrize("number", DECODING)
def test_without_smollm2_a_lesson_prints_what_installs_it_and_runs(number, without_smollm2):
    [path] = [path for path in editions.masters() if path.stem[0] == number]
    source = path.read_text(encoding="utf-8")
    names: dict = {}

    steps = list(editions.run(path, "student", names))

    assert "live_model()" in source
    if "live = False" not in source or number == "7":
        [printed] = [step.printed for step in steps if "live_model()" in step.text]
        assert f"{MISSING}, then restart the kernel.\nDecoding with code: " in printed


def test_a_measurement_without_smollm2_has_the_prompts_of_the_code_family(without_smollm2, capsys):
    model = live_model()

    assert model.family.name == "code"
    assert len(model.kinds) == 6
    for prompts in model.prompts.values():
        assert len(prompts) >= 2
    assert capsys.readouterr().out.startswith(MISSING)


def test_with_smollm2_questions_are_asked_in_its_chat_format(capsys):
    model_of("smollm2")
    model = live_model()

    trace = model.run("explain", max_new_tokens=4, temperature=0)

    assert model.family is SMOLLM2
    assert trace.meta["chat"] is True
    assert trace.meta["prompt"] == "Why is the sky blue?"
    assert "install" not in capsys.readouterr().out


def test_an_unknown_kind_or_prompt_is_one_line():
    model = lesson_model._load("code")

    with pytest.raises(ValueError, match=r"unknown kind 'tabels'.*did you mean 'tables'"):
        model.prompt("tabels")
    with pytest.raises(ValueError, match="tables has prompts 0 to 11, not 12"):
        model.prompt("tables", 12)
