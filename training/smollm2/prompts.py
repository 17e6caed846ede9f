"""Prompts for SmolLM2's own text: the six kinds of request that Spec-Bench has, none of its
questions.

Requests come from patterns of this project (``world.toml``) and, for summaries and retrieval, also
from prose in the documentation of permissively licensed packages. Request ``k`` is a pure function
of ``k`` and of the prose, so that a stopped run continues with the next number.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from training.corpus import RESERVED, core_metadata, distribution_licence

WORLD = Path(__file__).parent / "world.toml"
#: Numbers in patterns: the name of the place, and the range.
RANGES = {
    "a": (12, 90),
    "b": (3, 25),
    "c": (2, 9),
    "small": (2, 12),
    "big": (11, 95),
    "hundred": (100, 990),
    "year": (1650, 2015),
}
_PLACE = re.compile(r"\{(\w+)\}")
_MARKUP = re.compile(r"[`|{}<>=_\[\]#*\\@~^$]|https?:|::|\.\. ")


@dataclass(frozen=True, slots=True)
class ConversationRequest:
    """One conversation to have with the model.

    Attributes:
        number: Which request it is; the seed of everything in it.
        kind: One of :data:`KINDS`.
        turns: What the user says, one text a turn.
    """

    number: int
    kind: str
    turns: tuple[str, ...]


@cache
def world() -> dict[str, dict[str, list[str]]]:
    """Return the lists and patterns of ``world.toml``; ``lists`` includes the German ones."""
    tables = tomllib.loads(WORLD.read_text(encoding="utf-8"))
    lists = tables["lists"] | tables["lists_german"]
    return {"lists": lists, "patterns": tables["patterns"]}


def fill(pattern: str, chance: random.Random) -> str:
    """Return a pattern with every place filled at random."""

    def choose(match: re.Match[str]) -> str:
        name = match[1]
        if name in RANGES:
            low, high = RANGES[name]
            return str(chance.randint(low, high))
        return chance.choice(world()["lists"][name])

    return _PLACE.sub(choose, pattern)


def sample_of(name: str, chance: random.Random, count: int) -> list[str]:
    """Return ``count`` different patterns of a kind, filled, in the order of the list."""
    patterns = world()["patterns"][name]
    places = sorted(chance.sample(range(len(patterns)), count))
    return [fill(patterns[place], chance) for place in places]


def choice_of(name: str, chance: random.Random) -> str:
    """Return one filled pattern of a kind."""
    return fill(chance.choice(world()["patterns"][name]), chance)


def _conversation(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    turns = [choice_of("writing", chance)]
    for _ in range(chance.randint(1, 2)):
        turns.append(choice_of("follow", chance))
    return tuple(turns)


def _translation(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    instruction = chance.choice(
        [
            "Translate German to English: {}",
            "Translate the following text from German into English.\n\n{}",
            "What does this German text say in English?\n{}",
        ]
    )
    sentences = sample_of("german", chance, chance.randint(1, 4))
    return (instruction.format(" ".join(sentences)),)


def _article(chance: random.Random, prose: Sequence[str]) -> str:
    if prose and chance.random() < 0.5:
        return "\n".join(chance.sample(prose, min(len(prose), chance.randint(2, 4))))
    return " ".join(sample_of("news", chance, chance.randint(6, 12)))


def _summary(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    instruction = chance.choice(
        [
            "Summarize: {}",
            "Summarize the following text in one or two sentences.\n\n{}",
            "{}\n\nWhat are the main points of this text?",
        ]
    )
    return (instruction.format(_article(chance, prose)),)


def _question(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    return (choice_of("question", chance),)


def _arithmetic(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    ending = chance.choice(["", " Think step by step.", " Show your work."])
    return (choice_of("arithmetic", chance) + ending,)


def _retrieval(chance: random.Random, prose: Sequence[str]) -> tuple[str, ...]:
    passages = []
    for number in range(1, chance.randint(2, 4)):
        if prose and chance.random() < 0.3:
            passages.append(f"[{number}] {chance.choice(prose)}")
        else:
            passages.append(f"[{number}] " + " ".join(sample_of("passage", chance, 6)))
    question = chance.choice(world()["patterns"]["passage_question"])
    text = "\n".join(passages)
    return (
        f"Answer the question with the help of these passages.\n{text}\n\nQuestion: {question}",
    )


#: Kind of request -> how one is made; the names are those of Spec-Bench's six tasks.
KINDS: dict[str, Callable[[random.Random, Sequence[str]], tuple[str, ...]]] = {
    "mt_bench": _conversation,
    "translation": _translation,
    "summarization": _summary,
    "qa": _question,
    "math_reasoning": _arithmetic,
    "rag": _retrieval,
}


def request(number: int, prose: Sequence[str] = ()) -> ConversationRequest:
    """Return request ``number``; kinds take turns."""
    kind = list(KINDS)[number % len(KINDS)]
    chance = random.Random(f"smollm2/{number}")
    return ConversationRequest(number, kind, KINDS[kind](chance, prose))


@dataclass(frozen=True, slots=True)
class PromptSource:
    """A distribution whose documentation was read.

    Attributes:
        name: Its name.
        version: Its version.
        licence: Its licence, as its metadata state it.
        paragraphs: How many paragraphs were taken.
    """

    name: str
    version: str
    licence: str
    paragraphs: int


def collect_prose() -> tuple[list[str], list[PromptSource]]:
    """Return paragraphs of plain English prose from installed packages, and where they are from."""
    paragraphs: dict[str, None] = {}
    sources: list[PromptSource] = []
    distributions = sorted(metadata.distributions(), key=lambda d: d.metadata["Name"] or "")
    for distribution in distributions:
        name = (distribution.metadata["Name"] or "").lower()
        licence = distribution_licence(core_metadata(distribution))
        if licence is None or not name or name in {"hsd-viz", *RESERVED}:
            continue
        earlier_paragraphs = len(paragraphs)
        for text in _texts(distribution):
            paragraphs.update(dict.fromkeys(prose_in(text)))
        if len(paragraphs) > earlier_paragraphs:
            sources.append(
                PromptSource(
                    name, distribution.version, licence, len(paragraphs) - earlier_paragraphs
                )
            )
    return list(paragraphs), sources


def _texts(distribution: metadata.Distribution) -> Iterator[str]:
    """Iterate over the description, the text files and the docstrings of a distribution."""
    payload = core_metadata(distribution).get_payload()
    if isinstance(payload, str):
        yield payload
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        if "test" in str(file) or "licen" in str(file).lower():
            continue
        if path.suffix not in {".py", ".md", ".rst", ".txt"}:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if path.suffix == ".py":
            yield from re.findall(r'"""(.*?)"""', text, re.S)
        else:
            yield text


def prose_in(text: str) -> Iterator[str]:
    """Iterate over the paragraphs that are plain prose: sentences without markup or code."""
    for block in re.split(r"\n\s*\n", text):
        paragraph = " ".join(block.split())
        if not 200 <= len(paragraph) <= 1600 or _MARKUP.search(paragraph):
            continue
        if not paragraph[0].isupper() or paragraph[-1] not in ".!?":
            continue
        plain = sum(letter.isalpha() or letter == " " for letter in paragraph)
        if plain / len(paragraph) > 0.93:
            yield paragraph
