"""The engine of a page: one that it loads on the first run, or one passed to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import cast

from hsd_viz.decoding.engine import Engine
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.engine.access import Access
from hsd_viz.engine.beside_plain import decode_beside_plain
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.models.families import find_family
from hsd_viz.settings.engine_choices import DType
from hsd_viz.stack import TARGET
from hsd_viz.trace import Event, Stage
from hsd_viz.views.app.messages import PageDecode

#: Maximum number of threads of a page's decode: small models do not profit from more.
MAX_THREADS = 8


class PageEngine:
    """The engine of a page.

    Attributes:
        is_own: whether the page loads its engine itself.
        family: the initial family.
    """

    def __init__(self, engine: Engine | None, access: Access, family: str) -> None:
        self.is_own = engine is None
        # Any object with the methods of an engine is accepted, even if it does not name its family.
        self.family = find_family(getattr(engine, "family", family))
        self._engine = engine
        self._access = access
        self._options: EngineOptions | None = None
        self._loading = threading.Lock()

    def events(self, request: PageDecode) -> Iterator[Event]:
        """Yield the events of a decode. Load models first if it needs others.

        Raises:
            UserError: if the request names models or files that are not allowed.
        """
        options = self._options_of(request)
        with self._loading:
            if self.is_own and (self._engine is None or options != self._options):
                from hsd_viz.engine.local import LocalEngine

                yield Stage("loading the models")
                self._engine = None  # frees the previous models
                self._engine = LocalEngine.of(options)
                self._options = options
            engine = self._engine
        assert engine is not None
        decoding = DecodingOptions.of(request.options)
        if request.beside_plain:
            yield from decode_beside_plain(engine, request.prompt, request.stack, decoding)
        else:
            yield from engine.events(request.prompt, request.stack, decoding)

    def _options_of(self, request: PageDecode) -> EngineOptions:
        """Return the options of the engine that a request needs.

        Raises:
            UserError: if it names models or files that are not allowed, or another family than that
                of an engine passed to the page.
        """
        folder = request.databases or None
        if folder is not None:
            folder = self._access.check("databases", folder)
        options = EngineOptions(
            target=request.target or TARGET,
            family=find_family(request.family or self.family.name).name,
            device=request.device or None,
            # The options check it.
            dtype=cast("DType | None", request.dtype or None),
            # Leave cores for the page and the browser.
            threads=min(MAX_THREADS, max(1, (os.cpu_count() or 2) // 2)),
            databases=folder,
            allow_models=self._access.models is None,
        )
        if not self.is_own and options.family != self.family.name:
            raise UserError(
                f"the engine of this page decodes the family {self.family.name}, "
                f"not {options.family}"
            )
        return options
