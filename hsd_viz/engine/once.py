"""What is made of the files of models, each once for an engine.

Names of the same files have the same results. A copy of a model has those of the model, but for
what is made of its weights.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Protocol, TypeVar

from hsd_viz.stack import split_copy

T = TypeVar("T")
Key = tuple[Any, ...]


class Made(Enum):
    """What is made of models."""

    FILES = auto()
    CHECKPOINT = auto()
    MODULE = auto()
    TEXT = auto()
    HASH = auto()
    #: A model, or a copy of it, in the fastest runtime.
    PICKED = auto()
    #: How the tokenizers of two models differ.
    DIFFERENCE = auto()
    #: The tokens with the same ids in two models, and a draft model that reads them.
    SHARED = auto()
    AGREEING = auto()
    TRANSLATOR = auto()


class Results:
    """The results of an engine by what they are and of which files. Safe for several threads."""

    def __init__(self) -> None:
        self._made: dict[Key, Any] = {}
        self._lock = threading.RLock()

    def get(self, key: Key, make: Callable[[], T]) -> T:
        """Return the result of a key, which is made if it is not there."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def __contains__(self, key: Key) -> bool:
        return key in self._made

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._made.clear()


class HasResults(Protocol):
    """An object whose methods make results."""

    @property
    def results(self) -> Results: ...

    def where(self, name: str) -> str:
        """Return the files of a model."""
        ...


def key_of(owner: HasResults, kind: Made, *names: str) -> Key:
    """Return the key of what is made of models: its kind, their files and the types of copies.

    Raises:
        UserError: if a name is not a model, or is not allowed here.
    """
    key: list[Any] = [kind]
    for name in names:
        key += [owner.where(name), split_copy(name)[1]]
    return tuple(key)


def once(kind: Made, *, of_copies: bool = False) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Have what a method makes of models made once for their files.

    A copy has the result of its model; with ``of_copies`` it has its own.
    """

    def decorate(make: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(make)
        def made(self: HasResults, *names: str) -> T:
            if not of_copies:
                names = tuple(split_copy(name)[0] for name in names)
            return self.results.get(key_of(self, kind, *names), lambda: make(self, *names))

        return made

    return decorate
