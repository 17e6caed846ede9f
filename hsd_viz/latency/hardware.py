"""Step times of models on machines that are not at hand, from published figures.

A forward pass of ``batch`` sequences that feeds m tokens of each takes

    max(bytes / (bandwidth · η_b), FLOPs / (peak · η_f)) + layers · (fixed + all-reduce)
    + batch · (per sequence) + one fixed part,

with bytes = the weights that are touched and the KV cache of the batch, FLOPs = 2 per touched
parameter and token and those of attention, all divided by the number of GPUs. Of E experts of
which each token uses k, T tokens touch E (1 - (1 - k/E)^T), as if tokens chose independently. A
layer with a sliding window caches and reads the window alone. The efficiencies are fitted on
published decode speeds, by runtime and vendor (:func:`efficiency_of`), or on two measured step
times (:func:`fitted`). What the model leaves out: activations, sampling, prefill.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal

from hsd_viz.disk import read_text
from hsd_viz.errors import BadFile, Unsupported, UserError, parsing
from hsd_viz.latency.inputs import LevelCost
from hsd_viz.words import check_range

Kind = Literal["measured", "published", "assumed"]

#: Bytes per weight, scales of quantized groups included (32 weights of int4, 16 of fp4), and per
#: element of the KV cache.
WEIGHTS = {
    "fp32": 4.0,
    "fp16": 2.0,
    "bf16": 2.0,
    "fp8": 1.0,
    "int8": 1.0,
    "fp4": 0.5625,
    "int4": 0.5625,
}
CACHES = {"fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0}
#: Share of the memory that weights and KV cache may take.
USABLE = 0.9
#: The largest config.json that is read, in bytes.
MOST_CONFIG = 2**20
#: Names that a message lists.
MOST_LISTED = 12
#: Sizes of a config beyond these are damaged.
MOST_SIZE = 10_000_000


@dataclass(frozen=True, slots=True)
class Gpu:
    """A card as its data sheet has it.

    Attributes:
        name: its name.
        bandwidth: GB/s of its memory.
        flops: dense TFLOP/s with 16 bits.
        flops8: dense TFLOP/s with 8 bits.
        memory: GB.
        vendor: ``nvidia``, ``amd``, ``intel`` or ``apple``.
        flops4: dense TFLOP/s with 4 bits; 0: as with 8.
    """

    name: str
    bandwidth: float
    flops: float
    flops8: float
    memory: float
    vendor: str = "nvidia"
    flops4: float = 0.0

    def peak(self, weights: str) -> float:
        """Return the TFLOP/s with weights of a format; integer weights are multiplied as 16
        bits.
        """
        if weights == "fp8":
            return self.flops8
        if weights == "fp4":
            return self.flops4 or self.flops8
        return self.flops


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama-shaped decoder, as its ``config.json`` states it.

    Attributes:
        name: its name.
        layers: number of layers.
        hidden: width.
        heads: attention heads.
        kv_heads: heads of the KV cache.
        intermediate: width of the MLP, or of one expert.
        vocabulary: rows of the embedding.
        head_dim: width of an attention head; 0: hidden / heads.
        tied: whether embedding and head share weights.
        experts: experts per layer; 0: dense.
        used: experts per token.
        shared: width of an expert that every token uses.
        dense_layers: layers with a dense MLP beside layers with experts.
        dense_intermediate: width of that MLP.
        window: tokens of a sliding window; 0: none.
        windowed_layers: layers with that window.
        output: rows of the head; 0: as the embedding. A draft head has a smaller vocabulary.
        is_head: whether it is a draft head of a target, not a model of its own.
        lookahead: draft tokens that a draft head was made for; 0: not stated.
        method: the kind of a draft head that its config states, as engines name it; "": none.
        stored: the format of the weights that its config states; "": not stated, or not known.
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
    dense_layers: int = 0
    dense_intermediate: int = 0
    window: int = 0
    windowed_layers: int = 0
    output: int = 0
    is_head: bool = False
    lookahead: int = 0
    method: str = ""
    stored: str = ""

    @property
    def width(self) -> int:
        """Width of an attention head."""
        return self.head_dim or self.hidden // self.heads

    @property
    def attention(self) -> int:
        """Parameters of the attention of one layer."""
        return self.hidden * self.width * (2 * self.heads + 2 * self.kv_heads)

    def _mlps(self, experts: float) -> float:
        """Return the parameters of all MLPs with so many experts of a layer."""
        dense = 3 * self.hidden * self.dense_intermediate
        sparse = 3 * self.hidden * (self.intermediate * experts + self.shared)
        return self.dense_layers * dense + (self.layers - self.dense_layers) * sparse

    @property
    def parameters(self) -> int:
        """All parameters; engines give a draft head an embedding of its own."""
        embedding = self.vocabulary * self.hidden
        output = 0 if self.tied else (self.output or self.vocabulary) * self.hidden
        mlps = self._mlps(max(1, self.experts))
        return round(self.layers * self.attention + mlps + embedding + output)

    def touched(self, tokens: float) -> float:
        """Return the parameters that a forward pass over ``tokens`` tokens uses, without the
        embedding.
        """
        read = 1.0
        if self.experts:
            read = self.experts * (1 - (1 - self.used / self.experts) ** tokens)
        output = (self.output or self.vocabulary) * self.hidden
        return self.layers * self.attention + self._mlps(read) + output

    @property
    def cache(self) -> int:
        """Elements of the KV cache per token, of all layers."""
        return 2 * self.layers * self.kv_heads * self.width

    def cached(self, context: float) -> float:
        """Return the elements of the KV cache of a sequence: a window caches no more than
        itself.
        """
        per_layer = 2 * self.kv_heads * self.width
        full = (self.layers - self.windowed_layers) * context
        windowed = self.windowed_layers * min(context, self.window or context)
        return per_layer * (full + windowed)

    def head(self, name: str = "head") -> Shape:
        """Return a draft head of one dense layer, as EAGLE-3 and MTP have it."""
        width = self.intermediate * max(1, self.used) + self.shared
        return replace(
            self,
            name=name,
            layers=1,
            intermediate=width,
            experts=0,
            used=0,
            shared=0,
            dense_layers=0,
            window=0,
            windowed_layers=0,
            is_head=True,
        )

    def with_target(self, target: Shape) -> Shape:
        """Return a draft head with the vocabulary of its target, where it states none."""
        if self.is_head and not self.output:
            return replace(self, vocabulary=target.vocabulary)
        return self


def _gpu(name: str, row: Sequence[Any]) -> Gpu:
    vendor = row[4] if len(row) > 4 else "nvidia"
    flops4 = row[5] if len(row) > 5 else 0.0
    return Gpu(name, row[0], row[1], row[2], row[3], vendor, flops4)


_KNOWN = json.loads(Path(__file__).with_name("hardware.json").read_text(encoding="utf-8"))
GPUS = {name: _gpu(name, row) for name, row in _KNOWN["gpus"].items()}
MODELS = {name: Shape(name, **sizes) for name, sizes in _KNOWN["models"].items()}


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What of the data sheet is reached.

    Attributes:
        bandwidth: η_b by weight format.
        compute: η_f.
        layer_us: fixed microseconds per layer.
        reduce_us: microseconds per layer with more than one GPU: two all-reduces.
        step_us: fixed microseconds per step.
        kind: how the figures are known.
        source: where they are from.
        token_us: microseconds per fed token and billion parameters that it uses.
        round_us: microseconds of a round beyond its forward passes: scheduling, sampling, the
            launch of the drafter.
        sequence_us: microseconds per sequence of the batch and step: scheduling and sampling.
        cache: η_b of the KV cache; 0: as of 16-bit weights.
        rereads: how often attention reads the KV cache again where several attention heads share a
            head of the cache: 0, once for all of them; 1, once for each of them.
        round_kind: how ``round_us`` is known.
        round_source: where it is from.
    """

    bandwidth: Mapping[str, float]
    compute: float
    layer_us: float
    reduce_us: float
    step_us: float
    kind: Kind
    source: str
    token_us: float = 0.0
    round_us: float = 0.0
    sequence_us: float = 0.0
    cache: float = 0.0
    rereads: float = 0.0
    round_kind: Kind = "published"
    round_source: str = (
        "fitted on SpecBundle's speed-ups of Llama 3.1 8B and Qwen3-Coder 30B (SGLang, H200)"
    )

    def with_round(self, milliseconds: float) -> Efficiency:
        """Return it with a measured time of a round beyond its forward passes.

        Raises:
            UserError: if the time is negative or not finite.
        """
        check_range("the time of a round beyond its forward passes in ms", milliseconds, 0.0, 1e6)
        return replace(
            self,
            round_us=1e3 * milliseconds,
            round_kind="measured",
            round_source=f"{milliseconds:g} ms, as given",
        )

    def of(self, weights: str) -> float:
        """Return η_b of a format; fp4 reaches what int4 does."""
        return self.bandwidth.get(weights, self.bandwidth["int4" if weights == "fp4" else "bf16"])


