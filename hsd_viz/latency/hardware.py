"""Step times of models on machines that are not at hand, from published figures; nothing is measured here.

A forward pass of ``batch`` sequences that feeds m tokens of each takes

    max(bytes / (bandwidth · η_b), FLOPs / (peak · η_f)) + layers · (fixed + all-reduce) + one fixed part,

with bytes = the weights that are touched and the KV cache of the batch, FLOPs = 2 per touched parameter and token and
those of attention, all divided by the number of GPUs. Of E experts of which each token uses k, T tokens touch
E (1 - (1 - k/E)^T), as if tokens chose independently. The efficiencies are fitted on published decode speeds
(:data:`PUBLISHED`), or on two measured step times (:func:`fitted`). What the model leaves out: activations, the
scheduler of an engine, sampling, prefill.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

from hsd_viz.disk import read_text
from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import LevelCost
from hsd_viz.words import check_range

Kind = Literal["measured", "published", "assumed"]

#: Bytes per weight, scales of quantised groups of 32 included, and per element of the KV cache.
WEIGHTS = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5625}
CACHES = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0}
#: Share of the memory that weights and KV cache may take.
USABLE = 0.9


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card as its data sheet has it: GB/s, dense TFLOP/s with 16 and with 8 bits, GB of memory."""

    name: str
    bandwidth: float
    flops: float
    flops8: float
    memory: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama-shaped decoder, as its ``config.json`` states it. ``experts`` of width ``intermediate``, ``used`` of them
    per token; 0: dense. ``shared`` is the width of an expert that every token uses.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    head_dim: int = 0
    tied: bool = False
    experts: int = 0
    used: int = 0
    shared: int = 0

    @property
    def width(self) -> int:
        return self.head_dim or self.hidden // self.heads

    @property
    def attention(self) -> int:
        """Parameters of the attention of one layer."""
        return self.hidden * self.width * (2 * self.heads + 2 * self.kv_heads)

    @property
    def parameters(self) -> int:
        """All parameters."""
        mlp = 3 * self.hidden * (self.intermediate * max(1, self.experts) + self.shared)
        return self.layers * (self.attention + mlp) + self.vocabulary * self.hidden * (
            1 if self.tied else 2
        )

    def touched(self, tokens: float) -> float:
        """Return the parameters that a forward pass over ``tokens`` tokens uses, without the embedding."""
        read = (
            1.0
            if not self.experts
            else self.experts * (1 - (1 - self.used / self.experts) ** tokens)
        )
        mlp = 3 * self.hidden * (self.intermediate * read + self.shared)
        return self.layers * (self.attention + mlp) + self.vocabulary * self.hidden

    @property
    def cache(self) -> int:
        """Elements of the KV cache per token."""
        return 2 * self.layers * self.kv_heads * self.width

    def head(self, name: str = "head") -> Shape:
        """Return a draft head of one dense layer, as EAGLE-3 and MTP have it."""
        width = self.intermediate * max(1, self.used) + self.shared
        return replace(self, name=name, layers=1, intermediate=width, experts=0, used=0, shared=0)


