"""Visitors of a class: pages that are opened at once."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from hsd_viz.machine import free_port
from tools.load.figures import TOKENS, memory, summary

CONTROL = "jupyter.widget.control"


def _cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


class Visitor:
    """A page without a browser: it asks for the page, opens its kernel's socket and presses Run."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.parts = urlsplit(url)
        self.states: dict[str, dict] = {}
        #: Seconds to the recorded run that is shown before the live page; 0: there was none.
        self.painted = 0.0
        #: Comm -> how often it became usable again. Both changes of a short run may arrive at once.
        self.enabled: Counter = Counter()
        self.changed = asyncio.Event()

    async def open(self) -> tuple[float, float]:
        """Open the page; return the seconds until its first paint, and until it has everything
        it shows at first.
        """
        from tornado.httpclient import AsyncHTTPClient, HTTPRequest
        from tornado.websocket import websocket_connect

        begun = time.monotonic()
        cookies: dict[str, str] = {}
        client = AsyncHTTPClient(force_instance=True)

        async def get(path: str = "", query: str = ""):
            headers = {"Cookie": _cookie_header(cookies)}
            url = f"http://{self.parts.netloc}/{path}{'?' if query else ''}{query}"
            answer = await client.fetch(
                url, request_timeout=600, connect_timeout=600, headers=headers
            )
            for value in answer.headers.get_list("Set-Cookie"):
                name, _, content = value.partition(";")[0].partition("=")
                cookies[name] = content
            return answer.body

        body = await get(query=self.parts.query)
        while b'src="recorded"' in body:
            if not self.painted:
                await get("recorded")
                self.painted = time.monotonic() - begun
            while json.loads(await get("place"))["place"]:
                await asyncio.sleep(1)
            body = await get(query=self.parts.query)
        if b"widget-view+json" not in body:
            raise ValueError("the page has no content")
        kernel_id = re.search('"kernelId": "([^"]+)"', body.decode())
        if kernel_id is None:
            raise ValueError("the page has no kernel")
        kernel = kernel_id[1]
        cookie = _cookie_header(cookies)
        path = (
            f"ws://{self.parts.netloc}/api/kernels/{kernel}/channels?session_id={uuid.uuid4().hex}"
        )
        request = HTTPRequest(
            path, headers={"Cookie": cookie}, connect_timeout=600, request_timeout=600
        )
        self.socket = await websocket_connect(request, max_message_size=2**30)
        self.reader = asyncio.create_task(self._read())
        comm = uuid.uuid4().hex
        self._send(
            "comm_open", {"comm_id": comm, "target_name": CONTROL, "data": {}}, {"version": "1.0.0"}
        )
        self._send("comm_msg", {"comm_id": comm, "data": {"method": "request_states"}})
        await self._until(lambda: self.states)
        live = time.monotonic() - begun
        return self.painted or live, live

    async def run(self) -> float:
        """Run 64 tokens; return the seconds until the page can run again."""
        begun = time.monotonic()
        button = self.find("description", "Run")
        before = self.enabled[button]
        field = self.find("label", "New tokens")
        self._send(
            "comm_msg",
            {"comm_id": field, "data": {"method": "update", "state": {"text": str(TOKENS)}}},
        )
        self._send(
            "comm_msg",
            {"comm_id": button, "data": {"method": "custom", "content": {"event": "click"}}},
        )
        await self._until(lambda: self.enabled[button] > before)
        return time.monotonic() - begun

    def problems(self) -> list[str]:
        """Return the errors that the page shows."""
        errors = []
        problems = []
        for state in self.states.values():
            if state.get("error"):
                errors.append(state["error"])
            if "hsd-error" in str(state.get("_dom_classes")):
                problems.append(str(state["value"]))
        return errors + problems

    def close(self) -> None:
        """Leave the page."""
        self.reader.cancel()
        self.socket.close()

    def find(self, key: str, value: str) -> str | None:
        return next((name for name, state in self.states.items() if state.get(key) == value), None)

    async def _until(self, condition, seconds: float = 300) -> None:
        until = time.monotonic() + seconds
        while not condition():
            if self.reader.done():
                raise ConnectionError("the kernel's socket was closed")
            await asyncio.wait_for(self.changed.wait(), until - time.monotonic())
            self.changed.clear()

    def _send(self, kind: str, content: dict, metadata: dict | None = None) -> None:
        header = {
            "msg_id": uuid.uuid4().hex,
            "username": "",
            "session": "load",
            "msg_type": kind,
            "version": "5.3",
        }
        header["date"] = "2026-01-01T00:00:00Z"
        message = {
            "header": header,
            "parent_header": {},
            "metadata": metadata or {},
            "content": content,
        }
        self.socket.write_message(json.dumps(message | {"channel": "shell", "buffers": []}))

    async def _read(self) -> None:
        while (text := await self.socket.read_message()) is not None:
            if isinstance(text, bytes):  # a message with buffers: its JSON is the first part
                numbers = [int.from_bytes(text[4 * k : 4 * k + 4], "big") for k in range(3)]
                text = text[numbers[1] : numbers[2] if numbers[0] > 1 else None].decode()
            message = json.loads(text)
            if message["msg_type"] in ("comm_open", "comm_msg"):
                content = message["content"]
                data = content["data"]
                for name, state in data.get("states", {}).items():
                    self.states.setdefault(name, {}).update(state["state"])
                if "state" in data:
                    state = self.states.setdefault(content["comm_id"], {})
                    self.enabled[content["comm_id"]] += (
                        bool(state.get("disabled")) and data["state"].get("disabled") is False
                    )
                    state.update(data["state"])
                self.changed.set()


