"""Read the verdicts of a decode on the host, from the lines that
:mod:`hsd_viz.torch_models.write_verdicts` writes on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hsd_viz.decoding.verdict import Correction, LikeliestByRow, Verdict
from hsd_viz.torch_models.layout import StackPlan
from hsd_viz.torch_models.write_verdicts import HEADS
from hsd_viz.trace.rows import Top


@dataclass(slots=True)
class VerdictLine:
    """The report of a verification.

    Attributes:
        due: whether the verification was due; if not, it changed nothing.
        at: the number of tokens in the text before the draft.
        n: the number of draft tokens.
        count: the number of accepted tokens.
        token: the verifier's own token.
        row: the index of the row that ``token`` was drawn from.
        mass: the sum of the residual that a correction was drawn from; 0 without a correction.
        used: the number of single-use random numbers used so far.
        tokens: the draft tokens.
        nodes: the accepted nodes in order.
        columns: the values of each node ``[4, n]``, as in
            :class:`~hsd_viz.torch_models.rejection_sampling.Decision`.
        rest: the numbers of the details and of the rows from which a drafter learns.
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
        """Return the tokens that the round adds to the text, up to an accepted end token."""
        if not self.due:
            return []
        tokens = []
        for node in self.nodes:
            tokens.append(self.tokens[node])
            if tokens[-1] in eos:
                return tokens
        return [*tokens, self.token]


def read_line(numbers: np.ndarray, places: int) -> VerdictLine:
    """Parse a line of the report, for a verification with ``places`` places for draft tokens."""
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
    """Return the verdict that a line reports about a draft with these ``parents``."""
    by_points = plan.by_points(level) or not line.n
    verdict = _on_points(plan, line, parents) if by_points else _on_chain(plan, line)
    if not plan.shaping.greedy:
        # The rows stay on the device, so these are empty.
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
    judges_whole = plan.rule != "token"
    compared = range(max(0, line.count - 1), n) if judges_whole else range(examined)
    return Verdict(
        accepted=line.nodes,
        token=line.token,
        row=line.row,
        examined=examined,
        p=p if judges_whole else [*p[:examined], *[None] * (n - examined)],
        q=q,
        u=_at_places(u, compared),
        h=_at_places(h, compared) if judges_whole else None,
        rule=plan.rule,
    )


def _at_places(values: Sequence[float], places: range) -> list[float | None]:
    """Return the values at the indices ``places``, and ``None`` at all others."""
    values_at: list[float | None] = [None] * len(values)
    values_at[places.start : places.stop] = values[places.start : places.stop]
    return values_at


def _add_details(
    plan: StackPlan, level: int, line: VerdictLine, rows: int, verdict: Verdict
) -> None:
    """Add the details of the ``rows`` rows, and the tokens from which a drafter learns, to the
    target's verdict.
    """
    rest = line.rest
    count = plan.details
    if count:
        size = 2 + 2 * count
        described = rest[: rows * size].reshape(rows, size)
        rest = rest[rows * size :]
        verdict.details = []
        for row in described[: line.count + 1].tolist():
            verdict.details.append((row[0], row[1], _pairs(row[2 : 2 + count], row[2 + count :])))
        residual, residual_values, q, q_values = rest[: 4 * count].reshape(4, count).tolist()
        rest = rest[4 * count :]
        if line.mass > 0:
            scaled = [value / line.mass for value in residual_values]
            by_points = plan.by_points(level)
            q_top = None if by_points else _positive(_pairs(q, q_values))
            verdict.correction = Correction(
                residual_top=_positive(_pairs(residual, scaled)),
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
    """Return pairs of tokens and values."""
    return [[int(place), value] for place, value in zip(places, values, strict=True)]


def _positive(top: Top) -> Top:
    """Return the pairs with a positive probability."""
    return [pair for pair in top if pair[1] > 0]
