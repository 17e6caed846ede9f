"""Model sizes, training settings and profiles as frozen data. Does not import torch."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from hsd_viz.models.families import CODE
from training.schedules import linear_schedule

HEAD_DIM = 64
#: The names of the profiles.
ProfileName = Literal["cpu", "long", "gpu", "tiny"]
# The models trained by each stage. The drafts share the batches, and so every forward pass of the
# teacher.
STAGES = {"target": ("target",), "drafts": ("small", "nano")}
assert sorted(sum(STAGES.values(), ())) == sorted(CODE.names)


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The shape of one model. Attention heads have 64 dimensions, embeddings are tied, the
    feed-forward part is SwiGLU.
    """

    layers: int
    width: int
    inner: int

    @property
    def heads(self) -> int:
        return self.width // HEAD_DIM


SIZES = {
    "nano": ModelSize(2, 128, 384),
    "small": ModelSize(4, 256, 768),
    "target": ModelSize(6, 384, 1024),
}


@dataclass(frozen=True, slots=True)
class StageSettings:
    """The settings of one stage.

    The learning rate rises over ``warmup`` steps, is constant, and falls linearly to ``floor`` of
    its peak over the last ``decay`` share of ``steps`` (warm-up, stable, decay). Because it is
    constant before the decay, ``steps`` can be changed until the decay begins.

    Attributes:
        steps: optimizer steps.
        batch: tokens per step.
        rates: peak learning rate of Muon by model name.
        vector_rate: peak learning rate of AdamW (embedding and norms).
        windows: pairs (share of the run, window length in tokens) in ascending order of share.
        distillation: weight of KL(target ‖ draft) in the loss; the rest is cross-entropy. 0 trains
            without a teacher.
        repeats: share of the windows that contain a passage twice, the second time with one token
            substituted (``data``).
        splits: share of the tokens joining a line break and indentation that are split in two
            (``data``).
        average: decay rate of the exponential moving average of the weights; 0 disables it.
    """

    steps: int
    rates: dict[str, float]
    batch: int = 4096
    vector_rate: float = 3e-3
    weight_decay: float = 0.05
    warmup: int = 60
    decay: float = 0.3
    floor: float = 0.05
    clip: float = 1.0
    windows: tuple[tuple[float, int], ...] = ((0.0, 512), (0.9, 1024))
    distillation: float = 0.0
    repeats: float = 0.0
    splits: float = 0.0
    average: float = 0.0

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate at ``step`` of ``steps``, as a share of its peak."""
        return linear_schedule(step, steps, warmup=self.warmup, decay=self.decay, floor=self.floor)

    def window_at(self, step: int, steps: int) -> int:
        """Return the window length at ``step`` of ``steps``."""
        return next(length for share, length in reversed(self.windows) if step >= share * steps)


@dataclass(frozen=True, slots=True)
class TrainingProfile:
    """A way to train the whole ladder.

    Attributes:
        chunk: tokens per contiguous piece of text; a step draws chunks and cuts them into windows.
        corpus_files: use only the first files (for tests); ``None`` uses all.
        log_every, evaluate_every: steps between two log entries and between two measurements of the
            held-out loss.
        checkpoint_seconds: longest time between two checkpoints.
    """

    name: str
    runs: dict[str, StageSettings]
    sizes: dict[str, ModelSize]
    vocabulary: int = 4096
    context: int = 2048
    chunk: int = 1024
    tokenizer_bytes: int = 30_000_000
    corpus_files: int | None = None
    log_every: int = 10
    evaluate_every: int = 100
    checkpoint_seconds: float = 150.0
    compile: bool = True


def _cpu() -> TrainingProfile:
    target = StageSettings(steps=2200, rates={"target": 6e-3})
    drafts = StageSettings(steps=1900, rates={"small": 8e-3, "nano": 1e-2}, distillation=0.8)
    return TrainingProfile("cpu", {"target": target, "drafts": drafts}, SIZES)


def _long() -> TrainingProfile:
    target = StageSettings(
        steps=7400,
        rates={"target": 5e-3},
        batch=8192,
        warmup=100,
        decay=0.25,
        windows=((0.0, 256), (0.06, 512), (0.35, 1024)),
        average=0.998,
        repeats=0.05,
        splits=0.04,
    )
    drafts = replace(target, steps=4900, rates={"small": 6e-3, "nano": 8e-3}, distillation=0.9)
    return TrainingProfile("long", {"target": target, "drafts": drafts}, SIZES)


def _gpu() -> TrainingProfile:
    target = StageSettings(
        steps=6000,
        rates={"target": 1.4e-2},
        batch=32_768,
        vector_rate=4e-3,
        warmup=100,
        windows=((0.0, 512), (0.3, 1024), (0.9, 2048)),
        average=0.99,
        repeats=0.05,
        splits=0.04,
    )
    drafts = replace(
        target,
        steps=4000,
        rates={"small": 1.6e-2, "nano": 2e-2},
        batch=65_536,
        distillation=0.9,
    )
    runs = {"target": target, "drafts": drafts}
    return TrainingProfile(
        "gpu", runs, SIZES, chunk=2048, log_every=50, evaluate_every=500, checkpoint_seconds=60.0
    )


def _tiny() -> TrainingProfile:
    sizes = {
        "nano": ModelSize(1, 64, 128),
        "small": ModelSize(1, 128, 128),
        "target": ModelSize(2, 128, 256),
    }
    target = StageSettings(
        steps=12,
        rates={"target": 6e-3},
        batch=128,
        warmup=2,
        windows=((0.0, 32), (0.9, 64)),
        average=0.8,
        repeats=0.2,
        splits=0.05,
    )
    drafts = replace(target, rates={"small": 6e-3, "nano": 6e-3}, distillation=0.8)
    return TrainingProfile(
        "tiny",
        {"target": target, "drafts": drafts},
        sizes,
        512,
        256,
        64,
        tokenizer_bytes=200_000,
        corpus_files=60,
        log_every=1,
        evaluate_every=4,
        checkpoint_seconds=0.0,
        compile=False,
    )


_PROFILES = {"cpu": _cpu, "long": _long, "gpu": _gpu, "tiny": _tiny}
PROFILES = get_args(ProfileName)


def profile(name: str) -> TrainingProfile:
    """Return a profile by name.

    ``cpu`` takes about two hours on two cores, ``long`` about ten; ``gpu`` is for one large GPU,
    ``tiny`` for tests.

    Raises:
        ValueError: if there is no profile of this name.
    """
    if name not in _PROFILES:
        raise ValueError(f"unknown profile {name!r}: choose from {', '.join(PROFILES)}")
    return _PROFILES[name]()
