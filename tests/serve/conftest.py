"""An engine of the shipped models, and a service over it."""

import pytest

from hsd_viz.engine.local import load_engine
from hsd_viz.serve.requests import decode_with
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
