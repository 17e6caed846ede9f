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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data."""
        return asdict(self) | {"calibration": self.calibration.to_dict()}


def identity(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a calibration from the meta of a trace: machine, models, weights, runtimes, sampling.
    Models have the names of their checkpoints, so that the identity does not depend on the meaning of ``target``.
    Of the sampling, the seed does not count, and the rule only where tokens are drawn.
    """
    bridge = lambda model: [model["bridge"]["bridge"]] if model.get("bridge") else []
    sampling = dict(meta.get("sampling", {}))
    sampling.pop("seed", None)
    return {
        "target": meta["models"][-1]["model"],
        "models": {m["model"]: [m.get("weights"), m.get("runtime"), *bridge(m)] for m in meta["models"]},
        **{key: meta.get(key) for key in ("device", "device_name", "dtype", "threads")},
        "sampling": sampling | {"rule": sampling.get("rule", "token") if sampling.get("temperature") else "token"},
        "hsd_viz": meta.get("versions", {}).get("hsd_viz"),
    }


def save(stored: StoredCalibration) -> None:
    """Write a calibration. Raises: OSError: if its file cannot be written."""
    named = hashlib.sha256(json.dumps([stored.identity, stored.texts], sort_keys=True).encode()).hexdigest()[:24]
    data = {"format": FORMAT, "schema": SCHEMA, **stored.to_dict()}
    write_whole(cache_folder("calibration") / f"{named}.json", json.dumps(data) + "\n")


def load(path: Path) -> StoredCalibration | None:
    """Read a calibration; ``None`` if it is broken, or of another version."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == FORMAT and data["schema"] == SCHEMA:
            return msgspec.convert(
                data | {"calibration": Calibration.from_dict(data["calibration"])}, StoredCalibration
            )
    return None


def newest(wanted: Mapping[str, Any], texts: Mapping[str, Any] | None = None) -> StoredCalibration | None:
    """Return the newest recent calibration of ``texts`` (default: of any) that includes the engine and models of the
    identity ``wanted``; ``None`` without one. One from the future is not recent.
    """

    def usable(stored: StoredCalibration) -> bool:
        there, models = stored.identity, stored.identity.get("models", {})
        recent = -_DAY <= time.time() - stored.created <= MAX_AGE_DAYS * _DAY
        same = all(there.get(key) == wanted[key] for key in wanted if key != "models")
        included = all(models.get(name) == model for name, model in wanted["models"].items())
        return recent and same and included and texts in (None, stored.texts)

    found = filter(None, map(load, sorted(cache_folder("calibration").glob("*.json"))))
    return max(filter(usable, found), key=lambda stored: stored.created, default=None)
