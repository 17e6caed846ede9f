"""Every test here runs on a GPU where there is one; most run on the CPU too, over the same code but for capture and replay."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lossless"), str(HERE.parent / "backends")]

CUDA = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")],
)


@pytest.fixture(params=["cpu", CUDA])
def device(request) -> str:
    return request.param


@pytest.fixture(params=[CUDA])
def cuda(request) -> str:
    return request.param


@pytest.fixture(autouse=True)
def no_tf32():
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
