"""Stacked bars of tokens by source: database subsets, database orders, and kinds of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from hsd_viz.figures.drafting_bars import ablation_spec, category_spec, order_spec
from hsd_viz.views.doors import View
from hsd_viz.views.scripts import joined

#: Styles of the latency views and additions.
CSS = joined("latency.css", "drafting.css")


class DraftBars(View):
    """Rows of stacked bars with their values, also available as text."""

    _esm = joined("dom.js", "draft_bars.js")
    _css = CSS

    spec = traitlets.Dict().tag(sync=True)


class DatabaseAblation(DraftBars):
    """Every database subset: tokens per target forward pass by source, share from multi-token rounds, drafting latency.

    ``data`` is an ablation (:mod:`benchmarks.ablation`), its file, or traces. ``beside`` adds the published figures on
    their own scale. Raises: ValueError: if ``data`` has no database stack."""

    def __init__(self, data: Any, *, temperature: float | None = None, beside: bool = True, source: str = "") -> None:
        super().__init__(spec=ablation_spec(data, temperature=temperature, beside=beside, source=source))


class OrderAblation(DraftBars):
    """All three databases in each of the six orders. Arguments and errors as in :class:`DatabaseAblation`."""

    def __init__(self, data: Any, *, temperature: float | None = None, beside: bool = True, source: str = "") -> None:
        super().__init__(spec=order_spec(data, temperature=temperature, beside=beside, source=source))


class CategoryBars(DraftBars):
    """Mean acceptance length by kind of text for ``stacks`` of a bench report (default: those with a draft).

    ``data`` is a report, an ablation or a file of either. With ``first`` (stack names, or a number per kind of text),
    rows are sorted by speed-up, else by length, and all others are collapsed; ``rule`` describes the selection. Raises:
    ValueError: if the data have no categories."""

    def __init__(
        self,
        data: Any,
        *,
        stacks: Sequence[str] | None = None,
        first: Sequence[str] | int | None = None,
        rule: str = "",
        temperature: float | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        options = {"stacks": stacks, "first": first, "rule": rule, "temperature": temperature, "words": words}
        super().__init__(spec=category_spec(data, **options))
