"""Standard input of the commands, Ctrl-C, and the threads of torch, which some of them set."""

import os

import pytest
import torch

from hsd_viz.engine.local import LocalEngine


@pytest.fixture(autouse=True)
def torch_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def interrupt(monkeypatch):
    """Return a function that presses Ctrl-C before a decode, counted from 1 among those whose
    prompt starts with ``prompts``.
    """
    events = LocalEngine.events

    def press(number: int, prompts: str = "") -> None:
        started = []

        def events_until(self, prompt, stack, options):
            if not prompts or prompt.startswith(prompts):
                started.append(prompt)
                if len(started) == number:
                    raise KeyboardInterrupt
            return events(self, prompt, stack, options)

        monkeypatch.setattr(LocalEngine, "events", events_until)

    return press


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