#: Fitted by ``python -m benchmarks.prediction --fit`` on the Llama-2 rows of gpt-fast's README
#: (A100, one sequence); the share of the peak FLOP/s, and formats that it does not have (as fp16),
#: are assumed.
PUBLISHED = Efficiency(
    bandwidth={
        "fp32": 0.825,
        "fp16": 0.825,
        "bf16": 0.825,
        "fp8": 0.825,
        "int8": 0.671,
        "int4": 0.516,
    },
    compute=0.7,
    layer_us=47.4,
    reduce_us=21.1,
    step_us=0.0,
    kind="published",
    source="fitted on gpt-fast's Llama-2 figures (A100)",
    round_us=1044.0,
)
#: Fitted by the same on llama.cpp's figures of an RTX A6000 (one sequence, 7B to 70B); the share of
#: the peak FLOP/s is assumed. It holds for the cards that llama.cpp usually runs on.
LLAMA_CPP = replace(
    PUBLISHED,
    bandwidth={**dict.fromkeys(WEIGHTS, 0.908), "int4": 0.877},
    cache=1.0,
    layer_us=93.3,
    source="fitted on llama.cpp's figures of an RTX A6000",
)
#: Fitted by the same on llama.cpp's figures of an M2 Ultra (one sequence, 7B to 70B).
APPLE = replace(
    PUBLISHED,
    bandwidth={**dict.fromkeys(WEIGHTS, 0.826), "int4": 0.835},
    cache=0.177,
    layer_us=111.7,
    source="fitted on llama.cpp's figures of an M2 Ultra",
)
#: The fixed times fitted by the same on vLLM's figures of Llama 3.1 405B on eight MI300X, at three
#: batches; one model cannot say which part of a step is fixed, so the shares are gpt-fast's.
INSTINCT = replace(
    PUBLISHED,
    layer_us=105.2,
    sequence_us=360.7,
    source="fitted on vLLM's figures of Llama 3.1 405B (MI300X)",
)
#: Fitted by the same on SynapseAI's throughput of a Gaudi 2 at full load; the fixed times are
#: gpt-fast's.
GAUDI = replace(
    PUBLISHED,
    bandwidth=dict.fromkeys(WEIGHTS, 0.730),
    rereads=0.200,
    source="fitted on SynapseAI's figures of a Gaudi 2",
)
#: The first words of the names of cards of desktops and workstations.
DESKTOP = ("RTX", "RX", "Ryzen", "Arc")


