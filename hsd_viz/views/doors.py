"""What every view offers: files, HTML, a static form, and strict options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hsd_viz.disk import write_whole
from hsd_viz.figures.pictures import result, screenshot
from hsd_viz.figures.theme import Given, checked_ending, chromium, trace_of
from hsd_viz.views.page import page_of
from hsd_viz.views.rerun import displayed
from hsd_viz.views.scripts import Part
from hsd_viz.views.still import still
from hsd_viz.words import did_you_mean

__all__ = ["Doors", "Given", "View", "check_options", "trace_of"]

#: Traits that are not options.
_INTERNAL = {"bundle", "data", "palette", "spec", "view"}
#: Width of a picture in CSS pixels.
WIDTH = 960


class Doors:
    """Ways out of a view: :meth:`save`, :meth:`to_html`, and static HTML where widgets are not available."""

    def to_html(self, *, dark: bool | None = None) -> str:
        """Return the view as one page of HTML that opens offline and makes no network requests.

        ``dark`` selects the theme; ``None`` follows the browser. Controls that need Python are not included.
        """
        return page_of(self, dark=dark)

    def save(self, path: str | Path, *, dark: bool | None = None, width: int = WIDTH, scale: float = 2.0) -> Path:
        """Write the view as ``.html`` (interactive) or ``.png``, and return the path; charts also as ``.svg``.

        PNG needs Chromium or Chrome (``$BROWSER_PATH`` names another one). ``width`` is in CSS pixels, ``scale`` the
        pixels of a PNG per CSS pixel. Raises: ValueError: for another ending. RuntimeError: without a browser.
        """
        path = Path(path).expanduser()
        ending = checked_ending(path)
        if ending == ".html":
            write_whole(path, self.to_html(dark=dark))
            return path
        if ending == ".svg":
            raise ValueError(
                f"{type(self).__name__} is drawn with HTML and has no vectors: save it as .png "
                f"(scale={2 * scale:g} for print) or .html; charts (hsd.figures) are saved as .svg"
            )
        chromium()
        page = page_of(self, dark=bool(dark), then="height")
        write_whole(path, screenshot(page, width, int(result(page, width)), scale))
        return path

    def retire(self) -> None:
        """Close the view and release its data: the cell that made it is run again."""
        self.layout.close()  # type: ignore[attr-defined]
        self.close()  # type: ignore[attr-defined]
        for name in self.trait_names(sync=True):  # type: ignore[attr-defined]
            if name in ("data", "spec"):
                self.set_trait(name, {})  # type: ignore[attr-defined]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Add static HTML to the widget, for pages without a kernel or scripts."""
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        displayed(self)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if data is None:
            return bundle
        return {**data, "text/html": still(self)}, metadata


class View(Doors, Part):
    """A public view. Options that it does not have are errors."""

    def __init__(self, **options: Any) -> None:
        check_options(type(self), options)
        super().__init__(**options)


def check_options(view: type, options: dict[str, Any]) -> None:
    """Check that a view has these options. Raises: TypeError: if it lacks one."""
    own = [name for base in view.__mro__ if issubclass(base, View) for name in base.class_own_traits()]
    known = {name for name in view.class_trait_names() if not name.startswith("_")}
    for name in options:
        if name not in known:
            allowed = ", ".join(sorted({n for n in own if n in known} - _INTERNAL)) or "none"
            close = did_you_mean(name, known)
            raise TypeError(f"{view.__name__} has no option '{name}': its options are {allowed}{close}")
