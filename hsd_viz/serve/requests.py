"""The body of a decode request, its limits, and the function that decodes it.

Visitors are not trusted: prompts, lengths and models are limited. A model is a name on the server's
list, never a path or a hub id.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, Field, create_model

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine.access import model_outside
from hsd_viz.engine.event_batches import batches
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError, visitor_message
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.settings.declare import fields_of
from hsd_viz.settings.ranges import Range
from hsd_viz.stack import TARGET, StackError
from hsd_viz.trace.events import to_record
from hsd_viz.trace.tables import RULES

Record = dict[str, Any]
#: A function that yields the events of a decode in batches. Closing the generator cancels the
#: decode.
Decode = Callable[[Record], AsyncGenerator[list[Record]]]


def error(message: str, *, retry: bool = False) -> Record:
    """Return the event that ends a decode with an error."""
    return {"event": "error", "message": message, "retry": retry}


def decode_with(engine: Engine) -> Decode:
    """Return a function that decodes requests with an engine.

    Requests are arguments of :meth:`hsd_viz.engine.Engine.decode`.
    """

    async def decode(request: Record) -> AsyncGenerator[list[Record]]:
        keywords = dict(request)
        prompt = keywords.pop("prompt", "")
        stack = keywords.pop("stack", TARGET)
        cancelled = threading.Event()
        running = batches(
            lambda: engine.events(prompt, stack, DecodingOptions.of(keywords)), cancelled
        )
        try:
            while (events := await asyncio.to_thread(next, running, None)) is not None:
                yield [to_record(event) for event in events]
        except UserError as invalid:
            yield [error(visitor_message(invalid, str(request)))]
        except Exception:
            logging.getLogger(__name__).exception("a decode failed")
            yield [error("the decode failed: the server's log has the cause")]
        finally:
            cancelled.set()

    return decode


def load_decode(options: EngineOptions) -> Decode:
    """Load and warm up an engine, and return the function that decodes with it."""
    from hsd_viz.engine.local import LocalEngine

    engine = LocalEngine.of(replace(options, allow_models=False))
    engine.run("def", max_new_tokens=1)
    engine.wait_ready()
    return decode_with(engine)


def _field_of(default: Any, allowed: Range | None) -> Any:
    """Return a pydantic field with a default and a range."""
    if allowed is None:
        return Field(default)
    if allowed.above_low:
        return Field(default, gt=allowed.low, le=allowed.high)
    return Field(default, ge=allowed.low, le=allowed.high)


def _setting_fields() -> dict[str, Any]:
    """Return the request fields for the decode settings, with their ranges."""
    fields: dict[str, Any] = {}
    for declared in fields_of(DecodingOptions):
        allowed = declared.setting.range
        if allowed is not None and declared.name == "max_new_tokens":
            # The operator's limit on tokens is checked later.
            allowed = replace(allowed, high=None)
        fields[declared.name] = (declared.type, _field_of(declared.default, allowed))
    return fields


#: The decode settings as a pydantic model; typed as ``Any``, because it is created at run time.
_Settings: Any = create_model("DecodeSettings", **_setting_fields())


class DecodeRequest(_Settings):
    """The body of ``POST /decode``: the arguments of :meth:`hsd_viz.engine.Engine.decode`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    prompt: str | list[int] | list[dict[str, str]]
    stack: str = Field(TARGET, max_length=500)
    family: str | None = None
    record: bool = True
    chat: bool = False

    def checked(self, settings: ServerSettings) -> Record:
        """Return the arguments of a decode.

        Raises:
            UserError: if the request exceeds a limit.
        """
        if self.family not in (None, settings.family):
            raise UserError(
                f"family: this server decodes the family {settings.family}, not {self.family!r}"
            )
        length = _length(self.prompt)
        if length > settings.prompt_characters:
            raise UserError(
                f"prompt: {length} is too long, the limit is {settings.prompt_characters}"
            )
        if self.max_new_tokens > settings.new_tokens:
            raise UserError(
                f"max_new_tokens: {self.max_new_tokens} is above the limit of {settings.new_tokens}"
            )
        try:
            other = model_outside(self.stack, settings.models)
        except StackError as invalid:
            raise UserError(f"stack: {invalid}") from None
        if other is not None:
            raise UserError(
                f"stack: the model {other!r} is not offered here: use {', '.join(settings.models)}"
            )
        if self.rule not in RULES:
            raise UserError(
                f"rule: unknown verification rule '{self.rule}' (use {', '.join(RULES)})"
            )
        return self.model_dump(exclude={"family"})


def _length(prompt: str | list[int] | list[dict[str, str]]) -> int:
    """Return the length of a prompt, in token ids if it is a list of them, else in characters."""
    length = len(prompt)
    for part in prompt:
        if isinstance(part, dict):
            length += sum(map(len, part.values()))
    return length
