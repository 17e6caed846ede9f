"""What a trace keeps about its decode: models, machine, settings and versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from hsd_viz.decoding.bridge import BridgedModel
from hsd_viz.decoding.session import Model
from hsd_viz.engine.load import Models
from hsd_viz.engine.resolve import Resolved
from hsd_viz.machine import cpu_model, threads
from hsd_viz.version import __version__


def meta_of(models: Models, asked: Resolved, loaded: Sequence[Model]) -> dict[str, Any]:
    """Return the facts about a decode that its trace keeps."""
    stack, device = asked.stack, models.device
    first = len(stack.parts) - len(stack.models)
    levels = [
        {
            "level": first + k,
            "name": name,
            "model": model.name,
            "lookahead": part.lookahead,
            "parameters": model.parameters,
            "weights": models.hash(model.name),
            "runtime": model.runtime,
            **({"bridge": model.describe()} if isinstance(model, BridgedModel) else {}),
        }
        for k, (part, model, name) in enumerate(zip(stack.models, loaded, asked.levels, strict=True))
    ]
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "stack": asked.written,
        "stack_resolved": str(stack),
        "bottom": str(stack.bottom) if stack.bottom else None,
        "models": levels,
        "device": str(device),
        "device_name": _device_name(device),
        "dtype": models.dtype,
        "threads": threads(),
        "runtime": " + ".join(dict.fromkeys(model.runtime for model in reversed(loaded))),
        "sampling": asdict(asked.sampling),
        **({"rules": dict(asked.rules)} if asked.rules else {}),
        "prompt": "",
        "chat": asked.chat,
        "max_new_tokens": asked.max_new_tokens,
        "versions": {
            "hsd_viz": __version__,
            **{package: version(package) for package in ("torch", "transformers") if sys.modules.get(package)},
            "python": platform.python_version(),
        },
    }


def _device_name(device: str) -> str:
    if not device.startswith("cuda"):
        return cpu_model()
    import torch

    return torch.cuda.get_device_name(device)
