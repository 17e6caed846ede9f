"""What is asked of a prediction: the hardware, the models and what is known of them, declared once.

The fields are the keyword arguments of :func:`hsd_viz.predict` and the options of
``hsd-viz predict``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz.errors import UserError
from hsd_viz.measure.given_types import Edge
from hsd_viz.measure.shared_settings import Bandwidth, Flops, GpuMemory, Tp, WeightsFormat
from hsd_viz.settings.argument_types import Tokens
from hsd_viz.settings.declare import CliOption, Setting, check_settings
from hsd_viz.settings.ranges import MAX_BATCH, Range, check_range
from hsd_viz.settings.spelling import spelled

#: The kind of text, for assumed acceptances.
Text = Literal["mixed", "chat", "code", "math", "documents"]
#: Formats of the KV cache.
Cache = Literal["bf16", "fp8"]


@dataclass(frozen=True)
class PredictOptions:
    """What a prediction is for: the hardware, the models and what is known of them.

    A GPU is a name, as "H100" or as ``nvidia-smi`` prints it; or any name with its bandwidth, flops
    and memory.

    Raises:
        UserError: if a figure is out of range, or if two sources of acceptance are given.
    """

    gpu: A[
        str,
        Setting(
            "a GPU, as in H100; or any name with {bandwidth}, {flops} and {gpu_memory}",
            CliOption("NAME"),
        ),
    ]
    models: A[
        Sequence[str],
        Setting(
            "target first: names, paths of a config.json, or eagle3 for a draft head",
            CliOption("A,B,C"),
        ),
    ]
    _: KW_ONLY
    batch: A[Sequence[int], Setting("sequences decoded together", CliOption("N,N"))] = (1,)
    context: A[
        Sequence[int],
        Setting(
            "tokens cached per sequence, as in 2k,32k", CliOption("N,N", type=Sequence[Tokens])
        ),
    ] = (2048,)
    acceptance: A[
        Sequence[str] | Mapping[str, float | Edge] | Edge | float | None,
        Setting(
            "of all pairs, or of one as in 'llama-1b > llama-70b=0.7'",
            CliOption("A", type=tuple[str, ...]),
        ),
    ] = ()
    profile: A[
        Path | str | None,
        Setting(
            "acceptance of the draft model from a speculation_profile.json",
            CliOption("F", type=Path),
        ),
    ] = None
    records: A[
        Path | str | None,
        Setting(
            "the same from a record of another engine or a trace (see `hsd-viz doctor`)",
            CliOption("F", type=Path),
        ),
    ] = None
    calibrate: A[
        Sequence[float] | None,
        Setting("measured ms of a step of the target with 1 and with 8 tokens", CliOption("T1,T8")),
    ] = None
    round_ms: A[
        float | None,
        Setting(
            "measured ms of a round beyond its forward passes (see `hsd-viz doctor` on a run)",
            CliOption("MS"),
            Range(0.0, 1e6),
            noun="the time of a round beyond its forward passes in ms",
        ),
    ] = None
    tp: Tp = 1
    weights: WeightsFormat = "bf16"
    cache: A[Cache, Setting("format of the KV cache", CliOption("FORMAT"))] = "bf16"
    temperature: A[
        float,
        Setting(
            "0-2; lowers assumed acceptances",
            CliOption("T", shows_range=False),
            Range(0.0, 2.0),
            noun="the temperature",
        ),
    ] = 0.0
    text: A[Text, Setting("the text, for assumed acceptances")] = "mixed"
    databases: A[bool, Setting("whether to try a database below each stack", option=None)] = True
    bandwidth: Bandwidth = None
    flops: Flops = None
    gpu_memory: GpuMemory = None

    def __post_init__(self) -> None:
        check_settings(self)
        for sequences in self.batch:
            check_range("the batch", sequences, 1, MAX_BATCH)
        if self.calibrate is not None and len(self.calibrate) != 2:
            raise UserError(f"{spelled('calibrate')} needs two times in ms, as in 18.2,19.5")
        sources = (self.has_acceptance, self.profile is not None, self.records is not None)
        if sum(sources) > 1:
            raise UserError(
                f"{spelled('profile')}, {spelled('records')} and {spelled('acceptance')} "
                "exclude each other"
            )

    @property
    def has_acceptance(self) -> bool:
        """Whether acceptances are given as numbers."""
        return self.acceptance is not None and self.acceptance != ()
