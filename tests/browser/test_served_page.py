"""The page that ``hsd-viz serve`` serves, in a real browser: it decodes on its server, and cancels there."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest
from playwright.sync_api import expect

from hsd_viz.cli.decode import _served
from hsd_viz.engine.local import load_engine
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.serve.app import decode_with
from tests.browser.test_page import CANCEL, TOKENS, field
from tests.serve.test_app import serving

pytestmark = pytest.mark.browser

#: A decode of so many tokens ends only with its connection.
ENDLESS = 200


def test_a_served_page_decodes_waits_and_cancels_on_its_server(open_page):
    decode, left = decode_with(load_engine(threads=1)), threading.Event()

    async def held(request):
        endless = request["max_new_tokens"] == ENDLESS
        try:
            async with aclosing(decode(request)) as batches:
                async for records in batches:
                    if kept := [record for record in records if record["event"] != "finished" or not endless]:
                        yield kept
                if endless:
                    await asyncio.Event().wait()
        finally:
            if endless:
                left.set()

    with serving(held, _served, token="s/cret", new_tokens=ENDLESS) as address:
        shown, problems = open_page(1440), []
        page = shown.page
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.goto(f"{address}/?token=s/cret&seed=3", wait_until="domcontentloaded")
        page.wait_for_selector(TOKENS)
        assert "cret" not in page.url and "seed=3" in page.url
        page.locator(".hsd-form-switch").click()
        run = page.get_by_role("button", name="Run", exact=True)
        field(page, "New tokens").fill(str(ENDLESS + 1))
        expect(field(page, "New tokens")).to_have_attribute("aria-invalid", "true")
        field(page, "Stack").fill("db > nano:3 > target")
        field(page, "Stack").blur()
        field(page, "New tokens").fill("24")
        other = RemoteEngine(address, "s/cret").decode("x", max_new_tokens=ENDLESS)
        next(other)
        run.click()
        expect(page.locator(".hsd-now .hsd-stage")).to_have_text("waiting in the queue: position 1")
        other.close()
        expect(page.locator(".hsd-badge")).to_have_text("Finished run")
        expect(page.locator(TOKENS)).to_have_count(24)
        expect(page.locator(".hsd-tile-value").nth(1)).to_contain_text("×")
        assert left.wait(60)
        left.clear()
        field(page, "Stack").fill("target")
        field(page, "Stack").blur()
        field(page, "New tokens").fill(str(ENDLESS))
        page.evaluate(CANCEL, TOKENS)
        run.click()
        expect(page.locator(".hsd-badge")).to_have_text("Finished run")
        expect(page.locator(".hsd-foot")).to_contain_text("cancelled")
        assert page.locator(TOKENS).count() > 5 and left.wait(60), "the server has its place back"
        assert problems == []
        shown.check()
