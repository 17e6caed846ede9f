"""What the exercises are checked against: bundled recordings, the shipped cost curve; and the
quizzes.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hsd_viz.disk import data_folder
from hsd_viz.engine.replay import ANSWERS, GAMES, TRACES, bundled, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.trace import Row, Trace
from hsd_viz.words import escape


def lab_log(name: str) -> Path:
    """Return the file of a record of the lab sheet. Raises: UserError: if there is none of this
    name.
    """
    folder = data_folder("exercises/master", "notebooks/course/master") / "lab"
    names = sorted(path.name for path in folder.iterdir())
    if name not in names:
        raise UserError(f"the lab sheet has no record {name!r}: it has {', '.join(names)}")
    return folder / name


@cache
def recordings() -> tuple[Trace, ...]:
    """Return all bundled recordings: of the code family, answers of SmolLM2, and its texts of
    the game.
    """
    folders = [TRACES, ANSWERS, *sorted(path.parent for path in GAMES.glob("*/index.json"))]
    return tuple(
        load_bundled(recording.name, folder) for folder in folders for recording in bundled(folder)
    )


@cache
def measured(name: str) -> dict[str, Any]:
    """Return a shipped measurement, as a report of ``hsd-viz bench``, by the name of its file
    without .json.
    """
    path = data_folder("measured", "docs/bench") / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def cost_curve(model: str = "target", runtime: str = "native") -> dict[int, float]:
    """Return milliseconds of a forward pass by the number of tokens fed, as measured on one CPU and
    shipped.

    ``model`` is one of the code family, or ``smollm2``: its target, with the native runtime.
    """
    if model == "smollm2":
        passes = measured("smollm2-llama-1")["passes"]
        own = [row for row in passes if row["side"] == "hsd_viz" and row["tokens"].isdigit()]
        return {int(row["tokens"]): row["ms"] for row in own}
    curve = measured(f"curves-{model}-cpu")["milliseconds"][runtime]
    return {int(k): ms for k, ms in curve.items() if k.isdigit()}


class Round(NamedTuple):
    """A verification of a chain by the target. ``own[k]`` is the target's token after
    ``draft[:k]``, where it is known: up to the first token that differs.
    """

    trace: Trace
    id: int
    draft: list[int]
    own: list[int]
    accepted: int

    def words(self, ids: Iterable[int]) -> str:
        """Return the texts of tokens."""
        return str([self.trace.pieces[i] for i in ids])


@cache
def greedy_rounds() -> tuple[Round, ...]:
    """Return the target's rounds over chains of all recordings with greedy decoding. Rounds cut by
    the length limit are left out: their last tokens were not emitted.
    """
    found = []
    for trace in (t for t in recordings() if not t.meta["sampling"]["temperature"]):
        level = max(r.level for r in trace.round_rows)
        for row in (
            r for r in trace.round_rows if r.level == level and r.outcome in ("correction", "bonus")
        ):
            nodes = [d for d in trace.draft_rows if d.round == row.id]
            emitted = [t.token_id for t in trace.token_rows if t.round == row.id]
            chain = [d.parent for d in nodes] == list(range(-1, len(nodes) - 1))
            if nodes and chain and len(emitted) == row.accepted + 1:
                found.append(
                    Round(trace, row.id, [d.token_id for d in nodes], emitted, row.accepted)
                )
    return tuple(found)


def tokens_by_round(trace: Trace) -> list[int]:
    """Return how many tokens each round of the target emitted."""
    level = max(r.level for r in trace.round_rows)
    rounds = [r.id for r in trace.round_rows if r.level == level]
    return [sum(t.round == each for t in trace.token_rows) for each in rounds]


def drafts_of(trace: Trace) -> list[tuple[list[float], int]]:
    """Return each sampled draft that the target verified: the probabilities of its tokens by the
    rows they were drawn from, and how many tokens were accepted. Rounds cut by the length limit are
    left out.
    """
    level = max(r.level for r in trace.round_rows)
    found = []
    for row in trace.round_rows:
        chances = [d.q for d in trace.draft_rows if d.round == row.id]
        complete = row.outcome in ("correction", "bonus")
        if row.level == level and complete and chances:
            found.append((chances, row.accepted))
    return found


@cache
def acceptance_tests() -> tuple[tuple[str, Row], ...]:
    """Return every acceptance test of a sampled draft token in the recordings, at any level, with
    the stack. Runs with block verification are left out: its test is another one.
    """
    return tuple(
        (trace.stack, d)
        for trace in recordings()
        if trace.meta["sampling"].get("rule", "token") == "token"
        for d in trace.draft_rows
        if None not in (d.u, d.p, d.q) and d.verdict in ("accepted", "rejected")
    )


def texts() -> Iterator[tuple[Trace, list[int], int]]:
    """Yield each recording, all its token ids, and the length of its prompt."""
    for trace in recordings():
        prompt = list(trace.meta["prompt_ids"])
        yield trace, prompt + trace.token_ids, len(prompt)


class Quiz(list[dict[str, Any]]):
    """Questions in the format of jupyterquiz. In a notebook and on a page, a click on an answer
    shows its meaning.
    """

    def __repr__(self) -> str:
        return "\n".join(question["question"] for question in self)

    def _repr_html_(self) -> str:
        """Return each question with its answers folded; of a number only the right one."""
        parts = []
        for question in self:
            answers = "".join(
                _folded(answer) for answer in question["answers"] if answer.get("type") != "default"
            )
            parts.append(
                f'<p class="question">{escape(question["question"])}</p><ol type="A">{answers}</ol>'
            )
        return "".join(parts)


def _folded(answer: dict[str, Any]) -> str:
    asked, mark = escape(answer.get("answer", "Show the answer")), "✓" if answer["correct"] else "✗"
    said = escape(f"{mark} {answer.get('value', '')} {answer['feedback']}")
    return f"<li><details><summary>{asked}</summary>{said}</details></li>"


def quiz(lesson: str) -> Quiz:
    """Return the quiz of a lesson, by its number as text. Raises: FileNotFoundError: if there is
    none.
    """
    path = Path(__file__).parent / "quizzes" / f"{lesson}.json"
    return Quiz(json.loads(path.read_text(encoding="utf-8")))
