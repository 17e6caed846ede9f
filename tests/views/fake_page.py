"""A page without a browser, over an engine that decodes to the trace made for tests."""

from __future__ import annotations

import json
import threading

from hsd_viz.trace import Finished, Stage, Started, Trace
from hsd_viz.views.app.dashboard import App
from tests.patience import PATIENCE
from tests.views.make_trace import META, STEPS

REQUEST = {
    "prompt": "def f",
    "stack": "db > target",
    "max_new_tokens": 4,
    "temperature": 0.8,
    "seed": 7,
    "rule": "token",
}


class Engine:
    """Decodes to the trace made for tests, waiting for ``go`` between its steps."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = []
        self.closed = threading.Event()
        self.error = None
        self.go.set()

    def events(self, prompt, stack, options):
        self.asked.append((prompt, stack, options))
        trace = Trace(dict(META))
        try:
            yield Stage("loading")
            yield Started(trace.meta, {1: "def"})
            for step in STEPS:
                self.go.wait(PATIENCE)
                trace.append(step)
                yield step
                if self.error:
                    raise self.error
            yield Finished(trace)
        finally:
            self.closed.set()


class Page:
    """A page and what its browser would hear."""

    def __init__(self, monkeypatch, *, loads_its_engine: bool = False) -> None:
        self.engine = Engine()
        self.app = App(None if loads_its_engine else self.engine)
        self.heard: list[tuple[dict, list]] = []
        self.news = threading.Condition()
        monkeypatch.setattr(self.app, "send", self._hear)

    def _hear(self, content, buffers=None):
        json.dumps(content, allow_nan=False, ensure_ascii=False).encode()  # as a kernel sends it
        with self.news:
            self.heard.append((content, buffers or []))
            self.news.notify_all()

    def send(self, kind: str, files=(), key: str = "1", **content) -> None:
        self.post({"id": key, "kind": kind, **content}, files)

    def post(self, message: dict, files=()) -> None:
        """Send a message of the browser with its files."""
        names = [name for name, _ in files]
        contents = [memoryview(content) for _, content in files]
        self.app._on_message(None, {"names": names, **message}, contents)

    def wait(self, kind: str, key: str = "1") -> tuple[dict, list]:
        def answers():
            return [h for h in self.heard if h[0]["kind"] == kind and h[0]["id"] == key]

        with self.news:
            assert self.news.wait_for(answers, timeout=PATIENCE), [h[0]["kind"] for h in self.heard]
            return answers()[-1]

    def ask(self, kind: str, files=(), **content) -> tuple[dict, list]:
        """Send a request and return its last message, ``done`` or ``failed``."""
        return self.answer_to({"kind": kind, **content}, files)

    def answer_to(self, message: dict, files=()) -> tuple[dict, list]:
        """Return the last message that answers a message of the browser."""
        self.heard.clear()
        self.post({"id": "1", **message}, files)
        with self.news:

            def last():
                return [h for h in self.heard if h[0]["kind"] in ("done", "failed")]

            assert self.news.wait_for(last, timeout=120)
            return last()[0]


def parts(page, about: str, run: str = "", **content) -> list[dict]:
    message, _ = page.ask("ask", about=about, run=run, **content)
    assert message["kind"] == "done", message
    return message["answer"]["parts"]
