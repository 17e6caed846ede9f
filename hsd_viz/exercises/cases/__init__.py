"""The inputs on which an answer must equal the solution: recordings, and all small cases of a
kind.
"""

# Each registers the exercises of some lessons, in the order of the course.
# ruff: isort: off
from hsd_viz.exercises.cases import greedy  # noqa: F401
from hsd_viz.exercises.cases import sampling  # noqa: F401
from hsd_viz.exercises.cases import databases  # noqa: F401
from hsd_viz.exercises.cases import latency  # noqa: F401
from hsd_viz.exercises.cases import confidence  # noqa: F401
from hsd_viz.exercises.cases import lab  # noqa: F401
from hsd_viz.exercises.cases import puzzles  # noqa: F401