def efficiency_of(gpu: Gpu) -> Efficiency:
    """Return what a card reaches of its data sheet, by its vendor and what usually runs on it."""
    if gpu.vendor == "apple":
        return APPLE
    if gpu.name.startswith(DESKTOP):
        return LLAMA_CPP
    by_vendor = {"amd": INSTINCT, "intel": GAUDI}
    return by_vendor.get(gpu.vendor, PUBLISHED)


@dataclass(frozen=True, slots=True)
class Machine:
    """``tp`` cards that share each model by tensor parallelism.

    Attributes:
        gpu: the card.
        tp: the number of cards.
        efficiency: what of the data sheet is reached.
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
        """Return the milliseconds of a forward pass that feeds ``tokens`` tokens of each of
        ``batch`` sequences with ``context`` tokens cached.
        """
        used = self.efficiency
        fed = batch * tokens
        weight_bytes = shape.touched(fed) * WEIGHTS[weights] / used.of(weights)
        sharing = shape.heads / shape.kv_heads
        reads = 1 + used.rereads * (sharing - 1)
        cache_bytes = batch * shape.cached(context + tokens) * CACHES[cache] * reads
        read = weight_bytes + cache_bytes / (used.cache or used.of("bf16"))
        work = 2 * shape.touched(1) * fed
        # A score and a weighted sum of each cached element of a key and of a value, per head.
        per_kv = 2 * shape.cached(context + tokens) * sharing
        work += per_kv * fed
        peak = self.gpu.peak(weights) * 1e12 * used.compute
        moving = max(read / (self.gpu.bandwidth * 1e9), work / peak) / self.tp
        per_layer = used.layer_us + (used.reduce_us if self.tp > 1 else 0.0)
        fixed = shape.layers * per_layer + used.step_us + used.sequence_us * batch
        each = used.token_us * shape.touched(1) / 1e9 * fed / self.tp
        return moving * 1e3 + (fixed + each) * 1e-3

    def cost(self, shape: Shape, most: int = 64, **settings: Any) -> LevelCost:
        """Return c(1), ..., c(``most``) for the law, with the further time of a round from two
        tokens on; ``settings`` are those of :meth:`step_ms`.
        """
        extra = self.efficiency.round_us * 1e-3
        curve = [self.step_ms(shape, tokens=m, **settings) for m in range(1, most + 1)]
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
        """Return the share of the usable memory that weights and KV caches take; up to 1 fits."""
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
    **settings: Any,
) -> Machine:
    """Return the machine with the share of its bandwidth, and the time of each further token, that
    two measured step times of ``shape`` imply: of 1 and of ``many`` tokens per sequence.

    The published fixed part stays as far as the first time allows.

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
    fed = settings.get("batch", 1)

    def step(tokens: int, efficiency: Efficiency) -> float:
        return replace(machine, efficiency=efficiency).step_ms(shape, tokens=tokens, **settings)

    bare = replace(published, layer_us=0.0, reduce_us=0.0, step_us=0.0, sequence_us=0.0)
    ideal = replace(bare, bandwidth=dict.fromkeys(WEIGHTS, 1.0), compute=1.0, cache=0.0)
    least = step(1, ideal)
    if one_ms < least:
        raise UserError(
            f"{one_ms:g} ms is shorter than the {least:.3g} ms that reading {shape.name} takes at "
            f"the bandwidth of {machine.gpu.name}: check the model, --weights and --tp"
        )
    moving = step(1, bare)
    growth = many_ms - one_ms - (step(many, bare) - moving) * one_ms / moving
    per_pass = min(max(0.0, growth / (many - 1)), one_ms - least)
    usual = step(1, published) - moving
    rest = one_ms - per_pass
    scale = max(rest / (moving + usual), least / moving)
    share = (rest - scale * moving) / usual if usual else 0.0
    used = replace(
        published,
        bandwidth={name: eta / scale for name, eta in published.bandwidth.items()},
        cache=published.cache / scale,
        token_us=per_pass / fed * 1e3 / (shape.touched(1) / 1e9) * machine.tp,
        layer_us=share * published.layer_us,
        reduce_us=share * published.reduce_us,
        step_us=share * published.step_us,
        sequence_us=share * published.sequence_us,
        kind="measured",
        source=f"fitted on {one_ms:g} and {many_ms:g} ms",
    )
    return replace(machine, efficiency=used)


