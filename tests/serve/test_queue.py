"""The queue of a service: places, positions, cancelling and limits of time."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.serve.requests import decode_with
from hsd_viz.serve.service import Service
from hsd_viz.serve.settings import ServerSettings
from hsd_viz.trace import Stage
from hsd_viz.trace.events import ServerError
from tests.patience import PATIENCE
from tests.serve.serving import Slow, post, serving


def test_closing_the_generator_cancels_within_half_a_second():
    slow = Slow()
    spent = []
    with serving(slow.decode) as address:
        while (
            min(spent, default=1) > 0.5 and len(spent) < 5
        ):  # other work on the machine slows an attempt down
            slow.closed.clear()
            events = RemoteEngine(address).decode("x")
            next(events)
            begun = time.monotonic()
            events.close()
            assert slow.closed.wait(PATIENCE)
            spent.append(time.monotonic() - begun)
    assert min(spent) <= 0.5


def test_waiting_clients_get_their_position_and_a_full_queue_refuses():
    slow = Slow()
    with serving(slow.decode, settings=ServerSettings(queue=1)) as address:
        running = RemoteEngine(address).decode("first")
        assert next(running) == Stage("first")
        waiting = RemoteEngine(address).decode("second")
        assert next(waiting) == Stage("waiting in the queue: position 1")
        status, headers, (answer,) = post(address, {"prompt": "third"})
        assert status == 503
        assert int(headers["Retry-After"]) > 0
        assert answer["error"] == "the queue is full: 1 requests are waiting"
        with pytest.raises(ServerError) as refused:
            RemoteEngine(address).run("third")
        assert refused.value.retry
        running.close()
        assert next(waiting) == Stage("second")
        waiting.close()


def test_a_place_that_changes_while_it_is_told_is_noticed():
    async def wait():
        service = Service(Slow().decode, ServerSettings())
        running = asyncio.Event()
        waiting = asyncio.Event()
        service.places += [running, waiting]
        lines = service.lines({"prompt": "x"}, waiting)
        assert b"queued" in await anext(lines)
        service.places.remove(running)
        waiting.set()
        assert b"stage" in await asyncio.wait_for(anext(lines), PATIENCE)
        await lines.aclose()

    asyncio.run(wait())


def test_a_waiting_client_that_leaves_frees_its_place():
    slow = Slow()
    with serving(slow.decode, settings=ServerSettings(queue=1)) as address:
        running = RemoteEngine(address).decode("first")
        waiting = RemoteEngine(address).decode("second")
        next(running), next(waiting)
        waiting.close()
        for _ in range(150):
            third = RemoteEngine(address).decode("third")
            try:
                assert next(third) == Stage("waiting in the queue: position 1")
                break
            except ServerError:
                time.sleep(0.05)
        else:
            raise AssertionError("the place was not freed")
        third.close(), running.close()


def test_a_decode_that_takes_too_long_is_stopped():
    with (
        serving(Slow().decode, settings=ServerSettings(seconds=0.2)) as address,
        pytest.raises(ServerError, match=r"stopped after 0\.2 s"),
    ):
        RemoteEngine(address).run("x")


def test_many_clients_all_get_an_answer(engine):
    """Forty at once against a queue of eight: each is served or refused, none is lost."""

    def client(address):
        status, _, lines = post(
            address, {"prompt": "def main(", "max_new_tokens": 16, "record": False}
        )
        return status, lines[-1].get("event")

    with (
        serving(decode_with(engine), settings=ServerSettings(queue=8)) as address,
        ThreadPoolExecutor(40) as threads,
    ):
        outcomes = list(threads.map(client, [address] * 40))
        assert len(outcomes) == 40
        assert set(outcomes) <= {(200, "finished"), (503, None)}
        assert outcomes.count((200, "finished")) >= 9
        figures = httpx.get(f"{address}/metrics").text
        finished = float(outcomes.count((200, "finished")))
        assert f'hsd_viz_requests_total{{outcome="finished"}} {finished}' in figures
        assert "hsd_viz_running 0.0" in figures
        assert "hsd_viz_queue_length 0.0" in figures
