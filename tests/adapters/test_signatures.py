"""Signatures of misconfiguration: each rule has a record that fires and three near misses that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hsd_viz.adapters.signatures import RULES, Facts, Served, signatures

GOOD = Facts("eagle3", 500, 4, 3.2, (0.8, 0.62, 0.45, 0.33), 1, 2.0, 0.2, 0.1, 0.1)


def served(number, context, rate, cached=0, spread=0.2):
    """Return requests of 50 rounds each, whose acceptance alternates around ``rate``."""
    return [Served(context, cached, 50, 50 * (rate + spread * (-1) ** k)) for k in range(number)]


def context(long=0.8, number=12, far=16_000):
    return replace(GOOD, requests=[*served(number, 1000, 2.2), *served(number, 1500, 2.1), *served(number, far, long)])


def cached(rate=0.7, number=12, part=900):
    return replace(GOOD, requests=[*served(12, 1000, 2.2), *served(number, 1000, rate, part)])


NONE = replace(GOOD, length=1.03, rates=(0.03, 0.0, 0.0, 0.0))
FIRST = replace(GOOD, length=1.63, rates=(0.6, 0.02, 0.01, 0.0))
HOST = replace(GOOD, speedup=0.4, overhead=6.0)
VERIFY = replace(GOOD, speedup=0.8, verification=1.5)
NGRAM = replace(NONE, method="lookup")
#: Rule -> a record that fires, and near misses.
CASES = {
    "nothing accepted": (NONE, [replace(NONE, rounds=20), NGRAM, replace(NONE, length=1.2, rates=(0.2, 0, 0, 0))]),
    "only the first": (
        FIRST,
        [replace(FIRST, rounds=40), replace(FIRST, rates=(0.6, 0.12, 0.05, 0)), replace(FIRST, rates=(0.6,), tokens=1)],
    ),
    "falls with context": (context(), [context(1.9), context(number=5), context(far=1900)]),
    "falls with cached prefixes": (cached(), [cached(2.0), cached(number=6), cached(part=100)]),
    "host overhead": (
        HOST,
        [replace(HOST, speedup=1.1), replace(HOST, overhead=0.3), replace(HOST, length=2, rates=(0.6, 0.3, 0.1, 0))],
    ),
    "verification not memory-bound": (
        VERIFY,
        [replace(VERIFY, batch=64), replace(VERIFY, verification=0.5), replace(VERIFY, speedup=None)],
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_fires_on_its_case_only(rule):
    case, misses = CASES[rule]
    (found,) = signatures(case)
    assert found.rule == rule and found.confidence in ("high", "medium")
    assert "https://github.com/" in found.thread and found.check
    assert len(misses) == 3 and all(rule not in [f.rule for f in signatures(miss)] for miss in misses)


def test_a_healthy_record_and_n_grams_fire_nothing():
    assert not [*signatures(GOOD)] and len(CASES) == len(RULES)
    assert not [*signatures(replace(NONE, method="suffix"))]