# --- names --------------------------------------------------------------------------------------


def gpu_of(
    name: str,
    bandwidth: float | None = None,
    flops: float | None = None,
    memory: float | None = None,
    hint: str = ", or give its bandwidth, FLOP rate and memory",
) -> Gpu:
    """Return a card by name, or of GB/s, TFLOP/s and GB.

    Spelling and case do not matter, and names as ``nvidia-smi`` prints them are known. A known
    card with one of the three figures keeps its others.

    Raises:
        UserError: if it is unknown and not all three are given; ``hint`` ends the message.
    """
    given = {"bandwidth": bandwidth, "FLOP rate": flops, "memory": memory}
    for what, value in given.items():
        if value is not None:
            check_range(f"the {what} of {name or 'the GPU'}", value, 1e-3, 1e6)
    if bandwidth and flops and memory:
        return Gpu(name or "custom", bandwidth, flops, 2 * flops, memory)
    known: Gpu = _named(GPUS, _without_vendor(name), "GPU", hint, shown=name)
    return replace(
        known,
        bandwidth=bandwidth or known.bandwidth,
        flops=flops or known.flops,
        flops8=2 * flops if flops else known.flops8,
        memory=memory or known.memory,
    )


#: Words of ``nvidia-smi`` and ``rocm-smi`` that no name here has.
_DRIVER_WORDS = {
    *("nvidia", "amd", "intel", "apple", "geforce", "instinct", "radeon", "tesla", "graphics"),
    *("workstation", "edition", "server", "generation", "max", "q", "accelerator", "oam"),
    *("hbm3e", "hbm3", "hbm2e", "hbm2"),
}
_TRADEMARKS = re.compile(r"\((?:r|tm)\)", re.IGNORECASE)
_SOCKETS = re.compile(r"\bsxm\d\b")


