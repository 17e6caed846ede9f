"""The optimizers of a model in training."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


def make_optimizers(
    matrices: Sequence[nn.Parameter],
    others: Sequence[nn.Parameter],
    *,
    matrix_rate: float,
    vector_rate: float,
    weight_decay: float = 0.0,
) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices inside the layers, and AdamW for embedding, head and norms.

    Muon (Jordan et al. 2024) replaces the momentum of a matrix by the nearest orthogonal matrix;
    scaled to the magnitude of AdamW's updates (Liu et al. 2025, arXiv 2502.16982) it reaches a
    lower loss than AdamW alone at a few million tokens.

    Args:
        matrices: the matrices inside the layers.
        others: all other parameters.
        matrix_rate: the peak learning rate of the matrices; each group of parameters stores its
            own as ``peak``.
        vector_rate: the peak learning rate of the others.
        weight_decay: of the matrices.
    """
    muon = torch.optim.Muon(
        matrices,
        lr=matrix_rate,
        weight_decay=weight_decay,
        momentum=0.95,
        adjust_lr_fn="match_rms_adamw",
    )
    adam = torch.optim.AdamW(
        others, lr=vector_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True
    )
    for optimizer in (muon, adam):
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return [muon, adam]


def set_rates(optimizers: Sequence[torch.optim.Optimizer], share: float) -> None:
    """Set each learning rate to a share of its peak."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * share
