"""Turns on the server of a class: the order, who has left, and warm kernels that could not start."""

import asyncio
import subprocess
import time

import httpx
import pytest

pytest.importorskip("voila")
from hsd_viz.machine import free_port
from hsd_viz.views.app.kernels import PageKernels
from hsd_viz.views.app.pages import LOST, Turns
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
        assert manager.ready() == 1 and len(pool) == 2

    asyncio.run(check())
    assert asked == filled


@pytest.mark.parametrize(
    ("process", "alive", "kept"),
    [(7, True, True), (7, False, False), (8, True, False)],
    ids=["lives", "ended", "restarted"],
)
def test_a_preheated_kernel_that_ended_is_not_given_to_a_visitor(process, alive, kept):
    filled, ended = [], []

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
                assert 'src="recorded"' in page.text and "place <b id=" in page.text
                recorded = visitor.get("/recorded")
                assert (
                    recorded.headers["content-encoding"] == "gzip"
                    and "<!doctype html>" in recorded.text.lower()
                )
                while visitor.get("/place").json()["place"] and time.monotonic() < until:
                    time.sleep(0.2)
                assert "widget-view+json" in visitor.get("/").text
        finally:
            server.terminate()
            server.wait(60)
