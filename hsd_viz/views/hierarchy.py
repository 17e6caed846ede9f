"""The hierarchy as a graph: models by size, databases beneath, what accepts how much of whom, and the stack that the law picks.

Take a model or a database out, and the selection is made anew from the calibration, at once: nothing is run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import anywidget
import traitlets

from hsd_viz.latency.affine import MOST
from hsd_viz.latency.calibration import Calibration
from hsd_viz.latency.costs import LevelCost
from hsd_viz.latency.mixture import choose
from hsd_viz.latency.select import Choice
from hsd_viz.stack import DATABASES, parse
from hsd_viz.views.latency_sources import USUAL, Basis, basis_of, rate, tier_rate, unseen
from hsd_viz.views.palette import HUES, family
from hsd_viz.views.scripts import STATIC, joined

KINDS = {
    "plain": "No draft pays here: the target is fastest alone.",
    "databases only": "Databases draft, no model beneath the target is worth its time.",
    "one draft": "One draft model, no hierarchy: a second would cost more than it saves.",
    "hierarchy": "A hierarchy: every level verifies the one below.",
}


class HierarchyGraph(anywidget.AnyWidget):
    """Models as circles whose area is the cost of one token, edges as wide as the share of tokens accepted, the picked stack lit.

    ``basis`` is a calibration (or what :func:`~hsd_viz.views.latency_sources.basis_of` takes), ``out`` the names of draft models and
    databases taken out; people change it with a click or Enter. Raises ``ValueError`` with one sentence.
    """

    _esm = joined("dom.js", "hierarchy.js")
    _css = STATIC / "latency.css"

    graph = traitlets.Dict().tag(sync=True)
    picked = traitlets.Dict().tag(sync=True)
    out = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, basis: Any, *, out: Collection[str] = (), most: int = MOST, source: str = "") -> None:
        basis = basis_of(basis, source)
        self._mixture, self._most, self._unseen = basis.mixture, most, unseen(basis.calibration)
        self._choices: dict[frozenset[str], dict[str, Any]] = {}
        free = {*basis.calibration.models[:-1], *basis.calibration.bottoms}
        for name in out:
            if name not in free:
                raise ValueError(f"'{name}' cannot be taken out: {', '.join(sorted(free)) or 'nothing'} can")
        super().__init__(graph=graph(basis), out=list(out), picked=self._choose(out))
        self.observe(self._on_out, "out")

    def _on_out(self, _change: Any) -> None:
        self.picked = self._choose(self.out)

    def _choose(self, out: Collection[str]) -> dict[str, Any]:
        key = frozenset(out)
        if key not in self._choices:
            # Whatever goes wrong is said on the page: a callback's error is seen nowhere else.
            try:
                left = self._mixture.each(lambda calibration: without(calibration, key))
                self._choices[key] = picked(choose(left, most=self._most), self._missed(key)) | {"error": ""}
            except Exception as error:
                self._choices[key] = {"error": str(error) or type(error).__name__}
        return self._choices[key] | {"out": sorted(key)}

    def _missed(self, out: Collection[str]) -> list[str]:
        """What was never seen, among the models and databases that are in."""
        return [pair for pair in self._unseen if not set(out) & set(pair.split(" > "))]


def without(calibration: Calibration, out: Collection[str]) -> Calibration:
    """The calibration as if the models and databases in ``out`` had not been measured; the target always stays."""
    gone = set(out) - {calibration.target}
    models = tuple(m for m in calibration.models if m not in gone)
    keep = lambda pairs: {pair: value for pair, value in pairs.items() if not gone & set(pair)}
    costs = {m: calibration.costs[m] for m in models}
    return replace(
        calibration, models=models, costs=costs, edges=keep(calibration.edges), tiers=keep(calibration.tiers)
    )


def graph(basis: Basis) -> dict[str, Any]:
    """What stands still in the picture: models, databases and the edges between them."""
    calibration = basis.calibration
    models = []
    for name in calibration.models:
        target = name == calibration.target
        ms, words = token_cost(calibration.costs[name], target)
        models.append(
            {"name": name, "ms": ms, "words": words, "hue": asdict(HUES["target" if target else family(name)])}
        )
    bottoms = []
    for name in calibration.bottoms:
        own = parse(f"{name} > target").bottom
        parts = [item for item in own.items if item in DATABASES] or list(DATABASES if own.name == "db" else ["rival"])
        bottoms.append(
            {"name": name, "ms": calibration.lookup(name).lookup, "stripes": [asdict(HUES[p]) for p in parts]}
        )
    edges = [
        {"from": d, "to": v, "rate": rate(edge), "per": None}
        for (d, v), edge in calibration.edges.items()
        if v in calibration.models
    ]
    tiers = [{"from": b, "to": v, "rate": tier_rate(t), "per": t.tokens - 1} for (b, v), t in calibration.tiers.items()]
    return {
        "models": models,
        "bottoms": bottoms,
        "edges": [*edges, *tiers],
        "source": f"Predicted by the law, on a calibration {basis.source}.",
        "warning": basis.warning,
    }


def token_cost(cost: LevelCost, target: bool) -> tuple[float, str]:
    """What a token of a model costs inside runs, in ms, and in words what that is.

    The target's is a forward over one token; that of a draft model a token of a draft of :data:`USUAL`, what a launch costs included.
    A model that was never fed one token alone has the cost of the fewest that it was fed, as the calibration has it.
    """
    if not target and cost.draft is not None:
        return cost.alone(USUAL) / USUAL, f"a token of a draft of {USUAL}, what its launch costs included"
    fewest = sum(ms == cost.forward[0] for ms in cost.forward)
    several = (
        f"a forward over up to {fewest} tokens: no figure tells fewer of them apart"
        if 1 < fewest < len(cost.forward)
        else ""
    )
    return float(cost.verifying(1)[1]), several or "a forward over one token"


def picked(choice: Choice, missed: Sequence[str] = ()) -> dict[str, Any]:
    """The selection in plain data: the stack, its path, its figures and a sentence; ``missed`` was never seen, and is no part of it."""
    best, single = choice.picked, choice.best_single_draft
    stack = parse(best.stack)
    path = [{"name": str(stack.bottom), "lookahead": None}] if stack.bottom is not None else []
    path += [{"name": m.name, "lookahead": m.lookahead} for m in stack.models]
    same = single is not None and single.stack == best.stack
    return {
        "stack": best.stack,
        "path": path,
        "ms": best.ms_per_token,
        "over_plain": best.gain_over(choice.plain),
        "over_single": best.gain_over(single) if single is not None else None,
        "single": "" if single is None else single.stack,
        "is_single": same,
        "missed": list(missed),
        "length": best.acceptance_length,
        "words": KINDS[choice.kind],
    }
