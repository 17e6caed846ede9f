"""Settings that the operator of a server chooses."""

from __future__ import annotations

from dataclasses import dataclass

from hsd_viz.models.families import DEFAULT, LEVELS


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Limits on the requests and the access of a server's visitors.

    Attributes:
        models: names of the models that stacks may contain.
        slots: number of concurrent decodes.
        queue: maximum number of waiting requests.
        prompt_characters: maximum length of a prompt, in characters or token ids.
        new_tokens: maximum number of new tokens per request.
        seconds: maximum duration of a decode, in seconds.
        token: the access token, or ``None`` to accept all visitors.
        family: name of the model family.
        hosts: accepted Host headers; ``*`` accepts any.
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
