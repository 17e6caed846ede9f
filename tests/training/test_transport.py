"""Moving a run: the corpus and the weights come back unchanged, in files of bounded size."""

from __future__ import annotations

import subprocess

from hsd_viz.ladder.load import weights_hash
from training import storage
from training.storage import LOG


def test_the_corpus_comes_back(tiny, tmp_path) -> None:
    path = tmp_path / "corpus.tar.xz"
    subprocess.run(["tar", "cJf", path, "-C", tiny, "data", "tokenizer"], check=True)
    storage.unpack_corpus(path, tmp_path / "there")
    for name in ("data/train.npy", "data/heldout.npy", "data/manifest.json", "tokenizer/tokenizer.json"):
        assert (tmp_path / "there" / name).read_bytes() == (tiny / name).read_bytes()
    path.unlink()
    storage.unpack_corpus(path, tmp_path / "there")  # nothing to do


def test_weights_come_back_from_their_parts(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(storage, "PART_BYTES", 300_000)
    parts = storage.split_weights(tiny, tmp_path / "parts")
    assert len(parts) > 2 and all(p.stat().st_size <= 300_000 for p in parts)
    (tmp_path / "back").mkdir()
    subprocess.run(["tar", "x", "-C", tmp_path / "back"], input=b"".join(p.read_bytes() for p in parts), check=True)
    for name in ("nano", "small", "target"):
        assert weights_hash(tmp_path / "back" / "weights" / name) == weights_hash(tiny / "weights" / name)
    assert (tmp_path / "back" / LOG).read_text() == (tiny / LOG).read_text()
