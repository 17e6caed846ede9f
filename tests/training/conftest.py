"""A ladder of the ``tiny`` profile, trained once per session: real training, a few seconds on one thread."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a complete tiny run."""
    from training.evaluation import evaluate_ladder
    from training.train import train_ladder

    out = tmp_path_factory.mktemp("tiny")
    train_ladder("tiny", out, threads=1, progress=lambda _: None)
    evaluate_ladder(out, prompts={}, windows=4, window=64)
    return out
