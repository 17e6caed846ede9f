"""A bounded queue that is fair to visitors: the one who was served least recently is next. Pure asyncio."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator

#: Visitors whose last turn is remembered.
REMEMBERED = 4096


class QueueFullError(Exception):
    """The queue has no place left, or none for this visitor."""


class Ticket:
    """A place in the queue. ``position`` counts from 1; 0 means that it is this ticket's turn."""

    def __init__(self, visitor: str) -> None:
        self.visitor, self.position = visitor, -1
        #: Set whenever the position changes.
        self.moved = asyncio.Event()

    async def positions(self) -> AsyncIterator[int]:
        """Yield each position until it is this ticket's turn."""
        while self.position:
            self.moved.clear()
            yield self.position
            await self.moved.wait()


class FairQueue:
    """Gives ``slots`` turns at a time. At most ``limit`` tickets wait, at most ``per_visitor`` of one visitor. The next
    turn goes to the visitor whose last turn is longest ago; one who never had a turn comes first. So a visitor with
    many requests delays the first request of another by at most one turn per slot.
    """

    def __init__(self, slots: int, limit: int, per_visitor: int) -> None:
        self.slots, self.limit, self.per_visitor = slots, limit, per_visitor
        self.running = self._turns = 0
        self._waiting: list[Ticket] = []
        #: Visitor -> number of its last turn, least recent first.
        self._last: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def join(self, visitor: str) -> Ticket:
        """Return a ticket; :meth:`leave` must be called with it. Raises: QueueFullError: if there is no place."""
        own = sum(ticket.visitor == visitor for ticket in self._waiting)
        if self.running >= self.slots or self._waiting:
            if len(self._waiting) >= self.limit:
                raise QueueFullError(f"the queue is full: {self.limit} requests are waiting")
            if own >= self.per_visitor:
                raise QueueFullError(f"{own} of your requests are waiting already: that is the limit for each visitor")
        self._waiting.append(ticket := Ticket(visitor))
        self._advance()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End the turn of a ticket, or give up its place."""
        if ticket in self._waiting:
            self._waiting.remove(ticket)
        else:
            self.running -= 1
        self._advance()

    def _advance(self) -> None:
        """Give free slots to the next tickets and update the positions of the others."""
        nth: Counter[str] = Counter()
        keys = {}
        for arrival, ticket in enumerate(self._waiting):
            keys[ticket] = (nth[ticket.visitor], self._last.get(ticket.visitor, 0), arrival)
            nth[ticket.visitor] += 1
        free = max(0, self.slots - self.running)
        order = sorted(keys, key=keys.__getitem__)
        for ticket in order[:free]:
            self._waiting.remove(ticket)
            self.running += 1
            self._turns += 1
            self._last[ticket.visitor] = self._turns
            self._last.move_to_end(ticket.visitor)
            if len(self._last) > REMEMBERED:
                self._last.popitem(last=False)
        for place, ticket in enumerate(order, 1 - free):
            if ticket.position != max(0, place):
                ticket.position = max(0, place)
                ticket.moved.set()
