"""Test packed weights in the cache folder: written once, then mapped, and rewritten if invalid."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.models.config import form_of
from hsd_viz.native import packed as packed_module
from hsd_viz.native.packed import packed_weights
from hsd_viz.native.panels import PackedMatrix
from hsd_viz.native.weights import ArrayTensors, Weights
from tests.native.models import eager


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the folder of packed weights."""
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights"


@pytest.fixture
def weights(tmp_path) -> Weights:
    """Return random weights with a file as their source."""
    module = eager("qwen2").module
    arrays = {name: tensor.numpy(force=True) for name, tensor in module.state_dict().items()}
    source = ArrayTensors(arrays)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")
    source.files = (path,)
    return Weights("random", form_of("random", module.config.to_dict()), source)


@pytest.fixture
def packs(monkeypatch) -> list[str]:
    """Return a list that gets an entry each time a model is packed."""
    lines: list[str] = []
    original = packed_module._pack_all

    def counting(weights):
        lines.append(weights.name)
        return original(weights)

    monkeypatch.setattr(packed_module, "_pack_all", counting)
    return lines


def content(packed: list) -> list[tuple]:
    """Return the bytes of packed weights with their positions."""
    rows = []
    for layer, slot, part in packed:
        array = part.content if isinstance(part, PackedMatrix) else part
        bits = part.bits if isinstance(part, PackedMatrix) else 0
        rows.append((layer, slot, bits, array.tobytes()))
    return rows


def the_file(folder: Path) -> Path:
    """Return the only file of packed weights."""
    (path,) = folder.glob("*.weights")
    return path


def test_a_model_is_packed_once(folder, weights, packs):
    first = content(packed_weights(weights))
    second = content(packed_weights(weights))
    assert first == second == content(list(packed_module._pack_all(weights)))
    assert packs == ["random", "random"]  # the second one is that of this test


def test_kept_weights_are_mapped_and_not_writable(folder, weights):
    packed_weights(weights)
    for _, _, part in packed_weights(weights):
        array = part.content if isinstance(part, PackedMatrix) else part
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_a_changed_model_is_packed_again_and_the_old_file_removed(folder, weights, packs):
    packed_weights(weights)
    before = the_file(folder)
    os.utime(weights.source.files[0], ns=(1, 1))
    packed_weights(weights)
    assert the_file(folder) != before
    assert len(packs) == 2


@pytest.mark.parametrize("damage", ["one bit", "shorter", "empty", "writable by others"])
def test_a_wrong_file_is_made_again(folder, weights, packs, damage):
    expected = content(packed_weights(weights))
    path = the_file(folder)
    data = bytearray(path.read_bytes())
    if damage == "one bit":
        data[1000] ^= 1
    elif damage == "shorter":
        del data[-100:]
    elif damage == "empty":
        data.clear()
    path.write_bytes(data)
    if damage == "writable by others":
        path.chmod(0o666)
    assert content(packed_weights(weights)) == expected
    assert len(packs) == 2
    assert content(packed_weights(weights)) == expected
    assert len(packs) == 2


def test_without_a_folder_a_process_packs_for_itself(tmp_path, weights, packs, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HSD_VIZ_CACHE", str(tmp_path / "file"))
    assert len(packed_weights(weights)) == len(packed_weights(weights)) > 0
    assert len(packs) == 2


def test_weights_of_no_file_are_not_kept(folder, weights):
    weights.source.files = ()
    packed_weights(weights)
    assert not folder.exists()


def test_the_logits_are_those_of_weights_that_are_not_kept(folder, weights):
    from hsd_viz.native.build import default_build
    from hsd_viz.native.model import NativeModel

    if not default_build().wait():
        pytest.skip(f"no native runtime: {default_build().reason}")
    packed_weights(weights)
    kept = NativeModel(weights).session().forward([1, 2, 3], 3)
    weights.source.files = ()
    assert np.array_equal(kept, NativeModel(weights).session().forward([1, 2, 3], 3))


def test_a_link_in_place_of_the_lock_is_not_written_through(folder, weights, packs, tmp_path):
    packed_weights(weights)
    the_file(folder).unlink()
    (lock,) = folder.glob("*.lock")
    lock.unlink()
    (tmp_path / "elsewhere").write_text("kept")
    lock.symlink_to(tmp_path / "elsewhere")
    assert packed_weights(weights)  # by this process for itself
    assert (tmp_path / "elsewhere").read_text() == "kept"
    assert not list(folder.glob("*.weights"))


def test_weights_are_not_kept_where_others_can_replace_them(folder, weights, packs, tmp_path):
    folder.mkdir(parents=True)
    (tmp_path / "cache").chmod(0o777)
    assert packed_weights(weights)
    assert not list(folder.glob("*.weights"))


def test_weights_that_others_can_replace_are_not_used(folder, weights, packs, tmp_path):
    packed_weights(weights)
    (tmp_path / "cache").chmod(0o777)
    packed_weights(weights)
    assert len(packs) == 2
