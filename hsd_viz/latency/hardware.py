"""Predict step times of models on machines that are not available, from published figures.

A forward pass that feeds m tokens of each of ``batch`` sequences takes

    max(bytes / (bandwidth · η_b), FLOPs / (peak · η_f)) + layers · (fixed + all-reduce)
    + batch · (per sequence) + a fixed part.

Here bytes are the weights that are used and the KV cache of the batch, and FLOPs are 2 per used
parameter and token, plus those of attention; both are divided by the number of GPUs. Of E experts
of which each token uses k, T tokens use E (1 - (1 - k/E)^T), as if tokens chose independently. A
layer with a sliding window caches and reads only the window.

The efficiencies are fitted on published decode speeds, by runtime and vendor
(:mod:`hsd_viz.latency.efficiency`), or on two measured step times (:func:`fitted`). Activations,
sampling and prefill are not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from hsd_viz.errors import UserError
from hsd_viz.latency.cards import Gpu
from hsd_viz.latency.efficiency import PUBLISHED, Efficiency
from hsd_viz.latency.inputs import LevelCost
from hsd_viz.latency.shapes import CACHES, WEIGHTS, Shape
from hsd_viz.settings.ranges import MAX_CONTEXT, MAX_GPUS, check_range
from hsd_viz.settings.spelling import spelled

#: The share of the memory that weights and KV cache may take.
USABLE = 0.9


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with ``tp`` cards, which share each model by tensor parallelism.

    Attributes:
        gpu: the card.
        tp: the number of cards.
        efficiency: the efficiency of the card relative to its data sheet.
    """

    gpu: Gpu
    tp: int = 1
    efficiency: Efficiency = field(default=PUBLISHED)

    def step_ms(
        self,
        shape: Shape,
        *,
        tokens: float = 1,
        batch: int = 1,
        context: int = 0,
        weights: str = "bf16",
        cache: str = "bf16",
    ) -> float:
        """Return the time of a forward pass in ms.

        Args:
            shape: the shape of the model.
            tokens: the number of tokens fed per sequence.
            batch: the number of sequences.
            context: the number of cached tokens per sequence.
            weights: the format of the weights.
            cache: the format of the KV cache.
        """
        efficiency = self.efficiency
        fed = batch * tokens
        weight_bytes = shape.touched(fed) * WEIGHTS[weights] / efficiency.of(weights)
        sharing = shape.heads / shape.kv_heads
        reads = 1 + efficiency.rereads * (sharing - 1)
        cache_bytes = batch * shape.cached(context + tokens) * CACHES[cache] * reads
        bytes_read = weight_bytes + cache_bytes / (efficiency.cache or efficiency.of("bf16"))
        flop = 2 * shape.touched(1) * fed
        # Attention multiplies each cached element of a key and a value once per head.
        per_kv = 2 * shape.cached(context + tokens) * sharing
        flop += per_kv * fed
        peak = self.gpu.peak(weights) * 1e12 * efficiency.compute
        pass_seconds = max(bytes_read / (self.gpu.bandwidth * 1e9), flop / peak) / self.tp
        per_layer = efficiency.layer_us + (efficiency.reduce_us if self.tp > 1 else 0.0)
        fixed_us = shape.layers * per_layer + efficiency.step_us + efficiency.sequence_us * batch
        fed_us = efficiency.token_us * shape.touched(1) / 1e9 * fed / self.tp
        return pass_seconds * 1e3 + (fixed_us + fed_us) * 1e-3

    def cost(
        self,
        shape: Shape,
        max_tokens: int = 64,
        *,
        batch: int = 1,
        context: int = 0,
        weights: str = "bf16",
        cache: str = "bf16",
    ) -> LevelCost:
        """Return the costs c(1), ..., c(``max_tokens``) for the law.

        From two tokens on they include the time of a round beyond its forward pass. The other
        arguments are those of :meth:`step_ms`.
        """
        curve = []
        for tokens in range(1, max_tokens + 1):
            step = self.step_ms(
                shape, tokens=tokens, batch=batch, context=context, weights=weights, cache=cache
            )
            curve.append(step)
        extra = self.efficiency.round_us * 1e-3
        forward = (curve[0], *(step + extra for step in curve[1:]))
        return LevelCost(forward, (curve[0], curve[1]))

    def memory_share(
        self,
        shapes: tuple[Shape, ...],
        *,
        batch: int,
        context: int,
        weights: str = "bf16",
        cache: str = "bf16",
    ) -> float:
        """Return the share of the usable memory that weights and KV caches take.

        The models fit if it is at most 1.
        """
        need = 0.0
        for shape in shapes:
            need += shape.parameters * WEIGHTS[weights]
            need += batch * shape.cached(context) * CACHES[cache]
        return need / (self.tp * self.gpu.memory * 1e9 * USABLE)


