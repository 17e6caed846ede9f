"""The efficiency of cards relative to their data sheets, fitted on published speeds by runtime and
vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hsd_viz.latency.cards import Gpu
from hsd_viz.latency.shapes import WEIGHTS
from hsd_viz.settings.ranges import check_range

#: The kind of source of a figure.
Kind = Literal["measured", "published", "assumed"]


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The efficiency of a card: the reached shares of its data sheet, and fixed times.

    Attributes:
        bandwidth: η_b, the reached share of the bandwidth, by weight format.
        compute: η_f, the reached share of the peak FLOP/s.
        layer_us: the fixed time per layer in µs.
        reduce_us: the time per layer in µs of the two all-reduces with more than one GPU.
        step_us: the fixed time per step in µs.
        kind: the kind of source of these figures.
        source: a description of the source.
        token_us: the time in µs per fed token and per billion parameters that it uses.
        round_us: the time in µs of a round beyond its forward passes: scheduling, sampling, the
            launch of the drafter.
        sequence_us: the time in µs per sequence of the batch and step: scheduling and sampling.
        cache: η_b of the KV cache; 0 means as for 16-bit weights.
        rereads: the share of repeated reads of the KV cache if several attention heads share a head
            of the cache: 0 if it is read once for all heads, 1 if once for each.
        round_kind: the kind of source of ``round_us``.
        round_source: a description of that source.
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
        """Return this efficiency with a measured time of a round beyond its forward passes, in ms.

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
        """Return η_b of a weight format; fp4 has that of int4."""
        return self.bandwidth.get(weights, self.bandwidth["int4" if weights == "fp4" else "bf16"])


#: Fitted by ``python -m benchmarks.prediction --fit`` on the Llama-2 rows of gpt-fast's README
#: (A100, one sequence). The share of the peak FLOP/s, and formats that are missing there (such as
#: fp16), are assumed.
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
#: Fitted by the same command on llama.cpp's figures of an RTX A6000 (one sequence, 7B to 70B). The
#: share of the peak FLOP/s is assumed. It is used for the cards on which llama.cpp usually runs.
LLAMA_CPP = replace(
    PUBLISHED,
    bandwidth={**dict.fromkeys(WEIGHTS, 0.908), "int4": 0.877},
    cache=1.0,
    layer_us=93.3,
    source="fitted on llama.cpp's figures of an RTX A6000",
)
#: Fitted by the same command on llama.cpp's figures of an M2 Ultra (one sequence, 7B to 70B).
APPLE = replace(
    PUBLISHED,
    bandwidth={**dict.fromkeys(WEIGHTS, 0.826), "int4": 0.835},
    cache=0.177,
    layer_us=111.7,
    source="fitted on llama.cpp's figures of an M2 Ultra",
)
#: The fixed times are fitted by the same command on vLLM's figures of Llama 3.1 405B on eight
#: MI300X, at three batch sizes. A single model cannot determine which part of a step is fixed, so
#: the shares are those of gpt-fast.
INSTINCT = replace(
    PUBLISHED,
    layer_us=105.2,
    sequence_us=360.7,
    source="fitted on vLLM's figures of Llama 3.1 405B (MI300X)",
)
#: Fitted by the same command on SynapseAI's throughput of a Gaudi 2 at full load. The fixed times
#: are those of gpt-fast.
GAUDI = replace(
    PUBLISHED,
    bandwidth=dict.fromkeys(WEIGHTS, 0.730),
    rereads=0.200,
    source="fitted on SynapseAI's figures of a Gaudi 2",
)
#: The first words in the names of desktop and workstation cards.
DESKTOP = ("RTX", "RX", "Ryzen", "Arc")


def efficiency_of(gpu: Gpu) -> Efficiency:
    """Return the efficiency of a card, by its vendor and the runtime that usually runs on it."""
    if gpu.vendor == "apple":
        return APPLE
    if gpu.name.startswith(DESKTOP):
        return LLAMA_CPP
    by_vendor = {"amd": INSTINCT, "intel": GAUDI}
    return by_vendor.get(gpu.vendor, PUBLISHED)
