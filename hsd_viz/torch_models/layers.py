"""Compile layers of the same class once per graph.

Most of a model is a layer that is repeated with other weights. Inductor compiles the operators of
each layer, although they are the same: 22 layers take 2.5 times the processor time of one. A shared
region of torch is compiled once, and called with the weights and the cache of each layer. Eager
forward passes are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

#: The class whose forward pass is a shared region, by the class of a layer.
_SHARED: dict[type[nn.Module], type[nn.Module]] = {}


def share_layers(module: nn.Module) -> bool:
    """Let repeated layers of a module be compiled once per graph.

    Returns:
        Whether there are such layers and torch supports shared regions (2.8 or newer).
    """
    if not hasattr(torch.compiler, "nested_compile_region"):
        return False
    layers = list(repeated_layers(module))
    for layer in layers:
        layer.__class__ = _shared_class(type(layer))
    return bool(layers)


def separate_layers(module: nn.Module) -> None:
    """Undo :func:`share_layers`."""
    layer_classes = {shared: layer_class for layer_class, shared in _SHARED.items()}
    for part in module.modules():
        part.__class__ = layer_classes.get(type(part), type(part))


def repeated_layers(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the layers in the outermost lists of modules of the same class.

    A list inside a layer is a part of that layer.
    """
    for child in module.children():
        is_repeated = (
            isinstance(child, nn.ModuleList)
            and len(child) > 1
            and len({type(layer) for layer in child}) == 1
        )
        if is_repeated:
            yield from child
        else:
            yield from repeated_layers(child)


def _shared_class(layer_class: type[nn.Module]) -> type[nn.Module]:
    """Return a subclass of ``layer_class`` whose forward pass is a shared region."""
    if layer_class in _SHARED.values():
        return layer_class
    if layer_class not in _SHARED:
        forward = torch.compiler.nested_compile_region(layer_class.forward)
        _SHARED[layer_class] = type(layer_class.__name__, (layer_class,), {"forward": forward})
    return _SHARED[layer_class]
