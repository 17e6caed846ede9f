"""What runs models and the arithmetic around them.

``native`` is the CPU runtime: a lean C++ forward pass of Llama-shaped models, compiled on this machine, with the same
bits for any width. ``cuda_graphs`` is the GPU runtime. ``host`` (numpy, the reference), ``device`` (torch) and
``native`` implement :class:`hsd_viz.decoding.backend.Backend`.

>>> build = default_build()                                   # the compiler starts in the background
>>> if build.wait(60) and unsupported(hf_model.module) is None:
...     model = NativeModel(hf_model)                         # in place of the HFModel

Importing this package does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hsd_viz.backends.native.build import Build, default_build

if TYPE_CHECKING:
    from hsd_viz.backends.native.model import NativeModel, unsupported

__all__ = ["Build", "NativeModel", "default_build", "unsupported"]


def __getattr__(name: str):
    if name in ("NativeModel", "unsupported"):
        from hsd_viz.backends.native import model

        return getattr(model, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
