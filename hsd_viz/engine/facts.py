"""The facts about a decode that its trace keeps."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.verify import RULES, rule_words
from hsd_viz.machine import cpu_model
from hsd_viz.machine import threads as threads_now
from hsd_viz.stack import Lookahead, Stack
from hsd_viz.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFacts:
    """A model of the stack.

    Attributes:
        level: its place, 0 for the lowest part.
        name: its name as a level; ``target`` for the last one.
        model: its name.
        lookahead: the tokens that it proposes; ``None`` for the target.
        confidence: below which its drafts stop; ``None``: they do not.
        parameters: how many it has.
        weights: the hash of its weights; ``None``: not known.
        runtime: what runs its forward passes.
        bridge: how it drafts with another vocabulary than the target's; ``None``: it has the
            target's.
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data, without what does not apply."""
        data = asdict(self)
        for name in ("confidence", "bridge"):
            if data[name] is None:
                del data[name]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFacts:
    """What decodes, and how.

    Attributes:
        family: the family of the engine.
        written: the stack as it was given.
        stack: the stack as decoded.
        levels: its models, the target last.
        device: where they run.
        dtype: the type of the target's weights.
        sampling: how tokens are drawn.
        chat: whether the prompt is the turn of a user.
        max_new_tokens: the most tokens of the output.
        databases: a folder in place of the family's; ``None``: the family's.
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data, with the time and what is installed here."""
        data = {
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
            "sampling": asdict(self.sampling),
        }
        rule = self.sampling.rule
        if rule not in RULES:
            # A rule of another package speaks for itself: nothing here has checked it.
            data["rule_words"] = rule_words(rule)
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
    """Return the versions of this package, of the libraries that are in use, and of Python."""
    versions = {"hsd_viz": __version__}
    for name in ("torch", "transformers"):
        module: Any = sys.modules.get(name)
        if module is not None:
            versions[name] = module.__version__
    versions["python"] = platform.python_version()
    return versions
