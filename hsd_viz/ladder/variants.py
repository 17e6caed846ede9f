"""Models made of another one's layers: with more of them, without some, or with rounded weights.

Cost-padded models give real, lossless runs at any chosen cost and acceptance. A residual layer whose output projections
are zero adds nothing to the residual stream: a model with such layers appended has the same outputs at a higher cost.
Small noise in these projections changes the model, the more the larger it is. A small model and its padded copy
therefore form a pair with any cost ratio and acceptance; the name of a padded model states its padding
(:func:`padded_name`).

Self-drafts leave out some of the target's own layers; the weights are shared. Or they have the target's weights rounded
to 8 bits: another model, nearly as good, that a processor reads in half the time.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedConfig


def padded_name(name: str, layers: int, noise: float = 0.0) -> str:
    """Return the name of a padded model.

    >>> padded_name("target", 12), padded_name("target", 12, 0.05)
    ('target+12', 'target+12~0.05')
    """
    return f"{name}+{layers}" + (f"~{noise:g}" if noise else "")


def check_padding(layers: int, noise: float = 0.0) -> None:
    """Check the arguments of :func:`pad`. Raises: ValueError: if ``layers`` or ``noise`` is out of range."""
    if isinstance(layers, bool) or not isinstance(layers, int) or not 0 <= layers <= 10_000:
        raise ValueError(f"{layers} layers is out of range: choose 0 to 10000")
    if not isinstance(noise, int | float) or not 0 <= noise <= 10:
        raise ValueError(f"noise {noise} is out of range: choose 0 (the same model) to 10")
    if noise and not layers:
        raise ValueError(f"noise {noise:g} has no layers to be in: pad the model with one layer or more")


def padding_note(name: str, layers: int, noise: float = 0.0) -> str:
    """Return a description of a padded model.

    >>> padding_note("target", 12)
    'target+12 is target with 12 residual layers adding nothing: the same model at a higher cost'
    """
    what = f"noise, {noise:g} of a layer's own scale: another model" if noise else "nothing: the same model"
    count = f"{layers} residual layer{'s' * (layers != 1)}"
    return f"{padded_name(name, layers, noise)} is {name} with {count} adding {what} at a higher cost"


def padded_config(config: PreTrainedConfig, layers: int) -> PreTrainedConfig:
    """Return the configuration of a model padded with ``layers``; ``config`` is not changed."""
    found = copy.deepcopy(config)
    found.num_hidden_layers += layers
    if kinds := getattr(config, "layer_types", None):
        found.layer_types = [*kinds, *[kinds[-1]] * layers]
    return found


def pad(module: nn.Module, layers: int, noise: float = 0.0, seed: int = 0) -> nn.Module:
    """Append ``layers`` residual layers to ``module`` (a Llama or similar model); the other weights are shared.

    Each is a copy of the last layer with its two output projections replaced by Gaussian numbers whose standard
    deviation is ``noise`` times that of the projection they replace: with 0 the logits are those of ``module``.
    The same ``seed`` gives the same model.

    Raises:
        ValueError: for other architectures and for numbers out of range.
    """
    import torch

    check_padding(layers, noise)
    body = getattr(module, "model", None)
    last = body.layers[-1] if hasattr(body, "layers") else None
    if not all(
        hasattr(getattr(last, part, None), name) for part, name in (("self_attn", "o_proj"), ("mlp", "down_proj"))
    ):
        raise ValueError(f"{module.config.model_type} cannot be padded: its layers are not Llama layers")

    padded = copy.copy(module)
    padded.config = padded_config(module.config, layers)
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
                    weight.copy_(torch.randn(weight.shape, generator=generator) * (noise * float(weight.float().std())))
                else:
                    weight.zero_()
                if projection.bias is not None:
                    projection.bias.zero_()
            padded.model.layers.append(layer)
    return padded.eval()


def check_skip(name: str, layers: Sequence[int], count: int) -> None:
    """Check the layers to leave out of a model with ``count`` layers. Raises: ValueError: if one does not exist, or
    none is left.
    """
    if count < 2:
        raise ValueError(f"{name} has one layer only: nothing can be left out of it")
    if not layers:
        raise ValueError(f"{name}: name the layers to leave out, as in [skip=1], or decode with [skip] to find them")
    if max(layers) >= count:
        raise ValueError(f"layer {max(layers)} of '{name}' does not exist: it has layers 0 to {count - 1}")
    if len(layers) >= count:
        raise ValueError(f"'{name}' leaves out all {count} layers: keep at least one")


def skipping_config(config: PreTrainedConfig, layers: Sequence[int]) -> PreTrainedConfig:
    """Return the configuration of a model without these layers; ``config`` is not changed."""
    found = copy.deepcopy(config)
    text = found.get_text_config(decoder=True)
    count = text.num_hidden_layers
    if kinds := getattr(text, "layer_types", None):
        text.layer_types = [kind for k, kind in enumerate(kinds) if k not in layers]
    text.num_hidden_layers = count - len(layers)
    return found


def skip_layers(module: nn.Module, layers: Sequence[int]) -> nn.Module:
    """Return ``module``, a causal model of any family with one list of layers, without ``layers``. It shares all
    weights with ``module``, which is not changed. Raises: ValueError: if its layers cannot be found.
    """
    from torch import nn

    config = skipping_config(module.config, layers)
    count = module.config.get_text_config(decoder=True).num_hidden_layers
    lists = [n for n, part in module.named_modules() if isinstance(part, nn.ModuleList) and len(part) == count]
    if len(lists) != 1:
        raise ValueError(f"layers cannot be left out of {module.config.model_type}: it has no single list of layers")

    def without(part: nn.Module, path: list[str]) -> nn.Module:
        if not path:
            kept = [layer for k, layer in enumerate(part.children()) if k not in layers]
            return nn.ModuleList([_renumbered(layer, k) for k, layer in enumerate(kept)])
        found = copy.copy(part)
        # A copy of the container, not of its contents.
        found._modules = {**part._modules, path[0]: without(part._modules[path[0]], path[1:])}  # type: ignore[arg-type]
        if getattr(found, "config", None) is not None:
            found.config = config if found.config is module.config else config.get_text_config(decoder=True)
        return found

    return without(module, lists[0].split(".")).eval()


def _renumbered(part: nn.Module, place: int) -> nn.Module:
    """Return a layer with another place in the cache; its weights are shared."""
    if not any(hasattr(inner, "layer_idx") for inner in part.modules()):
        return part
    found: Any = copy.copy(part)
    found._modules = {name: None if p is None else _renumbered(p, place) for name, p in part._modules.items()}
    if hasattr(part, "layer_idx"):
        found.layer_idx = place
    return found


def rounded_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows of ``weight`` ``[N, K]`` as whole numbers from -127 to 127 (int8) and their scales ``[N]``.

    A scale is the smallest power of two that gives a row's largest weight at most 7 bits. So the scaled numbers are
    exact in any floating-point type, and are rounded to themselves.
    """
    import torch

    top = weight.float().abs().amax(1)
    # Within the normal numbers of float16, or a row of tiny weights could not be represented.
    scales = torch.ldexp(torch.ones_like(top), torch.frexp(top).exponent.clamp_min(-7) - 7)
    return (weight.float() / scales[:, None]).round_().clamp_(-127, 127).to(torch.int8), scales


def rounded(module: nn.Module) -> nn.Module:
    """Return ``module`` with the matrices of its linear layers rounded to 8 bits per row (:func:`rounded_rows`), and its
    embedding only where that is one of them.

    All other weights are shared with ``module``, which is not changed.

    Raises:
        ValueError: if it has matrices in other layers.
    """
    import torch
    from torch import nn

    made = {}
    for part in module.modules():
        if isinstance(part, nn.Linear):
            with torch.no_grad():
                numbers, scales = rounded_rows(part.weight)
                weight = (numbers * scales[:, None]).to(part.weight.dtype)
            made[id(part.weight)] = nn.Parameter(weight, requires_grad=False)
        elif not isinstance(part, nn.Embedding) and any(p.ndim > 1 for p in part.parameters(recurse=False)):
            raise ValueError(f"weights of a {type(part).__name__} cannot be rounded to 8 bits: only linear layers can")

    def replaced(part: nn.Module) -> nn.Module:
        found: Any = copy.copy(part)
        found._parameters = {name: made.get(id(p), p) for name, p in part._parameters.items()}
        found._modules = {name: None if p is None else replaced(p) for name, p in part._modules.items()}
        return found

    return replaced(module).eval()
