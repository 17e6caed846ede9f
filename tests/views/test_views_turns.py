"""Turns on the server of a class: the order, who has left, and warm kernels that could not
start.
"""

import asyncio
import random
import re
import subprocess
import time
from types import SimpleNamespace

import httpx
import pytest

pytest.importorskip("voila")
from tornado.web import HTTPError

from hsd_viz.machine import free_port
from hsd_viz.views.app.kernels import RETURN_SECONDS, PageKernels
from hsd_viz.views.app.pages import LOST, Closing, Seats, Turns
from hsd_viz.views.app.server import command


def test_turns_are_given_in_order_to_as_many_as_there_are_warm_kernels():
    turns = Turns()
    assert [turns.place(name, ready=0, now=0) for name in "abc"] == [1, 2, 3]
    assert [turns.place(name, ready=2, now=1) for name in "cba"] == [1, 0, 0]
    turns.leave("a")
    assert [turns.place(name, ready=1, now=2) for name in "bc"] == [0, 1]


def test_a_visitor_who_no_longer_asks_loses_the_place():
    turns = Turns()
    turns.place("gone", ready=0, now=0)
    turns.place("here", ready=0, now=LOST - 1)
    assert turns.place("here", ready=1, now=LOST + 1) == 0
    assert turns.place("gone", ready=1, now=LOST + 1) == 1


@pytest.mark.parametrize(("kernels", "filled"), [(1, ["nb"]), (2, [])])
def test_a_kernel_that_could_not_start_is_started_again_when_there_is_room(kernels, filled):
    asked = []

    class Kernels(PageKernels):
        def list_kernel_ids(self):
            return ["k"] * kernels

        def fill_if_needed(self, notebook_name):
            asked.append(notebook_name)

    async def ended(result=None, error=None):
        if error:
            raise error
        return result

    async def check():
        rendering = asyncio.get_running_loop().create_future()
        rendered = asyncio.create_task(ended())
        pool = [
            asyncio.create_task(ended({"task": rendered})),
            asyncio.create_task(ended({"task": rendering})),
            asyncio.create_task(ended(error=RuntimeError("full"))),
        ]
        await asyncio.wait(pool)
        manager = Kernels(pages=2)
        manager._pools = {"nb": pool}
        assert manager.ready() == 1
        assert len(pool) == 2

    asyncio.run(check())
    assert asked == filled


@pytest.mark.parametrize(
    ("process", "alive", "kept"),
    [(7, True, True), (7, False, False), (8, True, False)],
    ids=["lives", "ended", "restarted"],
)
def test_a_preheated_kernel_that_ended_is_not_given_to_a_visitor(process, alive, kept):
    filled = []
    ended = []

    class Kernel:
        class provisioner:
            pid = process

        async def is_alive(self):
            return alive

    class Kernels(PageKernels):
        def __contains__(self, kernel_id):
            return kernel_id == "k"

        def get_kernel(self, kernel_id):
            return Kernel()

        async def shutdown_kernel(self, kernel_id, now):
            ended.append(kernel_id)

        def fill_if_needed(self, delay, notebook_name):
            filled.append(notebook_name)

    async def rendered():
        return {"kernel_id": "k"}

    async def check():
        pool = [asyncio.create_task(rendered())]
        await asyncio.wait(pool)
        manager = Kernels()
        manager._processes["k"] = 7
        manager._pools = {"nb": pool}
        await manager.replace_dead()
        return bool(pool)

    assert asyncio.run(check()) is kept
    assert filled == ([] if kept else ["nb"])
    assert ended == ([] if kept else ["k"])


def message(headers):
    """Return the message of a page that is closed."""
    request = SimpleNamespace(headers=headers, host="127.0.0.1:8866")
    return SimpleNamespace(request=request)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://127.0.0.1:8866"}, {"Referer": "http://127.0.0.1:8866/?tab=why"}],
    ids=["origin", "referer"],
)
def test_a_page_of_this_server_may_end_its_kernel(headers):
    assert Closing.check_xsrf_cookie(message(headers)) is None


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://127.0.0.1:9999"}, {"Referer": "https://example.org/127.0.0.1:8866"}],
    ids=["unnamed", "other port", "other site"],
)
def test_a_page_of_another_site_may_not_end_a_kernel(headers):
    with pytest.raises(HTTPError, match="403"):
        Closing.check_xsrf_cookie(message(headers))


def test_a_kernel_is_started_when_there_is_room_later():
    filled = []

    class Kernels(PageKernels):
        kernels = ("a", "b")

        def list_kernel_ids(self):
            return self.kernels

        def fill_if_needed(self, notebook_name):
            filled.append(notebook_name)

    manager = Kernels(pages=2)
    manager._pools = {"nb": []}
    manager.ready()
    assert filled == []

    manager.kernels = ("a",)
    manager.ready()

    assert filled == ["nb"]


class ClassKernels(PageKernels):
    """Kernels of a class of two pages, without processes: ``open_pages`` have a browser."""

    def __init__(self, kernels, open_pages=()):
        super().__init__(pages=2)
        self.kernels = list(kernels)
        self.ended = []
        self._kernel_connections = dict.fromkeys(open_pages, 1)

    def list_kernel_ids(self):
        return self.kernels

    def __contains__(self, kernel_id):
        return kernel_id in self.kernels

    async def shutdown_kernel(self, kernel_id):
        self.kernels.remove(kernel_id)
        self.ended.append(kernel_id)

    def leave(self, kernel_id, seconds):
        self._left[kernel_id] = time.monotonic() - seconds


