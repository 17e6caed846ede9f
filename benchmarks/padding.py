"""Cost-padded models: real, lossless runs at any chosen cost and acceptance.

A residual layer whose output projections are zero adds nothing to the residual stream: a model with
such layers appended has the same outputs at a higher cost. Noise in these projections changes the
model, the more the larger it is. A small model and its padded copy therefore form a pair with any
cost ratio and acceptance. ``python -m benchmarks.padding MODEL LAYERS NOISE DIR`` writes a padded
copy and prints its path.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.errors import UserError
from hsd_viz.ladder.torch_modules import load_model
from hsd_viz.models.families import CODE

if TYPE_CHECKING:
    from torch import nn


def padded_name(name: str, layers: int, noise: float = 0.0) -> str:
    """Return the name of a padded model.

    >>> padded_name("target", 0), padded_name("target", 12), padded_name("target", 12, 0.05)
    ('target', 'target+12', 'target+12~0.05')
    """
    return name + (f"+{layers}" if layers else "") + (f"~{noise:g}" if noise else "")


def check_padding(layers: int, noise: float = 0.0) -> None:
    """Check the arguments of :func:`pad`.

    Raises:
        UserError: if ``layers`` or ``noise`` is out of range.
    """
    if not 0 <= layers <= 10_000:
        raise UserError(f"{layers} layers is out of range: choose 0 to 10000")
    if not 0 <= noise <= 10:
        raise UserError(f"noise {noise} is out of range: choose 0 (the same model) to 10")


def pad(module: nn.Module, layers: int, noise: float = 0.0, seed: int = 0) -> nn.Module:
    """Append ``layers`` residual layers to ``module`` (a Llama or similar model); the other weights
    are shared.

    Each is a copy of the last layer with its two output projections replaced by Gaussian numbers
    whose standard deviation is ``noise`` times that of the projection they replace: with 0 the
    logits are those of ``module``. The same ``seed`` gives the same model.

    Raises:
        UserError: for other architectures and for numbers out of range.
    """
    import torch

    check_padding(layers, noise)
    body = getattr(module, "model", None)
    last = body.layers[-1] if hasattr(body, "layers") else None
    if not all(
        hasattr(getattr(last, part, None), name)
        for part, name in (("self_attn", "o_proj"), ("mlp", "down_proj"))
    ):
        raise UserError(
            f"{module.config.model_type} cannot be padded: its layers are not Llama layers"
        )
    padded = copy.copy(module)
    padded.config = copy.deepcopy(module.config)
    padded.config.num_hidden_layers += layers
    if kinds := getattr(module.config, "layer_types", None):
        padded.config.layer_types = [*kinds, *[kinds[-1]] * layers]
    # Copies of the containers, not of their contents: the module itself is not changed.
    padded._modules = {**module._modules, "model": copy.copy(body)}
    padded.model._modules = {**body._modules, "layers": type(body.layers)(body.layers)}
    padded.model.config = padded.config
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for k in range(layers):
            layer = copy.deepcopy(last)
            layer.self_attn.layer_idx = module.config.num_hidden_layers + k
            for projection in (layer.self_attn.o_proj, layer.mlp.down_proj):
                weight = projection.weight
                if noise:
                    weight.copy_(
                        torch.randn(weight.shape, generator=generator)
                        * (noise * float(weight.float().std()))
                    )
                else:
                    weight.zero_()
                if projection.bias is not None:
                    projection.bias.zero_()
            padded.model.layers.append(layer)
    return padded.eval()


def save_padded(name: str, layers: int, noise: float, folder: str | Path) -> str:
    """Write a padded copy of a ladder model or checkpoint folder; return its path, or ``name``
    for no layers.
    """
    if not layers:
        return name
    source = CODE.path(name) if name in CODE.names else Path(name)
    out = Path(folder) / padded_name(source.name, layers, noise)
    pad(load_model(name), layers, noise).save_pretrained(out)
    for file in source.glob("*token*"):
        shutil.copy(file, out)
    return str(out)


if __name__ == "__main__":
    import sys

    if len(sys.argv) != 5:
        sys.exit("usage: python -m benchmarks.padding MODEL LAYERS NOISE DIR")
    print(save_padded(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]))
