"""Acceptance of pairs of models that were not measured together, from published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log2

from hsd_viz.errors import UserError
from hsd_viz.latency.efficiency import Kind
from hsd_viz.latency.inputs import Edge
from hsd_viz.latency.shapes import Shape
from hsd_viz.measure.predict.options import Text
from hsd_viz.settings.spelling import spelled

#: An acceptance given by the user: conditional acceptance, or a survival curve.
Given = float | Edge
#: Uncertainty of an acceptance given by the user.
GIVEN_BAND = 0.03
#: Conditional acceptance of a draft head by kind of text: 10 %, 50 % and 90 % of the figures that
#: SpecBundle publishes for two heads of Llama 3.1 8B, two of Llama 3.3 70B and one each of two
#: Qwen3 30B-A3B, converted from tokens per forward pass.
HEAD_ACCEPTANCE: dict[Text, tuple[float, float, float]] = {
    "mixed": (0.46, 0.74, 0.87),
    "chat": (0.69, 0.78, 0.80),
    "code": (0.73, 0.82, 0.88),
    "math": (0.44, 0.71, 0.88),
    "documents": (0.42, 0.52, 0.60),
}
HEAD_SOURCE = "SpecBundle's tokens per forward pass of EAGLE-3 heads, 10–90 %"
#: Conditional acceptance of a draft model of 1/15.6 of the target's size by kind of text, with its
#: uncertainty; each halving of the size costs :data:`PER_HALVING`.
MODEL_ACCEPTANCE: dict[Text, tuple[float, float]] = {
    "mixed": (0.69, 0.12),
    "chat": (0.61, 0.10),
    "code": (0.83, 0.10),
    "math": (0.75, 0.12),
    "documents": (0.69, 0.15),
}
MODEL_RATIO = 15.6
PER_HALVING = 0.04
MODEL_SOURCE = "Qwen2.5 0.5B, 1.5B and 3B under 7B (sathvik-vadari/spec-decode-advisor)"
#: Reduction of an assumed acceptance by sampling at temperature 1.
PER_TEMPERATURE = 0.07


@dataclass(frozen=True, slots=True)
class Assumption:
    """A figure that a prediction uses.

    Attributes:
        name: the name of the figure.
        value: the value.
        kind: ``measured``, ``published`` or ``assumed``.
        source: the origin of the value.
    """

    name: str
    value: float | str
    kind: Kind
    source: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Conditional acceptance of one model by another.

    Attributes:
        edge: the acceptance as an input of the law.
        lower: the amount by which each conditional acceptance may be lower.
        higher: the amount by which each conditional acceptance may be higher.
    """

    edge: Edge
    lower: float
    higher: float

    def moved(self, by: float) -> Edge:
        """Return the acceptance shifted by ``by`` uncertainties (-1: lower end, 1: upper end)."""
        return self.edge.shifted(by * (self.lower if by < 0 else self.higher))


def acceptance_of_pairs(
    shapes: Mapping[str, Shape],
    order: Sequence[str],
    acceptance: Mapping[str, Given] | Given | None,
    temperature: float,
    text: Text,
) -> tuple[dict[tuple[str, str], Acceptance], list[Assumption]]:
    """Return the acceptance of every pair, and the assumptions made.

    Args:
        shapes: the models by name.
        order: the names of the models, from the smallest to the target.
        acceptance: the acceptances by "draft > verifier", or one for all pairs.
        temperature: the temperature, which lowers assumed acceptances.
        text: the kind of text.

    Raises:
        UserError: for a pair that these models do not form, or an impossible acceptance.
    """
    pairs = _pairs(shapes, order)
    values = acceptance if isinstance(acceptance, Mapping) else dict.fromkeys(pairs, acceptance)
    for key in values.keys() - pairs:
        allowed = ", ".join(pairs) or "a draft model"
        raise UserError(f"'{key}' is not a pair of these models: use {allowed}")
    edges: dict[tuple[str, str], Acceptance] = {}
    assumptions = []
    for key, (draft, verifier) in pairs.items():
        value = values.get(key)
        if value is None:
            ratio = shapes[verifier].touched(1) / shapes[draft].touched(1)
            accepted, source = assumed(shapes[draft].is_head, ratio, temperature, text)
            band = f"-{accepted.lower:.2f}/+{accepted.higher:.2f}"
            yours = f"measure yours: {spelled('acceptance')} '{key}=…'"
            source = f"{band}, {text} text: {source}; {yours}"
            kind: Kind = "assumed"
        else:
            accepted = _as_given(key, value)
            kind = "measured"
            source = "as given: of a draft token if those before it were accepted"
        edges[draft, verifier] = accepted
        first = round(accepted.edge.curve(1)[1], 4)
        assumptions.append(Assumption(f"acceptance {key}", first, kind, source))
    return edges, assumptions


def _pairs(shapes: Mapping[str, Shape], order: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return (draft, verifier) pairs by their text. A draft head drafts only for the target."""
    target = order[-1]
    pairs = {}
    for draft, verifier in combinations(order, 2):
        if shapes[verifier].is_head:
            continue
        if not shapes[draft].is_head or verifier == target:
            pairs[f"{draft} > {verifier}"] = (draft, verifier)
    return pairs


def _as_given(key: str, value: Given) -> Acceptance:
    """Return an acceptance given by the user.

    Raises:
        UserError: if it is not usable.
    """
    if isinstance(value, Edge):
        return Acceptance(value, GIVEN_BAND, GIVEN_BAND)
    if not 0 <= value < 1:
        raise UserError(
            f"the acceptance {value:g} of '{key}' is not usable: use a number from 0 to below 1"
        )
    return Acceptance(Edge(tail=float(value)), GIVEN_BAND, GIVEN_BAND)


def assumed(is_head: bool, ratio: float, temperature: float, text: Text) -> tuple[Acceptance, str]:
    """Return the assumed acceptance of a draft head, or of a draft model ``ratio`` times smaller
    than its target, with its source.
    """
    if is_head:
        low, middle, high = HEAD_ACCEPTANCE[text]
        source = HEAD_SOURCE
    else:
        base, band = MODEL_ACCEPTANCE[text]
        middle = base - PER_HALVING * log2(ratio / MODEL_RATIO)
        middle = min(0.95, max(0.2, middle))
        low = middle - band
        high = min(0.97, middle + band)
        source = MODEL_SOURCE
    cooled = max(0.05, middle - PER_TEMPERATURE * temperature)
    return Acceptance(Edge(tail=cooled), middle - low, high - middle), source
