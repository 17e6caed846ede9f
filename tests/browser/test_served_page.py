"""The page that ``hsd-viz serve`` serves, in a real browser: it decodes on its server, and
cancels there.
"""

import asyncio
import re

import pytest
from playwright.sync_api import expect

from hsd_viz.cli.served_page import served_page
from hsd_viz.engine.local import load_engine
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.serve.requests import decode_with
from hsd_viz.serve.settings import ServerSettings
from tests.browser.explorer import CANCEL, TOKENS, field
from tests.serve.serving import serving

pytestmark = pytest.mark.browser

#: A decode of so many tokens ends only with its connection.
ENDLESS = 200


def test_a_served_page_decodes_waits_and_cancels_on_its_server(open_page):
    decode = decode_with(load_engine(threads=1))

    async def held(request):
        endless = request["max_new_tokens"] == ENDLESS
        async for records in decode(request):
            if kept := [
                record for record in records if record["event"] != "finished" or not endless
            ]:
                yield kept
        if endless:
            await asyncio.Event().wait()

    def fill(stack, tokens):
        field(page, "Stack").fill(stack)
        field(page, "Stack").blur()
        field(page, "New tokens").fill(str(tokens))

    settings = ServerSettings(token="s/cret", new_tokens=ENDLESS)
    with serving(held, served_page, settings=settings) as address:
        shown = open_page(1440)
        problems = []
        page = shown.page
        other = RemoteEngine(address, "s/cret")
        page.on(
            "console",
            lambda message: message.type in ("error", "warning") and problems.append(message.text),
        )
        page.goto(f"{address}/?token=s/cret&seed=3", wait_until="domcontentloaded")
        page.wait_for_selector(TOKENS)
        assert "cret" not in page.url
        assert "seed=3" in page.url
        page.locator(".hsd-form-switch").click()
        run = page.get_by_role("button", name="Run", exact=True)
        fill("db > nano:3 > target", ENDLESS + 1)
        expect(field(page, "New tokens")).to_have_attribute("aria-invalid", "true")
        fill("db > nano:3 > target", 24)
        running = other.decode("x", max_new_tokens=ENDLESS)
        next(running)
        run.click()
        expect(page.locator(".hsd-now .hsd-stage")).to_have_text("waiting in the queue: position 1")
        running.close()
        expect(page.locator(".hsd-badge")).to_have_text("Finished run")
        expect(page.locator(TOKENS)).to_have_count(24)
        # On a busy machine the times may be impossible, which the tile then says.
        speed_up = page.locator(".hsd-tile").nth(1)
        expect(speed_up).to_contain_text(
            re.compile("×.*over plain decoding|timings disturbed", re.S)
        )
        fill("target", ENDLESS)
        page.evaluate(CANCEL, TOKENS)
        run.click()
        expect(page.locator(".hsd-foot")).to_contain_text("cancelled")
        expect(page.locator(".hsd-badge")).to_have_text("Finished run")
        assert page.locator(TOKENS).count() > 5
        assert problems == []
        assert len(other.run("x", max_new_tokens=1)) == 1, "the server has its place back"
        shown.check()
