"""Read the verdicts of a decode on the host, as the loop takes them, from the lines that
:mod:`hsd_viz.torch_models.write_verdicts` writes on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hsd_viz.decoding.rejection_sampling import Correction, LikeliestByRow, Verdict
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.write_verdicts import HEADS
from hsd_viz.trace.rows import Top


@dataclass(slots=True)
class VerdictLine:
    """What one verification reports.

    Attributes:
        due: whether it was due; else it changed nothing.
        at: the tokens of the text before the draft.
        n: the tokens of the draft.
        count: how many of them are accepted.
        token: the verifier's own token.
        row: the row that it is drawn from.
        mass: the sum of what a correction was drawn from, 0 without a correction.
        used: the numbers used after it.
        tokens: the draft.
        nodes: the accepted nodes in order.
        columns: ``[4, n]``, as in :class:`~hsd_viz.torch_models.rejection_sampling.Decision`.
        rest: the numbers of details and of what a drafter learns from.
    """

    due: bool
    at: int
    n: int
    count: int
    token: int
    row: int
    mass: float
    used: int
    tokens: list[int]
    nodes: list[int]
    columns: np.ndarray
    rest: np.ndarray

    def emitted(self, eos: frozenset[int]) -> list[int]:
        """Return the tokens that the round adds to the text: an accepted end token is the last
        one.
        """
        if not self.due:
            return []
        tokens = []
        for node in self.nodes:
            tokens.append(self.tokens[node])
            if tokens[-1] in eos:
                return tokens
        return [*tokens, self.token]


def read_line(numbers: np.ndarray, places: int) -> VerdictLine:
    """Return a line of the report of a verification of a draft of up to ``places`` tokens."""
    m = places
    due, at, n, count, token, row, mass, used = numbers[:HEADS].tolist()
    size = int(n)
    body = numbers[HEADS:]
    columns = body[2 * m : 6 * m].reshape(4, m)
    return VerdictLine(
        due=bool(due),
        at=int(at),
        n=size,
        count=int(count),
        token=int(token),
        row=int(row),
        mass=mass,
        used=int(used),
        tokens=body[:size].astype(int).tolist(),
        nodes=body[m : m + int(count)].astype(int).tolist(),
        columns=columns[:, :size],
        rest=body[6 * m :],
    )


def verdict_of(
    plan: StackPlan, level: int, line: VerdictLine, places: int, parents: Sequence[int]
) -> Verdict:
    """Return the verdict of a line on a draft with these ``parents``."""
    by_points = plan.by_points(level) or not line.n
    verdict = _on_points(plan, line, parents) if by_points else _on_chain(plan, line)
    if not plan.shaping.greedy:
        # The rows stay on the device: here they have their places only.
        verdict.rows = np.empty((line.count + 1, 0))
    if level == plan.top:
        _add_details(plan, level, line, places + 1, verdict)
    return verdict


def _on_points(plan: StackPlan, line: VerdictLine, parents: Sequence[int]) -> Verdict:
    """Return the verdict on point masses."""
    accepted, compared, p, _ = line.columns.tolist()
    last = line.nodes[-1] if line.nodes else -1
    missed = False
    chances: list[float | None] = []
    for node, parent in enumerate(parents):
        chances.append(p[node] if compared[node] else None)
        if compared[node] and not accepted[node] and parent == last:
            missed = True
    return Verdict(
        accepted=line.nodes,
        token=line.token,
        row=line.row,
        examined=line.count + missed,
        p=chances,
        q=[1.0] * line.n,
        u=[None] * line.n,
    )


def _on_chain(plan: StackPlan, line: VerdictLine) -> Verdict:
    """Return the verdict on a chain that was sampled from rows."""
    p, q, u, h = line.columns.tolist()
    n = line.n
    examined = min(line.count + 1, n)
    whole = plan.rule != "token"
    compared = range(max(0, line.count - 1), n) if whole else range(examined)
    return Verdict(
        accepted=line.nodes,
        token=line.token,
        row=line.row,
        examined=examined,
        p=p if whole else [*p[:examined], *[None] * (n - examined)],
        q=q,
        u=_at_places(u, compared),
        h=_at_places(h, compared) if whole else None,
        rule=plan.rule,
    )


def _at_places(values: Sequence[float], places: range) -> list[float | None]:
    """Return the values at these places, ``None`` at all others."""
    kept: list[float | None] = [None] * len(values)
    kept[places.start : places.stop] = values[places.start : places.stop]
    return kept


def _add_details(
    plan: StackPlan, level: int, line: VerdictLine, rows: int, verdict: Verdict
) -> None:
    """Add to the target's verdict what the record and a drafter ask for of its ``rows``."""
    rest = line.rest
    most = plan.details
    if most:
        size = 2 + 2 * most
        described = rest[: rows * size].reshape(rows, size)
        rest = rest[rows * size :]
        verdict.details = []
        for row in described[: line.count + 1].tolist():
            verdict.details.append((row[0], row[1], _pairs(row[2 : 2 + most], row[2 + most :])))
        own, own_values, q, q_values = rest[: 4 * most].reshape(4, most).tolist()
        rest = rest[4 * most :]
        if line.mass > 0:
            scaled = [value / line.mass for value in own_values]
            by_points = plan.by_points(level)
            q_top = None if by_points else _positive(_pairs(q, q_values))
            verdict.correction = Correction(
                residual_top=_positive(_pairs(own, scaled)),
                q_top=q_top,
                residual_sum=line.mass,
            )
    if plan.observe:
        size = rows * plan.observe
        places = rest[:size].astype(int).reshape(rows, -1)
        values = rest[size : 2 * size].reshape(rows, -1)
        verdict.observed = LikeliestByRow(
            tokens=places[: line.n + 1].tolist(),
            values=values[: line.n + 1].tolist(),
        )


def _pairs(places: Sequence[float], values: Sequence[float]) -> Top:
    """Return tokens with their values."""
    return [[int(place), value] for place, value in zip(places, values, strict=True)]


def _positive(top: Top) -> Top:
    """Return the tokens of positive probability."""
    return [pair for pair in top if pair[1] > 0]
