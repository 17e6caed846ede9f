"""What is trained and how: sizes, settings and profiles, as plain frozen data. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = ("nano", "small", "target")
HEAD_DIM = 64


@dataclass(frozen=True, slots=True)
class Size:
    """One member of the family. Every head is 64 wide, embeddings are tied, the feed-forward is SwiGLU."""

    layers: int
    width: int
    inner: int

    @property
    def heads(self) -> int:
        return self.width // HEAD_DIM


SIZES = {"nano": Size(2, 128, 384), "small": Size(4, 256, 768), "target": Size(6, 384, 1024)}


@dataclass(frozen=True, slots=True)
class Run:
    """How one model is trained.

    ``windows``: long windows a step, each ``Profile.window`` tokens; in the first nine tenths each is cut in two. ``steps`` is
    the most; a time limit may shorten it. ``distil_from`` is the share of the run after which the loss turns into
    ``distil_weight`` · KL(target ‖ draft) + (1 − ``distil_weight``) · cross-entropy; 1 means never.
    """

    steps: int
    windows: int = 4
    matrix_rate: float = 6e-3
    vector_rate: float = 3e-3
    weight_decay: float = 0.05
    warmup: int = 60
    decay: float = 0.3
    floor: float = 0.05
    clip: float = 1.0
    distil_from: float = 1.0
    distil_weight: float = 0.8


@dataclass(frozen=True, slots=True)
class Profile:
    """A way to train the whole ladder. ``corpus_files`` keeps only the first files, for the tests."""

    name: str
    runs: dict[str, Run]
    sizes: dict[str, Size]
    vocabulary: int = 4096
    context: int = 2048
    window: int = 1024
    tokenizer_bytes: int = 30_000_000
    corpus_files: int | None = None
    checkpoint_seconds: float = 120.0
    long_share: float = 0.1
    compile: bool = True


def profile(name: str) -> Profile:
    """The profile ``cpu`` (an hour on two cores), ``gpu`` or ``tiny`` (seconds, for tests). Raises ValueError for another name."""
    if name == "cpu":
        runs = {
            "target": Run(steps=2200, matrix_rate=6e-3),
            "small": Run(steps=1900, matrix_rate=8e-3, distil_from=0.4),
            "nano": Run(steps=1800, matrix_rate=1e-2, distil_from=0.4),
        }
        return Profile("cpu", runs, SIZES)
    if name == "gpu":
        runs = {
            "target": Run(steps=12_000, windows=16, matrix_rate=6e-3, weight_decay=0.1, warmup=200),
            "small": Run(steps=10_000, windows=16, matrix_rate=8e-3, weight_decay=0.1, warmup=200, distil_from=0.2),
            "nano": Run(steps=10_000, windows=16, matrix_rate=1e-2, weight_decay=0.1, warmup=200, distil_from=0.2),
        }
        return Profile("gpu", runs, SIZES)
    if name == "tiny":
        run = Run(steps=12, windows=2, warmup=2)
        sizes = {"nano": Size(1, 64, 128), "small": Size(1, 128, 128), "target": Size(2, 128, 256)}
        draft = Run(steps=12, windows=2, warmup=2, distil_from=0.5)
        runs = {"target": run, "small": draft, "nano": draft}
        return Profile(
            "tiny", runs, sizes, 512, 256, 64, 200_000, corpus_files=60, checkpoint_seconds=0.0, compile=False
        )
    raise ValueError(f"unknown profile {name!r}: choose cpu, gpu or tiny")