def fitted(
    machine: Machine,
    shape: Shape,
    one_ms: float,
    many_ms: float,
    many: int = 8,
    *,
    batch: int = 1,
    context: int = 0,
    weights: str = "bf16",
    cache: str = "bf16",
) -> Machine:
    """Return the machine with an efficiency that is fitted on two measured step times.

    They determine the reached share of the bandwidth and the time of each further token. The
    published fixed part is kept as far as the first time allows.

    Args:
        machine: the machine with published efficiency.
        shape: the shape of the measured model.
        one_ms: the time in ms of a step with 1 token per sequence.
        many_ms: the time in ms of a step with ``many`` tokens per sequence.
        many: the number of tokens in the second step.
        batch, context, weights, cache: as for :meth:`Machine.step_ms`.

    Raises:
        UserError: if a time is not positive and finite, the second is below the first, or the
            first is shorter than the data sheet allows.
    """
    if not 0 < one_ms <= many_ms < inf:
        raise UserError(
            f"the step times {one_ms:g} and {many_ms:g} ms are not usable: the second must not be "
            "shorter"
        )
    published = machine.efficiency

    def step(tokens: int, assumed: Efficiency) -> float:
        return replace(machine, efficiency=assumed).step_ms(
            shape, tokens=tokens, batch=batch, context=context, weights=weights, cache=cache
        )

    bare = replace(published, layer_us=0.0, reduce_us=0.0, step_us=0.0, sequence_us=0.0)
    ideal = replace(bare, bandwidth=dict.fromkeys(WEIGHTS, 1.0), compute=1.0, cache=0.0)
    fastest_ms = step(1, ideal)
    if one_ms < fastest_ms:
        raise UserError(
            f"{one_ms:g} ms is shorter than the {fastest_ms:.3g} ms that reading {shape.name} "
            f"takes at the bandwidth of {machine.gpu.name}: check the model, {spelled('weights')} "
            f"and {spelled('tp')}"
        )
    pass_ms = step(1, bare)
    growth = many_ms - one_ms - (step(many, bare) - pass_ms) * one_ms / pass_ms
    per_pass = min(max(0.0, growth / (many - 1)), one_ms - fastest_ms)
    fixed_ms = step(1, published) - pass_ms
    tokenless_ms = one_ms - per_pass
    scale = max(tokenless_ms / (pass_ms + fixed_ms), fastest_ms / pass_ms)
    share = (tokenless_ms - scale * pass_ms) / fixed_ms if fixed_ms else 0.0
    efficiency = replace(
        published,
        bandwidth={name: eta / scale for name, eta in published.bandwidth.items()},
        cache=published.cache / scale,
        token_us=per_pass / batch * 1e3 / (shape.touched(1) / 1e9) * machine.tp,
        layer_us=share * published.layer_us,
        reduce_us=share * published.reduce_us,
        step_us=share * published.step_us,
        sequence_us=share * published.sequence_us,
        kind="measured",
        source=f"fitted on {one_ms:g} and {many_ms:g} ms",
    )
    return replace(machine, efficiency=efficiency)


def check_setting(
    target: Shape, tp: int, weights: str, cache: str = "bf16", context: Sequence[int] = (1,)
) -> None:
    """Check the settings of a machine.

    Raises:
        UserError: if a setting is invalid or out of range.
    """
    check_range("the number of GPUs", tp, 1, MAX_GPUS)
    if target.heads % tp:
        raise UserError(
            f"{tp} GPUs do not divide the {target.heads} attention heads of {target.name}"
        )
    for value, formats, what in ((weights, WEIGHTS, "weights"), (cache, CACHES, "KV cache")):
        if value not in formats:
            raise UserError(
                f"the format '{value}' of the {what} is unknown: use {', '.join(formats)}"
            )
    for tokens in context:
        check_range("the context", tokens, 1, MAX_CONTEXT)
