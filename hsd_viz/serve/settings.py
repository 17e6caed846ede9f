"""What the operator of a server decides."""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.models.families import DEFAULT, LEVELS


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What visitors of a server may do.

    Attributes:
        models: the models that stacks may name.
        slots: decodes that run at a time.
        queue: requests that may wait.
        prompt_characters: the longest prompt, in characters or tokens.
        new_tokens: the most tokens of a request.
        seconds: the longest decode.
        token: the access token; ``None``: all visitors are accepted.
        family: the family of the models.
        hosts: accepted Host headers; ``*``: any.
    """

    models: tuple[str, ...] = LEVELS
    slots: int = 1
    queue: int = 64
    prompt_characters: int = 20_000
    new_tokens: int = 1024
    seconds: float = 300.0
    token: str | None = None
    family: str = DEFAULT
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")


DEFAULTS = ServerSettings()
