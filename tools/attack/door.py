"""A door: a way by which data of strangers enters, with its inputs."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError

#: Does something with an input. A UserError refuses it; any other exception is a fault.
Attempt = Callable[[bytes], Any]


class Door:
    """A way in.

    Attributes:
        make: Returns an input for a random number generator.
        attempt: Gives it to the door.
    """

    def __init__(self, make: Callable[[random.Random], bytes], attempt: Attempt) -> None:
        self.make = make
        self.attempt = attempt


def command(folder: Path, name: str, *words: str) -> Attempt:
    """Return the attempt of a command; FILE among its words is the input, a file of this name."""

    def attempt(content: bytes) -> None:
        from hsd_viz.cli import main

        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        output = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(output):
            code = main([word.replace("FILE", str(path)) for word in words])
        message = output.getvalue()
        if code == 2 and message.count("\n") == 1 and "Traceback" not in message:
            raise UserError(message)
        if code != 0:
            raise RuntimeError(f"exit code {code}: {message[-300:]}")

    return attempt
