"""Moving a run: the corpus and the weights come back unchanged, in files of bounded size."""

from __future__ import annotations

import pytest

from hsd_viz.ladder.load import weights_hash
from hsd_viz.ladder.training import transport
from hsd_viz.ladder.training.storage import LOG


def test_the_corpus_comes_back(tiny, tmp_path) -> None:
    path = transport.pack_corpus(tiny, tmp_path / "corpus.tar.xz")
    transport.unpack_corpus(path, tmp_path / "there")
    for name in ("data/train.npy", "data/heldout.npy", "data/manifest.json", "tokenizer/tokenizer.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tiny / name).read_bytes()
    path.unlink()
    transport.unpack_corpus(path, tmp_path / "there")  # nothing to do


def test_weights_come_back_from_their_parts(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(transport, "PART_BYTES", 300_000)
    parts = transport.split_weights(tiny, tmp_path / "parts")
    assert len(parts) > 2 and all(p.stat().st_size <= 300_000 for p in parts)
    assert transport.main(["join", str(tmp_path / "parts"), str(tmp_path / "back")]) == 0
    for name in ("nano", "small", "target"):
        assert weights_hash(tmp_path / "back" / "weights" / name) == weights_hash(tiny / "weights" / name)
    assert (tmp_path / "back" / LOG).read_text() == (tiny / LOG).read_text()
    with pytest.raises(ValueError, match="contains no files"):
        transport.join_weights(tmp_path, tmp_path / "back")
