"""Cost-padded models: real, lossless runs at any chosen cost and acceptance.

A residual layer whose output projections are zero adds nothing to the stream: a model with such layers behind its own is the same
model at a higher, real price. Small noise in these projections makes it another model, the less alike the more of it there
is. A pair of a small model and its padded copy so has whatever cost ratio and acceptance a question asks for; a padded model
says so in its name (:func:`padded_name`).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig


def padded_name(name: str, layers: int, noise: float = 0.0) -> str:
    """The name that says what was done.

    >>> padded_name("target", 12), padded_name("target", 12, 0.05)
    ('target+12', 'target+12~0.05')
    """
    return f"{name}+{layers}" + (f"~{noise:g}" if noise else "")


def check_padding(layers: int, noise: float = 0.0) -> None:
    """Raise ``ValueError`` with one sentence for numbers that :func:`pad` does not take."""
    if isinstance(layers, bool) or not isinstance(layers, int) or not 0 <= layers <= 10_000:
        raise ValueError(f"{layers} layers is out of range: a model is padded with 0 to 10000")
    if not isinstance(noise, int | float) or not 0 <= noise <= 10:
        raise ValueError(f"noise {noise} is out of range: it is a number from 0 (the same model) to 10")
    if noise and not layers:
        raise ValueError(f"noise {noise:g} has no layers to be in: pad the model with one layer or more")


def padding_note(name: str, layers: int, noise: float = 0.0) -> str:
    """What a padded model is, in a sentence.

    >>> padding_note("target", 12)
    'target+12 is target with 12 residual layers adding nothing: the same model at a higher cost'
    """
    what = f"noise, {noise:g} of a layer's own scale: another model" if noise else "nothing: the same model"
    return f"{padded_name(name, layers, noise)} is {name} with {layers} residual layer{'s' * (layers != 1)} adding {what} at a higher cost"


def padded_config(config: PreTrainedConfig, layers: int) -> PreTrainedConfig:
    """The configuration of a model padded with ``layers``; ``config`` stays as it is."""
    found = copy.deepcopy(config)
    found.num_hidden_layers += layers
    if kinds := getattr(config, "layer_types", None):
        found.layer_types = [*kinds, *[kinds[-1]] * layers]
    return found


def pad(module: nn.Module, layers: int, noise: float = 0.0, seed: int = 0, inner: int | None = None) -> nn.Module:
    """``module`` (a Llama or a relative of it) with ``layers`` more residual layers behind its own; the rest is shared with it.

    Each is a copy of the last layer with its two output projections replaced by Gaussian numbers whose standard deviation is
    ``noise`` times that of the projection they replace: with 0 the logits are those of ``module``. ``inner`` is the width of
    their feed-forward part, the module's own if ``None``: fewer, heavier layers. The same ``seed`` gives the same model. Raises
    ``ValueError`` for other architectures and for numbers out of range.
    """
    import torch

    check_padding(layers, noise)
    if inner is not None and not 1 <= inner <= 1_000_000:
        raise ValueError(f"an inner width of {inner} is out of range: it is a whole number from 1 to 1000000")
    body = getattr(module, "model", None)
    last = body.layers[-1] if hasattr(body, "layers") else None
    if not all(
        hasattr(getattr(last, part, None), name) for part, name in (("self_attn", "o_proj"), ("mlp", "down_proj"))
    ):
        raise ValueError(f"{module.config.model_type} cannot be padded: its layers are not those of a Llama")

    padded = copy.copy(module)
    padded.config = padded_config(module.config, layers)
    # Copies of the containers, not of what they hold: the module itself stays as it is.
    padded._modules = {**module._modules, "model": copy.copy(body)}
    padded.model._modules = {**body._modules, "layers": type(body.layers)(body.layers)}
    padded.model.config = padded.config

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for k in range(layers):
            layer = copy.deepcopy(last)
            layer.self_attn.layer_idx = module.config.num_hidden_layers + k
            if inner is not None:
                _widen(layer.mlp, inner)
            for projection in (layer.self_attn.o_proj, layer.mlp.down_proj):
                weight = projection.weight
                if noise:
                    weight.copy_(torch.randn(weight.shape, generator=generator) * (noise * float(weight.float().std())))
                else:
                    weight.zero_()
                if projection.bias is not None:
                    projection.bias.zero_()
            padded.model.layers.append(layer)
    return padded.eval()


def _widen(mlp: nn.Module, inner: int) -> None:
    """Give a feed-forward part another width; its weights repeat the old ones."""
    import torch

    for name, along in (("gate_proj", 0), ("up_proj", 0), ("down_proj", 1)):
        linear = getattr(mlp, name)
        index = torch.arange(inner, device=linear.weight.device) % linear.weight.shape[along]
        linear.weight = torch.nn.Parameter(
            linear.weight.index_select(along, index), requires_grad=linear.weight.requires_grad
        )
        if along == 0 and linear.bias is not None:
            linear.bias = torch.nn.Parameter(
                linear.bias.index_select(0, index), requires_grad=linear.bias.requires_grad
            )
        linear.out_features, linear.in_features = linear.weight.shape
