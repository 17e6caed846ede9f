"""For every test, before anything imports torch: one thread (small models gain nothing from more)
and no network.

Inductor compiles in the test's process, because its helpers would each import torch first, and
without vectors. That holds for all tests of a process: with headers that it prepared without them,
kernels with vectors do not compile.

jsonschema finds no grammars of international addresses, which are built when they are imported.
"""

import gc
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")

import pytest
from hypothesis import HealthCheck, settings

sys.modules["rfc3987_syntax"] = None
# On a busy machine tests take longer. Continuous integration tries the same examples each time.
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("busy")


@pytest.fixture(scope="module")
def engine():
    """The shipped models on one thread."""
    from hsd_viz.engine.local import load_engine

    return load_engine(device="cpu", threads=1)


@pytest.fixture
def cli(capsys):
    """A function that runs a command and returns what it prints; of one that must fail with exit
    code 2 its one line.
    """
    from hsd_viz.cli import main

    def run(*words: object, code: int = 0) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        out, err = capsys.readouterr()
        if code == 0:
            return out
        assert out == "", err
        assert err.count("\n") == 1, err
        assert err.endswith("\n"), err
        assert "Traceback" not in err, err
        return err

    return run


def pytest_collection_modifyitems(items):
    """Chromium last, because its event loop stays; pages of lessons first, so that one worker runs
    the lessons for them and for the exercises.
    """

    def place(item):
        is_browser = item.get_closest_marker("browser") is not None
        return is_browser, "run_once" not in item.fixturenames

    items.sort(key=place)


def pytest_collection_finish():
    """Leave what the modules of all tests hold, a million objects, out of garbage collections:
    each of many tests collects garbage, some before every decode.
    """
    gc.collect()
    gc.freeze()
