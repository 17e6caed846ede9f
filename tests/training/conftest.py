"""A ladder of the ``tiny`` profile, trained once per session: real training, a few seconds on
one thread.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a complete tiny run on a few files of each package."""
    from training import corpus
    from training.evaluation import evaluate_ladder
    from training.train import train_ladder

    out = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            corpus,
            "collect",
            partial(corpus.collect, limits=corpus.CorpusLimits(package_bytes=20_000)),
        )
        train_ladder("tiny", out, threads=1, progress=lambda _: None)
    evaluate_ladder(out, windows=4, window=64)
    return out
