"""The data of the exercises: bundled recordings, the shipped cost curve, logs and quizzes."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hsd_viz.disk import data_folder
from hsd_viz.engine.recordings import ANSWERS, GAMES, TRACES, bundled, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.stack import TARGET
from hsd_viz.text import escape
from hsd_viz.trace import DraftRow, RoundRow, TokenRow, Trace

TokenOrDraft = TypeVar("TokenOrDraft", TokenRow, DraftRow)


def lab_log(name: str) -> Path:
    """Return the file of a record of the lab sheet.

    Raises:
        UserError: if there is none of this name.
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
    games = sorted(path.parent for path in GAMES.glob("*/index.json"))
    traces: list[Trace] = []
    for folder in (TRACES, ANSWERS, *games):
        for recording in bundled(folder):
            traces.append(load_bundled(recording.name, folder))
    return tuple(traces)


@cache
def measured(name: str) -> dict[str, Any]:
    """Return a shipped measurement, as a report of ``hsd-viz bench``, by the name of its file
    without .json.
    """
    path = data_folder("measured", "docs/bench") / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def cost_curve(model: str = TARGET, runtime: str = "native") -> dict[int, float]:
    """Return milliseconds of a forward pass by the number of tokens fed, as measured on one CPU and
    shipped.

    ``model`` is one of the code family, or ``smollm2``: its target, with the native runtime.
    """
    if model == "smollm2":
        curve_of_target = {}
        for row in measured("smollm2-llama-1")["passes"]:
            if row["side"] == "hsd_viz" and row["tokens"].isdigit():
                curve_of_target[int(row["tokens"])] = row["ms"]
        return curve_of_target
    curve = measured(f"curves-{model}-cpu")["milliseconds"][runtime]
    return {int(k): ms for k, ms in curve.items() if k.isdigit()}


class Round(NamedTuple):
    """A verification of a chain by the target.

    Attributes:
        trace: the run.
        id: of the round there.
        draft: the tokens of the chain.
        own: ``own[k]`` is the target's token after ``draft[:k]``, as far as it is known: up to the
            first token that differs.
        accepted: how many tokens were accepted.
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
    rounds: list[Round] = []
    for trace in recordings():
        if not trace.meta["sampling"]["temperature"]:
            rounds += _rounds_over_chains(trace)
    return tuple(rounds)


def _rounds_over_chains(trace: Trace) -> Iterator[Round]:
    """Yield the target's rounds over chains that emitted all their tokens."""
    for row in _rounds_of_target(trace):
        nodes = _rows_of_round(trace.draft_rows, row.id)
        emitted = [token.token_id for token in _rows_of_round(trace.token_rows, row.id)]
        is_chain = [node.parent for node in nodes] == list(range(-1, len(nodes) - 1))
        is_complete = row.outcome in ("correction", "bonus") and len(emitted) == row.accepted + 1
        if nodes and is_chain and is_complete:
            draft = [node.token_id for node in nodes]
            yield Round(trace, row.id, draft, emitted, row.accepted)


def _rounds_of_target(trace: Trace) -> list[RoundRow]:
    """Return the rounds of the target."""
    level = max(row.level for row in trace.round_rows)
    return [row for row in trace.round_rows if row.level == level]


def _rows_of_round(rows: Sequence[TokenOrDraft], number: int) -> list[TokenOrDraft]:
    """Return the rows of a table that belong to a round."""
    return [row for row in rows if row.round == number]


def tokens_by_round(trace: Trace) -> list[int]:
    """Return how many tokens each round of the target emitted."""
    emitted = Counter(token.round for token in trace.token_rows)
    return [emitted[row.id] for row in _rounds_of_target(trace)]


def drafts_of(trace: Trace) -> list[tuple[list[float], int]]:
    """Return each sampled draft that the target verified: the probabilities of its tokens by the
    rows they were drawn from, and how many tokens were accepted. Rounds cut by the length limit are
    left out.
    """
    drafts = []
    for row in _rounds_of_target(trace):
        nodes = _rows_of_round(trace.draft_rows, row.id)
        chances = [node.q for node in nodes if node.q is not None]
        if row.outcome in ("correction", "bonus") and chances:
            drafts.append((chances, row.accepted))
    return drafts


@cache
def acceptance_tests() -> tuple[tuple[str, DraftRow], ...]:
    """Return every acceptance test of a sampled draft token in the recordings, at any level, with
    the stack. Runs with block verification are left out: its test is another one.
    """
    tests: list[tuple[str, DraftRow]] = []
    for trace in recordings():
        if trace.meta["sampling"].get("rule", "token") != "token":
            continue
        for row in trace.draft_rows:
            if None not in (row.u, row.p, row.q) and row.verdict in ("accepted", "rejected"):
                tests.append((trace.stack, row))
    return tuple(tests)


def visible(text: str) -> str:
    """Return the text of a token with its blanks as marks, as the views write it; an indentation is
    one mark.
    """
    return re.sub("␣+", "␣", text.replace(" ", "␣")).replace("\t", "⇥").replace("\n", "↵")


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
    question = escape(answer.get("answer", "Show the answer"))
    mark = "✓" if answer["correct"] else "✗"
    feedback = escape(f"{mark} {answer.get('value', '')} {answer['feedback']}")
    # The letter of the list is the mark: the triangle of a fold would be between it and its text.
    summary = f'<summary style="list-style: none">{question}</summary>'
    return f"<li><details>{summary}{feedback}</details></li>"


def quiz(lesson: str) -> Quiz:
    """Return the quiz of a lesson, by its number as text.

    Raises:
        FileNotFoundError: if there is none.
    """
    path = Path(__file__).parent / "quizzes" / f"{lesson}.json"
    return Quiz(json.loads(path.read_text(encoding="utf-8")))
