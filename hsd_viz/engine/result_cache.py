"""A cache of what an engine computes from the files of models, so that each result is made once.

Names with the same files share results. A copy of a model shares those of the model, except results
that depend on its weights.
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


class ResultKind(Enum):
    """The kinds of results that are made from models."""

    FILES = auto()
    CHECKPOINT = auto()
    MODULE = auto()
    TEXT = auto()
    HASH = auto()
    #: A model or a copy, in the fastest runtime.
    PICKED = auto()
    #: The difference between the tokenizers of two models.
    DIFFERENCE = auto()
    #: The tokens with the same ids in two models.
    SHARED = auto()
    #: A draft model that reads the target's ids.
    AGREEING = auto()
    TRANSLATOR = auto()


class _Entry:
    """The place of a result.

    Attributes:
        lock: a lock that is held while the result is made.
        is_made: whether the result was made.
        result: the result, once it was made.
    """

    __slots__ = ("is_made", "lock", "result")

    def __init__(self) -> None:
        # A result may be made of others, so that a thread holds several locks. A kind of results is
        # made of other kinds only, and never in a circle.
        self.lock = threading.Lock()
        self.is_made = False
        self.result: Any = None


class ResultCache:
    """The results of an engine by kind and files. Safe for several threads.

    While a result is made, a thread waits only if it needs this result.
    """

    def __init__(self) -> None:
        self._entries: dict[Key, _Entry] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], T]) -> T:
        """Return the result of a key, calling ``make`` if it is missing."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            if not entry.is_made:
                entry.result = make()
                entry.is_made = True
            return entry.result

    def __contains__(self, key: Key) -> bool:
        with self._lock:
            return key in self._entries and self._entries[key].is_made

    def clear(self) -> None:
        """Remove all results. One that is being made is not kept."""
        with self._lock:
            self._entries = {}


class HasResults(Protocol):
    """An object whose methods are decorated with :func:`once`."""

    @property
    def results(self) -> ResultCache: ...

    def location(self, name: str) -> str:
        """Return the folder, the GGUF file or the hub id of a model."""
        ...


def key_of(owner: HasResults, kind: ResultKind, *names: str) -> Key:
    """Return the key of a result: its kind, and the files and copy type of each model.

    Raises:
        UserError: if a name is not a model, or is not allowed here.
    """
    key: list[Any] = [kind]
    for name in names:
        key += [owner.location(name), split_copy(name)[1]]
    return tuple(key)


def once(
    kind: ResultKind, *, of_copies: bool = False
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a method whose arguments are names of models, to cache its result by their files.

    A copy shares the result of its model, or with ``of_copies`` has a result of its own.
    """

    def decorate(make: Callable[..., T]) -> Callable[..., T]:
        @functools.wraps(make)
        def cached(self: HasResults, *names: str) -> T:
            if not of_copies:
                names = tuple(split_copy(name)[0] for name in names)
            return self.results.get(key_of(self, kind, *names), lambda: make(self, *names))

        return cached

    return decorate
