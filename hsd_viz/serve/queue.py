"""A bounded queue that is fair to visitors. Pure asyncio."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


class QueueFullError(Exception):
    """The queue has no place left, or none for this visitor."""


@dataclass(eq=False)
class Ticket:
    """A place in the queue: turns go by ``round``. ``moved`` is set whenever places change."""

    visitor: str
    round: int
    moved: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class FairQueue:
    """Gives ``slots`` turns at a time. At most ``limit`` tickets wait, at most ``per_visitor`` of one visitor, whose
    tickets are in successive rounds: a visitor with many requests delays the first request of another by at most one
    turn per slot.
    """

    slots: int
    limit: int
    per_visitor: int
    running: int = 0
    _round: int = 0
    _waiting: list[Ticket] = field(default_factory=list)
    #: The round of each visitor's latest ticket, unless it is over.
    _latest: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, visitor: str) -> Ticket:
        """Return a ticket; :meth:`leave` must be called with it. Raises: QueueFullError: if there is no place."""
        own = sum(ticket.visitor == visitor for ticket in self._waiting)
        if self.running >= self.slots and len(self) >= self.limit:
            raise QueueFullError(f"the queue is full: {self.limit} requests are waiting")
        if self.running >= self.slots and own >= self.per_visitor:
            raise QueueFullError(f"{own} of your requests are waiting already: that is the limit for each visitor")
        self._latest = {name: number for name, number in self._latest.items() if number >= self._round}
        self._latest[visitor] = self._latest.get(visitor, self._round - 1) + 1
        self._waiting.append(ticket := Ticket(visitor, self._latest[visitor]))
        self._advance()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End the turn of a ticket, or give up its place."""
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        else:
            self.running -= 1
        self._advance()

    def place(self, ticket: Ticket) -> int:
        """Return the place of a ticket: 1 is next, 0 means that it is its turn."""
        return self._waiting.index(ticket) + 1 if ticket in self._waiting else 0

    async def places(self, ticket: Ticket) -> AsyncIterator[int]:
        """Yield each place of a ticket until it is its turn."""
        known = 0
        while place := self.place(ticket):
            ticket.moved.clear()
            if place != known:
                yield place
            known = place
            await ticket.moved.wait()

    def _advance(self) -> None:
        """Give free slots to the next tickets."""
        tickets = sorted(self._waiting, key=lambda ticket: ticket.round)
        free = max(0, self.slots - self.running)
        self._waiting = tickets[free:]
        for ticket in tickets[:free]:
            self.running, self._round = self.running + 1, ticket.round
        for ticket in tickets:
            ticket.moved.set()
