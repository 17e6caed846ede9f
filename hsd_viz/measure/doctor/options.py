"""What the doctor is asked: the run to explain, and what else is known of it, declared once.

The fields are the keyword arguments of :func:`hsd_viz.doctor` and the options of
``hsd-viz doctor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated as A
from typing import ClassVar

from hsd_viz.errors import UserError
from hsd_viz.measure.given_types import Trace
from hsd_viz.measure.shared_settings import Bandwidth, Flops, GpuMemory, Tp, WeightsFormat
from hsd_viz.settings.argument_types import Tokens
from hsd_viz.settings.declare import CliOption, Setting, as_call, check_settings
from hsd_viz.settings.keywords import documented
from hsd_viz.settings.ranges import MAX_BATCH, MAX_CONTEXT, Range
from hsd_viz.stack import MAX_LOOKAHEAD


@documented
@dataclass(frozen=True, kw_only=True, repr=False)
class Known:
    """Figures of a run that are known beside its record, and replace those of the record.

    Raises:
        UserError: if a figure is out of range.
    """

    OPTION_GROUP: ClassVar[str] = "known figures"

    batch: A[
        int | None,
        Setting(
            "requests per batch of the run (default: as recorded, else 1)",
            CliOption("N"),
            Range(1, MAX_BATCH),
            noun="the batch",
        ),
    ] = None
    method: A[
        str | None,
        Setting(
            "draft, eagle, eagle3, mtp, dflash, medusa, lookup (ngram) or suffix", CliOption("M")
        ),
    ] = None
    draft_model: A[
        str | None, Setting("the draft model in the settings to paste", CliOption("NAME"))
    ] = None
    speed: A[
        float | None,
        Setting(
            "tokens per second of a request with speculation",
            CliOption("R"),
            Range(1e-6, 1e9),
            noun="the speed",
        ),
    ] = None
    plain_speed: A[
        float | None,
        Setting(
            "tokens per second of a request without speculation",
            CliOption("R"),
            Range(1e-6, 1e9),
            noun="the speed without speculation",
        ),
    ] = None
    step_ms: A[
        float | None,
        Setting(
            "time of a plain decoding step of the target",
            CliOption("MS"),
            Range(0.0, 1e6),
            noun="the step time",
            unit="ms",
        ),
    ] = None
    verify_ms: A[
        float | None,
        Setting(
            "time of the target's forward pass over a draft",
            CliOption("MS"),
            Range(0.0, 1e6),
            noun="the verify time",
            unit="ms",
        ),
    ] = None
    draft_ms: A[
        float | None,
        Setting(
            "time of drafting per round",
            CliOption("MS"),
            Range(0.0, 1e6),
            noun="the draft time",
            unit="ms",
        ),
    ] = None
    overhead_ms: A[
        float | None,
        Setting(
            "other time per round",
            CliOption("MS"),
            Range(0.0, 1e6),
            noun="the overhead time",
            unit="ms",
        ),
    ] = None

    def __post_init__(self) -> None:
        check_settings(self)

    def __repr__(self) -> str:
        return as_call(self)


@documented
@dataclass(frozen=True, repr=False)
class Hardware:
    """The hardware on which unknown times are predicted.

    A GPU, or any name with its bandwidth, flops and memory. The models are names, paths of a
    ``config.json``, or a target and a draft head.

    Raises:
        UserError: if a figure is out of range, or if there is a GPU without models or the reverse.
    """

    OPTION_GROUP: ClassVar[str] = "hardware model of unknown times"

    gpu: A[str, Setting("the GPU, as in H100: fill in unknown times", CliOption("NAME"))] = ""
    models: A[
        Sequence[str],
        Setting(
            "with {gpu}: the target and its draft model: names or config.json paths",
            CliOption("T,D"),
        ),
    ] = ()
    _: KW_ONLY
    tp: Tp = 1
    context: A[
        int,
        Setting(
            "tokens cached per request, as in 8k",
            CliOption("N", type=Tokens, shows_range=False),
            Range(1, MAX_CONTEXT),
            noun="the context",
        ),
    ] = 2048
    weights: WeightsFormat = "bf16"
    bandwidth: Bandwidth = None
    flops: Flops = None
    gpu_memory: GpuMemory = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.is_given != bool(self.models):
            raise UserError("gpu and models belong together: name the GPU and the models on it")

    @property
    def is_given(self) -> bool:
        """Whether there is a GPU, which fills in unknown times."""
        return bool(self.gpu or self.bandwidth)

    def __repr__(self) -> str:
        return as_call(self)


@dataclass(frozen=True)
class DoctorOptions:
    """The run to examine: one of a record, a stack to measure and an acceptance.

    Raises:
        UserError: if not exactly one of them is given.
    """

    OPTION_GROUP: ClassVar[str] = "what to examine"

    record: A[
        Path | str | Trace | None,
        Setting(
            "a trace or a record of another engine", CliOption("FILE", positional=True, type=Path)
        ),
    ] = None
    _: KW_ONLY
    stack: A[
        str,
        Setting(
            "instead of a file: measure a few short decodes on this machine", CliOption("STACK")
        ),
    ] = ""
    acceptance: A[
        Sequence[float],
        Setting("instead of both: accepted / drafted, a length, or rates: 0.8,0.6", CliOption("A")),
    ] = ()
    lookahead: A[
        int | None,
        Setting(
            "draft tokens per round, with {acceptance}",
            CliOption("K"),
            Range(1, MAX_LOOKAHEAD),
            noun="the lookahead",
        ),
    ] = None
    model: A[str | None, Setting("of a record of several models: this one", CliOption("NAME"))] = (
        None
    )
    engine: A[
        str | None, Setting("of a record of several engines: this one", CliOption("ENGINE"))
    ] = None
    known: A[Known, Setting("figures of the run, which replace those of the record")] = Known()
    hardware: A[Hardware, Setting("a GPU and the models on it, which fill in unknown times")] = (
        Hardware()
    )

    def __post_init__(self) -> None:
        check_settings(self)
        sources = (self.record is not None, bool(self.stack), bool(self.acceptance))
        if sum(sources) != 1:
            raise UserError("give one of a record, a stack and an acceptance")
