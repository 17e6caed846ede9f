"""The model that decodes in the lessons: SmolLM2, or the code family where SmolLM2 is not
installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Unpack

from hsd_viz.decoding.engine import Engine, trace_of_events
from hsd_viz.decoding.keywords import DecodingKeywords
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine.local import load_engine
from hsd_viz.errors import UserError
from hsd_viz.models.families import CODE, FAMILIES, SMOLLM2, Family
from hsd_viz.names.hints import did_you_mean
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import TARGET
from hsd_viz.trace import Trace


@dataclass(frozen=True, slots=True)
class LiveModel:
    """A model of this machine with its prompts. Weights are 8-bit integers: counts and texts are
    the same everywhere.

    Attributes:
        engine: what decodes.
        family: the family of its models.
        prompts: kind of text -> prompts: of SmolLM2 questions in English, of the code family
            beginnings of Python.
    """

    engine: Engine
    family: Family
    prompts: dict[str, list[str]]

    @property
    def kinds(self) -> list[str]:
        """The six kinds of text."""
        return list(self.prompts)

    def prompt(self, kind: str, n: int = 0) -> str:
        """Return the prompt ``n`` of a kind.

        Raises:
            UserError: if there is none.
        """
        if kind not in self.prompts:
            kinds = ", ".join(self.prompts)
            raise UserError(
                f"unknown kind {kind!r}: the prompts of {self.family.name} are of the kinds "
                f"{kinds}{did_you_mean(kind, self.prompts)}"
            )
        prompts = self.prompts[kind]
        if n not in range(len(prompts)):
            raise UserError(f"{kind} has prompts 0 to {len(prompts) - 1}, not {n!r}")
        return prompts[n]

    def run(
        self, kind: str, stack: str = TARGET, n: int = 0, **options: Unpack[DecodingKeywords]
    ) -> Trace:
        """Decode the prompt ``n`` of a kind with a stack, and return the trace."""
        options["chat"] = self.family.is_chat
        decoding = DecodingOptions.of(options)
        return trace_of_events(self.engine.events(self.prompt(kind, n), stack, decoding))


def live_model() -> LiveModel:
    """Return SmolLM2, or the code family where SmolLM2 is not installed; print which, and what
    installs it.
    """
    family = SMOLLM2
    try:
        family.path(family.names[-1])
    except UserError as missing:
        print(f"{missing}, then restart the kernel.")
        family = CODE
    print(f"Decoding with {family.name}: {family.title}.")
    return _load(family.name)


@cache
def _load(family: str) -> LiveModel:
    engine = load_engine(family=family, dtype="int8", threads=1)
    prompts: dict[str, list[str]] = {}
    for prompt in load_suite(FAMILIES[family].suite).prompts:
        prompts.setdefault(prompt.category, []).append(prompt.text)
    return LiveModel(engine, FAMILIES[family], prompts)
