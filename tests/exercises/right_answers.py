"""Right answers of any type to the exercises, independent of the solutions."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, combinations
from operator import mul

import numpy as np

from hsd_viz.drafting.context_database import ContextDatabase
from hsd_viz.drafting.tree import spell
from hsd_viz.exercises import hunt
from hsd_viz.latency.inputs import Calibration, Edge, LevelCost, UnsureStop
from hsd_viz.latency.law import predict
from hsd_viz.measure.audit import enumeration
from hsd_viz.results.bootstrap import estimate, ratio
from hsd_viz.trace.metrics import repetition_share


def copies(prompt, output, draft, at_least=1):
    place = rounds = 0
    while place < len(output):
        proposed = draft(prompt + output[:place])
        rest = output[place:]
        agreed = 0
        while agreed < min(len(proposed), len(rest)) and proposed[agreed] == rest[agreed]:
            agreed += 1
        place = place + agreed + at_least
        rounds = rounds + 1
    return rounds


def drafts(target, drafter, prompt, length, lookahead, beyond=0):
    text = list(prompt)
    while (missing := length - (len(text) - len(prompt))) > 0:
        draft = drafter(text, min(lookahead, missing - 1) + beyond)
        agreed = 0
        own = target(text, draft)
        while agreed < len(draft) and draft[agreed] == own[agreed]:
            agreed += 1
        text += own[: agreed + 1]
    return text[len(prompt) :]


def normalized(p, q):
    rest = np.maximum(np.array(p, float) - np.array(q, float), 0)
    return rest / rest.sum() if rest.sum() else p


def capped(ratios):
    products = list(accumulate(ratios, mul))
    return [r / max(cap, 1) for r, cap in zip(products, accumulate(products, max), strict=True)]


def exact_test(decode):
    target, draft = hunt.toy_models()
    return np.bool_(hunt.law(decode, target, draft, 3, 2) == hunt.plain_law(target, 3))


def chi_square(counts, p):
    expected = sum(counts) * np.array(p, float)
    return float(np.sum((np.array(counts) - expected) ** 2 / expected))


def in_database(ids, longest):
    database = ContextDatabase(longest=longest)
    database.extend(ids)
    match = database.lookup(spell(ids[-longest:]))
    return None if match is None else (match[0], max(place for _, _, place in match[2]))


def length(parents, chances, nodes):
    reached = {-1: 1}
    for node in sorted(nodes):
        reached[node] = chances[node] * reached[parents[node]]
    return sum(reached.values())


def best_of_all_trees(parents, chances, budget):
    chosen = combinations(range(len(parents)), budget)
    trees = []
    for nodes in chosen:
        if all(parents[node] in (-1, *nodes) for node in nodes):
            trees.append(nodes)
    return max(trees, key=lambda nodes: length(parents, chances, nodes))


def law(alpha, gamma, draft, *target):
    """Return the ms per token that ``predict`` gives for one draft model, or without one."""
    if gamma == 0:
        return target[0]
    costs = {"draft": LevelCost((draft,)), "target": LevelCost(target)}
    measured = Calibration(("draft", "target"), costs, {("draft", "target"): Edge(tail=alpha)})
    return predict(f"draft:{gamma} > target", measured).ms_per_token


def interval(baseline, seconds, weights):
    speedup = estimate(ratio(weights @ baseline, weights @ seconds), len(baseline))
    return speedup.value, speedup.low, speedup.high


def law_by_enumeration(p, q, least):
    """Run a round for every outcome of its random choices."""

    def emitted(choices):
        token = choices.branch(q)
        if q[token] < least:
            return choices.branch(p)
        chance = min(Fraction(1), p[token] / q[token])
        if choices.branch([chance, 1 - chance]):
            return choices.branch([max(a - b, 0) for a, b in zip(p, q, strict=True)])
        return token

    law_of_emitted = enumeration.law(emitted)
    return [law_of_emitted.get(token, 0) for token in range(len(p))]


def proposes(row, choose, most, least, tokens=(), product=1):
    if len(tokens) == most or product < least:
        return tokens
    token = choose(row(tokens))
    return proposes(row, choose, most, least, (*tokens, token), product * row(tokens)[token])


def law_of_stops(drafts, least, draft, curve):
    """Return what the latency law gives for the same drafts."""
    outcomes = []
    for chances, accepted in drafts:
        products = list(accumulate(chances, mul))
        n = next((k for k, p in enumerate(products, 1) if p < least), len(products))
        outcomes.append((n, min(n, accepted), 1 / len(drafts)))
    costs = {"draft": LevelCost((draft,)), "target": LevelCost(tuple(curve.values()))}
    stop = UnsureStop(0.5, 8, tuple(outcomes))
    pair = ("draft", "target")
    measured = Calibration(pair, costs, {}, stops={pair: (stop,)})
    return predict("draft:8?0.5 > target", measured).ms_per_token


def fastest_confidence(drafts, confidences, draft, curve):
    return min((law_of_stops(drafts, c, draft, curve), c) for c in confidences)[1]


def fastest_of(count):
    return lambda alpha, c: min(range(count), key=lambda gamma: law(alpha, gamma, c, 1.0))


def verified(draft, own):
    accepted = next((k for k, token in enumerate(draft) if token != own[k]), len(draft))
    return accepted, own[: accepted + 1]


def at_a_temperature(row, power, token):
    weights = np.array(row, float) ** power
    return weights[token] / weights.sum()


RIGHT = [
    ("1.1", lambda curve: np.polyfit(list(curve), list(curve.values()), 1)[::-1]),
    ("1.2", lambda a, b, k: float(k) * float(a + b) / float(a + b * k)),
    ("2.1", verified),
    ("2.2", drafts),
    ("3.1", lambda u, p, q: np.bool_(u * q < p)),
    ("3.2", normalized),
    ("3.3", lambda p, q: 1 - sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2),
    ("3.4", capped),
    ("4.1", exact_test),
    ("4.2", chi_square),
    ("5.1", in_database),
    ("5.2", copies),
    ("6.1", lambda parents, chances: length(parents, chances, range(len(parents)))),
    ("6.2", best_of_all_trees),
    ("7.1", lambda alpha, gamma: (float(alpha) ** np.arange(gamma + 1)).sum()),
    ("7.2", law),
    ("7.3", fastest_of(33)),
    ("7.4", lambda a, n, d, curve: curve[1] / law(a, n, d, *(curve[k] for k in sorted(curve)))),
    ("8.1", repetition_share),
    ("8.2", interval),
    ("9.1", law_by_enumeration),
    ("9.2", proposes),
    ("9.3", law_of_stops),
    ("9.4", fastest_confidence),
    ("L1", lambda rates: sum([1, *rates])),
    ("L2", lambda log, times: {21: 3, 3: 7}.get(times.get("draft_ms"), 0)),
    ("L3", lambda log, cost: {"0.4": "ngram-cache"}.get(cost, "db")),
    ("L4", lambda log: {"c": "draft model", "e": "copy", "b": "off"}[log[0]]),
    ("P1", lambda *row: len({*row}) == 1),
    ("P2", lambda drafted, accepted: len([*range(accepted), "own"])),
    ("P3", lambda text, place: [*range(-1, 20)][text + place]),
    ("P4", lambda p, q: p / max(p, q)),
    ("P5", lambda p, q: [a - min(a, b) for a, b in zip(p, q, strict=True)]),
    ("P6", lambda p, token: np.array(p)[token]),
    ("P7", at_a_temperature),
    ("P8", lambda rounds, least: next(n for n in accumulate(rounds) if n >= least)),
    ("P9", lambda alpha, k: np.prod([float(alpha)] * k)),
    ("P10", lambda ratios: capped(ratios)[-1]),
    ("P11", lambda alpha, c: (1 + alpha) / (1 + c) > 1),
]
