"""Progress of work that decodes many prompts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """``done`` of ``total`` decodes are over; the next one is ``stack`` on ``prompt`` (empty during warm-up).

    ``note`` says what is done instead, before anything is measured: compiling, trying settings.
    """

    done: int
    total: int
    stack: str
    prompt: str
    note: str = ""
