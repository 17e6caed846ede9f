"""What the doctor is asked: the run to explain, and what else is known of it, declared once.

The fields are the keyword arguments of :func:`hsd_viz.doctor` and the options of
``hsd-viz doctor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from typing import Annotated as A

from hsd_viz.declare import Setting, check_settings
from hsd_viz.errors import UserError
from hsd_viz.measure.gpu_settings import BANDWIDTH, FLOPS, GPU_MEMORY
from hsd_viz.stack import MAX_LOOKAHEAD

if TYPE_CHECKING:
    from hsd_viz.trace import Trace

    Record = str | Path | Trace
else:
    # What the command line reads: its help does not import traces.
    Record = Path

#: Formats of weights.
Weights = Literal["bf16", "fp8", "int8", "int4", "fp4"]
#: Most requests of a batch, in a record and beside it. Beyond it a record is damaged.
MOST_BATCH = 4096


@dataclass(frozen=True)
class Evidence:
    """What to examine.

    One of a record, a measurement and an acceptance.
    """

    record: A[
        Record | None,
        Setting(
            metavar="FILE",
            help="a trace or a record of another engine",
            positional=True,
        ),
    ] = None
    _: KW_ONLY
    measure: A[
        str,
        Setting(
            metavar="STACK",
            help="instead of a file: measure a few short decodes on this machine",
        ),
    ] = ""
    acceptance: A[
        Sequence[float],
        Setting(
            metavar="A",
            help="instead of both: accepted / drafted, a length, or rates: 0.8,0.6",
        ),
    ] = ()
    lookahead: A[
        int | None,
        Setting(
            metavar="K",
            help="draft tokens per round, with --acceptance",
            words="the lookahead",
            low=1,
            high=MAX_LOOKAHEAD,
        ),
    ] = None
    model: A[
        str | None,
        Setting(
            metavar="NAME",
            help="of a record of several models: this one",
        ),
    ] = None
    engine: A[
        str | None,
        Setting(
            metavar="ENGINE",
            help="of a record of several engines: this one",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class KnownFigures:
    """Known figures.

    They replace those of the record.
    """

    batch: A[
        int | None,
        Setting(
            metavar="N",
            help="requests per batch of the run (default: as recorded, else 1)",
            words="the batch",
            low=1,
            high=MOST_BATCH,
        ),
    ] = None
    method: A[
        str | None,
        Setting(
            metavar="M",
            help="draft, eagle, eagle3, mtp, dflash, medusa, lookup (ngram) or suffix",
        ),
    ] = None
    draft_model: A[
        str | None,
        Setting(
            metavar="NAME",
            help="the draft model in the settings to paste",
        ),
    ] = None
    speed: A[
        float | None,
        Setting(
            metavar="R",
            help="tokens per second of a request with speculation",
            words="the speed",
            low=1e-6,
            high=1e9,
        ),
    ] = None
    plain_speed: A[
        float | None,
        Setting(
            metavar="R",
            help="tokens per second of a request without speculation",
            words="the speed without speculation",
            low=1e-6,
            high=1e9,
        ),
    ] = None
    step: A[
        float | None,
        Setting(
            metavar="MS",
            help="time of a plain step of the target",
            words="the step time",
            unit="ms",
            low=0.0,
            high=1e6,
            option="step-ms",
        ),
    ] = None
    verify: A[
        float | None,
        Setting(
            metavar="MS",
            help="time of the target's forward pass over a draft",
            words="the verify time",
            unit="ms",
            low=0.0,
            high=1e6,
            option="verify-ms",
        ),
    ] = None
    draft: A[
        float | None,
        Setting(
            metavar="MS",
            help="time of drafting per round",
            words="the draft time",
            unit="ms",
            low=0.0,
            high=1e6,
            option="draft-ms",
        ),
    ] = None
    overhead: A[
        float | None,
        Setting(
            metavar="MS",
            help="other time per round",
            words="the overhead time",
            unit="ms",
            low=0.0,
            high=1e6,
            option="overhead-ms",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class HardwareModel:
    """Hardware model of unknown times.

    A GPU, or any name with its bandwidth, flops and memory. The models are names, paths of a
    ``config.json``, or a target and a draft head.
    """

    gpu: A[
        str,
        Setting(
            metavar="NAME",
            help="the GPU, as in H100: fill in unknown times",
        ),
    ] = ""
    models: A[
        Sequence[str],
        Setting(
            metavar="T,D",
            help="with --gpu: the target and its draft model: names or config.json paths",
        ),
    ] = ()
    tp: A[
        int,
        Setting(
            metavar="N",
            help="GPUs that share each model",
            words="the number of GPUs",
            low=1,
            high=64,
        ),
    ] = 1
    context: A[
        int,
        Setting(
            metavar="N",
            help="tokens cached per request, as in 8k",
            words="the context",
            low=1,
            high=10_000_000,
            parse_range=False,
            in_k=True,
        ),
    ] = 2048
    weights: A[
        Weights,
        Setting(
            metavar="FORMAT",
            help="format of the weights",
        ),
    ] = "bf16"
    bandwidth: A[float | None, BANDWIDTH] = None
    flops: A[float | None, FLOPS] = None
    memory: A[float | None, GPU_MEMORY] = None


@dataclass(frozen=True)
class DoctorCase(HardwareModel, KnownFigures, Evidence):
    """A run to explain.

    Raises:
        UserError: if a figure is out of range, or if not exactly one of record, measure and
            acceptance is given.
    """

    def __post_init__(self) -> None:
        check_settings(self)
        sources = (self.record is not None, bool(self.measure), bool(self.acceptance))
        if sum(sources) != 1:
            raise UserError("give one of a record, measure and acceptance")
        if self.has_hardware != bool(self.models):
            raise UserError("gpu and models belong together: name the GPU and the models on it")

    @property
    def has_hardware(self) -> bool:
        """Whether a GPU fills in unknown times."""
        return bool(self.gpu or self.bandwidth)
