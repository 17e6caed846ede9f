"""The calibrations stored on this machine, and the stacks and lookaheads that ``auto`` gets from
them.

A calibration is valid for one *identity*: a machine, a set of weights and a way of sampling, which
are known from the meta of a decode. It is stored in ``~/.cache/hsd_viz/calibration`` (see
:func:`hsd_viz.disk.cache_folder`) under a hash of its identity and texts.
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
from hsd_viz.settings.spelling import as_option
from hsd_viz.stack import TARGET, ModelPart, Stack

#: The least predicted gain for which ``auto`` uses a stack instead of plain decoding. A smaller
#: gain is within the error of the prediction.
MIN_GAIN = 0.02
#: The format of calibration files.
FORMAT = "hsd_viz calibration"
#: The version of the file format and of the method of measuring.
SCHEMA = 5
#: The days after which a calibration expires, because drivers, clocks and background load change.
MAX_AGE_DAYS = 14.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration with facts about its measurement.

    Attributes:
        identity: the identity of the engine (:func:`identity`).
        texts: the decoded texts: the name of the suite, a hash of the prompts, their number and the
            number of tokens of each.
        created: the time of the measurement in seconds since 1970.
        seconds: the duration of the measurement in seconds.
        calibration: the calibration.
        rounds: the number of rounds on which the acceptance of each "draft > verifier" is based.
    """

    identity: Mapping[str, Any]
    texts: Mapping[str, Any]
    created: float
    seconds: float
    calibration: Calibration
    rounds: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as JSON data."""
        return asdict(self) | {"calibration": self.calibration.to_dict()}


def identity(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity of a calibration from the meta of a trace.

    It consists of machine, models, weights, runtimes and sampling. Models have the names of their
    checkpoints, so that the identity does not depend on the model that ``target`` refers to. The
    seed is left out, and so is the rule unless tokens are drawn.
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
    """Store a calibration on this machine.

    Raises:
        OSError: if its file cannot be written.
    """
    key = hashlib.sha256(
        json.dumps([stored.identity, stored.texts], sort_keys=True).encode()
    ).hexdigest()[:24]
    data = {"format": FORMAT, "schema": SCHEMA, **stored.to_dict()}
    write_inside(cache_folder("calibration"), f"{key}.json", json.dumps(data) + "\n")


def load(path: Path) -> StoredCalibration | None:
    """Read a calibration; return ``None`` if it is invalid or of another version."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] == FORMAT and data["schema"] == SCHEMA:
            data["calibration"] = Calibration.from_dict(data["calibration"])
            return msgspec.convert(data, StoredCalibration)
    return None


def last_change() -> int:
    """Return the time of the last change of the stored calibrations, in ns; 0 if there are none."""
    try:
        return cache_folder("calibration").stat().st_mtime_ns
    except OSError:
        return 0


def newest(
    engine_identity: Mapping[str, Any], texts: Mapping[str, Any] | None = None
) -> StoredCalibration | None:
    """Return the newest usable calibration; ``None`` if there is none.

    A calibration is usable if it has the given identity, includes its models and has not expired. A
    calibration that is dated in the future is not usable.

    Args:
        engine_identity: the required identity.
        texts: the required texts; by default any.
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
    """Return a stack with the fastest lookaheads, or the fastest stack, by a stored calibration.

    The calibration must be for exactly this engine. To choose a stack, a calibration with another
    number of threads is also used, and for the models of a family the one that is shipped.

    Args:
        stack: the stack with ``:auto`` lookaheads; or the levels to choose from.
        choosing: whether to choose the stack, not only the lookaheads.
        meta: the meta of a trace of ``stack``.

    Raises:
        UserError: if there is no such calibration, or if a part of the stack was not measured.
    """
    engine_identity = identity(meta)
    calibration = _calibration_for(engine_identity, meta, choosing)
    not_measured = ""
    try:
        if calibration is not None and choosing:
            return fastest(stack, calibration)
        if calibration is not None:
            # The name of the target in a calibration is always "target".
            filled = fill(Stack(stack.bottom, (*stack.drafts, ModelPart(TARGET))), calibration)
            return Stack(filled.bottom, (*filled.drafts, stack.target))
    except UserError as error:
        not_measured = f" ({error})"
    models = ",".join(draft.name for draft in stack.drafts)
    command = f"hsd-viz plan --models {models}" if models else "hsd-viz plan"
    command += f" {as_option('temperature')} {meta['sampling']['temperature']:g}"
    instead = "name a stack: 'db > target'"
    if not choosing:
        instead = f"write a lookahead: {ModelPart(stack.drafts[0].name, 4)}"
    raise UserError(
        f"'{'auto' if choosing else stack}' needs a calibration of this machine: run "
        f"`{command}` with the same target, device, dtype "
        f"and threads, or {instead}{not_measured}"
    )


def _calibration_for(
    engine_identity: Mapping[str, Any], meta: Mapping[str, Any], choosing: bool
) -> Calibration | None:
    """Return the calibration by which :func:`decide` decides; ``None`` if there is none.

    It is the calibration of exactly this engine. To choose a stack, it may also be one with another
    number of threads, or the shipped one for these weights.
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
    """Return the fastest stack of these levels by the law.

    Return plain decoding if no stack is predicted to gain at least :data:`MIN_GAIN`.
    """
    databases = () if levels.source is None else (levels.source,)
    choice = select(calibration.restricted([m.name for m in levels.drafts], databases))
    gains = choice.picked.gain_over(choice.plain) >= MIN_GAIN
    levels_of_choice = choice.picked.levels if gains else choice.plain.levels
    return Stack(levels_of_choice.bottom, (*levels_of_choice.drafts, levels.target))
