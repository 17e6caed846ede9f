"""An engine of coins and a clock of its own: known acceptances, known costs, the loop's own
order of calls. Knows nothing of the law.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine import Engine
from hsd_viz.errors import UserError
from hsd_viz.stack import parse
from hsd_viz.trace import CallRow, Event, Finished, RoundRow, TokenRow, Trace
from tests.rows import column

MS = 1_000_000
SIZES = {"tiny": 1, "mid": 5, "target": 20}


@dataclass
class World:
    """``acceptance`` by (draft, verifier); of a database's drafts by ("db", verifier), each
    ``copied`` tokens long with chance ``hit``.

    Times in ms: a verification of m tokens takes ``first + step * m``, a launch of n draft tokens
    ``launch + each * n``; every round costs its level ``overhead`` and every target round a
    ``pause`` besides. After each token a model with a confidence is ``unsure`` with that chance,
    whatever is accepted.
    """

    acceptance: dict[tuple[str, str], float]
    first: dict[str, float]
    step: dict[str, float]
    each: dict[str, float]
    launch: float = 0.05
    overhead: float = 0.02
    pause: float = 0.01
    lookup: float = 0.004
    update: float = 0.002
    hit: float = 0.6
    copied: int = 5
    unsure: float = 0.3

    def verify(self, model: str, fed: int) -> float:
        return self.first[model] + self.step[model] * fed


WORLD = World(
    acceptance={("tiny", "mid"): 0.7, ("tiny", "target"): 0.6, ("mid", "target"): 0.85}
    | {("db", "tiny"): 0.5, ("db", "mid"): 0.45, ("db", "target"): 0.4},
    first={"tiny": 0.08, "mid": 0.4, "target": 1.8},
    step={"tiny": 0.02, "mid": 0.05, "target": 0.2},
    each={"tiny": 0.1, "mid": 0.45, "target": 2.0},
)


@dataclass
class FakeEngine(Engine):
    """``asked`` are the (prompt, stack) pairs it was asked for; at the ``stop_at``-th it is
    interrupted.
    """

    world: World = field(default_factory=lambda: WORLD)
    stop_at: int | None = None
    weights: str = "0123"
    asked: list[tuple[str, str]] = field(default_factory=list)
    options: list[DecodingOptions] = field(default_factory=list)

    device = "cpu"

    def wait_ready(self, progress=None) -> None:
        """Nothing is compiled."""

    def events(self, prompt: str, stack: str, options: DecodingOptions) -> Iterator[Event]:
        self.asked.append((prompt, stack))
        self.options.append(options)
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        for model in parse(stack).models:
            if model.name not in SIZES:
                raise UserError(f"unknown model '{model.name}'")
        yield Finished(_Run(self, prompt, stack, options).trace)


class _Run:
    def __init__(
        self, engine: FakeEngine, prompt: str, stack: str, options: DecodingOptions
    ) -> None:
        self.world = engine.world
        self.stack = parse(stack).resolved(4)
        self.random = random.Random(zlib.crc32(f"{prompt}{stack}{options.seed}".encode()))
        self.names = [*(["db"] if self.stack.bottom else []), *column(self.stack.models, "name")]
        self.lookaheads = [
            *([None] if self.stack.bottom else []),
            *column(self.stack.models, "lookahead"),
        ]
        self.cached = [0] * len(self.names)
        self.text = self.now = self.round = 0
        self.open: list[int] = []

        def about(name):
            return {
                "name": name,
                "model": name,
                "parameters": SIZES[name],
                "weights": engine.weights + name,
            }

        first = len(self.names) - len(self.stack.models)
        models = []
        for level, m in enumerate(self.stack.models, first):
            models.append(
                about(m.name)
                | {"runtime": "coins", "level": level, "lookahead": m.lookahead}
                | ({} if m.confidence is None else {"confidence": m.confidence})
            )
        self.confident = [True] * first + [m.confidence is None for m in self.stack.models]
        meta = {
            "stack": stack,
            "bottom": "db" if self.stack.bottom else None,
            "models": models,
            "prefill_ns": 0,
        }
        meta |= {"device": "cpu", "device_name": "a box", "dtype": "float32", "threads": 1}
        meta["versions"] = {"hsd_viz": "1"}
        sampling = {
            "temperature": options.temperature,
            "top_k": 0,
            "top_p": 1.0,
            "seed": options.seed,
        }
        self.trace = Trace(meta | {"sampling": sampling})
        top = len(self.names) - 1
        limit = options.max_new_tokens
        while self.text < limit:
            base = self.text
            kept = self.verify(top, limit - self.text)
            for _ in range(kept):
                index = len(self.trace)
                own = self.trace.columns["rounds"]["id"][-1]
                self.trace.add_rows(
                    tokens=[TokenRow(index, 0, "x", None, own, "accepted", "x", [0], 1)]
                )
            self.text = base + kept
            self.now += round(self.world.pause * MS)
        self.trace.meta["wall_ns"] = self.now

    def spend(self, level: int, kind: str, ms: float, fed: int, steps: int = 1) -> None:
        row = CallRow(
            self.open[-1], level, self.names[level], kind, steps, fed, 0, self.now, round(ms * MS)
        )
        self.trace.add_rows(calls=[row])
        self.now += round(ms * MS)

    def verify(self, level: int, room: int) -> int:
        """One round; returns the tokens kept. ``text`` is left where it was."""
        name = self.names[level]
        id = self.round
        start = self.now
        self.round += 1
        self.open.append(id)
        base = self.text
        drafted = self.draft(level - 1, room - 1)
        end = self.end if drafted and self.names[level - 1] != "db" else None
        # The prompt's last token stands before the emitted ones, and no level has fed it yet.
        fed = base + 1 - self.cached[level] + drafted
        rate = self.world.acceptance.get((self.names[level - 1], name), 0.0) if level else 0.0
        accepted = 0
        while accepted < drafted and self.random.random() < rate:
            accepted += 1
        self.spend(level, "verify", self.world.verify(name, fed), fed)
        self.cached[level] = base + 1 + drafted
        for below in range(level + 1):
            self.cached[below] = min(self.cached[below], base + 1 + accepted)
        if level == len(self.names) - 1 and self.stack.bottom:
            self.spend(0, "update", self.world.update, accepted + 1)
        self.now += round(self.world.overhead * MS)
        parent = self.open[-2] if len(self.open) > 1 else None
        self.open.pop()
        if accepted < drafted:
            outcome = "correction"
        elif drafted:
            outcome = "bonus"
        else:
            outcome = "plain"
        why = None
        if not drafted:
            why = "no match" if level and room > 1 else "no room"
        examined = min(accepted + 1, drafted)
        counts = drafted, examined, accepted
        self.trace.add_rows(
            rounds=[
                RoundRow(
                    id, parent, level, *counts, outcome, why, start, self.now - start, "token", end
                )
            ]
        )
        return accepted + 1

    def draft(self, level: int, room: int) -> int:
        if level < 0 or room <= 0:
            return 0
        if self.names[level] == "db":
            drafted = min(self.world.copied, room) if self.random.random() < self.world.hit else 0
            self.spend(level, "lookup", self.world.lookup, drafted)
            return drafted
        name = self.names[level]
        wanted = min(self.lookaheads[level], room)
        if level == 0:
            wanted = self.until_unsure(level, wanted)
            self.end_of(level, wanted, room)
            self.spend(
                level, "draft", self.world.launch + self.world.each[name] * wanted, wanted, wanted
            )
            self.cached[level] = self.text + wanted
            return wanted
        base = self.text
        kept = 0
        sure = True
        while kept < wanted and sure:
            got = self.verify(level, room - kept)
            sure = self.until_unsure(level, got + 1) > got
            kept += got
            self.text = base + kept
        self.text = base
        self.end_of(level, kept, room)
        return kept

    def until_unsure(self, level: int, wanted: int) -> int:
        """The tokens up to the one that makes a level unsure, at most ``wanted``."""
        n = 1
        while n < wanted and (self.confident[level] or self.random.random() >= self.world.unsure):
            n += 1
        return n

    def end_of(self, level: int, drafted: int, room: int) -> None:
        """Note why a draft ended."""
        lookahead = self.lookaheads[level]
        if drafted >= lookahead:
            self.end = "length"
        else:
            self.end = "limit" if drafted >= min(lookahead, room) else "confidence"
