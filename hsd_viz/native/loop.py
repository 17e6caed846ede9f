"""The compiled loop, which decodes with native models and a native database drafter.

``src/loop.hpp`` is :class:`~hsd_viz.decoding.loop.Loop` in C++, with the same rounds, verdicts and
rows. A call takes about 40 ms, without Python's lock, and records the rows of its rounds. To cancel
a decode, make no further call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref

import numpy as np

from hsd_viz.decoding.base_loop import RECORDED_TOP, BaseLoop
from hsd_viz.decoding.levels import Level
from hsd_viz.native.drafter import NativeDatabaseDrafter
from hsd_viz.native.model import NativeModel, NativeSession, integers, owned
from hsd_viz.native.rows import ROW_TYPES, Names, Paths, columns_of
from hsd_viz.native.structures import DecodeSettings, LevelSettings, SamplingSettings
from hsd_viz.stack import TARGET
from hsd_viz.trace.tables import RULES, TABLES, Columns

#: What follows a call that has not ended the decode: a model reads the prompt, or rounds.
PREFILL = 2
ROUNDS = 1
#: The time of a call in ns. It is short, so that a decode can be followed and cancelled.
CALL_NS = 40_000_000


class NativeLoop(BaseLoop):
    """A decode by the compiled loop, with native sessions and a native drafter.

    All sessions compute in the same number type and have the same vocabulary.

    Raises:
        MemoryError: if there is too little memory.
        UserError: if a token is outside the vocabulary.
    """

    #: What follows the last call.
    _next: int
    #: The library's rows of each call since the last :meth:`take`, by table: doubles.
    _recorded: dict[str, list[bytes]]

    def prefill(self) -> Iterator[tuple[str, int, int]]:
        self._open()
        total = len(self.text) - 1
        while self._next == PREFILL:
            self._next = self._call(0, "calls")
            for call in np.frombuffer(self._recorded["calls"][-1], ROW_TYPES["calls"]):
                model = int(call["level"]) - self.levels.first_model
                if model >= 0:
                    yield self.written[model].name, int(call["cached"] + call["fed"]), total

    def rounds(self, ns: int | None = None) -> Iterator[list[int]]:
        """Decode to the end, yielding the tokens of each call.

        A call takes about ``ns`` nanoseconds, by default :data:`CALL_NS`.
        """
        while self._next == ROUNDS:
            self._next = self._call(CALL_NS if ns is None else ns, *TABLES)
            rows = np.frombuffer(self._recorded["tokens"][-1], ROW_TYPES["tokens"])
            tokens = rows["token_id"].astype(int).tolist()
            self.text += tokens
            yield tokens

    def take(self) -> Callable[[], dict[str, Columns]]:
        recorded = self._recorded
        names = self._names
        self._recorded = {name: [] for name in TABLES}

        def tables() -> dict[str, Columns]:
            columns = {}
            for table, parts in recorded.items():
                columns[table] = columns_of(table, b"".join(parts), names)
            return columns

        return tables

    # --- internals --------------------------------------------------------------------------------

    def _open(self) -> None:
        """Create the decode in the library."""
        drafter = self._native_drafter()
        sessions: list[NativeSession] = []
        for level in self.written:
            assert isinstance(level.session, NativeSession)
            sessions.append(level.session)
        target = sessions[-1].model
        assert self.details <= RECORDED_TOP
        assert can_compile([session.model for session in sessions], drafter)
        self._next = PREFILL
        self._names = self._names_of_numbers()
        self._recorded = {name: [] for name in TABLES}
        if drafter is not None:
            drafter.start(())
            drafter.watch(target.layers)
        specs = (LevelSettings * len(sessions))()
        for k, (session, level) in enumerate(zip(sessions, self.written, strict=True)):
            specs[k] = self._level_settings(session, level)
        settings = self._settings(target.vocab_size)
        tokens = integers(self.text)
        ends = integers(tuple(self.eos))
        self._library = target.library
        self._handle = self._library.hsd_decode_new(
            byref(settings),
            target.compute.itemsize == 8,
            specs,
            len(specs),
            drafter.handle if drafter is not None else None,
            tokens,
            len(tokens),
            ends,
            len(ends),
        )
        owned(self, self._library.hsd_decode_free, self._handle, sessions, drafter)

    def _native_drafter(self) -> NativeDatabaseDrafter | None:
        """Return the drafter in the library; ``None`` if the decode has no drafter."""
        if self.drafter is None:
            return None
        drafter = self.drafter.drafter
        assert isinstance(drafter, NativeDatabaseDrafter)
        return drafter

    def _names_of_numbers(self) -> dict[str, Names]:
        """Return the values of the numbers in each column of names.

        A source is the number of a level or, after the levels, of a database.
        """
        names = [level.name for level in self.written]
        sources: Sequence[str] = ()
        drafter = self._native_drafter()
        if drafter is not None:
            names.insert(0, drafter.name)
            sources = drafter.sources
        return {"name": names, "source": [*names[:-1], TARGET, *sources], "path": Paths()}

    def _level_settings(self, session: NativeSession, level: Level) -> LevelSettings:
        return session.settings(
            self.limit,
            level.lookahead or 0,
            RULES.index(self.sampling.rule),
            level.confidence,
            level.positions,
        )

    def _settings(self, vocabulary: int) -> DecodeSettings:
        sampling = self.sampling
        drawing = SamplingSettings(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            min_p=sampling.min_p,
            top_k=min(sampling.top_k, vocabulary),
        )
        return DecodeSettings(
            sampling=drawing,
            seed=sampling.seed,
            vocab=vocabulary,
            limit=self.limit,
            budget=0 if self.drafter is None else self.drafter.budget,
            details=self.details,
        )

    def _call(self, ns: int, *tables: str) -> int:
        """Decode for about ``ns`` nanoseconds, copy the rows of ``tables``, and return what
        follows: :data:`PREFILL`, :data:`ROUNDS` or 0.
        """
        following = self._library.hsd_decode_run(self._handle, ns, self.now())
        start = ctypes.c_void_p()
        rows = self._library.quick.hsd_decode_rows
        for table in tables:
            numbers = rows(self._handle, list(ROW_TYPES).index(table), byref(start))
            self._recorded[table].append(ctypes.string_at(start, 8 * numbers))
        return following


def can_compile(models: Sequence[object], drafter: object) -> bool:
    """Return whether the compiled loop can decode with these models and this drafter, if any."""
    kinds = set()
    for model in models:
        if not isinstance(model, NativeModel):
            return False
        kinds.add((model.compute, model.vocab_size))
    return len(kinds) == 1 and isinstance(drafter, NativeDatabaseDrafter | None)
