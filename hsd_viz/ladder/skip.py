"""Self-drafts: a model without some of its own layers, for drafting. The weights are shared."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn
    from transformers import PreTrainedConfig


def check_skip(name: str, layers: Sequence[int], count: int) -> None:
    """Check the layers to leave out of a model with ``count`` layers.

    Raises:
        ValueError: if one does not exist, or none is left.
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
    weights with ``module``, which is not changed.

    Raises:
        ValueError: if its layers cannot be found.
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
