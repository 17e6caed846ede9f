"""Choose the device on which models run."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

from hsd_viz.errors import UserError


def find_device(device: str | None) -> str:
    """Check the name of a device and return it; for ``None`` return the fastest device.

    torch is imported only if a device other than the CPU may be present.

    Raises:
        UserError: if the name is unknown, or if the device or torch is missing.
    """
    has_torch = importlib.util.find_spec("torch") is not None
    # The device files of the drivers of NVIDIA, AMD and WSL. Windows has no such files.
    driver = (
        any(Path(f"/dev/{name}").exists() for name in ("nvidiactl", "kfd", "dxg"))
        or os.name == "nt"
    )
    if device == "cpu" or (device is None and not (has_torch and driver)):
        return "cpu"
    if device is not None and not re.fullmatch(r"cuda(:\d+)?", str(device)):
        raise UserError(f"unknown device {device!r}: it is cpu or cuda")
    if not has_torch:
        raise UserError(
            f"the device {device} needs torch: install it with `pip install 'hsd-viz[models]'`"
        )
    import torch

    available = torch.cuda.is_available()
    if device is not None and not available:
        raise UserError("there is no CUDA device here: use the device cpu")
    return "cpu" if not available else device or "cuda"