def _without_vendor(name: str) -> str:
    """Return the name here of a card as its driver prints it, else the name without its vendor.

    ``NVIDIA A100-SXM4-80GB`` is ``A100 SXM``: words may come in any order, and the size of the
    memory counts only where names here differ in it.
    """
    plain = _SOCKETS.sub("sxm", _TRADEMARKS.sub("", name).lower().replace("-", " "))
    words = [word for word in plain.replace("_", " ").split() if word not in _DRIVER_WORDS]
    unsized = [word for word in words if not re.fullmatch(r"\d+gb", word)]
    for candidate in (words, unsized):
        for key in GPUS:
            if sorted(candidate) == sorted(key.lower().split()):
                return key
    return " ".join(unsized) or name


def shape_of(name: str) -> Shape:
    """Return a shipped shape by name, or that of a ``config.json`` (or its folder).

    Names of the hub are known: ``meta-llama/Llama-3.1-8B-Instruct`` is ``llama-8b``.

    Raises:
        UserError: if it is unknown, or not a decoder that is modelled.
    """
    path = Path(name).expanduser()
    is_file = path.suffix == ".json" or path.is_dir() or name.startswith((".", "/", "~"))
    if not is_file and "/" in name and (known := _hub_name(name)) is not None:
        return MODELS[known]
    if not is_file and "/" not in name:
        return _named(
            MODELS, _hub_name(name) or name, "model", ", or give the path of a config.json"
        )
    path = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(read_text(path, "config", MOST_CONFIG))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not a readable config.json: {error}") from None
    name = path.stem if path.name != "config.json" else path.parent.name or "model"
    if not isinstance(config, dict):
        raise BadFile(f"{path} is not a readable config.json: it is not an object")
    with parsing(path):
        return shape_of_config(name, config)


def _hub_name(name: str) -> str | None:
    """Return the shipped name of a model of the hub, ``None`` if there is none."""
    plain = name.lower().rpartition("/")[2]
    for pattern, known in _KNOWN["hub"].items():
        if plain.startswith(pattern):
            return known
    return None


def is_draft_head(config: Mapping[str, Any]) -> bool:
    """Return whether a config is that of a draft head: it cannot decode without its target."""
    if "transformer_layer_config" in config:
        return True
    if isinstance(config.get("model"), dict) and "eagle" in str(config.get("model_type", "")):
        return True
    return "Eagle" in " ".join(map(str, config.get("architectures") or ()))


def shape_of_config(name: str, config: dict[str, Any]) -> Shape:
    """Return the shape of a model, or of a draft head, that a config states.

    Raises:
        UserError: if it is not a decoder that is modelled.
    """
    if "transformer_layer_config" in config:
        return _speculator(name, config)
    if isinstance(config.get("model"), dict) and "eagle" in str(config.get("model_type", "")):
        return _head_of(name, config["model"], _eagle(config))
    architectures = " ".join(map(str, config.get("architectures") or ()))
    if "Eagle" in architectures and "num_hidden_layers" in config:
        return _head_of(name, config, _eagle(config), int(config.get("draft_vocab_size") or 0))
    inner = config.get("text_config")
    shape = _decoder(name, inner if isinstance(inner, dict) else config)
    return replace(shape, stored=_stored(config.get("quantization_config")))


