"""The queue of the service: bounds, order of turns, positions."""

import asyncio
import random

import pytest

from hsd_viz.serve.queue import FairQueue, QueueFullError


def served(queue, arrivals):
    """Serve one turn at a time; ``arrivals[k]`` join before turn k. Return the visitors in order of their turns."""
    tickets, order, k = [], [], 0
    while tickets or k < len(arrivals):
        tickets += [queue.join(visitor) for visitor in (arrivals[k] if k < len(arrivals) else ())]
        k += 1
        running = [ticket for ticket in tickets if queue.place(ticket) == 0]
        assert len(running) <= queue.slots
        for ticket in running[:1]:
            order.append(ticket.visitor)
            tickets.remove(ticket)
            queue.leave(ticket)
    return order


@pytest.mark.parametrize(
    ("arrivals", "order"),
    # In the first b joins when the second turn of a has begun.
    [([["a"] * 5, ["b"]], "aabaaa"), ([["a"] * 3 + ["b"] * 3 + ["c"]], "abcabab")],
)
def test_visitors_take_turns(arrivals, order):
    assert served(FairQueue(1, 64, 8), arrivals) == list(order)


def test_all_are_served_whatever_the_arrivals():
    rng = random.Random(0)
    for _ in range(50):
        queue = FairQueue(rng.randint(1, 3), 1000, 1000)
        arrivals = [[rng.choice("abcd") for _ in range(rng.randint(0, 4))] for _ in range(10)]
        order = served(queue, arrivals)
        assert sorted(order) == sorted(visitor for some in arrivals for visitor in some)
        assert queue.running == 0 and len(queue) == 0


@pytest.mark.parametrize(
    ("limit", "per_visitor", "waiting", "refused", "said"),
    [
        (2, 8, "abc", "d", "the queue is full: 2 requests are waiting"),
        (64, 2, "aaa", "a", "2 of your requests are waiting already"),
        (0, 8, "a", "b", "the queue is full"),
    ],
)
def test_a_full_queue_refuses_and_takes_the_next_when_one_leaves(limit, per_visitor, waiting, refused, said):
    queue = FairQueue(1, limit, per_visitor)
    tickets = [queue.join(name) for name in waiting]
    with pytest.raises(QueueFullError, match=said):
        queue.join(refused)
    queue.leave(tickets[0])
    assert queue.place(queue.join(refused)) == len(waiting) - 1


def test_positions_are_reported_as_they_change():
    async def watch():
        queue = FairQueue(1, 8, 8)
        first, second, third = (queue.join(name) for name in "abc")
        seen = []

        async def collect():
            async for position in queue.places(third):
                seen.append(position)

        task = asyncio.create_task(collect())
        await asyncio.sleep(0)
        queue.leave(second)  # gives up
        await asyncio.sleep(0)
        queue.leave(first)
        await asyncio.wait_for(task, 5)
        return seen

    assert asyncio.run(watch()) == [2, 1]
