"""Answers have more time on a busy machine, and decodes of lessons are run once."""

import sys

import pytest

from hsd_viz.exercises import check
from tests.exercises.lessons import each_decode_run_once

sys.modules[check.__module__].SECONDS = 120.0


@pytest.fixture(scope="session", autouse=True)
def each_decode_is_run_once():
    """Let tests of a lesson's figures share the decodes of its editions."""
    with each_decode_run_once():
        yield
