"""The messages that ``js/host/kernel.ts`` sends from the page to its widget. Each kind is a class
whose fields are validated before the message is handled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.errors import UserError
from hsd_viz.settings.declare import settings_of
from hsd_viz.settings.ranges import check_range
from hsd_viz.views.page_data import ABOUT

#: Names of the fields of a decode request that are options of the decode.
OPTIONS = (*settings_of(DecodingOptions), "chat")
#: Maximum length of a parent's run name and token text, in characters; longer ones are cut.
MAX_TEXT = 200


class ParentRun(msgspec.Struct):
    """The run that a decode continues.

    Attributes:
        token: the output position at which another token is decoded.
        run: the name of the continued run.
        text: the text of the other token.
    """

    token: int
    run: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the parent in the form of the meta of a trace."""
        return {"run": self.run[:MAX_TEXT], "token": self.token, "text": self.text[:MAX_TEXT]}


class PageDecode(msgspec.Struct):
    """A decode request of the page.

    Attributes:
        prompt: the prompt.
        stack: the stack as text.
        max_new_tokens: the maximum number of tokens.
        target: the model that ``target`` denotes.
        family: the family of the models.
        device: the device of the models.
        dtype: the number type of the weights.
        databases: the folder of the databases.
        beside_plain: whether plain decoding follows, to measure the speed-up.
        options: the options of the decode, by name (:data:`OPTIONS`).
        parent: the run that this one continues.
    """

    prompt: str
    stack: str
    max_new_tokens: int
    target: str | None = None
    family: str | None = None
    device: str | None = None
    dtype: str | None = None
    databases: str | None = None
    beside_plain: bool | None = None
    options: dict[str, Any] = {}
    parent: ParentRun | None = None


class _Message(msgspec.Struct, tag_field="kind", kw_only=True):
    """A message of the page.

    Attributes:
        names: the names of the attached files.
    """

    names: list[str] | None = None


class ShowRecording(_Message, tag="recording"):
    """Show a recorded run.

    Attributes:
        name: the name of the recording.
    """

    name: str = ""


class OpenFile(_Message, tag="open"):
    """Open a file."""


class KnowsRun(_Message, tag="knows"):
    """Report whether a run is kept.

    Attributes:
        run: the name of the run.
    """

    run: str = ""


class TakeRun(_Message, tag="take", kw_only=True):
    """Keep a run.

    Attributes:
        snapshot: the run in the form of :func:`hsd_viz.views.run_data.snapshot`.
    """

    snapshot: dict[str, Any]


class DecodePrompt(_Message, tag="decode"):
    """Decode a prompt.

    Attributes:
        request: the decode request, which :func:`decode_request` validates.
    """

    request: Any = None


class _Question(_Message):
    """A question about a run.

    Attributes:
        about: the topic.
        run: the name of the run.
        options: the settings of the question.
    """

    about: str = ""
    run: str = ""
    options: dict[str, Any] | None = None


class AskQuestion(_Question, tag="ask"):
    """Answer a question."""


class SaveFile(_Question, tag="file"):
    """Return a file to save."""


class LoadPlotly(_Message, tag="plotly"):
    """Return the plotly library."""


Message = (
    ShowRecording
    | OpenFile
    | KnowsRun
    | TakeRun
    | DecodePrompt
    | AskQuestion
    | SaveFile
    | LoadPlotly
)
#: Names of the kinds of messages.
KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(Message))


def read_message(content: Mapping[str, Any]) -> Message:
    """Validate a message of the page.

    Raises:
        UserError: if it is invalid.
    """
    kind = content.get("kind")
    if kind not in KINDS:
        raise UserError(f"the page knows no request {kind!r:.40}")
    try:
        return msgspec.convert(content, Message)
    except OF_ANOTHER_TYPE as error:
        raise UserError(f"the request is not valid: {error}") from None


def decode_request(request: Any) -> PageDecode:
    """Validate a decode request.

    Raises:
        UserError: if it is invalid or exceeds the limits.
    """
    limits = ABOUT["limits"]
    if not isinstance(request, dict):
        raise UserError("the request has no settings of a decode")
    for name in ("prompt", "stack"):
        if not isinstance(request.get(name), str):
            raise UserError(f"the {name} is {request.get(name)!r:.40}: expected a text")
    if len(request["prompt"]) > limits["prompt"]:
        raise UserError(f"a page decodes prompts of up to {limits['prompt']} characters")
    check_range("max_new_tokens", request.get("max_new_tokens"), 1, limits["tokens"])
    parent = request.get("parent")
    if parent is not None and not (
        isinstance(parent, dict) and isinstance(parent.get("token"), int)
    ):
        raise UserError(f"the parent is {parent!r:.40}: expected a run and the number of a token")
    options = {name: request[name] for name in OPTIONS if name in request}
    try:
        return msgspec.convert({**request, "options": options}, PageDecode)
    except OF_ANOTHER_TYPE as error:
        raise UserError(f"the request is not valid: {error}") from None
