"""An engine of the shipped models, a service over it, and requests that have time."""

from functools import partial

import httpx
import pytest

from hsd_viz.engine.local import load_engine
from hsd_viz.serve.requests import decode_with
from tests.patience import PATIENCE
from tests.serve.serving import serving


@pytest.fixture(scope="session")
def engine():
    engine = load_engine(threads=1)
    engine.run("x", max_new_tokens=1)
    engine.wait_ready()
    return engine


@pytest.fixture(scope="module")
def address(engine):
    with serving(decode_with(engine)) as address:
        yield address


@pytest.fixture(autouse=True)
def requests_have_time(monkeypatch):
    """Let requests wait for their answer; by default they give up after five seconds."""
    for name in ("get", "post", "request"):
        monkeypatch.setattr(httpx, name, partial(getattr(httpx, name), timeout=PATIENCE))
