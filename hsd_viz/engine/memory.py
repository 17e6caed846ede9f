"""Estimate the memory of a decode before it is allocated."""

import copy
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedConfig

from hsd_viz.decoding.cache import capacity
from hsd_viz.decoding.state import PREFILL_CHUNK
from hsd_viz.machine import system_bytes
from hsd_viz.words import first_line

#: Rows of a wide verification, and bytes per vocabulary entry of each: logits, probabilities, and their sum in float64.
_ROWS, _ROW_BYTES = 33, 20
#: Estimates may be slightly high: a decode is refused only above this multiple of the free memory.
_MARGIN = 1.1
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of the weights, of the cache at full length, and of the widest forward pass."""

    weights: int
    cache: int
    work: int


def parameter_bytes(config: PreTrainedConfig, dtype: torch.dtype, where: str) -> int:
    """Return the bytes of a model's weights in ``dtype``; for a quantized checkpoint those of its local files."""
    if getattr(config, "quantization_config", None) is not None:
        return sum(file.stat().st_size for pattern in ("*.safetensors", "*.bin") for file in Path(where).glob(pattern))
    try:
        with torch.device("meta"):
            module = AutoModelForCausalLM.from_config(copy.deepcopy(config))
    except Exception as error:  # any error of the libraries for the values of a config
        raise ValueError(f"{where} has a config that no model can be built from: {first_line(error)}") from None
    return sum(p.numel() for p in module.parameters()) * dtype.itemsize


def need(
    config: PreTrainedConfig, weights: int, dtype: torch.dtype, prompt: int, length: int, grown: bool
) -> MemoryNeed:
    """Estimate the need of one model for a text of ``length`` tokens of which ``prompt`` are prefilled.

    ``grown`` counts the cache as allocated (doubled when full) instead of as filled: memory that is never written costs
    nothing on a CPU but everything on a device. Shapes that a config does not name are left out: an estimate that is
    too low refuses nothing.
    """
    config = config.get_text_config(decoder=True)
    heads = getattr(config, "num_attention_heads", None) or 1
    shared = getattr(config, "num_key_value_heads", None) or heads
    width = getattr(config, "hidden_size", 0)
    head = getattr(config, "head_dim", None) or width // heads
    inner = getattr(config, "intermediate_size", None) or 4 * width
    size, chunk = dtype.itemsize, min(PREFILL_CHUNK, prompt)
    places = capacity(length) if grown else length
    cache = 2 * config.num_hidden_layers * shared * head * places * size
    # A chunk's own activations; its mask, as booleans and as added numbers, each made from a copy; one layer's keys and
    # values, laid out and repeated for the heads that share them.
    work = chunk * (6 * width + 3 * inner) * size + 2 * chunk * length * (1 + size) + 2 * heads * head * length * size
    if getattr(config, "_attn_implementation", None) == "eager":
        work += 3 * heads * chunk * length * max(size, 4)
    return MemoryNeed(weights, cache, max(work, _ROWS * config.vocab_size * _ROW_BYTES))


def check(needs: list[MemoryNeed], held: int, device: torch.device) -> None:
    """Raise ValueError if a stack of these models clearly exceeds the free memory; ``held`` bytes are loaded."""
    total = _total(needs)
    free = free_bytes(device)
    if free is not None and total - held > _MARGIN * free:
        raise ValueError(
            f"this needs about {size(total - held)} more and {device} has {size(free)} of memory free: "
            "use smaller models, a smaller dtype, a shorter prompt or fewer new tokens"
        )


def describe(needs: list[MemoryNeed], packed: int = 0) -> str:
    """Describe the need of a stack: weights (``packed`` bytes of them twice), caches, and the widest forward pass."""
    return f"needs about {size(_total(needs) + packed)} of memory"


def _total(needs: list[MemoryNeed]) -> int:
    return sum(n.weights + n.cache for n in needs) + max(n.work for n in needs)


def free_bytes(device: torch.device) -> int | None:
    """Return the bytes that can still be allocated on a device, ``None`` if unknown."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return min(
        (value for value in (system_bytes("meminfo", "MemAvailable"), _group_free()) if value is not None), default=None
    )


def _group_free() -> int | None:
    """Return what a container's limit leaves (control groups, version 2); cached files can be dropped."""
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((_CGROUP / "memory.current").read_text())
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return max(0, int(limit) - used + int(stat.get("inactive_file", 0)) + int(stat.get("active_file", 0)))
    except (OSError, ValueError):
        return None


def size(n: int) -> str:
    """Format bytes: ``3.1 GB``, ``42 MB``."""
    return f"{n / 1e9:.1f} GB" if n >= 1e9 else f"{max(1, round(n / 1e6))} MB"