_KNOWN = json.loads(Path(__file__).with_name("hardware.json").read_text(encoding="utf-8"))
GPUS = {name: Gpu(name, *figures) for name, figures in _KNOWN["gpus"].items()}
MODELS = {name: Shape(name, **sizes) for name, sizes in _KNOWN["models"].items()}


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What of the data sheet is reached: η_b by weight format, η_f, and fixed microseconds per layer, per layer with
    more than one GPU (two all-reduces), and per step.
    """

    bandwidth: dict[str, float]
    compute: float
    layer_us: float
    reduce_us: float
    step_us: float
    kind: Kind
    source: str
    #: Microseconds per fed token and billion parameters that it uses, added to the rest.
    token_us: float = 0.0
    #: Microseconds of a round beyond its forward passes: scheduling, sampling, the launch of the drafter.
    round_us: float = 0.0


#: Fitted by ``python -m benchmarks.prediction --fit`` on the Llama-2 rows of gpt-fast's README (A100, one sequence);
#: the share of the peak FLOP/s, and formats that it does not have (as fp16), are assumed.
PUBLISHED = Efficiency(
    {"fp32": 0.825, "fp16": 0.825, "bf16": 0.825, "fp8": 0.825, "int8": 0.671, "int4": 0.516},
    0.7, 47.4, 21.1, 0.0, "published", "fitted on gpt-fast's Llama-2 figures (A100)", round_us=1044.0,
)  # fmt: skip
ROUND_SOURCE = "fitted on SpecBundle's speed-ups of Llama 3.1 8B and Qwen3-Coder 30B (SGLang, H200)"


@dataclass(frozen=True, slots=True)
class Machine:
    """``tp`` cards that share each model by tensor parallelism."""

    gpu: Gpu
    tp: int = 1
    efficiency: Efficiency = PUBLISHED

    def step_ms(
        self, shape: Shape, *, tokens: float = 1, batch: int = 1, context: int = 0, weights: str = "bf16",
        cache: str = "bf16",
    ) -> float:  # fmt: skip
        """Return the milliseconds of a forward pass that feeds ``tokens`` tokens of each of ``batch`` sequences with
        ``context`` tokens cached.
        """
        fed, used = batch * tokens, self.efficiency
        read = shape.touched(fed) * WEIGHTS[weights] / used.bandwidth[weights]
        read += batch * (context + tokens) * shape.cache * CACHES[cache] / used.bandwidth["bf16"]
        peak = self.gpu.flops8 if weights == "fp8" else self.gpu.flops
        work = 2 * shape.touched(1) * fed + 4 * shape.layers * shape.heads * shape.width * fed * (
            context + tokens
        )
        moving = (
            max(read / (self.gpu.bandwidth * 1e9), work / (peak * 1e12 * used.compute)) / self.tp
        )
        fixed = (
            shape.layers * (used.layer_us + (used.reduce_us if self.tp > 1 else 0.0)) + used.step_us
        )
        each = used.token_us * shape.touched(1) / 1e9 * fed / self.tp
        return moving * 1e3 + (fixed + each) * 1e-3

    def cost(self, shape: Shape, most: int = 64, **settings: Any) -> LevelCost:
        """Return c(1), ..., c(``most``) for the law, with the further time of a round from two tokens on; ``settings``
        are those of :meth:`step_ms`.
        """
        extra = self.efficiency.round_us * 1e-3
        curve = (
            self.step_ms(shape, tokens=m, **settings) + (extra if m > 1 else 0.0)
            for m in range(1, most + 1)
        )
        draft = tuple(self.step_ms(shape, tokens=m, **settings) for m in (1, 2))
        return LevelCost(tuple(curve), draft)

    def memory_share(
        self,
        shapes: tuple[Shape, ...],
        *,
        batch: int,
        context: int,
        weights: str = "bf16",
        cache: str = "bf16",
    ) -> float:
        """Return the share of the usable memory that weights and KV caches take; they fit up to 1."""
        need = sum(
            s.parameters * WEIGHTS[weights] + batch * context * s.cache * CACHES[cache]
            for s in shapes
        )
        return need / (self.tp * self.gpu.memory * 1e9 * USABLE)


def fitted(
    machine: Machine, shape: Shape, one_ms: float, many_ms: float, many: int = 8, **settings: Any
) -> Machine:
    """Return the machine with the share of its bandwidth, and the time of each further token, that two measured step
    times of ``shape`` imply: of 1 and of ``many`` tokens per sequence.

    The published fixed part stays as far as the first time allows. Raises: ValueError: if a time is not positive and
    finite, the second is below the first, or the first is shorter than the data sheet allows.
    """
    if not 0 < one_ms <= many_ms < inf:
        raise UserError(
            f"the step times {one_ms:g} and {many_ms:g} ms are not usable: the second must not be shorter"
        )
    published, fed = machine.efficiency, settings.get("batch", 1)

    def step(tokens: int = 1, **changed: Any) -> float:
        return replace(machine, efficiency=replace(published, **changed)).step_ms(
            shape, tokens=tokens, **settings
        )

    bare: dict[str, Any] = dict.fromkeys(("layer_us", "reduce_us", "step_us"), 0.0)
    least = step(bandwidth=dict.fromkeys(WEIGHTS, 1.0), compute=1.0, **bare)
    if one_ms < least:
        raise UserError(
            f"{one_ms:g} ms is shorter than the {least:.3g} ms that reading {shape.name} takes at the bandwidth of "
            f"{machine.gpu.name}: check the model, --weights and --tp"
        )
    moving = step(**bare)
    growth = (many_ms - one_ms - (step(many, **bare) - moving) * one_ms / moving) / (many - 1)
    per_pass = min(max(0.0, growth), one_ms - least)
    usual, rest = step() - moving, one_ms - per_pass
    scale = max(rest / (moving + usual), least / moving)
    share = (rest - scale * moving) / usual if usual else 0.0
    used = replace(
        published,
        bandwidth={name: eta / scale for name, eta in published.bandwidth.items()},
        token_us=per_pass / fed * 1e3 / (shape.touched(1) / 1e9) * machine.tp,
        kind="measured",
        source=f"fitted on {one_ms:g} and {many_ms:g} ms",
        **{name: share * getattr(published, name) for name in bare},
    )
    return replace(machine, efficiency=used)


def gpu_of(
    name: str,
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
    hint: str = "",
) -> Gpu:
    """Return a card by name (spelling and case do not matter), or of GB/s, TFLOP/s and GB. Raises: ValueError: if it
    is unknown and not all three are given; ``hint`` ends the message.
    """
    given = {"bandwidth": bandwidth, "FLOP rate": flops, "memory": memory}
    for what, value in given.items():
        if value is not None:
            check_range(f"the {what} of {name or 'the GPU'}", value, 1e-3, 1e6)
    if bandwidth and flops and memory:
        return Gpu(name or "custom", bandwidth, flops, 2 * flops, memory)
    return _named(GPUS, name, "GPU", hint)


def shape_of(name: str) -> Shape:
    """Return a shipped shape by name, or that of a ``config.json`` (or its folder). Raises: ValueError: if it is
    unknown, or not a Llama-shaped decoder.
    """
    path = Path(name).expanduser()
    if path.suffix != ".json" and "/" not in name and not path.is_dir():
        return _named(MODELS, name, "model", ", or give the path of a config.json")
    path = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(read_text(path, "config", 2**20))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not a readable config.json: {error}") from None
    name = path.stem if path.name != "config.json" else path.parent.name or "model"
    config = config.get("text_config", config) if isinstance(config, dict) else {}
    if "kv_lora_rank" in config or (
        "layer_types" in config and "linear_attention" in config["layer_types"]
    ):
        raise UserError(
            f"{name} has latent or linear attention, whose cache and cost are not modelled"
        )
    try:
        layers, hidden, heads = (
            config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads")
        )
        experts = (
            config.get("num_experts")
            or config.get("num_local_experts")
            or config.get("n_routed_experts")
            or 0
        )
        width = (experts and config.get("moe_intermediate_size")) or config["intermediate_size"]
        shape = Shape(
            name, layers, hidden, heads, config.get("num_key_value_heads") or heads, width, config["vocab_size"],
            config.get("head_dim") or 0, bool(config.get("tie_word_embeddings")), experts,
            config.get("num_experts_per_tok") or 0,
            config.get("shared_expert_intermediate_size") or (config.get("n_shared_experts") or 0) * width,
        )  # fmt: skip
        for key in ("layers", "hidden", "heads", "kv_heads", "intermediate", "vocabulary"):
            check_range(f"{key} of {name}", getattr(shape, key), 1, 10_000_000)
        if experts and not 0 < shape.used <= experts:
            raise UserError(f"{name} has {experts} experts of which each token uses {shape.used}")
    except (KeyError, TypeError) as error:
        raise UserError(
            f"the config of {name} lacks {error}: it is not a decoder of a known shape"
        ) from None
    return shape


def _named(known: dict[str, Any], name: str, what: str, otherwise: str) -> Any:
    """Return the value of a name in any spelling, or of its first word: "H100" is "H100 SXM"."""
    plain = {"".join(c for c in key.lower() if c.isalnum()): key for key in known}
    first = {
        word.lower(): key
        for key in reversed(known)
        if any(map(str.isdigit, word := key.split()[0]))
    }
    wanted = "".join(c for c in name.lower() if c.isalnum())
    if key := plain.get(wanted) or first.get(name.strip().lower()):
        return known[key]
    near = [plain[text] for text in difflib.get_close_matches(wanted, plain, 3, 0.4)]
    raise UserError(f"the {what} '{name}' is unknown: use {', '.join(near or known)}{otherwise}")