def _stored(found: Any) -> str:
    """Return the format of the weights of a ``quantization_config``; "" if it is not known."""
    if not isinstance(found, Mapping):
        return ""
    method = str(found.get("quant_method", "")).lower()
    if method in ("mxfp4", "fp8", "fbgemm_fp8"):
        return "fp4" if method == "mxfp4" else "fp8"
    if method == "modelopt":
        return {"FP8": "fp8", "NVFP4": "fp4"}.get(str(found.get("quant_algo")), "")
    if method == "bitsandbytes":
        if found.get("load_in_4bit"):
            return "int4"
        return "int8" if found.get("load_in_8bit") else ""
    if method == "compressed-tensors":
        groups = found.get("config_groups")
        first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
        weights = first.get("weights") if isinstance(first, Mapping) else None
        if not isinstance(weights, Mapping):
            return ""
        kind = "fp" if weights.get("type") == "float" else "int"
        name = f"{kind}{weights.get('num_bits')}"
        return name if name in WEIGHTS else ""
    if method in ("awq", "gptq", "auto-round"):
        name = f"int{found.get('bits') or found.get('w_bit')}"
        return name if name in WEIGHTS else ""
    return ""


def _eagle(config: Mapping[str, Any]) -> str:
    """Return which EAGLE a config is of: EAGLE-3 names itself, or has a vocabulary of its own."""
    names = f"{config.get('model_type')} {config.get('architectures')}".lower()
    if "eagle3" in names or config.get("draft_vocab_size"):
        return "eagle3"
    return "eagle"


def _speculator(name: str, config: dict[str, Any]) -> Shape:
    """Return the draft head of a config of the library speculators.

    Raises:
        Unsupported: for a kind that does not draft token by token.
    """
    method = str(config.get("speculators_model_type") or _eagle(config))
    if method not in ("eagle", "eagle3"):
        raise Unsupported(
            f"{name} is a speculator of the type '{method}', whose cost is not modelled: use one "
            "of the type eagle or eagle3"
        )
    proposals = (config.get("speculators_config") or {}).get("proposal_methods") or [{}]
    tokens = int(proposals[0].get("speculative_tokens") or 0)
    layer = config["transformer_layer_config"]
    return _head_of(name, layer, method, int(config.get("draft_vocab_size") or 0), tokens)


def _head_of(
    name: str, layer: dict[str, Any], method: str, vocabulary: int = 0, tokens: int = 0
) -> Shape:
    """Return a draft head of the layers of a config."""
    whole = _decoder(name, {"num_hidden_layers": 1, **layer})
    for what, value in (("draft vocabulary", vocabulary), ("draft tokens", tokens)):
        check_range(f"the {what} of {name}", value, 0, MOST_SIZE)
    return replace(whole, output=vocabulary, is_head=True, lookahead=tokens, method=method)


