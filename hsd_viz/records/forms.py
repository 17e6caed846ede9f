"""The forms of records that can be read, with their engine, versions and source.

The reader of each engine declares its forms. The reference page *Forms of records* and the message
about a file without a record are generated from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["log line", "response", "metrics", "summary", "iteration"]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of records.

    Attributes:
        engine: the program that writes it.
        name: the name in messages.
        kind: the kind of text or data.
        seen_in: the versions against which the reader was checked.
        source: the address of a thread or source file that shows the form.
        sample: the beginning of the text, or the keys, that identify the form.
        reports: the reported figures.
    """

    engine: str
    name: str
    kind: Kind
    seen_in: str
    source: str
    sample: str
    reports: str


#: All forms, in the order in which the engines declare them.
FORMS: list[Form] = []


def declare(
    engine: str,
    name: str,
    kind: Kind,
    *,
    seen_in: str,
    source: str,
    sample: str,
    reports: str,
) -> Form:
    """Add a form to :data:`FORMS` and return it."""
    form = Form(engine, name, kind, seen_in, source, sample, reports)
    FORMS.append(form)
    return form


#: Order in which engines are listed; others follow.
ORDER = (
    "vllm",
    "sglang",
    "llama.cpp",
    "tensorrt-llm",
    "aiperf",
    "lm-studio",
    "mlx-vlm",
    "fastdeploy",
    "lmdeploy",
    "tokenspeed",
    "mlc-llm",
    "openai",
    "tgi",
)


def engines_with_forms() -> list[str]:
    """Return the engines that have forms, in the order of :data:`ORDER`."""
    names = dict.fromkeys(form.engine for form in FORMS)
    listed = [name for name in ORDER if name in names]
    return listed + [name for name in names if name not in ORDER]
