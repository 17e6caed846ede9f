"""Answers have more time on a busy machine, and a decode of a lesson, the same in every edition, is
run once.
"""

import sys
from functools import cache

import pytest

from hsd_viz.exercises import check
from hsd_viz.exercises.lesson_model import LiveModel

sys.modules[check.__module__].SECONDS = 120.0
decode = LiveModel.run


@cache
def decode_once(family, kind, stack, n, options):
    """Return the run of a prompt. Engines are cached by family, too."""
    from hsd_viz.exercises import lesson_model

    return decode(lesson_model._load(family), kind, stack, n, **dict(options))


@pytest.fixture(scope="session", autouse=True)
def each_decode_is_run_once():
    """Let the editions of a lesson, and tests of its figures, share what they decode."""

    def run(self, kind, stack="target", n=0, **options):
        return decode_once(self.family.name, kind, stack, n, tuple(sorted(options.items())))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LiveModel, "run", run)
        yield
