"""The lessons run in every edition, solutions pass, empty editions fail, and mutants of
solutions are caught.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import pytest

import hsd_viz as hsd
from hsd_viz import views
from hsd_viz.exercises import EXERCISES, check, cost_curve, editions, quiz
from hsd_viz.exercises.check import OutOfTime
from hsd_viz.exercises.data import Quiz
from hsd_viz.exercises.editions import Program
from hsd_viz.exercises.prediction import Prediction
from hsd_viz.figures.charts import in_common_form
from tests.exercises import lessons
from tests.rows import column

COMMITTED = Path(__file__).resolve().parents[2] / "notebooks" / "course" / "student"
MAX_LINES = 15
MAX_SVG = 64_000
each_lesson = pytest.mark.parametrize("lesson", lessons.MASTERS)
each_notebook = pytest.mark.parametrize("lesson", lessons.ALL)


def exercises_of(lesson: str) -> list[str]:
    """Return the exercises of a lesson by their numbers, or of the puzzles."""
    return [n for n in EXERCISES if n[0] == lesson[0].upper()]


def test_there_are_nine_lessons_and_every_exercise_is_in_one():
    numbers = "".join(name[0] for name in lessons.MASTERS)
    assert numbers == "123456789"
    asked = []
    for text in lessons.ALL.values():
        asked += re.findall(r'^check\("(.+?)"', text, re.M)
    assert asked == list(EXERCISES)


@each_notebook
def test_solutions_pass_and_the_empty_edition_fails_every_check(lesson):
    solved = lessons.results(lesson, "solution")
    empty = lessons.results(lesson, "student")
    assert list(solved) == list(empty) == exercises_of(lesson)
    assert [r for r in solved.values() if not r] == []
    assert [r for r in empty.values() if r] == []
    for r in empty.values():
        assert "nothing is written" in r.message


@each_lesson
def test_a_lesson_states_its_goal_its_time_and_what_it_needs(lesson):
    head = editions.cells_of(lessons.MASTERS[lesson])[0][1]

    assert re.findall(r"\*\*(\w+)\.\*\*", head)[:4] == ["Goal", "Before", "Time", "Needs"]
    assert re.search(r"\*\*Time\.\*\* \d+ minutes", head)


@each_lesson
def test_a_lesson_asks_before_it_shows(lesson):
    steps = lessons.run(lesson, "student")[0]

    [guess] = [k for k, step in enumerate(steps) if step.text.startswith(editions.GUESS)]
    prediction = steps[guess].value
    assert isinstance(prediction, Prediction)
    assert repr(prediction).startswith("Your numbers first")
    low, high = prediction.between
    for answer in prediction.answers.values():
        assert low <= answer <= high
    assert any("?" in step.text for step in steps[:guess] if step.kind == "markdown")


@each_lesson
def test_a_lesson_has_three_questions_with_one_right_answer_each(lesson):
    values = column(lessons.run(lesson, "student")[0], "value")

    [questions] = [value for value in values if isinstance(value, Quiz)]
    assert len(questions) == 3
    assert questions._repr_html_().count("✓") == 3
    for question in questions:
        answers = [answer for answer in question["answers"] if answer.get("correct")]
        assert len(answers) == 1
        for answer in question["answers"]:
            assert answer["feedback"]


@each_lesson
def test_a_lesson_prints_the_same_without_answers(lesson):
    solved = column(lessons.run(lesson, "solution")[0], "printed")

    steps = lessons.run(lesson, "student")[0]
    assert solved == [step.printed for step in steps if step.text != editions.COLAB]


def test_the_right_answer_is_not_always_in_the_same_place():
    places = set()
    for lesson in "123456789":
        for question in quiz(lesson):
            if len(question["answers"]) == 3:
                correct = column(question["answers"], "correct")
                places.add(correct.index(True))
    assert places == {0, 1, 2}


@each_notebook
@pytest.mark.parametrize("edition", editions.EDITIONS)
def test_editions_are_valid_and_their_cells_are_short(lesson, edition):
    notebook = editions.notebook(lessons.PATHS[lesson], edition)
    nbformat.validate(nbformat.reads(json.dumps(notebook), as_version=4))
    code = lessons.code_cells(lesson, edition)
    for source in code:
        assert len(source.splitlines()) <= MAX_LINES + 2 * (edition in ("otter", "nbgrader"))
    assert ("SOLUTION" in "".join(code)) == (edition in ("otter", "nbgrader"))


@each_notebook
def test_the_committed_student_edition_is_built_from_its_master(lesson):
    """Built with `hsd-viz course build notebooks/course --edition student --figures`."""
    committed = json.loads((COMMITTED / f"{lesson}.ipynb").read_text(encoding="utf-8"))
    expected = editions.notebook(lessons.PATHS[lesson], "student")
    outputs = []
    for c in committed["cells"]:
        if "outputs" in c:
            outputs.append(c.pop("outputs"))
    for cell in expected["cells"]:
        cell.pop("outputs", None)
    assert expected["cells"] == committed["cells"]
    figures = column(chain(*outputs), "data")
    titles = []
    for step in lessons.run(lesson, "student")[0]:
        if hasattr(step.value, "to_plotly_json"):
            titles.append(in_common_form(step.value).layout.title.text)
    assert bool(titles) == (lesson in lessons.MASTERS)
    assert [figure["text/plain"] for figure in figures] == [[title] for title in titles]
    for figure in figures:
        [picture] = figure["image/svg+xml"]
        assert picture.startswith("<svg")
        assert len(picture) < MAX_SVG


@each_notebook
def test_nbgrader_grades_every_check_once(lesson):
    cells = editions.notebook(lessons.PATHS[lesson], "nbgrader")["cells"]
    graded = []
    for c in cells:
        if c["metadata"]:
            graded.append(c["metadata"]["nbgrader"])
    assert len(set(column(graded, "grade_id"))) == len(graded)
    expected = [f"cell-{n.replace('.', '-')}" for n in exercises_of(lesson)]
    assert [g["grade_id"] for g in graded if g["grade"]] == expected
    # nbgrader refuses other characters.
    for g in graded:
        assert re.fullmatch(r"[a-zA-Z0-9_\-]+", g["grade_id"])
    assert sum(column(graded, "solution")) == sum(column(graded, "grade"))


@each_notebook
def test_otter_questions_are_closed(lesson):
    cells = editions.notebook(lessons.PATHS[lesson], "otter")["cells"]
    raw = []
    for c in cells:
        if c["cell_type"] == "raw":
            raw.append("".join(c["source"]).splitlines()[0])
    question = [
        "BEGIN QUESTION",
        "BEGIN SOLUTION",
        "END SOLUTION",
        "BEGIN TESTS",
        "END TESTS",
        "END QUESTION",
    ]
    exercises = len(exercises_of(lesson))
    assert raw == ["# ASSIGNMENT CONFIG", *(f"# {words}" for words in question * exercises)]


def test_each_puzzle_has_an_idea_a_picture_and_one_check():
    parts = lessons.ALL["puzzles"].split("\n## ")[1:]
    assert [part.partition(" ·")[0] for part in parts] == list(map(str, range(1, 13)))
    for part in parts:
        assert part.count("\n\n```\n") == part.count("\ncheck(") == 1


def test_the_counters_of_lesson_7_are_those_of_every_machine():
    """Arithmetic with 8-bit integers is exact."""
    engine = hsd.load_engine(dtype="int8", threads=1)
    cell = next(c for c in lessons.code_cells("7-latency-law", "solution") if "time_forwards(" in c)
    asked = re.search(r"engine\.run\((.*)\)\.metrics", cell)[1]
    metrics = eval(f"engine.run({asked})", {"engine": engine}).metrics()
    stated = (
        f"{metrics['target_forwards']} forward passes of the target and "
        f"{metrics['accepted']} accepted tokens"
    )
    assert stated in lessons.MASTERS["7-latency-law"].replace("\n", " ")


def test_the_drafts_of_lesson_9_are_those_of_every_machine():
    """Arithmetic with 8-bit integers is exact, and costs are those of the shipped curves."""
    steps, names = lessons.run("9-stopping-when-unsure", "student")
    rows = []
    for step in steps:
        if hasattr(step.value, "to_numpy"):
            rows += step.value.to_dict("records")
    assert names["ends"] == {"confidence": 40}
    assert {"probabilities of the draft": "0.62 · 0.65 · 0.13 = 0.05", "accepted": 3} in rows
    drafts_end = {}
    for row in rows:
        if "a draft ends" in row:
            drafts_end[row["a draft ends"]] = (row["by the law"], row["by its own runs"])
    assert drafts_end["below 0.2"] == ("0.230 ms", "0.222 ms")
    assert drafts_end["after 3"] == ("0.224 ms", "-")


def test_lesson_1_states_the_prices_of_one_more_token():
    speaking = cost_curve("smollm2")
    of_code = views.OneDraftWhatIf(views.recorded()).slope
    text = " ".join(lessons.MASTERS["1-one-pass-many-tokens"].split())
    second = speaking[2] / speaking[1] - 1
    to_the_eighth = (speaking[8] / speaking[1] - 1) / 7

    assert f"The second costs SmolLM2 {100 * second:.0f} %; " in text
    assert f"the second to the eighth cost {100 * to_the_eighth:.0f} % each on average" in text
    assert f"the code family and its second to fifth token: {100 * of_code:.0f} %." in text


# --- mutants of the solutions ---------------------------------------------------------------------

SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.In: ast.NotIn,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
#: Mutants that are correct as well, by exercise and changed line.
EQUIVALENT = {
    # Deviations from a mean sum to 0, so one of the two means is enough.
    ("1.1", "covariance = sum(((k + mean_k) * (c - mean_c) for k, c in curve.items()))"),
    ("1.1", "covariance = sum(((k - mean_k) * (c + mean_c) for k, c in curve.items()))"),
    # At start -1 the slice is empty.
    ("5.1", "for start in range(len(ids) - length - 1, -2, -1):"),
    # All probabilities are doubled, which keeps their order.
    ("6.2", "reached.append(chance * (reached[parent] if parent >= 0 else 2))"),
    # `choose` divides by the sum.
    ("P12", "return choose([r * sum(rest) for r in rest])"),
    # The last gram is shorter than 8.
    ("8.1", "for end in range(8, len(ids) + 2):"),
}


def mutants_of(tree: ast.Module) -> Iterator[tuple[ast.Module, str]]:
    """Yield the tree with one operator exchanged or one whole number increased, and the changed
    line.
    """
    count = len(list(ast.walk(tree)))
    for k in range(count):
        mutant = copy.deepcopy(tree)
        node = list(ast.walk(mutant))[k]
        if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPS:
            node.op = SWAPS[type(node.op)]()
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            node.ops[0] = SWAPS[type(node.ops[0])]()
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            node.value += 1
        else:
            continue
        lines = zip(ast.unparse(tree).splitlines(), ast.unparse(mutant).splitlines(), strict=True)
        yield mutant, next(after.strip() for before, after in lines if before != after)


def defined(program: Program, tree: ast.Module) -> Callable:
    """Return the function of an answer's tree."""
    names: dict[str, Any] = {}
    exec(program.before, names)
    exec(compile(tree, "answer", "exec"), names)
    return names[program.name]


def out_of_time(*_: object) -> None:
    raise OutOfTime


def passes_in_time(number: str, answer: Callable, seconds: float) -> bool:
    """Return whether an answer passes its check in so many seconds of the processor.

    The time is over again and again: what was raised in a callback of the interpreter is lost.
    """
    signal.signal(signal.SIGPROF, out_of_time)
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds)
    try:
        return bool(check(number, answer))
    except OutOfTime:
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.mark.parametrize("number", [n for n in EXERCISES if n != "4.1"])
def test_mutants_of_a_solution_are_caught(number):
    program = editions.solutions()[number]
    tree = ast.parse(program.source)
    solution = defined(program, tree)
    assert check(number, solution)
    begun = time.process_time()
    assert check(number, solution)
    # A mutant can loop for ever: it has ten times the CPU time of the solution.
    limit = 0.2 + 10 * (time.process_time() - begun)
    survived = []
    total = 0
    for mutant, changed in mutants_of(tree):
        total += 1
        answer = defined(program, ast.fix_missing_locations(mutant))
        if passes_in_time(number, answer, limit) and (number, changed) not in EQUIVALENT:
            survived.append(changed)
    assert survived == []
    assert total or number in ("3.3", "9.4", "L2", "L3", "L4", "P6")
