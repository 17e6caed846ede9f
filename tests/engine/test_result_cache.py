"""Test the cache of what an engine computes from files of models, with several threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hsd_viz.engine.result_cache import ResultCache, ResultKind

MODULE = (ResultKind.MODULE, "target")
TOKENIZER = (ResultKind.TEXT, "nano")


class Loading:
    """A result that is made once a test allows it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.allowed = threading.Event()
        self.times = 0

    def make(self) -> str:
        self.times += 1
        self.begun.set()
        assert self.allowed.wait(60)
        return "loaded"


@pytest.fixture
def loading():
    loading = Loading()
    yield loading
    loading.allowed.set()


@pytest.fixture
def threads():
    with ThreadPoolExecutor() as threads:
        yield threads


def test_other_results_are_found_while_one_is_made(threads, loading):
    cache = ResultCache()
    loaded = threads.submit(cache.get, MODULE, loading.make)
    assert loading.begun.wait(60)
    read = threads.submit(cache.get, TOKENIZER, lambda: "read")
    try:
        assert read.result(10) == "read"
        assert TOKENIZER in cache
        assert MODULE not in cache
    finally:
        loading.allowed.set()
    assert loaded.result(60) == "loaded"


def test_a_result_that_several_threads_need_is_made_once(threads, loading):
    cache = ResultCache()
    first = threads.submit(cache.get, MODULE, loading.make)
    assert loading.begun.wait(60)
    second = threads.submit(cache.get, MODULE, loading.make)
    loading.allowed.set()
    assert first.result(60) is second.result(60)
    assert loading.times == 1


def test_a_result_that_could_not_be_made_is_made_again():
    cache = ResultCache()

    def fail():
        raise OSError("the disk is away")

    with pytest.raises(OSError, match="the disk is away"):
        cache.get(MODULE, fail)
    assert MODULE not in cache
    assert cache.get(MODULE, lambda: "loaded") == "loaded"


def test_a_result_that_is_made_while_all_are_removed_is_not_kept(threads, loading):
    cache = ResultCache()
    loaded = threads.submit(cache.get, MODULE, loading.make)
    assert loading.begun.wait(60)
    cache.clear()
    loading.allowed.set()
    assert loaded.result(60) == "loaded"
    assert MODULE not in cache
