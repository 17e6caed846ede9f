"""Take the pictures of the docs, after recording the traces.

    python -m tools.docs.pictures [NAME ...]

By default all of :data:`PICTURES` are taken. Screenshots are of the page as ``hsd-viz dashboard``
serves it. ``staircase`` needs Pillow; ``pays``, ``prediction`` and ``predict-llama`` need kaleido.
``docs/pictures.json`` has a hash of the data that each picture shows.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hsd_viz import figures
from hsd_viz.disk import write_whole
from tools.browser import chromium, served
from tools.reference.views_page import take_pictures

if TYPE_CHECKING:
    from PIL.Image import Image
    from playwright.sync_api import Browser, FloatRect, Locator, Page

HERE = Path(__file__).resolve().parents[2] / "docs"
#: Picture -> hash of its data (:data:`DATA`) when it was taken.
TAKEN = HERE / "pictures.json"
#: The stops of the tour.
PATIENCE = 120_000
#: Pixels of the page as it is laid out for ``staircase``, and the width of an animated picture.
STAIRCASE = (1180, 790)
KEPT = 1000


def dashboard(browser: Browser, url: str) -> Path:
    """The page with a token pinned."""
    page = _opened(browser, url, 1400, 1440)
    page.get_by_role("option", name="accepted draft token").nth(12).click()
    return _screenshot(page, "dashboard")


def staircase(browser: Browser, url: str) -> Path:
    """A recorded run of many copied tokens, round by round, as an animated picture for light and
    dark pages.
    """
    for theme, name in (("dark", "staircase-dark"), ("light", "staircase")):
        page = _opened(browser, f"{url}?trace=copied&theme={theme}", *STAIRCASE)
        page.add_style_tag(content=":focus-visible { outline: none !important; }")
        bar = page.get_by_role("slider", name="Events of the run")
        bar.press("Home")
        top = _box(page.locator(".hsd-hero"))["y"]
        clip: FloatRect = {
            "x": 0,
            "y": top,
            "width": STAIRCASE[0],
            "height": STAIRCASE[1] - top,
        }
        frames = []
        last = None
        while (event := bar.get_attribute("aria-valuenow")) != last:
            frames.append((_image(page.screenshot(clip=clip)), 0.12))
            last = event
            bar.press("Shift+ArrowRight")
        bar.press("End")
        frames.append((_image(page.screenshot(clip=clip)), 4.0))
        path = _animated(frames, HERE / f"{name}.webp")
        page.close()
    return path


#: The passes of the picture of the game: the words of each, as a visitor writes them.
PASSES = (
    ("February", "March", "April", "May"),
    ("July", "August", "October"),
    ("October", "November"),
)
#: Pixels of the page of the game, and milliseconds between two frames of its motion.
GAME = (1000, 960)
STEP_MS = 70
#: Sets all animations of the page to a time, and returns the time of the last one's end.
SEEK = """(ms) => Math.max(...document.getAnimations().map((motion) => {
  motion.pause();
  motion.currentTime = ms;
  const { endTime } = motion.effect.getComputedTiming();
  return Number.isFinite(endTime) ? endTime : 0;
}), 0)"""


def game(browser: Browser, url: str) -> Path:
    """The first seconds of the game, as an animated picture for light and dark pages."""
    for theme, name in (("dark", "game-dark"), ("light", "game")):
        page = browser.new_page(viewport={"width": GAME[0], "height": GAME[1]})
        page.goto(f"{url}?game=0&theme={theme}", wait_until="domcontentloaded")
        page.wait_for_selector(".hsd-gm-choice", timeout=PATIENCE)
        page.add_style_tag(content=":focus-visible { outline: none !important; }")
        page.clock.install()
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        frames: list[tuple[Image, float]] = []

        def take(seconds: float, page: Page = page, frames: list = frames) -> None:
            frames.append((_image(page.screenshot()), seconds))

        take(1.6)
        for words in PASSES:
            for word in words:
                page.keyboard.type(f"{word} ")
                page.evaluate(SEEK, 1000)
                take(0.35)
            page.keyboard.press("Enter")
            page.wait_for_selector(".hsd-game[data-phase=reading]")
            end = page.evaluate(SEEK, 0)
            for ms in range(0, round(end) + STEP_MS, STEP_MS):
                page.evaluate(SEEK, ms)
                take(STEP_MS / 1000)
            page.clock.run_for(5000)
            page.wait_for_selector(".hsd-game:not([data-phase=reading])")
            page.evaluate(SEEK, 1000)
            take(1.4)
        frames[-1] = (frames[-1][0], 3.5)
        path = _animated(frames, HERE / f"{name}.webp", quality=75)
        page.close()
    return path


def round_(browser: Browser, url: str) -> Path:
    """A round at temperature > 0 in which chance rejected a draft, with its arithmetic: where
    the tour stops for it.
    """
    page = _opened(browser, f"{url}?tour=chance", 1400, 2200)
    return _screenshot(page, "round", ".hsd-scene")


def race(browser: Browser, url: str) -> Path:
    """Recorded runs of one prompt side by side, in the middle of their race."""
    page = _opened(browser, url, 1400, 1700)
    page.get_by_role("tab", name="Compare", exact=True).click()
    view = page.locator(".hsd-versus")
    view.wait_for()
    clock = view.locator("input[type=range]").first
    clock.evaluate(
        "e => { e.value = e.max * 0.2; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    clock.scroll_into_view_if_needed()
    return _screenshot(page, "race", ".hsd-versus", height=1150)


#: What the pictures of the tabs show: name of the file -> address, the part of the page, and its
#: height in pixels.
TABS = {
    "tab-watch": ("?trace=answers/summary&tab=watch", None, 1240),
    "tab-why": ("?trace=answers/one-draft&tab=why&step=134", ".hsd-scene", 900),
    "tab-databases": ("?trace=answers/summary&tab=databases", ".hsd-panel-body", 900),
    "tab-time": ("?trace=answers/hierarchy&tab=time", ".hsd-panel-body", 780),
    "tab-compare": ("?trace=answers/summary&tab=compare", ".hsd-panel-body", 900),
    "tab-your-traffic": ("?trace=answers/summary&tab=your-traffic", ".hsd-panel-body", 700),
}


def tabs(browser: Browser, url: str) -> Path:
    """A picture of each tab."""
    for name, (address, selector, height) in TABS.items():
        # A part below the screen would not be in the picture.
        page = _opened(browser, f"{url}{address}", 1280, 2400 if selector else height)
        path = _screenshot(page, name, selector, height=height)
        _reduce(path)
    return path


def views(*_: object) -> Path:
    """A picture of each view in the catalogue."""
    folder = take_pictures()
    for path in folder.glob("*.png"):
        _reduce(path)
    return folder


#: A picture of the docs is at most as wide, and has as many colours.
WIDEST = 1300
COLOURS = 128


def _reduce(path: Path) -> None:
    """Make a picture smaller: half the width where it was taken at twice the width, and fewer
    colours.
    """
    from PIL import Image

    image = Image.open(path).convert("RGB")
    if image.width > WIDEST:
        image = image.resize((image.width // 2, image.height // 2), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    write_whole(path, out.getvalue())


def pays(*_: object) -> Path:
    """Where a second draft model pays, for light and dark pages."""
    figures.when_it_pays(dark=True).save(HERE / "pays-dark.png", width=1000, scale=1)
    return figures.when_it_pays().save(HERE / "pays.png", width=1000, scale=1)


def prediction(*_: object) -> Path:
    """Predicted and published figures of hardware that was not at hand."""
    path = HERE / "prediction.png"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.prediction", "--image", path],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return path


def predict_llama(*_: object) -> Path:
    """The prediction for Llama 70B, 8B and 1B on four H100."""
    from tools.docs.stated_figures import llamas

    return figures.prediction(llamas()).save(HERE / "predict-llama.png", width=1100, scale=1)


def _opened(browser: Browser, url: str, width: int, height: int) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE)
    page.add_init_script("localStorage.setItem('hsd_viz.game', 'yes')")
    page.goto(url, wait_until="domcontentloaded", timeout=PATIENCE)
    page.wait_for_selector(".hsd-panel-body > *")
    page.wait_for_timeout(2000)
    return page


def _screenshot(
    page: Page, name: str, selector: str | None = None, height: float | None = None
) -> Path:
    """The page as it is now, or what ``selector`` finds on it, at most ``height`` pixels of
    that, and a margin.
    """
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(1500)
    clip: FloatRect | None = None
    if selector:
        box = _box(page.locator(selector).first)
        box["height"] = min(box["height"], height or box["height"])
        clip = {
            "x": box["x"] - 20,
            "y": box["y"] - 16,
            "width": box["width"] + 40,
            "height": box["height"] + 32,
        }
    path = HERE / f"{name}.png"
    write_whole(path, page.screenshot(clip=clip))
    page.close()
    return path


def _box(locator: Locator) -> FloatRect:
    """Return the place of an element on the page.

    Raises:
        ValueError: if it is not visible.
    """
    box = locator.bounding_box()
    if box is None:
        raise ValueError(f"{locator} is not visible")
    return box


def _image(data: bytes) -> Image:
    from PIL import Image

    image = Image.open(io.BytesIO(data)).convert("RGB")
    return image.resize((KEPT, image.height * KEPT // image.width), Image.Resampling.LANCZOS)


def _animated(frames: list[tuple[Image, float]], path: Path, quality: int = 50) -> Path:
    out = io.BytesIO()
    images, times = zip(
        *((image, max(20, round(seconds * 1000))) for image, seconds in frames), strict=True
    )
    images[0].save(
        out,
        "WEBP",
        save_all=True,
        append_images=images[1:],
        duration=list(times),
        loop=0,
        quality=quality,
        method=6,
    )
    write_whole(path, out.getvalue())
    return path


PICTURES: dict[str, Callable[[Browser, str], Path]] = {
    "game": game,
    "staircase": staircase,
    "dashboard": dashboard,
    "round": round_,
    "race": race,
    "tabs": tabs,
    "views": views,
    "pays": pays,
    "prediction": prediction,
    "predict-llama": predict_llama,
}
#: The data that each picture shows.
DATA = {
    "game": "hsd_viz/traces/game/months/*.json.gz",
    "staircase": "hsd_viz/traces/copied.json.gz",
    "dashboard": "hsd_viz/traces/*.json.gz",
    "round": "hsd_viz/traces/*.json.gz",
    "race": "hsd_viz/traces/side_by_side/*/*.json.gz",
    "tabs": "hsd_viz/traces/answers/*.json.gz",
    "views": "hsd_viz/traces/answers/*.json.gz",
    "pays": "docs/bench/grid-*.json",
    "prediction": "docs/bench/prediction.json",
    "predict-llama": "hsd_viz/latency/hardware.json",
}


def data_hash(name: str) -> str:
    """Return a hash of the data that a picture shows now."""
    digest = hashlib.sha256()
    for path in sorted(HERE.parent.glob(DATA[name])):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        raise SystemExit(f"unknown picture {unknown[0]!r}: expected {', '.join(PICTURES)}")
    with served() as url, chromium() as browser:
        for name in names or PICTURES:
            path = PICTURES[name](browser, url)
            hashes = json.loads(TAKEN.read_text()) | {name: data_hash(name)}
            write_whole(TAKEN, json.dumps(dict(sorted(hashes.items())), indent=1) + "\n")
            print(f"{path} ({path.stat().st_size / 1e6:.2f} MB)")


if __name__ == "__main__":
    main(sys.argv[1:])
