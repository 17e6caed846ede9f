"""Estimate acceptance from traces.

The estimate is on-policy: a curve over all positions of a text would be too high, because real
rounds begin after a rejection, where the text is hard to predict.

A token of a draft is examined only if all earlier ones were accepted, and drafts differ in length.
So S(k) is a product of conditional acceptance rates, each the accepted share of the examined tokens
(Kaplan & Meier 1958). A round that the end of the text cut short counts only for the tokens that it
accepted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from hsd_viz.latency.inputs import Edge, OverDatabase, Tier, UnsureStop
from hsd_viz.latency.traced import Pair, names_of
from hsd_viz.results.positions import reaching
from hsd_viz.trace import RoundRow, Trace
from hsd_viz.trace.tables import observed

#: The number of tokens that must have been examined at a position of the draft for it to have its
#: own rate; later positions share a rate.
ENOUGH = 40


def rounds_of(traces: Iterable[Trace]) -> tuple[dict[Pair, list[RoundRow]], dict[Pair, Counter]]:
    """Collect the rounds of traces.

    Of a pair whose rounds were decided by several rules, the rounds of the most frequent rule are
    returned. A pair without an examined token is left out. Drafts that stop by confidence are left
    out, because those that continue are biased towards acceptance.

    Returns:
        The rounds by (draft model, verifier), and counts of (drafted, accepted) by (database,
        verifier).
    """
    rounds: dict[Pair, list[RoundRow]] = defaultdict(list)
    looked_up: dict[Pair, Counter] = defaultdict(Counter)
    for trace in traces:
        names, database = names_of(trace)
        unsure = _unsure_levels(trace)
        for row in trace.round_rows:
            if row.level == 0 or (row.why_no_draft in ("no room", "off")):
                continue
            if row.level == 1 and database is not None:
                if row.outcome != "stopped":
                    looked_up[database, names[1]][row.drafted, row.accepted] += 1
            elif row.drafted and row.level - 1 not in unsure:
                rounds[names[row.level - 1], names[row.level]].append(row)
    for pair, rows in rounds.items():
        rule, _ = Counter(row.rule for row in rows).most_common(1)[0]
        rounds[pair] = [row for row in rows if row.rule == rule]
    examined = {}
    for pair, rows in rounds.items():
        if any(row.examined for row in rows):
            examined[pair] = rows
    return examined, looked_up


def _unsure_levels(trace: Trace) -> dict[int, tuple[float, int]]:
    """Return the confidence and the lookahead of each level that stops by confidence."""
    unsure = {}
    for model in trace.meta.get("models", ()):
        confidence = model.get("confidence")
        lookahead = model.get("lookahead")
        if confidence is not None and lookahead is not None:
            unsure[model["level"]] = confidence, lookahead
    return unsure


def unsure_stops(traces: Iterable[Trace]) -> dict[Pair, tuple[UnsureStop, ...]]:
    """Return the measured drafts that stop by confidence, by (draft model, verifier).

    Of each confidence the drafts with the longest lookahead are used. Drafts that the limit of
    tokens or an end token ended early are left out.
    """
    counts: dict[Pair, dict[tuple[float, int], Counter]] = defaultdict(lambda: defaultdict(Counter))
    for trace in traces:
        names, _ = names_of(trace)
        unsure = _unsure_levels(trace)
        for row in trace.round_rows:
            is_whole = row.draft_end in ("length", "confidence") and row.outcome != "stopped"
            if is_whole and row.level - 1 in unsure:
                pair = names[row.level - 1], names[row.level]
                counts[pair][unsure[row.level - 1]][row.drafted, row.accepted] += 1
    by_pair: dict[Pair, tuple[UnsureStop, ...]] = {}
    for pair, by_setting in counts.items():
        longest: dict[float, int] = {}
        for confidence, lookahead in sorted(by_setting):
            longest[confidence] = lookahead
        stops = []
        for confidence, lookahead in longest.items():
            stops.append(_unsure_stop(confidence, lookahead, by_setting[confidence, lookahead]))
        by_pair[pair] = tuple(stops)
    return by_pair


def _unsure_stop(confidence: float, lookahead: int, counts: Counter) -> UnsureStop:
    """Return counts of (drafted, accepted) as probabilities.

    Tokens of a middle level beyond its lookahead are counted as its last one.
    """
    total = counts.total()
    shares: dict[tuple[int, int], float] = defaultdict(float)
    for (drafted, accepted), n in counts.items():
        shares[min(drafted, lookahead), min(accepted, lookahead)] += n / total
    outcomes = []
    for (drafted, accepted), share in sorted(shares.items()):
        outcomes.append((drafted, accepted, share))
    return UnsureStop(confidence, lookahead, tuple(outcomes))


def estimate_edge(rows: Sequence[RoundRow]) -> Edge:
    """Return the acceptance of a pair from its rounds, none of which had an empty draft."""
    places = range(1, max(row.examined for row in rows) + 1)
    examined_at = reaching([(row.examined, 1) for row in rows], places)
    accepted_at = reaching([(row.accepted, 1) for row in rows], places)
    positions = sum(n >= ENOUGH for n in examined_at)
    rates = np.divide(accepted_at[:positions], examined_at[:positions])
    # The tail pools the last two positions of the curve and all later ones.
    tail = max(0, positions - 2)
    return Edge(
        tuple(np.cumprod(rates).tolist()), sum(accepted_at[tail:]) / sum(examined_at[tail:])
    )


def over_databases(traces: Iterable[Trace]) -> dict[Pair, OverDatabase]:
    """Return the acceptance of tokens of models directly over a database, by (model over its
    database, verifier).

    Tokens that the model accepted from the database, and the model's own tokens, which are the last
    of each of its rounds, have separate rates.
    """
    counts: dict[Pair, Counter] = defaultdict(Counter)
    for trace in traces:
        names, database = names_of(trace)
        # For each round of the verifier, whether each draft token is the model's own.
        is_own: dict[int, list[bool]] = defaultdict(list)
        for row in sorted(trace.round_rows, key=lambda row: observed(row.start_ns)):
            if database is not None and row.level == 1 and row.parent is not None:
                is_own[row.parent] += [*(False,) * row.accepted, True]
        for row in trace.round_rows:
            if row.id in is_own and row.level == 2:
                pair_counts = counts[f"{database} > {names[1]}", names[2]]
                for k, kind in enumerate(is_own[row.id][: row.examined]):
                    pair_counts[kind, "examined"] += 1
                    pair_counts[kind, "accepted"] += k < row.accepted
    by_pair = {}
    for pair, n in counts.items():
        if n[False, "examined"] >= ENOUGH and n[True, "examined"] >= ENOUGH:
            by_pair[pair] = OverDatabase(
                n[False, "accepted"] / n[False, "examined"],
                n[True, "accepted"] / n[True, "examined"],
            )
    return by_pair


def estimate_tier(counts: Counter) -> Tier:
    """Return the acceptance of a database from counts of (drafted, accepted)."""
    total = counts.total()
    outcomes = []
    for (drafted, accepted), count in sorted(counts.items()):
        outcomes.append((drafted, accepted, count / total))
    return Tier(tuple(outcomes))
