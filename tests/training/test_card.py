"""The records of a trained ladder, the card, and moving a run: it comes back unchanged, in files
of bounded size.
"""

from __future__ import annotations

import subprocess

import pytest

from hsd_viz.ladder.torch_modules import info, load_model
from hsd_viz.models.families import CODE
from hsd_viz.models.files import folder_hash
from training import storage
from training.card import render, write_card


def test_the_hash_follows_the_tensors(tiny, tmp_path) -> None:
    hashes = {folder_hash(tiny / "weights" / n) for n in CODE.names}
    assert len(hashes) == 3
    for digest in hashes:
        assert len(digest) == 12
    load_model(str(tiny / "weights" / "nano"), dtype="float16").save_pretrained(str(tmp_path))
    assert folder_hash(tmp_path) == folder_hash(tiny / "weights" / "nano")
    with pytest.raises(ValueError, match="no safetensors"):
        folder_hash(tiny)


def test_info_and_evaluation(tiny) -> None:
    facts = info(tiny / "weights")
    assert list(facts["models"]) == list(CODE.names)
    for name, row in facts["models"].items():
        assert row["parameters"] == sum(
            p.numel() for p in load_model(str(tiny / "weights" / name)).parameters()
        )
        assert row["training"]["tokens"] == 12 * 128
    for row in facts["evaluation"]["models"].values():
        assert 3 < row["loss"] < 8
        assert list(row["loss_by_position"]) == ["0-64"]
    for pair in facts["evaluation"]["pairs"].values():
        assert 0 < pair["overlap"] <= 1
        assert 0 <= pair["greedy_agreement"] <= 1
        assert pair["kl"] >= 0


def test_the_card_contains_the_recorded_figures(tiny, tmp_path) -> None:
    facts = info(tiny / "weights")
    text = write_card(tiny / "weights", tmp_path / "CARD.md").read_text(encoding="utf-8")
    for row in facts["evaluation"]["models"].values():
        assert f"{row['loss']:.3f}" in text
        assert row["hash"] in text
    for row in facts["evaluation"]["pairs"].values():
        assert f"{row['overlap']:.3f}" in text
    for package in facts["corpus"]["packages"]:
        assert package in text
    with pytest.raises(ValueError, match="no record"):
        render({"models": {}})


def test_the_corpus_comes_back(tiny, tmp_path) -> None:
    path = tmp_path / "corpus.tar.xz"
    subprocess.run(["tar", "cJf", path, "-C", tiny, "data", "tokenizer"], check=True)
    storage.unpack_corpus(path, tmp_path / "there")
    for name in (
        "data/train.npy",
        "data/heldout.npy",
        "data/manifest.json",
        "tokenizer/tokenizer.json",
    ):
        assert (tmp_path / "there" / name).read_bytes() == (tiny / name).read_bytes()
    path.unlink()
    storage.unpack_corpus(path, tmp_path / "there")  # nothing to do


def test_weights_come_back_from_their_parts(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(storage, "PART_BYTES", 300_000)
    parts = storage.split_weights(tiny, tmp_path / "parts")
    assert len(parts) > 2
    for part in parts:
        assert part.stat().st_size <= 300_000
    (tmp_path / "back").mkdir()
    subprocess.run(
        ["tar", "x", "-C", tmp_path / "back"],
        input=b"".join(p.read_bytes() for p in parts),
        check=True,
    )
    for name in ("nano", "small", "target"):
        assert folder_hash(tmp_path / "back" / "weights" / name) == folder_hash(
            tiny / "weights" / name
        )
    assert (tmp_path / "back" / storage.LOG).read_text() == (tiny / storage.LOG).read_text()
