"""Test that weights that are not finite are refused on loading."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from hsd_viz.engine import load_engine
from hsd_viz.errors import UserError
from hsd_viz.models.families import CODE


def changed(folder, name: str, value: float) -> None:
    """Write a value into a float32 tensor of a model's file."""
    (file,) = folder.glob("*.safetensors")
    content = bytearray(file.read_bytes())
    begin = 8 + int.from_bytes(content[:8], "little")
    entry = json.loads(content[8:begin])[name]
    assert entry["dtype"] == "F32"
    at = begin + entry["data_offsets"][0]
    content[at : at + 4] = np.float32(value).tobytes()
    file.write_bytes(content)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "name", ["model.norm.weight", "model.layers.0.mlp.up_proj.scale", "model.embed_tokens.scale"]
)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_weight_that_is_not_finite_is_refused(name, value, dtype, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(CODE.path("nano"), folder)
    changed(folder, name, value)
    with pytest.raises(UserError, match="not finite"):
        engine = load_engine(str(folder), dtype=dtype, device="cpu")
        engine.run("x", "target", max_new_tokens=2)