def _decoder(name: str, config: dict[str, Any]) -> Shape:
    """Return the shape of a decoder that a config states."""
    layer_types = config.get("layer_types") or ()
    if "kv_lora_rank" in config or "linear_attention" in layer_types:
        raise Unsupported(
            f"{name} has latent or linear attention, whose cache and cost are not modelled"
        )
    if any(key in config for key in ("ssm_state_size", "mamba_d_state", "state_size")):
        raise Unsupported(f"{name} has recurrent layers, whose cost is not modelled")
    try:
        layers = config["num_hidden_layers"]
        heads = config["num_attention_heads"]
        experts = _first(config, "num_experts", "num_local_experts", "n_routed_experts") or 0
        width = (experts and config.get("moe_intermediate_size")) or config["intermediate_size"]
        dense = _dense_layers(config, layers) if experts else 0
        shared = _first(config, "shared_expert_intermediate_size")
        if shared is None:
            shared = (config.get("n_shared_experts") or 0) * width
        shape = Shape(
            name=name,
            layers=layers,
            hidden=config["hidden_size"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            intermediate=width,
            vocabulary=config["vocab_size"],
            head_dim=config.get("head_dim") or 0,
            tied=bool(config.get("tie_word_embeddings")),
            experts=experts,
            used=_first(config, "num_experts_per_tok", "num_experts_per_token") or 0,
            shared=shared,
            dense_layers=dense,
            dense_intermediate=_first(config, "intermediate_size_mlp", "intermediate_size")
            if dense
            else 0,
            window=_window(config, layer_types)[0],
            windowed_layers=_window(config, layer_types)[1],
        )
        for key in ("layers", "hidden", "heads", "kv_heads", "intermediate", "vocabulary"):
            check_range(f"{key} of {name}", getattr(shape, key), 1, MOST_SIZE)
        for key in ("head_dim", "experts", "used", "shared", "window", "dense_layers"):
            check_range(f"{key} of {name}", getattr(shape, key), 0, MOST_SIZE)
    except (KeyError, TypeError) as error:
        raise BadFile(
            f"the config of {name} lacks {error}: it is not a decoder of a known shape"
        ) from None
    if experts and not 0 < shape.used <= experts:
        raise BadFile(f"{name} has {experts} experts of which each token uses {shape.used}")
    if shape.heads % shape.kv_heads:
        raise BadFile(f"{name} has {shape.heads} heads for {shape.kv_heads} heads of the cache")
    return shape


def _first(config: Mapping[str, Any], *names: str) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)


def _dense_layers(config: Mapping[str, Any], layers: int) -> int:
    """Return how many layers have a dense MLP beside layers with experts."""
    first = config.get("first_k_dense_replace") or 0
    listed = len(config.get("mlp_only_layers") or ())
    every = _first(config, "interleave_moe_layer_step", "moe_layer_freq", "decoder_sparse_step")
    if not isinstance(every, int) or every <= 1:
        return min(layers, first + listed)
    sparse = sum((k + 1) % every == 0 for k in range(first, layers))
    return layers - sparse


def _window(config: Mapping[str, Any], layer_types: Sequence[str]) -> tuple[int, int]:
    """Return the tokens of a sliding window and the layers that have it."""
    window = config.get("sliding_window") or 0
    layers = config["num_hidden_layers"]
    if not window or config.get("use_sliding_window") is False:
        return 0, 0
    if layer_types:
        windowed = sum(kind in ("sliding_attention", "chunked_attention") for kind in layer_types)
        return window, windowed
    pattern = config.get("sliding_window_pattern")
    if isinstance(pattern, int) and pattern > 1:
        # Every pattern-th layer attends to everything.
        return window, layers - layers // pattern
    return window, layers


def check_setting(
    target: Shape, tp: int, weights: str, cache: str = "bf16", context: Sequence[int] = (1,)
) -> None:
    """Raise ``UserError`` for a setting that no machine has."""
    check_range("the number of GPUs", tp, 1, 64)
    if target.heads % tp:
        raise UserError(
            f"{tp} GPUs do not divide the {target.heads} attention heads of {target.name}"
        )
    for value, known, what in ((weights, WEIGHTS, "weights"), (cache, CACHES, "KV cache")):
        if value not in known:
            raise UserError(
                f"the format '{value}' of the {what} is unknown: use {', '.join(known)}"
            )
    for tokens in context:
        check_range("the context", tokens, 1, 10_000_000)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _named(
    known: dict[str, Any], name: str, what: str, otherwise: str, shown: str | None = None
) -> Any:
    """Return the value of a name in any spelling, or of its first word: "H100" is "H100 SXM"."""
    plain = {_plain(key): key for key in known}
    first: dict[str, str] = {}
    for key in reversed(known):
        word = key.split()[0]
        if any(map(str.isdigit, word)):
            first[word.lower()] = key
    wanted = _plain(name)
    match = plain.get(wanted) or first.get(name.strip().lower())
    if match:
        return known[match]
    words = {**plain, **first}
    near = [words[text] for text in difflib.get_close_matches(wanted, words, 4, 0.4)]
    listed = list(dict.fromkeys(near)) or list(known)[:MOST_LISTED]
    written = name if shown is None else shown
    raise UserError(f"the {what} '{written}' is unknown: use {', '.join(listed)}{otherwise}")
