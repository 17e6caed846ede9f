"""Standard input of the commands, and the threads of torch, which some of them set."""

import os

import pytest
import torch


@pytest.fixture(autouse=True)
def torch_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def stdin(tmp_path):
    """Return a function that puts bytes on standard input."""
    before = os.dup(0)

    def put(content: bytes) -> None:
        (tmp_path / "stdin").write_bytes(content)
        file = os.open(tmp_path / "stdin", os.O_RDONLY)
        os.dup2(file, 0)
        os.close(file)

    yield put
    os.dup2(before, 0)
    os.close(before)
