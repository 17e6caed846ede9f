"""The messages of the page to its widget, as ``js/host/kernel.ts`` sends them: one class per kind,
whose fields are checked before anything is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from hsd_viz.decoding.options import decoding_settings
from hsd_viz.errors import UserError
from hsd_viz.settings.ranges import check_range
from hsd_viz.views.page_data import ABOUT

#: The fields of a request to decode that are options of a decode.
OPTIONS = (*decoding_settings(), "chat")
#: The most characters of a run's name and of a token's text that are kept of a parent.
MOST_TEXT = 200


class ParentRun(msgspec.Struct):
    """The run that a decode continues.

    Attributes:
        token: the number of the token that another one replaces.
        run: its name.
        text: the text of the other token.
    """

    token: int
    run: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the parent as the meta of a trace has it."""
        return {"run": self.run[:MOST_TEXT], "token": self.token, "text": self.text[:MOST_TEXT]}


class PageDecode(msgspec.Struct):
    """What a page asks to decode.

    Attributes:
        prompt: the prompt.
        stack: the stack as text.
        max_new_tokens: the token limit.
        target: the model 'target'.
        family: the family of the models.
        device: where the models run.
        dtype: the type of their weights.
        databases: the folder of the databases.
        beside_plain: whether plain runs follow, to compare with.
        options: the options of the decode, by name (:data:`OPTIONS`).
        parent: the run that it continues.
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
    """A message.

    Attributes:
        names: the names of the files that come with it.
    """

    names: list[str] | None = None


class ShowRecording(_Message, tag="recording"):
    """Show a recorded run.

    Attributes:
        name: of the recording.
    """

    name: str = ""


class OpenFile(_Message, tag="open"):
    """Open a file."""


class KnowsRun(_Message, tag="knows"):
    """Say whether a run is kept.

    Attributes:
        run: its name.
    """

    run: str = ""


class TakeRun(_Message, tag="take", kw_only=True):
    """Keep a run.

    Attributes:
        snapshot: the run, as :func:`hsd_viz.views.run_data.snapshot` made it.
    """

    snapshot: dict[str, Any]


class DecodePrompt(_Message, tag="decode"):
    """Decode a prompt.

    Attributes:
        request: what to decode (:func:`decode_request`).
    """

    request: Any = None


class _Question(_Message):
    """A question about a run.

    Attributes:
        about: what it asks for.
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
    """Return the library that draws figures."""


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
#: The kinds of messages.
KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(Message))


def read_message(content: Mapping[str, Any]) -> Message:
    """Return a message of the page.

    Raises:
        UserError: if it is not one.
    """
    kind = content.get("kind")
    if kind not in KINDS:
        raise UserError(f"the page knows no request {kind!r:.40}")
    try:
        return msgspec.convert(content, Message)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise UserError(f"the request is not valid: {error}") from None


def decode_request(request: Any) -> PageDecode:
    """Return the request of a decode.

    Raises:
        UserError: if it is not one, or above the limits.
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
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise UserError(f"the request is not valid: {error}") from None
