"""The runs of a page: the latest ones, kept for questions about them, and the recordings."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial

import msgspec

from hsd_viz.engine.recordings import load_bundled
from hsd_viz.trace import Trace
from hsd_viz.views import run_data
from hsd_viz.views.page_data import recorded_runs

#: Maximum number of runs that are kept for questions about them.
MAX_KEPT_RUNS = 8


class KeptRuns:
    """The latest runs of a page and its recordings, by name."""

    def __init__(self) -> None:
        self._runs: dict[str, Trace] = {}
        self._given: dict[str, Trace] = {}
        self._recordings: dict[str, Callable[[], Trace]] = {**recorded_runs()}

    @property
    def last(self) -> Trace | None:
        """The run last shown, opened or decoded; ``None`` before the first one."""
        return next(reversed([*self._runs.values()]), None)

    def add_recording(self, name: str, trace: Trace) -> None:
        """Add a recording, which stays available after its run was dropped."""
        self._given[name] = trace
        self.keep(trace, name)

    def keep(self, trace: Trace, name: str | None = None) -> str:
        """Keep a run, drop the oldest one if necessary, and return its name (default: a new
        one).
        """
        name = name or uuid.uuid4().hex
        self._runs.pop(name, None)
        self._runs[name] = trace
        for old in [*self._runs][:-MAX_KEPT_RUNS]:
            self._runs.pop(old, None)
        return name

    def find(self, name: str) -> Trace | None:
        """Return the kept run of a name; ``None`` if there is none."""
        return self._runs.get(name)

    def recording(self, name: str) -> Trace:
        """Return the recording or kept run of a name, which is never used as a path.

        Raises:
            UserError: if there is no run of this name.
        """
        trace = self.find(name) or self._given.get(name)
        if trace is not None:
            return trace
        return self._recordings.get(name, partial(load_bundled, name))()

    def snapshot(self, trace: Trace, name: str | None = None) -> bytes:
        """Keep a run and return it as JSON for the browser."""
        return msgspec.json.encode(run_data.snapshot(trace, self.keep(trace, name)))
