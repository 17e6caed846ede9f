"""Give inputs to a door and name how each ended."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hsd_viz.errors import UserError
from tools.attack.door import Door
from tools.attack.model_doors import (
    configs,
    database_files,
    gguf_files,
    safetensors_files,
    tokenizer_files,
)
from tools.attack.server_doors import http_requests, page_messages
from tools.attack.traffic_doors import logs, plans, records, trace_commands, trace_files

#: The most seconds for one door.
SECONDS = 240


DOORS: dict[str, Callable[[Path], Door]] = {
    "trace files": trace_files,
    "trace commands": trace_commands,
    "database files": database_files,
    "tokenizer files": tokenizer_files,
    "logs": logs,
    "records": records,
    "plans and profiles": plans,
    "config.json": configs,
    "safetensors": safetensors_files,
    "GGUF files": gguf_files,
    "HTTP requests": http_requests,
    "page messages": page_messages,
}


def outcome(door: Door, content: bytes) -> tuple[str, str]:
    """Return how an attempt ended, and the error of a fault."""
    try:
        door.attempt(content)
    except UserError as refused:
        message = str(refused).strip()
        if "\n" in message:
            return "uncaught", f"a message of lines: {message[:200]}"
        return "refused", ""
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # a panic of a library is one, too
        return "uncaught", f"{type(fault).__name__}: {str(fault)[:400]}"
    return "opened", ""


def attack(
    name: str, count: int, seed: int = 0, seconds: float = SECONDS, only: int | None = None
) -> Iterator[tuple[int, str, str]]:
    """Yield number, outcome and error of the inputs of a door, until ``seconds`` have passed."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="hsd-viz-attack-") as folder:
        door = DOORS[name](Path(folder))
        for number in range(count) if only is None else [only]:
            chance = random.Random(f"{name} {seed} {number}")
            yield number, *outcome(door, door.make(chance))
            if time.monotonic() > until:
                return
