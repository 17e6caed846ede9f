"""Take the pictures of the docs: ``python -m tools.pictures [staircase|dashboard|round|race|live ...]``, after
recording the traces.

All are screenshots of the page as ``hsd-viz dashboard`` serves it. ``live`` is a run on this machine: its frames are
those that Chromium painted, played back :data:`SLOWER` times slower, then some steps of the player. It needs Pillow.
"""

from __future__ import annotations

import base64
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz.disk import write_whole
from tools.pages import chromium, served

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Browser, Page

HERE = Path(__file__).parents[1] / "docs"
#: The stops of the tour.
PATIENCE = 120_000
#: A short run takes about half a second, too fast to follow.
SLOWER = 4
#: The run that ``live`` shows: its stack, its temperature, its length in tokens.
LIVE = ("db > nano:4 > small:7 > target", 0.8, 320)
#: Pixels of the page as it is laid out for ``live`` and ``staircase``, and the width of an animated picture.
LAID_OUT, STAIRCASE, KEPT = (1300, 1000), (1100, 760), 1000


def dashboard(browser: Browser, url: str) -> Path:
    """The page with a token pinned."""
    page = _opened(browser, url, 1400, 1440)
    page.get_by_role("option", name="accepted draft token").nth(12).click()
    return _taken(page, "dashboard")


def staircase(browser: Browser, url: str) -> Path:
    """The recorded run of the first screen, round by round, as an animated picture for light and dark pages."""
    for theme, name in (("dark", "staircase-dark"), ("light", "staircase")):
        page = _opened(browser, f"{url}?theme={theme}", *STAIRCASE)
        bar = page.get_by_role("slider", name="Events of the run")
        bar.press("Home")
        top = page.locator(".hsd-transport").bounding_box()["y"]
        clip = {"x": 0, "y": top, "width": STAIRCASE[0], "height": STAIRCASE[1] - top}
        frames, last = [], None
        while (event := bar.get_attribute("aria-valuenow")) != last:
            frames.append((_image(page.screenshot(clip=clip)), 0.12))
            last = event
            bar.press("Shift+ArrowRight")
        bar.press("End")
        frames.append((_image(page.screenshot(clip=clip)), 4.0))
        path = _animated(frames, HERE / f"{name}.webp")
        page.close()
    return path


def round_(browser: Browser, url: str) -> Path:
    """A round at temperature > 0 in which chance rejected a draft, with its arithmetic: where the tour stops for it."""
    page = _opened(browser, f"{url}?tour=chance", 1400, 2200)
    return _taken(page, "round", ".hsd-scene")


def race(browser: Browser, url: str) -> Path:
    """Recorded runs of one prompt side by side, in the middle of their race."""
    page = _opened(browser, url, 1400, 1700)
    page.get_by_role("tab", name="Compare", exact=True).click()
    view = page.locator(".hsd-versus")
    view.wait_for()
    clock = view.locator("input[type=range]").first
    clock.evaluate("e => { e.value = e.max * 0.2; e.dispatchEvent(new Event('input', { bubbles: true })); }")
    clock.scroll_into_view_if_needed()
    return _taken(page, "race", ".hsd-versus", height=1150)


def live(browser: Browser, url: str) -> Path:
    """A live run, as it was painted, and the player's first rounds after it, as an animated picture."""
    page = _opened(browser, url, *LAID_OUT)
    for label, value in zip(("Stack", "Temperature", "New tokens"), LIVE, strict=True):
        page.get_by_label(label, exact=True).fill(str(value))
    run = page.get_by_role("button", name="Run", exact=True)
    finished = lambda: page.wait_for_function("b => !b.disabled", arg=run.element_handle())
    # The first run loads the models; the second is the one to be seen.
    run.click()
    page.wait_for_timeout(500)
    finished()
    page.locator(".hsd-text-view").evaluate("e => e.scrollIntoView({ block: 'start' })")
    page.wait_for_timeout(1500)
    with _Film(page) as film:
        run.click()
        page.wait_for_timeout(200)
        finished()
        page.wait_for_timeout(300)
    frames = [(image, seconds * SLOWER) for image, seconds in film.frames()]
    frames[-1] = (frames[-1][0], 1.5)
    step = page.get_by_role("button", name="Next event")
    for _ in range(16):
        step.click()
        page.wait_for_timeout(250)
        frames.append((_image(page.screenshot()), 0.5))
    return _animated(frames, HERE / "live.webp")


def _opened(browser: Browser, url: str, width: int, height: int) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE)
    page.add_init_script("localStorage.setItem('hsd_viz.intro', 'yes')")
    page.goto(url, wait_until="domcontentloaded", timeout=PATIENCE)
    page.wait_for_selector(".hsd-panel-body > *")
    page.wait_for_timeout(2000)
    return page


def _taken(page: Page, name: str, selector: str | None = None, height: float | None = None) -> Path:
    """The page as it is now, or what ``selector`` finds on it, at most ``height`` pixels of that, and a margin."""
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(1500)
    clip = None
    if selector:
        box = page.locator(selector).first.bounding_box()
        box["height"] = min(box["height"], height or box["height"])
        clip = {"x": box["x"] - 20, "y": box["y"] - 16, "width": box["width"] + 40, "height": box["height"] + 32}
    path = HERE / f"{name}.png"
    write_whole(path, page.screenshot(clip=clip))
    page.close()
    return path


class _Film:
    """What Chromium paints, with the times at which it did, while the block lasts."""

    def __init__(self, page: Page) -> None:
        self._session = page.context.new_cdp_session(page)
        self._painted: list[tuple[float, bytes]] = []
        self._session.on("Page.screencastFrame", self._on_frame)
        self._page = page

    def _on_frame(self, frame: dict) -> None:
        self._painted.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        self._session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def __enter__(self) -> _Film:
        self._session.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})
        return self

    def __exit__(self, *_: object) -> None:
        self._end = time.time()
        self._session.send("Page.stopScreencast")

    def frames(self) -> list[tuple[Image, float]]:
        """Return every frame with its duration in seconds."""
        times = [at for at, _ in self._painted] + [max(self._end, self._painted[-1][0])]
        return [
            (_image(data), after - before)
            for (_, data), before, after in zip(self._painted, times, times[1:], strict=False)
        ]


def _image(data: bytes) -> Image:
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGB")
    return image.resize((KEPT, image.height * KEPT // image.width), Image.Resampling.LANCZOS)


def _animated(frames: list[tuple[Image, float]], path: Path) -> Path:
    out = io.BytesIO()
    images, times = zip(*((image, max(20, round(seconds * 1000))) for image, seconds in frames), strict=True)
    images[0].save(
        out, "WEBP", save_all=True, append_images=images[1:], duration=list(times), loop=0, quality=50, method=6
    )
    write_whole(path, out.getvalue())
    return path


PICTURES: dict[str, Callable[[Browser, str], Path]] = {
    "staircase": staircase,
    "dashboard": dashboard,
    "round": round_,
    "race": race,
    "live": live,
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        raise SystemExit(f"unknown picture {unknown[0]!r}: expected {', '.join(PICTURES)}")
    with served() as url, chromium() as browser:
        for name in names or PICTURES:
            path = PICTURES[name](browser, url)
            print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")


if __name__ == "__main__":
    main(sys.argv[1:])
