"""Progress of work that decodes many prompts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` decodes are finished; the next one is ``stack`` on ``prompt`` (empty during warm-up).

    ``note`` names the work before the first measured decode: compiling, trying settings.
    """

    done: int
    total: int
    stack: str
    prompt: str
    note: str = ""
