"""Calibrations that are stored on this machine, and the stacks that they decide.

A calibration is for one machine, one set of weights and one way of sampling: its *identity*, from
the meta of a decode. It is stored in ``~/.cache/hsd_viz/calibration`` (see
:func:`hsd_viz.disk.cache_folder`) under a hash of the identity and of the texts.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from hsd_viz.disk import cache_folder, write_inside
from hsd_viz.errors import UserError
from hsd_viz.latency.basis import own_plan_of
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.select import fill, select
from hsd_viz.stack import TARGET, ModelPart, Stack

#: A predicted gain below this share is within the error of the prediction: ``auto`` is then plain
#: decoding.
MIN_GAIN = 0.02
#: The schema changes with the form of the file and with the method of measuring.
FORMAT = "hsd_viz calibration"
SCHEMA = 5
#: Days after which a calibration expires: drivers, clocks and background load change.
MAX_AGE_DAYS = 14.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration and how it was measured.

    Attributes:
        identity: of the engine (:func:`identity`).
        texts: what was decoded: the suite's name, a hash of the prompts, their number, tokens each.
        created: when, in seconds since 1970.
        seconds: how long the measurement took.
        calibration: the calibration.
        rounds: the rounds behind the acceptance of each "draft > verifier".
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
    """Return the identity of a calibration from the meta of a trace: machine, models, weights,
    runtimes, sampling. Models have the names of their checkpoints, so that the identity does not
    depend on the meaning of ``target``. Of the sampling, the seed does not count, and the rule only
    where tokens are drawn.
    """
    sampling = dict(meta.get("sampling", {}))
    sampling.pop("seed", None)
    is_drawn = bool(sampling.get("temperature"))
    sampling["rule"] = sampling.get("rule", "token") if is_drawn else "token"
    models = {}
    for model in meta["models"]:
        facts = [model.get("weights"), model.get("runtime")]
        if model.get("bridge"):
            facts.append(model["bridge"]["bridge"])
        models[model["model"]] = facts
    return {
        "target": meta["models"][-1]["model"],
        "models": models,
        "device": meta.get("device"),
        "device_name": meta.get("device_name"),
        "dtype": meta.get("dtype"),
        "threads": meta.get("threads"),
        "sampling": sampling,
        "hsd_viz": meta.get("versions", {}).get("hsd_viz"),
    }


def save(stored: StoredCalibration) -> None:
    """Write a calibration.

    Raises:
        OSError: if its file cannot be written.
    """
    key = hashlib.sha256(
        json.dumps([stored.identity, stored.texts], sort_keys=True).encode()
    ).hexdigest()[:24]
    data = {"format": FORMAT, "schema": SCHEMA, **stored.to_dict()}
    write_inside(cache_folder("calibration"), f"{key}.json", json.dumps(data) + "\n")


def load(path: Path) -> StoredCalibration | None:
    """Read a calibration; ``None`` if it is broken, or of another version."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == FORMAT and data["schema"] == SCHEMA:
            data["calibration"] = Calibration.from_dict(data["calibration"])
            return msgspec.convert(data, StoredCalibration)
    return None


def newest(
    engine_identity: Mapping[str, Any], texts: Mapping[str, Any] | None = None
) -> StoredCalibration | None:
    """Return the newest recent calibration of ``texts`` (default: of any) that includes the engine
    and models of ``engine_identity``; ``None`` without one. One from the future is not recent.
    """

    def usable(stored: StoredCalibration) -> bool:
        models = stored.identity.get("models", {})
        recent = -_DAY <= time.time() - stored.created <= MAX_AGE_DAYS * _DAY
        same = True
        for key, value in engine_identity.items():
            if key != "models":
                same = same and stored.identity.get(key) == value
        included = True
        for name, model in engine_identity["models"].items():
            included = included and models.get(name) == model
        return recent and same and included and texts in (None, stored.texts)

    calibrations = filter(None, map(load, sorted(cache_folder("calibration").glob("*.json"))))
    return max(filter(usable, calibrations), key=lambda stored: stored.created, default=None)


# --- the stack for ``auto``, and the lookaheads for ``:auto`` -------------------------------------


def decide(stack: Stack, choosing: bool, meta: Mapping[str, Any]) -> Stack:
    """Return ``stack`` with the fastest lookaheads for ``:auto``, or (``choosing``) the fastest
    stack of its levels: by the calibration that is stored for exactly this engine. For ``auto`` one
    with another number of threads serves, too, and for a family's models the project's own.
    ``meta`` is that of a trace of ``stack``.

    Raises:
        UserError: if such a calibration is missing, or part of the stack was not measured.
    """
    engine_identity = identity(meta)
    calibration = _calibration_for(engine_identity, meta, choosing)
    not_measured = ""
    try:
        if calibration is not None and choosing:
            return fastest(stack, calibration)
        if calibration is not None:
            # The calibration calls the target by that name, however the stack calls it.
            filled = fill(Stack(stack.bottom, (*stack.drafts, ModelPart(TARGET))), calibration)
            return Stack(filled.bottom, (*filled.drafts, stack.target))
    except UserError as error:
        not_measured = f" ({error})"
    models = ",".join(draft.name for draft in stack.drafts)
    option = f" --models {models}" if models else ""
    instead = "name a stack: 'db > target'"
    if not choosing:
        instead = f"write a lookahead: {ModelPart(stack.drafts[0].name, 4)}"
    temperature = meta["sampling"]["temperature"]
    raise UserError(
        f"'{'auto' if choosing else stack}' needs a calibration of this machine: run "
        f"`hsd-viz plan{option} --temperature {temperature:g}` with the same target, device, dtype "
        f"and threads, or {instead}{not_measured}"
    )


def _calibration_for(
    engine_identity: Mapping[str, Any], meta: Mapping[str, Any], choosing: bool
) -> Calibration | None:
    """Return the calibration by which a stack is decided, ``None`` where none fits: that of exactly
    this engine; for ``auto`` also one with other threads, or the project's own of these weights.
    """
    stored = newest(engine_identity)
    if stored is None and choosing:
        without_threads = {
            name: value for name, value in engine_identity.items() if name != "threads"
        }
        stored = newest(without_threads)
    if stored is not None:
        return stored.calibration
    if not choosing or meta["models"][-1]["model"] != TARGET:
        return None
    plan = own_plan_of(meta["models"], meta["sampling"]["temperature"])
    if plan is None:
        return None
    return Calibration.from_dict(plan["calibration"])


def fastest(levels: Stack, calibration: Calibration) -> Stack:
    """Return the fastest stack of ``levels`` by the law. Plain decoding if no stack is predicted to
    gain ``MIN_GAIN``.
    """
    databases = () if levels.source is None else (levels.source,)
    choice = select(calibration.restricted([m.name for m in levels.drafts], databases))
    gains = choice.picked.gain_over(choice.plain) >= MIN_GAIN
    levels_of_choice = choice.picked.levels if gains else choice.plain.levels
    return Stack(levels_of_choice.bottom, (*levels_of_choice.drafts, levels.target))
