"""The hierarchy as a graph: models by size, databases below, acceptance on edges, and the stack selected by the law.

Removing a model or a database recomputes the selection from the calibration; no model runs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import traitlets

from hsd_viz.calibration.basis import USUAL, Basis, basis_of, rate, tier_rate, unseen
from hsd_viz.figures.palette import HUES, family
from hsd_viz.latency.inputs import Calibration, LevelCost
from hsd_viz.latency.law import MOST
from hsd_viz.latency.select import Choice, select
from hsd_viz.stack import DATABASES, parse
from hsd_viz.views.doors import View

KINDS = {
    "plain": "No draft pays off: plain decoding is fastest.",
    "databases only": "Databases only: no draft model pays off.",
    "one draft": "One draft model: a second would cost more than it saves.",
    "hierarchy": "A hierarchy: each level verifies the one below.",
}


class HierarchyGraph(View):
    """Models as circles with area proportional to cost per token, edges as wide as acceptance, the selected stack
    highlighted.

    ``basis`` is a calibration (or an argument of :func:`~hsd_viz.calibration.basis.basis_of`), ``out`` the names
    of removed draft models and databases, toggled by click or Enter. Raises: ValueError: if a name cannot be removed.
    """

    view = traitlets.Unicode("hierarchy").tag(sync=True)

    graph = traitlets.Dict().tag(sync=True)
    picked = traitlets.Dict().tag(sync=True)
    out = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, basis: Any, *, out: Collection[str] = (), most: int = MOST, source: str = "") -> None:
        basis = basis_of(basis, source)
        self._calibration, self._most, self._unseen = basis.calibration, most, unseen(basis.calibration)
        self._choices: dict[frozenset[str], dict[str, Any]] = {}
        free = {*basis.calibration.models[:-1], *basis.calibration.databases}
        for name in out:
            if name not in free:
                raise ValueError(f"'{name}' cannot be removed: use {', '.join(sorted(free)) or 'nothing'}")
        super().__init__(graph=graph(basis), out=list(out), picked=self._choose(out))
        self.observe(self._on_out, "out")

    def _on_out(self, _change: Any) -> None:
        self.picked = self._choose(self.out)

    def _choose(self, out: Collection[str]) -> dict[str, Any]:
        key = frozenset(out)
        if key not in self._choices:
            # Voilà hides errors of callbacks, so they are shown on the page.
            try:
                choice = select(without(self._calibration, key), most=self._most)
                self._choices[key] = picked(choice, self._missed(key)) | {"error": ""}
            except Exception as error:
                self._choices[key] = {"error": str(error) or type(error).__name__}
        return self._choices[key] | {"out": sorted(key)}

    def _missed(self, out: Collection[str]) -> list[str]:
        """Return unmeasured pairs among the included models and databases."""
        return [pair for pair in self._unseen if not set(out) & set(pair.split(" > "))]


def without(calibration: Calibration, out: Collection[str]) -> Calibration:
    """Return the calibration without the models and databases in ``out``; the target always stays."""
    gone = set(out) - {calibration.target}
    models = tuple(m for m in calibration.models if m not in gone)
    keep = lambda pairs: {pair: value for pair, value in pairs.items() if not gone & set(pair)}
    costs = {m: calibration.costs[m] for m in models}
    return replace(
        calibration, models=models, costs=costs, edges=keep(calibration.edges), tiers=keep(calibration.tiers)
    )


def graph(basis: Basis) -> dict[str, Any]:
    """Return the static part of the graph: models, databases and edges."""
    calibration = basis.calibration
    models = []
    for name in calibration.models:
        target = name == calibration.target
        ms, words = token_cost(calibration.costs[name], target)
        models.append(
            {"name": name, "ms": ms, "words": words, "hue": asdict(HUES["target" if target else family(name)])}
        )
    bottoms = []
    for name in calibration.databases:
        own = parse(f"{name} > target").bottom
        parts = [item for item in own.items if item in DATABASES] or list(
            DATABASES if own.name == "db" else ["baseline"]
        )
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
        "source": f"Predicted by the latency law; calibration {basis.source}.",
        "warning": basis.warning,
    }


def token_cost(cost: LevelCost, target: bool) -> tuple[float, str]:
    """Return a model's cost per token in ms inside runs, and its description.

    For the target: a forward pass over one token. For a draft model: one token of a draft of :data:`USUAL` tokens,
    launch included. If no one-token pass was measured, the smallest measured width counts.
    """
    if not target and cost.draft is not None:
        return cost.alone(USUAL) / USUAL, f"one token of a draft of {USUAL}, launch included"
    fewest = sum(ms == cost.forward[0] for ms in cost.forward)
    several = (
        f"a forward pass over up to {fewest} tokens, the smallest measured width"
        if 1 < fewest < len(cost.forward)
        else ""
    )
    return cost.verifying(1), several or "a forward pass over one token"


def picked(choice: Choice, missed: Sequence[str] = ()) -> dict[str, Any]:
    """Return the selection as plain data: stack, path, figures, description, and unmeasured pairs (``missed``)."""
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
