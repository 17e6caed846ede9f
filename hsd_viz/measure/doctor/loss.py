"""Loss of speed-up: the share of each cause in the difference to the ideal.

The ideal is D + 1 tokens in one step of the target::

    log((D + 1) / speed-up) = log((D + 1) / L)    acceptance
                            + log(w)              drafting, verification, overhead, by their times
"""

from __future__ import annotations

from math import log

from hsd_viz.measure.doctor.observation import Observation

#: Share of forward passes without a draft from which they are a separate cause.
IDLE = 0.2
#: Names of causes beside their share, if different from their usual name.
NAMES = {"acceptance": "rejected drafts"}


def shares_of_loss(seen: Observation, whole: float) -> dict[str, float]:
    """Return the share of each cause in the loss; ``whole``: the time of a round in steps."""
    extra: dict[str, float | None] = dict(seen.parts())
    if None in extra.values():
        extra = {"round": max(0.0, whole - 1)}
    spent = sum(time or 0.0 for time in extra.values())
    lost = _lost_to_drafts(seen)
    for cause, time in extra.items():
        lost[cause] = log(max(1.0, whole)) * (time or 0.0) / spent if spent else 0.0
    total = sum(lost.values())
    if not total:
        return dict.fromkeys(lost, 0.0)
    return {cause: part / total for cause, part in lost.items()}


def _lost_to_drafts(seen: Observation) -> dict[str, float]:
    """Return the logarithms of the losses to rejections and to passes without a draft."""
    depth = seen.drafted
    if seen.without_draft < IDLE:
        return {"acceptance": max(0.0, log((1 + depth) / seen.length))}
    # The draft tokens per pass if every pass had a draft; the rest is lost to rejections.
    full = depth / (1 - seen.without_draft)
    gained = (seen.length - 1) / (1 - seen.without_draft)
    return {
        "acceptance": max(0.0, log((1 + full) / (1 + gained))),
        "few drafts": max(0.0, log((1 + gained) / seen.length)),
    }


def name_of(cause: str) -> str:
    """Return the name of a cause beside its share of the loss."""
    return NAMES.get(cause, cause)


def what_limits(seen: Observation, cause: str, whole: float, share: float) -> str:
    """Describe a cause with its figure and its share of the loss."""
    what, figure = _cause_and_figure(seen, cause, whole)
    return f"{what} ({figure}{share:.0%} of what is lost)"


def _cause_and_figure(seen: Observation, cause: str, whole: float) -> tuple[str, str]:
    """Return a cause, and its figure followed by a semicolon; "" if the figure is unknown."""
    if cause == "acceptance":
        if not seen.drafted_known or not seen.drafted:
            return "rejected draft tokens", ""
        return "rejected draft tokens", f"{(seen.length - 1) / seen.drafted:.0%} are accepted; "
    if cause == "few drafts":
        return "forward passes without a draft", f"{seen.without_draft:.0%} of all; "
    if cause == "round":
        return "the time of a round", f"{whole:.2f} plain decoding steps; "
    steps = seen.parts()[cause] or 0.0
    if cause == "verification":
        return "verification", f"a pass over the draft takes {1 + steps:.2f} plain decoding steps; "
    per_round = f"{steps:.2f} plain decoding steps per round; "
    if cause == "drafting":
        return "drafting", per_round
    return "time outside forward passes and drafting", per_round
