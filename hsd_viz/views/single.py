"""Views of verification rules and of the latency law."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import traitlets

from hsd_viz.figures.palette import HUES, family
from hsd_viz.latency.basis import USUAL, Basis, basis_of, rate, tier_rate
from hsd_viz.latency.inputs import Calibration
from hsd_viz.latency.law import MAX_PLANNED_LOOKAHEAD
from hsd_viz.latency.select import select
from hsd_viz.results.estimate import UNKNOWN
from hsd_viz.stack import DATABASE, DATABASES, TARGET, read_source
from hsd_viz.views.view import View


class RuleLab(View):
    """Four verification rules on one draft: token, block and branch verification, and typical
    acceptance, which is not lossless.

    ``p`` is the target's probability of each of ``tokens``. ``disagreement`` interpolates the draft
    model's row between ``p`` (0) and its reverse order (1). ``epsilon`` is the threshold of typical
    acceptance. ``seed`` selects the draft.
    """

    view = traitlets.Unicode("rule_lab").tag(sync=True)
    tokens = traitlets.List(
        traitlets.Unicode(), ["cat", "dog", "owl", "fox"], minlen=2, maxlen=5
    ).tag(sync=True)
    p = traitlets.List(
        traitlets.Float(min=0, max=1), [0.5, 0.25, 0.15, 0.1], minlen=2, maxlen=5
    ).tag(sync=True)
    lookahead = traitlets.Int(3, min=1, max=3).tag(sync=True)
    disagreement = traitlets.Float(0.4, min=0, max=1).tag(sync=True)
    epsilon = traitlets.Float(0.1, min=0.001, max=1).tag(sync=True)
    seed = traitlets.Int(93, min=0, max=2**31 - 1).tag(sync=True)


# --- the latency law ------------------------------------------------------------------------------


class OneDraftWhatIf(View):
    """The speed-up of one draft model over plain decoding by ``lookahead``, with sliders for the
    ``acceptance``, the ``cost`` per draft token and the ``slope`` per verified token (both in
    target forward passes).

    ``basis`` adds the draft models of a calibration as presets.
    """

    view = traitlets.Unicode("one_draft").tag(sync=True)
    acceptance = traitlets.Float(0.7, min=0, max=0.99).tag(sync=True)
    cost = traitlets.Float(0.15, min=0, max=1).tag(sync=True)
    lookahead = traitlets.Int(4, min=1, max=MAX_PLANNED_LOOKAHEAD).tag(sync=True)
    slope = traitlets.Float(0.02, min=0, max=0.5).tag(sync=True)
    presets = traitlets.List(traitlets.Dict()).tag(sync=True)
    source = traitlets.Unicode().tag(sync=True)

    def __init__(self, basis: Any = None, *, source: str = "", **values: Any) -> None:
        state = {} if basis is None else one_draft_state(basis_of(basis, source))
        super().__init__(**state | values)


def one_draft_state(basis: Basis) -> dict[str, Any]:
    """Return the presets of a calibration, and the values of the last one.

    Costs are in one-token forward passes of the target, launch and overheads included. The slope is
    the cost per additional token over the first four.
    """
    calibration = basis.calibration
    cost = calibration.costs[calibration.target]
    verify_one = cost.verifying(1)
    forward = verify_one + cost.overhead
    slope = (cost.verifying(5) - verify_one) / 4 / forward
    presets = []
    chosen: dict[str, float] = {}
    for draft, verifier in calibration.edges:
        if verifier != calibration.target:
            continue
        acceptance = rate(calibration.edge(draft, verifier))
        drafting = calibration.costs[draft].alone(USUAL) / USUAL / forward
        chosen = {
            "acceptance": _on_slider(acceptance, step=0.01, top=0.99),
            "cost": _on_slider(drafting, step=0.005, top=1.0),
            "slope": _on_slider(slope, step=0.01, top=0.5),
        }
        presets.append({"name": draft, **chosen})
    return {"presets": presets, "source": basis.predicted, **chosen}


def _on_slider(value: float, *, step: float, top: float) -> float:
    """Round a value to a step of its slider, so that the preset is recognized later."""
    return round(min(top, round(max(0.0, value) / step) * step), 6)


class HierarchyGraph(View):
    """A table of models and databases: the time per token, and the acceptance by each verifier. The
    selected stack is marked.

    ``basis`` is a calibration (or an argument of :func:`~hsd_viz.latency.basis.basis_of`).
    """

    view = traitlets.Unicode("hierarchy").tag(sync=True)
    graph = traitlets.Dict().tag(sync=True)
    picked = traitlets.Dict().tag(sync=True)

    def __init__(self, basis: Any, *, source: str = "") -> None:
        state = hierarchy_state(basis_of(basis, source))
        super().__init__(graph=state["graph"], picked=state["picked"])


def hierarchy_state(basis: Basis) -> dict[str, Any]:
    """Return the traits of a :class:`HierarchyGraph`: the calibration, and the stack that the law
    selects.
    """
    calibration = basis.calibration
    choice = select(calibration)
    best = choice.picked
    single = choice.best_single_draft
    lookaheads = {draft.name: draft.lookahead for draft in best.levels.drafts}
    picked = {
        "stack": best.stack,
        "path": [{"name": name, "lookahead": lookaheads.get(name)} for name in best.names],
        "ms": best.ms_per_token,
        "over_plain": best.gain_over(choice.plain),
        "measured_over_plain": _measured_gain(basis, best.stack, choice.plain.stack),
        "measured_on": basis.measured_on,
        "over_single": best.gain_over(single) if single is not None and single != best else None,
        "single": "" if single is None else single.stack,
        "length": best.acceptance_length,
        "words": choice.structure.sentence,
    }
    edges: list[dict[str, Any]] = []
    for (draft, verifier), edge in calibration.edges.items():
        edges.append({"from": draft, "to": verifier, "rate": rate(edge), "per": None})
    for (database, verifier), tier in calibration.tiers.items():
        per_draft = tier.tokens - 1
        edges.append({"from": database, "to": verifier, "rate": tier_rate(tier), "per": per_draft})
    levels = [_level(calibration, name) for name in (*calibration.databases, *calibration.models)]
    return {
        "graph": {
            "levels": levels,
            "edges": edges,
            "source": basis.predicted,
            "prompts": basis.prompts,
        },
        "picked": picked,
    }


def _measured_gain(basis: Basis, stack: str, plain: str) -> float | None:
    """Return the measured speed-up of a stack over plain decoding; ``None``: not measured."""
    ms = basis.measured.get(stack, UNKNOWN).value
    plain_ms = basis.measured.get(plain, UNKNOWN).value
    if stack == plain or ms is None or plain_ms is None:
        return None
    return plain_ms / ms - 1


def _level(known: Calibration, name: str) -> dict[str, Any]:
    """Return a level with its colours and its milliseconds within runs.

    These are per one-token forward pass of the target, per token of a draft of :data:`USUAL` tokens
    of a draft model (launch included), or per look-up of a database.
    """
    if name in known.databases:
        parts = [item for item in read_source(name).items if item in DATABASES]
        ms = known.lookup(name).lookup
        keys = parts or (list(DATABASES) if name == DATABASE else ["baseline"])
    else:
        cost = known.costs[name]
        keys = [TARGET if name == known.target else family(name)]
        forward = name == known.target or cost.draft is None
        ms = cost.verifying(1) if forward else cost.alone(USUAL) / USUAL
    return {"name": name, "ms": ms, "hues": [asdict(HUES[key]) for key in keys]}
