"""Loading weights while somebody watches: how many tensors are there already, and a way to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from transformers.utils import logging as hf_logging

T = TypeVar("T")
Tell = Callable[[int, int], None]

_EVERY = 0.1
_hook_lock = threading.Lock()


class _Stopped(BaseException):
    """Nobody waits for these weights any more; no library on the way may take it for an error of its own."""


class _Bar:
    """What transformers iterates over in place of its progress bar."""

    def __init__(self, items: Iterable[Any], total: int, tell: Tell) -> None:
        self._items, self._total, self._tell = items, total, tell

    def __iter__(self) -> Iterator[Any]:
        for done, item in enumerate(self._items):
            self._tell(done, self._total)
            yield item
        self._tell(self._total, self._total)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


@contextmanager
def told(tell: Tell) -> Iterator[None]:
    """Within it ``tell(tensors done, tensors in all)`` is called as transformers fills a model in this thread.

    Versions of transformers without a hook for their bars tell nothing.
    """
    if not hasattr(hf_logging, "set_tqdm_hook"):
        yield
        return
    me, before = threading.get_ident(), None

    def hook(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if threading.get_ident() == me and args and hasattr(args[0], "__len__"):
            return _Bar(args[0], len(args[0]), tell)
        return factory(*args, **kwargs) if before is None else before(factory, args, kwargs)

    # There is one hook in the process: two engines that load at once take turns.
    with _hook_lock:
        before = hf_logging.set_tqdm_hook(hook)
        try:
            yield
        finally:
            hf_logging.set_tqdm_hook(before)


def watched(work: Callable[[Tell], T]) -> Generator[tuple[int, int], None, T]:
    """Run ``work(tell)`` in a thread of its own; yields (done, total) as it goes, returns what it returned, raises what it raised.

    Closing the generator stops the work at its next ``tell``.
    """
    finished, stop = threading.Event(), threading.Event()
    share: list[tuple[int, int]] = []
    results: list[T] = []
    errors: list[BaseException] = []

    def tell(done: int, total: int) -> None:
        if stop.is_set():
            raise _Stopped
        share[:] = [(done, total)]

    def run() -> None:
        try:
            results.append(work(tell))
        except BaseException as error:
            errors.append(error)
        finally:
            finished.set()

    thread = threading.Thread(target=run, name="loading", daemon=True)
    thread.start()
    try:
        last = None
        while not finished.wait(_EVERY):
            if share and share[0] != last:
                last = share[0]
                yield last
    finally:
        stop.set()
        thread.join(_EVERY)
    if errors:
        raise errors[0]
    return results[0]
