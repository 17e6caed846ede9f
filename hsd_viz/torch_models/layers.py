"""Layers that are alike are compiled once per graph.

Most of a model is one layer, repeated with other weights. Inductor compiles the operators of every
layer, although they are the same: 22 layers take 2.5 times the processor time of one. A region that
torch is asked to share is compiled once and called with the weights and the cache of each layer.
Eager passes are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

#: By class of a layer the class whose forward pass is a shared region.
_SHARED: dict[type[nn.Module], type[nn.Module]] = {}


def share_layers(module: nn.Module) -> bool:
    """Have the layers of ``module`` that are alike compiled once per graph.

    Returns:
        Whether there are such layers, and a torch that can share them (2.8 or newer).
    """
    if not hasattr(torch.compiler, "nested_compile_region"):
        return False
    layers = list(repeated_layers(module))
    for layer in layers:
        layer.__class__ = _shared_class(type(layer))
    return bool(layers)


def separate_layers(module: nn.Module) -> None:
    """Undo :func:`share_layers`."""
    own_classes = {shared: own for own, shared in _SHARED.items()}
    for part in module.modules():
        part.__class__ = own_classes.get(type(part), type(part))


def repeated_layers(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the layers of the outermost lists of modules of one class: a list inside of a layer
    is part of it.
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


def _shared_class(own: type[nn.Module]) -> type[nn.Module]:
    """Return a class of layers like ``own`` whose forward pass is a shared region."""
    if own in _SHARED.values():
        return own
    if own not in _SHARED:
        forward = torch.compiler.nested_compile_region(own.forward)
        _SHARED[own] = type(own.__name__, (own,), {"forward": forward})
    return _SHARED[own]
