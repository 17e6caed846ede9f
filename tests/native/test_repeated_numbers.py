"""Test that constants repeated in the sources of the runtime equal those of the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hsd_viz.decoding import sampling, verify
from hsd_viz.native import build

SOURCES = Path(build.__file__).parent / "src"


@pytest.mark.parametrize(
    ("file", "pattern", "value"),
    [
        pytest.param("rules.hpp", r"std::min\((\S+), ratio", verify.MAX_RATIO, id="ratio"),
        pytest.param("sample.hpp", r"BLOCK_OF_SUM = (\d+);", sampling.BLOCK, id="block"),
    ],
)
def test_a_number_of_the_runtime_is_that_of_the_reference(file, pattern, value):
    [number] = re.findall(pattern, (SOURCES / file).read_text(encoding="utf-8"))
    assert float(number) == value