@pytest.mark.parametrize(
    ("waiting", "left_for", "closed", "ended"),
    [
        (0, 60, False, []),
        (1, 60, False, ["left"]),
        (0, 60, True, ["left"]),
        (1, RETURN_SECONDS / 2, True, []),
    ],
    ids=["nobody waits", "somebody waits", "the page was closed", "it may come back"],
)
def test_a_page_is_ended_only_where_its_place_is_needed(waiting, left_for, closed, ended):
    kernels = ClassKernels(["open", "left"], open_pages=["open"])
    if closed:
        kernels.close("left")
    kernels.leave("left", left_for)

    asyncio.run(kernels.release(waiting))

    assert kernels.ended == ended


def test_no_more_pages_are_ended_than_visitors_wait():
    kernels = ClassKernels(["older", "newer"])
    kernels.leave("newer", 60)
    kernels.leave("older", 90)

    asyncio.run(kernels.release(waiting=1))

    assert kernels.ended == ["older"]


def test_a_page_that_was_just_sent_is_not_ended():
    kernels = ClassKernels(["open", "sent"], open_pages=["open"])
    kernels.leave("sent", 60)
    kernels.give("sent")

    asyncio.run(kernels.release(waiting=5))

    assert kernels.ended == []


def test_a_class_is_full_when_visitors_have_all_pages():
    assert ClassKernels(["a", "b"]).all_in_use()
    assert not ClassKernels(["a"]).all_in_use()


def test_the_time_until_a_place_is_free_follows_the_latest_ends():
    kernels = ClassKernels([])
    kernels._ends = [100.0, 160.0, 220.0]

    assert kernels.seconds_to_wait(2) == 120


def test_the_time_is_unknown_before_two_pages_ended():
    assert ClassKernels([]).seconds_to_wait(1) is None


def test_a_visitor_keeps_a_page_as_long_as_its_kernel():
    seats = Seats()
    seats.take("anna", "k1", "<html>")

    assert seats.page("anna", {"k1"}) == ("k1", "<html>")
    assert seats.page("ben", {"k1"}) is None
    assert seats.page("anna", {"k2"}) is None
    assert seats.page("anna", {"k1"}) is None


class Server:
    """``hsd-viz classroom`` without its engine: Voilà with two pages, and visitors with cookies."""

    def __init__(self, log, pages):
        self.port = free_port()
        arguments, environment, self.folder = command(
            "127.0.0.1", self.port, None, preheat=True, pages=pages
        )
        self.process = subprocess.Popen(
            arguments, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        self.visitors = []

    def visitor(self):
        visitor = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=120)
        self.visitors.append(visitor)
        return visitor

    def wait_until(self, look, seconds=240):
        """Return what ``look`` returns once it is true; the server may not answer yet."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if answer := look():
                    return answer
            except httpx.TransportError:
                pass
            time.sleep(0.2)
        raise AssertionError("it did not happen in time")

    def stop(self):
        for visitor in self.visitors:
            visitor.close()
        self.process.terminate()
        self.process.wait(60)
        self.folder.cleanup()


@pytest.fixture
def server(tmp_path):
    with (tmp_path / "log").open("wb") as log:
        server = Server(log, pages=2)
        yield server
        server.stop()


def kernel_of(page):
    """Return the kernel of a live page; ``None`` for a recorded run."""
    named = re.search('"kernelId": "([^"]+)"', page.text)
    return named and named[1]


def close_page(visitor, kernel):
    """Send what a browser sends when a page is closed or loaded again."""
    origin = str(visitor.base_url).rstrip("/")
    answer = visitor.post(f"/voila/api/shutdown/{kernel}", headers={"Origin": origin})
    assert answer.status_code == 204


@pytest.mark.slow
def test_a_reload_in_a_full_class_gets_the_same_page(server):
    anna = server.visitor()
    ben = server.visitor()
    carla = server.visitor()
    kernels = [server.wait_until(lambda v=v: kernel_of(v.get("/"))) for v in (anna, ben)]
    assert 'src="recorded"' in carla.get("/").text
    assert carla.get("/place").json()["in_use"]

    close_page(anna, kernels[0])
    reloaded = kernel_of(anna.get("/"))

    assert reloaded == kernels[0]
    assert carla.get("/place").json()["place"] == 1


@pytest.mark.slow
def test_nobody_waits_while_a_page_is_free(server):
    """Six visitors and two pages: reloads and closings in random order."""
    chance = random.Random(0)
    outside = [server.visitor() for _ in range(6)]
    inside = {}
    for _ in range(12):
        while len(inside) < 2:
            visitor = outside.pop(0)
            inside[visitor] = server.wait_until(lambda v=visitor: kernel_of(v.get("/")))
        visitor = chance.choice(list(inside))
        close_page(visitor, inside[visitor])
        if chance.random() < 0.5:
            assert kernel_of(visitor.get("/")) == inside[visitor]
        else:
            del inside[visitor]
            outside.append(visitor)


@pytest.mark.slow
def test_a_class_sees_a_recorded_run_until_its_page_is_ready(tmp_path):
    port = free_port()
    arguments, environment, folder = command("127.0.0.1", port, None, preheat=True, pages=3)
    with folder, (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            arguments, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as visitor:
                until = time.monotonic() + 120
                while time.monotonic() < until:
                    try:
                        page = visitor.get("/")
                        break
                    except httpx.TransportError:
                        time.sleep(0.1)
                assert 'src="recorded"' in page.text
                recorded = visitor.get("/recorded")
                assert recorded.headers["content-encoding"] == "gzip"
                assert "<!doctype html>" in recorded.text.lower()
                while visitor.get("/place").json()["place"] and time.monotonic() < until:
                    time.sleep(0.2)
                assert "widget-view+json" in visitor.get("/").text
        finally:
            server.terminate()
            server.wait(60)