async def visit_class(args: argparse.Namespace) -> dict:
    visitors = [Visitor(args.url) for _ in range(args.visitors)]
    paint = []
    live = []
    first = []
    all_runs = []
    errors = []

    async def visit(number: int, visitor: Visitor) -> None:
        try:
            painted, opened = await visitor.open()
            paint.append(painted)
            live.append(opened)
            if visitor.find("description", "Run") is None:
                return
            for run in range(5 if number == 0 else 1):
                seconds = await visitor.run()
                all_runs.append(seconds)
                if run == 0:
                    first.append(seconds)
            errors.extend(visitor.problems())
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    begun = time.monotonic()
    work: list[asyncio.Task[Any]] = []
    for number, visitor in enumerate(visitors):
        work.append(asyncio.create_task(visit(number, visitor)))
    browser = asyncio.create_task(_browser(args.url, errors))
    work.append(browser)
    peak: dict[str, float] = {}
    while not all(task.done() for task in work):
        memory_now = await asyncio.to_thread(memory, args.pid)
        if sum(memory_now.values()) > sum(peak.values()):
            peak = memory_now
        await asyncio.sleep(5)
    result = {
        "visitors": args.visitors,
        "seconds": round(time.monotonic() - begun, 1),
        "first_paint": summary(paint),
    }
    result |= {"live": summary(live), "chromium": browser.result()}
    result |= {
        "first_run": summary(first),
        "runs": summary(all_runs),
        "memory_mb": peak,
        "errors": errors,
    }
    for visitor in visitors:
        if hasattr(visitor, "socket"):
            visitor.close()
    return result


async def _browser(url: str, errors: list[str]) -> dict[str, float]:
    """Open the page in Chromium; return the seconds to its first contentful paint and to its
    live page.
    """
    from playwright.async_api import async_playwright

    async with async_playwright() as play:
        # Without the sandbox, as root needs it; the page is our own.
        chromium = await play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = await chromium.new_page()
        page.on("pageerror", lambda error: errors.append(f"Chromium: {error}"))
        begun = time.monotonic()
        try:
            await page.goto(url, timeout=300_000, wait_until="commit")
            paint = "performance.getEntriesByName('first-contentful-paint').length"
            await page.wait_for_function(paint, timeout=300_000)
            painted = time.monotonic() - begun
            live = (
                "!document.querySelector('iframe[src=recorded]') && "
                "document.querySelector('.jp-OutputArea-output')"
            )
            await page.wait_for_function(live, timeout=300_000)
            return {"first_paint": round(painted, 2), "live": round(time.monotonic() - begun, 2)}
        except Exception as error:
            errors.append(f"Chromium: {type(error).__name__}: {error}")
            return {}
        finally:
            await chromium.close()


def visit_classroom(args: argparse.Namespace) -> dict:
    """Start ``hsd-viz classroom``, let a class visit it, and end it."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "hsd_viz",
        "classroom",
        "--port",
        str(port),
        "--pages",
        str(args.visitors + 11),
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert server.stdout is not None
        while line := server.stdout.readline():
            if line.startswith("dashboard:"):
                break
        args.url = f"http://127.0.0.1:{port}/"
        args.pid = server.pid
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with suppress(OSError), urlopen(f"{args.url}place", timeout=60):
                break
            time.sleep(0.2)
        time.sleep(args.settle)
        return asyncio.run(visit_class(args))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
