"""The facts about a decode that its trace records."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, cast

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.verify import RULES, rule_description
from hsd_viz.machine import cpu_model
from hsd_viz.machine import threads as threads_now
from hsd_viz.stack import Lookahead, Stack
from hsd_viz.trace.meta import ModelMeta, SamplingMeta, TraceMeta
from hsd_viz.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFacts:
    """The facts about a model of the stack.

    Attributes:
        level: the index of the level, 0 for the lowest part of the stack.
        name: the name of the level; ``target`` for the last one.
        model: the name of the model.
        lookahead: the number of tokens that it proposes; ``None`` for the target.
        confidence: the probability below which its drafts stop; ``None`` if they never do.
        parameters: the number of parameters.
        weights: the hash of its weights; ``None`` if it is not known.
        runtime: the runtime of its forward passes.
        bridge: the facts about the bridge between its vocabulary and the target's; ``None`` if it
            has the target's vocabulary.
    """

    level: int
    name: str
    model: str
    lookahead: Lookahead
    confidence: float | None
    parameters: int
    weights: str | None
    runtime: str
    bridge: dict[str, int | str] | None

    def to_dict(self) -> ModelMeta:
        """Return the facts as JSON data, without those that do not apply."""
        data = asdict(self)
        for name in ("confidence", "bridge"):
            if data[name] is None:
                del data[name]
        return cast("ModelMeta", data)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFacts:
    """The facts about a decode.

    Attributes:
        family: the name of the engine's family.
        written: the text of the stack as requested.
        stack: the stack as decoded.
        levels: the models of the stack, the target last.
        device: the device on which the models run.
        dtype: the number type of the target's weights.
        sampling: the sampling settings.
        chat: whether the prompt is passed as a user turn.
        max_new_tokens: the largest number of tokens in the output.
        databases: the folder of databases in place of the family's; ``None`` for the family's own.
    """

    family: str
    written: str
    stack: Stack
    levels: tuple[LevelFacts, ...]
    device: str
    dtype: str
    sampling: Sampling
    chat: bool
    max_new_tokens: int
    databases: str | None

    @property
    def runtime(self) -> str:
        """The runtimes of the models, the target's first."""
        runtimes = [level.runtime for level in reversed(self.levels)]
        return " + ".join(dict.fromkeys(runtimes))

    def to_dict(self) -> TraceMeta:
        """Return the facts as JSON data, with the time, the machine and installed versions."""
        data: TraceMeta = {
            "family": self.family,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "stack": self.written,
            "stack_resolved": str(self.stack),
            "bottom": self.stack.source,
            "models": [level.to_dict() for level in self.levels],
            "device": self.device,
            "device_name": device_name(self.device),
            "dtype": self.dtype,
            "threads": threads_now(),
            "runtime": self.runtime,
            "sampling": cast("SamplingMeta", asdict(self.sampling)),
        }
        rule = self.sampling.rule
        if rule not in RULES:
            # A rule of another package is unchecked, so the trace quotes its own description.
            data["rule_words"] = rule_description(rule)
        data["chat"] = self.chat
        data["max_new_tokens"] = self.max_new_tokens
        data["versions"] = _versions()
        if self.databases is not None:
            data["databases"] = self.databases
        return data


def device_name(device: str) -> str | None:
    """Return the name of the processor or the GPU."""
    if device == "cpu":
        return cpu_model()
    torch: Any = sys.modules["torch"]
    return torch.cuda.get_device_name(device)


def _versions() -> dict[str, str]:
    """Return the versions of this package, of the imported libraries, and of Python."""
    versions = {"hsd_viz": __version__}
    for name in ("torch", "transformers"):
        module: Any = sys.modules.get(name)
        if module is not None:
            versions[name] = module.__version__
    versions["python"] = platform.python_version()
    return versions
