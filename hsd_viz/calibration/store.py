"""Calibrations stored on disk: their identity, their age, and which one fits an engine.

A calibration is for one machine, one set of weights and one way of sampling: its *identity*, from the meta of a decode.
It is stored in ``~/.cache/hsd_viz/calibration`` (see :func:`hsd_viz.disk.cache_folder`) under a hash of the identity
and of the texts.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd_viz import serialize
from hsd_viz.disk import cache_folder, write_whole
from hsd_viz.latency.inputs import Calibration

#: The schema changes with the form of the file and with the method of measuring.
FORMAT, SCHEMA = "hsd_viz calibration", 4
#: Days after which a calibration expires: drivers, clocks and background load change.
MAX_AGE_DAYS = 14.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration and how it was measured.

    ``identity`` is the engine's (:func:`identity`), ``texts`` describes what was decoded: the suite's name, a hash of
    the prompts, their number, tokens each. ``created`` is in seconds since 1970, ``seconds`` the duration of the
    measurement. ``rounds`` are those behind the acceptance of each "draft > verifier".
    """

    identity: Mapping[str, Any]
    texts: Mapping[str, Any]
    created: float
    seconds: float
    calibration: Calibration
    rounds: Mapping[str, int]
    complete: bool = True

    def age(self) -> float:
        """Return the seconds since the measurement."""
        return max(0.0, time.time() - self.created)

    def fresh(self) -> bool:
        """Return whether it is recent enough to be used; one from the future is not."""
        return -_DAY <= time.time() - self.created <= MAX_AGE_DAYS * _DAY


def identity(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a calibration from the meta of a trace: machine, models, weights, runtimes, sampling.
    Models have the names of their checkpoints, so that the identity does not depend on the meaning of ``target``.
    """
    models = {
        m["model"]: [m.get("weights"), m.get("runtime"), *([m["bridge"]["bridge"]] if m.get("bridge") else [])]
        for m in meta["models"]
    }
    return {
        "target": meta["models"][-1]["model"],
        "models": models,
        **{key: meta.get(key) for key in ("device", "device_name", "dtype", "threads")},
        "sampling": sampling_identity(meta.get("sampling", {})),
        "hsd_viz": meta.get("versions", {}).get("hsd_viz"),
    }


def sampling_identity(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a sampling a calibration depends on: not the seed, and the rule only where it matters."""
    rule = "token" if sampling.get("temperature") == 0 else sampling.get("rule", "token")
    return {k: v for k, v in sampling.items() if k != "seed"} | {"rule": rule}


def folder() -> Path:
    """Return the folder of stored calibrations."""
    return cache_folder("calibration")


def save(stored: StoredCalibration) -> Path:
    """Write a calibration and return its file. Raises: ValueError: if the file cannot be written."""
    named = json.dumps([stored.identity, stored.texts], sort_keys=True)
    path = folder() / f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.json"
    data = {"format": FORMAT, "schema": SCHEMA, **serialize.to_dict(stored)}
    try:
        write_whole(path, json.dumps(data) + "\n")
    except OSError as error:
        raise ValueError(f"the calibration cannot be saved in {path.parent}: {error.strerror or error}") from None
    return path


def load(path: Path) -> StoredCalibration | None:
    """Read a calibration; ``None`` if it is broken, or of another version."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == FORMAT and data["schema"] == SCHEMA:
            return serialize.from_dict(StoredCalibration, data)
    return None


def newest(wanted: Mapping[str, Any], texts: Mapping[str, Any] | None = None) -> StoredCalibration | None:
    """Return the newest recent calibration of ``texts`` (default: of any) that includes the engine and models of the
    identity ``wanted``; ``None`` without one.
    """

    def usable(stored: StoredCalibration) -> bool:
        there, models = stored.identity, stored.identity.get("models", {})
        same = all(there.get(key) == wanted[key] for key in wanted if key != "models")
        included = all(models.get(name) == model for name, model in wanted["models"].items())
        return stored.fresh() and same and included and texts in (None, stored.texts)

    found = filter(None, map(load, sorted(folder().glob("*.json"))))
    return max(filter(usable, found), key=lambda stored: stored.created, default=None)
