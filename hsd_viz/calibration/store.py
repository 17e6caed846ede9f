"""Calibrations kept on disk: what one stands for, how old it may be, and which one fits an engine.

A calibration is of one machine, one set of weights and one way of sampling: its *identity*, taken from the meta of a decode. It lies
in ``~/.cache/hsd_viz/calibration`` (see :func:`hsd_viz.disk.cache_folder`) under a hash of that and of the texts it was measured on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hsd_viz.calibration.mixture import Mixture
from hsd_viz.disk import cache_folder, write_whole
from hsd_viz.latency.calibration import Calibration

#: Another schema: another form, or another way of measuring.
FORMAT, SCHEMA = "hsd_viz calibration", 2
#: Days after which a calibration is measured anew: drivers, clocks and neighbours change.
MAX_AGE_DAYS = 14.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How ``draft``'s tokens fared before ``verifier``; the fields of :class:`hsd_viz.calibration.estimate.EdgeEstimate`."""

    draft: str
    verifier: str
    rounds: int
    drafted: int
    examined: int
    accepted: int
    histogram: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration with what it stands on.

    ``identity`` is the engine's (:func:`identity`), ``texts`` says what was decoded: the suite's name, a hash of the prompts, their
    number, tokens each. ``created`` is in seconds since 1970, ``seconds`` what the measurement took. ``forwards`` counts the timed
    forwards by model, ``isolated`` has the forwards by themselves, ms by tokens fed.
    """

    identity: Mapping[str, Any]
    texts: Mapping[str, Any]
    created: float
    seconds: float
    mixture: Mixture
    acceptance: tuple[Acceptance, ...]
    lookups: Mapping[str, int]
    forwards: Mapping[str, int]
    isolated: Mapping[str, Mapping[int, float]]
    complete: bool = True

    @property
    def calibration(self) -> Calibration:
        """The figures over all texts."""
        return self.mixture.pooled

    def age(self, now: float | None = None) -> float:
        """Seconds since it was measured."""
        return max(0.0, (time.time() if now is None else now) - self.created)

    def fresh(self, now: float | None = None, days: float = MAX_AGE_DAYS) -> bool:
        """Whether it is young enough to be used; one from the future is not."""
        return -_DAY <= (time.time() if now is None else now) - self.created <= days * _DAY


def identity(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a calibration is of, from the meta of a trace: machine, models with their weights and runtimes, sampling less its seed.

    Models are named as the meta names their checkpoints, so that the word ``target`` means the same for ever.
    """
    models = {m["model"]: [m.get("weights"), m.get("runtime")] for m in meta["models"]}
    return {
        "target": meta["models"][-1]["model"],
        "models": models,
        "device": meta.get("device"),
        "device_name": meta.get("device_name"),
        "dtype": meta.get("dtype"),
        "threads": meta.get("threads"),
        "sampling": {k: v for k, v in meta.get("sampling", {}).items() if k != "seed"},
        "hsd_viz": meta.get("versions", {}).get("hsd_viz"),
    }


def covers(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a calibration of identity ``kept`` tells of an engine and models of identity ``wanted``."""
    same = all(kept.get(key) == wanted[key] for key in wanted if key != "models")
    return same and all(kept.get("models", {}).get(name) == model for name, model in wanted["models"].items())


def texts_of(suite: str, prompts: list[str], max_new_tokens: int) -> dict[str, Any]:
    """What a calibration was measured on."""
    digest = hashlib.sha256("\0".join(prompts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return {"suite": suite, "prompts": len(prompts), "hash": digest, "max_new_tokens": max_new_tokens}


def folder() -> Path:
    """Where calibrations are kept."""
    return cache_folder("calibration")


def path_of(identity: Mapping[str, Any], texts: Mapping[str, Any]) -> Path:
    """The file of a calibration."""
    key = json.dumps([identity, texts], sort_keys=True)
    return folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def save(kept: StoredCalibration) -> Path:
    """Keep a calibration; returns its file. Raises ``ValueError`` with one sentence where that cannot be."""
    path = path_of(kept.identity, kept.texts)
    try:
        write_whole(path, json.dumps(to_dict(kept)) + "\n")
    except OSError as error:
        raise ValueError(f"the calibration cannot be kept in {path.parent}: {error.strerror or error}") from None
    return path


def load(path: Path) -> StoredCalibration:
    """A calibration from its file. Raises ``FileNotFoundError``, and ``ValueError`` with one sentence for anything unreadable."""
    if not path.is_file():
        raise FileNotFoundError(path)
    try:
        return from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise ValueError(f"the calibration kept in {path} cannot be read") from None


def newest(wanted: Mapping[str, Any], now: float | None = None) -> StoredCalibration | None:
    """The newest fresh calibration that :func:`covers` an engine, whatever its texts; ``None`` where there is none."""
    best = None
    for path in sorted(folder().glob("*.json")):
        try:
            kept = load(path)
        except (FileNotFoundError, ValueError):
            continue
        if kept.fresh(now) and covers(kept.identity, wanted) and (best is None or kept.created > best.created):
            best = kept
    return best


def to_dict(kept: StoredCalibration) -> dict[str, Any]:
    """As plain JSON data."""
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "identity": kept.identity,
        "texts": kept.texts,
        "created": kept.created,
        "seconds": kept.seconds,
        **kept.mixture.to_dict(),
        "acceptance": [asdict(a) for a in kept.acceptance],
        "lookups": dict(kept.lookups),
        "forwards": dict(kept.forwards),
        "isolated": {name: {str(m): ms for m, ms in by_width.items()} for name, by_width in kept.isolated.items()},
    }


def from_dict(data: Any) -> StoredCalibration:
    """The inverse of :func:`to_dict`. Raises ``ValueError``, ``KeyError`` or ``TypeError`` for anything else."""
    if data["format"] != FORMAT or data["schema"] != SCHEMA:
        raise ValueError("another format")
    return StoredCalibration(
        identity=data["identity"],
        texts=data["texts"],
        created=float(data["created"]),
        seconds=float(data["seconds"]),
        mixture=Mixture.from_dict(data),
        acceptance=tuple(Acceptance(**{**a, "histogram": tuple(a["histogram"])}) for a in data["acceptance"]),
        lookups=data["lookups"],
        forwards=data["forwards"],
        isolated={
            name: {int(m): float(ms) for m, ms in by_width.items()} for name, by_width in data["isolated"].items()
        },
    )
