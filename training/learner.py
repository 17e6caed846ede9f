"""One model in training: its network, optimizers and running average."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import Qwen3ForCausalLM

from training.model import build, cross_entropy, distillation_loss
from training.optimizers import make_optimizers, set_rates
from training.recipe import StageSettings, TrainingProfile


def autocast(device: str) -> torch.autocast:
    """Return the autocast context of training and of measuring: bfloat16 over float32 weights."""
    return torch.autocast(device, torch.bfloat16)


@torch.no_grad()
def heldout_loss(
    network: Qwen3ForCausalLM, windows: np.ndarray, device: str, batch: int = 4
) -> float:
    """Return the mean loss in nats over ``windows`` [count, length + 1]."""
    total = 0.0
    for start in range(0, len(windows), batch):
        ids = torch.from_numpy(windows[start : start + batch]).to(device)
        with autocast(device):
            logits = network(ids[:, :-1]).logits
        total += cross_entropy(logits, ids[:, 1:].contiguous()).item() * len(ids)
    return total / len(windows)


def compiled(function: Callable[..., Tensor], profile: TrainingProfile) -> Callable[..., Tensor]:
    """Return the function compiled, one variant per model and window, if the profile asks for
    it.
    """
    if not profile.compile:
        return function
    # Variants count per function, whichever model it belongs to; beyond 8, the default, further
    # ones would run uncompiled.
    torch._dynamo.config.recompile_limit = 64
    return torch.compile(function, dynamic=False)


class Teacher:
    """The trained target as a source of logits for distillation."""

    def __init__(self, network: Qwen3ForCausalLM, profile: TrainingProfile, device: str) -> None:
        self.network = network.to(device).eval()
        self.device = device
        self._logits = compiled(self._forward, profile)

    def _forward(self, ids: Tensor) -> Tensor:
        with autocast(self.device):
            return self.network(ids).logits

    @torch.no_grad()
    def logits(self, ids: Tensor) -> Tensor:
        """Return logits [batch, length, vocabulary] in bfloat16."""
        return self._logits(ids)


class Learner:
    """One model and everything its next step depends on, apart from the text."""

    def __init__(
        self, name: str, profile: TrainingProfile, run: StageSettings, seed: int, device: str
    ) -> None:
        self.name = name
        self.run = run
        self.device = device
        generator = torch.Generator().manual_seed(seed)
        self.profile = profile
        self.network = build(name, profile, generator).to(device)
        self.optimizers = self._make_optimizers()
        self.average = (
            [p.detach().clone() for p in self.network.parameters()] if run.average else []
        )
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        self.heldout: dict[str, float] = {}
        self._loss = compiled(self._forward, profile)

    def _make_optimizers(self) -> list[torch.optim.Optimizer]:
        matrices: list[torch.nn.Parameter] = []
        others: list[torch.nn.Parameter] = []
        for name, parameter in self.network.named_parameters():
            is_matrix = parameter.dim() == 2 and "embed" not in name
            (matrices if is_matrix else others).append(parameter)
        return make_optimizers(
            matrices,
            others,
            matrix_rate=self.run.rates[self.name],
            vector_rate=self.run.vector_rate,
            weight_decay=self.run.weight_decay,
        )

    def _forward(self, ids: Tensor, targets: Tensor, teacher: Tensor | None) -> Tensor:
        with autocast(self.device):
            logits = self.network(ids).logits
        if teacher is None:
            return cross_entropy(logits, targets)
        return distillation_loss(logits, teacher, targets, self.run.distillation)

    def backward(self, ids: Tensor, targets: Tensor, teacher: Tensor | None) -> Tensor:
        """Compute the gradients of one batch; return the loss in nats as a tensor, which is not
        waited for.
        """
        loss = self._loss(ids, targets, teacher)
        loss.backward()
        return loss.detach()

    def update(self, step: int, steps: int) -> None:
        """Apply the gradients and clear them."""
        nn.utils.clip_grad_norm_(self.network.parameters(), self.run.clip)
        set_rates(self.optimizers, self.run.rate_at(step, steps))
        for optimizer in self.optimizers:
            optimizer.step()
        self.network.zero_grad(set_to_none=True)
        if self.average:
            # A short memory at the start: the average of the first steps would otherwise contain
            # the random weights.
            keep = min(self.run.average, (step + 1) / (step + 10))
            torch._foreach_lerp_(
                self.average, [p.detach() for p in self.network.parameters()], 1 - keep
            )

    def averaged(self) -> Qwen3ForCausalLM:
        """Return a network with the averaged weights."""
        network = build(self.name, self.profile).to(self.device)
        with torch.no_grad():
            for parameter, value in zip(network.parameters(), self.average, strict=True):
                parameter.copy_(value)
        return network

    def best(self) -> Qwen3ForCausalLM:
        """Return the averaged network if its held-out loss is lower, else the network."""
        if self.average and self.heldout.get("average", float("inf")) < self.heldout.get(
            "last", float("inf")
        ):
            return self.averaged()
        return self.network

    def measure(self, windows: np.ndarray) -> dict[str, float]:
        """Measure the held-out loss of the last and of the averaged weights."""
        self.heldout = {"last": heldout_loss(self.network, windows, self.device)}
        if self.average:
            self.heldout["average"] = heldout_loss(self.averaged(), windows, self.device)
        return self.heldout

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs."""
        return {
            "network": self.network.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "average": self.average,
            "loss_sum": self.loss_sum,
            "heldout": self.heldout,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from ``state``."""
        self.network.load_state_dict(state["network"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        self.average = [value.to(self.device) for value in state["average"]]
        self.loss_sum = state["loss_sum"].to(self.device)
        self.heldout = dict(state["heldout"])
