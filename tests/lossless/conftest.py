"""Rows of small tables are shaped once: enumerations and long decodes ask for the same few rows
again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from hsd_viz.decoding import rejection_sampling, sampling, session
from hsd_viz.decoding.options import Sampling

#: The largest vocabulary of a table.
SMALL = 8


@cache
def shaped_row(content: bytes, dtype: np.dtype, settings: Sampling) -> np.ndarray:
    """Return the distribution of one row of logits."""
    return sampling.distribution(np.frombuffer(content, dtype), settings)


def shaped_once(scores: np.ndarray, settings: Sampling) -> np.ndarray:
    """Return the distribution of rows of logits, row by row."""
    if scores.shape[-1] > SMALL:
        return sampling.distribution(scores, settings)
    rows = scores.reshape(-1, scores.shape[-1])
    shaped = [shaped_row(row.tobytes(), row.dtype, settings) for row in rows]
    return np.array(shaped).reshape(scores.shape)


@pytest.fixture(scope="package", autouse=True)
def rows_are_shaped_once() -> Iterator[None]:
    """Let the loop share the rows that it shapes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "distribution", shaped_once)
        patch.setattr(rejection_sampling, "distribution", shaped_once)
        yield
