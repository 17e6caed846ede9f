"""The forms of records that are read: what wrote them, the version they were seen in, the source.

Every reader of an engine declares its forms here. The reference page *Forms of records* and the
message about a file without a record are made from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["log line", "response", "metrics", "summary", "iteration"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a record.

    Attributes:
        engine: the program that writes it.
        name: what it is called in messages.
        kind: how it is written.
        seen_in: the versions whose text was compared with the reader.
        source: the address of the thread or the source file that shows it.
        sample: the start of the text, or the keys, by which it is recognized.
        reports: what it reports.
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


#: The order in which engines are listed; others follow.
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
