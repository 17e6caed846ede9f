"""What a trace keeps about its decode: models, machine, settings and versions."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import torch
import transformers

from hsd_viz.decoding.bridge import BridgedModel
from hsd_viz.decoding.model import Model
from hsd_viz.engine.models import Models
from hsd_viz.engine.request import Request
from hsd_viz.machine import cpu_model
from hsd_viz.stack import LargerDraftWarning, Stack
from hsd_viz.version import __version__


def meta_of(models: Models, request: Request, resolved: Stack, loaded: Sequence[Model]) -> dict[str, Any]:
    """Return the facts about a decode that its trace keeps."""
    first, device = len(resolved.parts) - len(resolved.models), models.device
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
        for k, (part, model, name) in enumerate(zip(resolved.models, loaded, level_names(resolved), strict=True))
    ]
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "stack": request.written.strip(),
        "stack_resolved": str(resolved),
        "bottom": str(resolved.bottom) if resolved.bottom else None,
        "models": levels,
        "device": str(device),
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_model(),
        "dtype": models.dtype,
        "threads": torch.get_num_threads(),
        "runtime": " + ".join(dict.fromkeys(model.runtime for model in reversed(loaded))),
        "sampling": asdict(request.sampling),
        "padding_note": models.padding_note,
        "prompt": "",
        "max_new_tokens": request.max_new_tokens,
        "versions": {
            "hsd_viz": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
    }


def level_names(stack: Stack) -> list[str]:
    """Return the names of the models as levels: the last one is ``target``, and no draft model has its name."""
    return ["ladder-target" if m.name == "target" else m.name for m in stack.drafts] + ["target"]


def warn_of_larger_drafts(loaded: Sequence[Model]) -> None:
    """Warn of each draft model that is larger than its verifier."""
    for draft, above in pairwise(loaded):
        if draft.parameters > above.parameters:
            sizes = [f"{m.name} ({m.parameters / 1e6:.1f} M parameters)" for m in (draft, above)]
            words = f"{sizes[0]} drafts for the smaller {sizes[1]}: it is rarely faster than plain decoding"
            warnings.warn(words, LargerDraftWarning, stacklevel=2)
