"""Exercises of the course: checks, the bug hunt and quizzes. Needs neither torch nor a network.

>>> from hsd_viz.exercises import check
>>> check("7.1", lambda alpha, gamma: 1)  # doctest: +NORMALIZE_WHITESPACE
✗ not yet · 7.1 tokens per round: G(alpha=1/5, gamma=1): got 1, expected 6/5.
Append .hint() to the check for a hint.
"""

import os

# Its modules register the exercises, in the order of the course.
from hsd_viz.exercises import cases  # noqa: F401
from hsd_viz.exercises.check import EXERCISES as EXERCISES
from hsd_viz.exercises.check import CheckResult as CheckResult
from hsd_viz.exercises.check import Exercise as Exercise
from hsd_viz.exercises.check import check as check
from hsd_viz.exercises.data import cost_curve as cost_curve
from hsd_viz.exercises.data import drafts_of as drafts_of
from hsd_viz.exercises.data import greedy_rounds as greedy_rounds
from hsd_viz.exercises.data import lab_log as lab_log
from hsd_viz.exercises.data import measured as measured
from hsd_viz.exercises.data import quiz as quiz
from hsd_viz.exercises.data import tokens_by_round as tokens_by_round
from hsd_viz.exercises.data import visible as visible
from hsd_viz.exercises.hunt import law as law
from hsd_viz.exercises.hunt import mutants as mutants
from hsd_viz.exercises.hunt import plain_law as plain_law
from hsd_viz.exercises.hunt import right_decoder as right_decoder
from hsd_viz.exercises.hunt import score as score
from hsd_viz.exercises.hunt import toy_models as toy_models
from hsd_viz.exercises.lesson_model import live_model as live_model
from hsd_viz.exercises.prediction import PredictedCurve as PredictedCurve
from hsd_viz.exercises.prediction import reveal as reveal
from hsd_viz.measure.replay.recent_copies import copied_within as copied_within

if os.environ.get("SERVER_SOFTWARE", "").startswith("voila/"):
    print(
        "Open this lesson in JupyterLab: Voilà runs all cells at once, the answers to its "
        "questions included."
    )
