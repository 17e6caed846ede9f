"""Exercises of the course: checks, the bug hunt and quizzes. Needs neither torch nor a network.

>>> from hsd_viz.exercises import check
>>> check("7.1", lambda alpha, gamma: 1)
✗ not yet · 7.1 tokens per round: G(alpha=1/5, gamma=1): got 1, expected 6/5. Append .hint() to the check for a hint.
"""

from hsd_viz.exercises import cases  # noqa: F401 (they register)
from hsd_viz.exercises.check import EXERCISES, Exercise, Result, check
from hsd_viz.exercises.data import cost_curve, greedy_rounds, measured, quiz
from hsd_viz.exercises.hunt import law, mutants, plain_law, right_decoder, score, toy_models

__all__ = [
    "EXERCISES",
    "Exercise",
    "Result",
    "check",
    "cost_curve",
    "greedy_rounds",
    "law",
    "measured",
    "mutants",
    "plain_law",
    "quiz",
    "right_decoder",
    "score",
    "toy_models",
]
