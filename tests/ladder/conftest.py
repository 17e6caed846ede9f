"""A ladder of the ``tiny`` profile, trained once a session: real training, a few seconds on one thread."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder a whole tiny run wrote."""
    from hsd_viz.ladder.evaluate import evaluate_ladder
    from hsd_viz.ladder.train import train_ladder

    out = tmp_path_factory.mktemp("tiny")
    train_ladder("tiny", out, threads=1, progress=lambda _: None)
    evaluate_ladder(out, windows=4, window=64, sample_tokens=8)
    return out
