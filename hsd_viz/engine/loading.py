"""Loading weights with progress reports and cancellation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from transformers.utils import logging as hf_logging

T = TypeVar("T")
Report = Callable[[int, int], None]

_EVERY = 0.1
_hook_lock = threading.Lock()


class _Stopped(BaseException):
    """The loading was cancelled. A BaseException, so that no library in between handles it as an error of its own."""


class _Bar:
    """Replaces the progress bar that transformers iterates over."""

    def __init__(self, items: Iterable[Any], total: int, report: Report) -> None:
        self._items, self._total, self._report = items, total, report

    def __iter__(self) -> Iterator[Any]:
        for done, item in enumerate(self._items):
            self._report(done, self._total)
            yield item
        self._report(self._total, self._total)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


@contextmanager
def reported(report: Report) -> Iterator[None]:
    """Call ``report(tensors done, tensors in all)`` while transformers fills a model in this thread. Versions of
    transformers without a hook for their progress bars report nothing.
    """
    if not hasattr(hf_logging, "set_tqdm_hook"):
        yield
        return
    me, before = threading.get_ident(), None

    def hook(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if threading.get_ident() == me and args and hasattr(args[0], "__len__"):
            return _Bar(args[0], len(args[0]), report)
        return factory(*args, **kwargs) if before is None else before(factory, args, kwargs)

    # There is one hook in the process: two engines that load at once take turns.
    with _hook_lock:
        before = hf_logging.set_tqdm_hook(hook)
        try:
            yield
        finally:
            hf_logging.set_tqdm_hook(before)


def with_progress(work: Callable[[Report], T]) -> Generator[tuple[int, int], None, T]:
    """Run ``work(report)`` in a thread; yields (done, total) meanwhile, returns its result, raises its exception.
    Closing the generator stops the work at its next ``report``.
    """
    future: Future[T] = Future()
    stop, share = threading.Event(), [(0, 0)]

    def report(done: int, total: int) -> None:
        if stop.is_set():
            raise _Stopped
        share[0] = done, total

    def run() -> None:
        try:
            future.set_result(work(report))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, name="loading", daemon=True)
    thread.start()
    try:
        last = share[0]
        while not wait([future], _EVERY).done:
            if share[0] != last:
                last = share[0]
                yield last
    finally:
        stop.set()
        thread.join(_EVERY)
    return future.result()
