"""The figures of ``/metrics``, by hand: what each request adds to them, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from itertools import chain

import pytest

from hsd_viz.serve.service import Service
from hsd_viz.serve.settings import ServerSettings
from tests.rows import column

STAGE = {"event": "stage", "text": "prefill", "done": None, "total": None}
FINISHED = {"event": "finished"}
ERROR = {"event": "error", "message": "the decode failed", "retry": False}


def step(*tokens: int) -> dict:
    return {"event": "step", "tokens": {"token_id": list(tokens)}}


class Clock:
    """Stands in for :mod:`time`: each batch takes its seconds."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("hsd_viz.serve.service.time", clock)
    return clock


def service_of(
    clock: Clock, batches: list[tuple[float, list[dict]]], settings: ServerSettings | None = None
) -> Service:
    """A service whose decodes yield these batches, each after its seconds."""

    async def decode(request) -> AsyncGenerator[list[dict]]:
        for seconds, records in batches:
            clock.now += seconds
            yield list(map(dict, records))

    return Service(decode, settings or ServerSettings())


def answer(service: Service, *, lines: int | None = None) -> list[bytes]:
    """The lines of the answer to one request, of which the client reads all or the first few."""

    async def read() -> list[bytes]:
        place = asyncio.Event()
        service.places.append(place)
        running = service.lines({}, place)
        received = []
        async for line in running:
            received.append(line)
            if len(received) == lines:
                break
        await running.aclose()
        service.places.remove(place)
        return received

    return asyncio.run(read())


def figure(service: Service, name: str, **labels: str) -> float:
    return service.registry.get_sample_value(f"hsd_viz_{name}", labels) or 0.0


def outcomes(service: Service) -> dict[str, float]:
    """Requests by outcome."""
    samples = chain(*column(service.registry.collect(), "samples"))
    counts = {}
    for sample in samples:
        if sample.name == "hsd_viz_requests_total":
            counts[sample.labels["outcome"]] = sample.value
    return counts


@pytest.mark.parametrize(
    ("batches", "lines", "outcome"),
    [
        pytest.param([(0, [STAGE]), (0, [FINISHED])], None, "finished", id="finished"),
        pytest.param([(0, [STAGE]), (0, [ERROR])], None, "error", id="failed"),
        pytest.param([(0, [STAGE]), (0, [FINISHED])], 1, "cancelled", id="left after a line"),
        # It took longer than it may, but nothing is left to stop.
        pytest.param([(0, [STAGE]), (9, [FINISHED])], None, "finished", id="finished late"),
        pytest.param([(9, [STAGE]), (0, [FINISHED])], None, "error", id="stopped"),
    ],
)
def test_a_request_is_counted_by_how_it_ended(clock, batches, lines, outcome):
    service = service_of(clock, batches, ServerSettings(seconds=5.0))
    answer(service, lines=lines)
    assert outcomes(service) == {outcome: 1.0}


def test_a_decode_that_finishes_late_is_no_error_to_its_client(clock):
    (line,) = answer(service_of(clock, [(9, [step(1), FINISHED])], ServerSettings(seconds=5.0)))
    assert b"stopped" not in line
    assert line.endswith(b'{"event":"finished"}\n')


def test_emitted_tokens_are_counted_also_those_before_an_end(clock):
    service = service_of(clock, [(0, [step(1, 2), step(3)]), (0, [step(4), FINISHED])])
    answer(service)
    answer(service, lines=1)
    assert figure(service, "tokens_total") == 4 + 3


def test_seconds_of_a_decode_count_from_its_turn_to_its_end(clock):
    service = service_of(clock, [(2, [STAGE]), (3, [FINISHED])])
    answer(service)
    assert figure(service, "decode_seconds_sum") == 5.0
    assert figure(service, "decode_seconds_count") == 1.0
    assert figure(service, "queue_seconds_sum") == 0.0


def test_waiting_requests_are_those_beyond_the_slots(clock):
    service = service_of(clock, [], ServerSettings(slots=2))
    service.places += [asyncio.Event() for _ in range(5)]
    assert figure(service, "running") == 2.0
    assert figure(service, "queue_length") == 3.0


def test_seconds_in_the_queue_end_with_the_turn(clock):
    async def wait() -> Service:
        service = service_of(clock, [(1, [FINISHED])])
        ahead = asyncio.Event()
        place = asyncio.Event()
        service.places += [ahead, place]
        lines = service.lines({}, place)
        assert b'"position":1' in await anext(lines)
        service.places.remove(ahead)
        clock.now += 7
        place.set()
        async for _ in lines:
            pass
        return service

    assert figure(asyncio.run(wait()), "queue_seconds_sum") == 7.0
