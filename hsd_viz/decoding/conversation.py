"""Checks of conversations: lists of messages with a role and a content, for chat templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hsd_viz.errors import PromptError

ROLES = ("system", "user", "assistant")


def check_conversation(messages: Any) -> list[dict[str, str]]:
    """Check a conversation, which ends with a message of the user, and return it as a list.

    Raises:
        PromptError: if it is not a valid conversation.
    """
    if not isinstance(messages, list | tuple) or not messages:
        raise PromptError("a conversation is a list of messages with role and content")
    for message in messages:
        if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
            raise PromptError(f"a message has a role and a content, not {str(message)!r:.80}")
        if message["role"] not in ROLES:
            raise PromptError(
                f"the role of a message is {message['role']!r:.40}: expected {', '.join(ROLES)}"
            )
        if not isinstance(message["content"], str):
            raise PromptError(f"the content of a message is text, not {message['content']!r:.40}")
        check_unicode(message["content"])
    if messages[-1]["role"] != "user":
        raise PromptError("the last message of a conversation is the user's")
    return [dict(message) for message in messages]


def check_unicode(text: str) -> None:
    """Raise ``PromptError`` if a prompt is not valid Unicode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PromptError("the prompt contains a lone surrogate and is not valid Unicode") from None


def roles_of(messages: list[dict[str, str]]) -> str:
    """Return the roles of a conversation in order, as text for an error message."""
    roles = [message["role"] for message in messages]
    if len(roles) > 6:
        roles = [*roles[:6], "…"]
    return ", ".join(roles)
