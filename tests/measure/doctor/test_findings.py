"""Signs of misconfiguration: each has a record that shows it and three near misses that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hsd_viz.measure.doctor.findings import findings
from hsd_viz.measure.doctor.observation import Observation, Served
from hsd_viz.measure.doctor.signs import SIGNS
from hsd_viz.records.changes import Change
from tests.rows import column

GOOD = Observation(
    "case",
    rates=(0.8, 0.62, 0.45, 0.33),
    verifications=500,
    method="eagle3",
    step=10.0,
    verify=11.0,
    draft=2.0,
    overhead=1.0,
)


def served(number, context, rate, cached=0, spread=0.2):
    """Return requests of 50 rounds each, whose acceptance alternates around ``rate``."""
    requests = []
    for k in range(number):
        requests.append(Served(50, 50 * (rate + spread * (-1) ** k), (), context, cached))
    return requests


def context(long=0.8, number=12, far=16_000):
    return replace(
        GOOD,
        requests=[
            *served(number, 1000, 2.2),
            *served(number, 1500, 2.1),
            *served(number, far, long),
        ],
    )


def cached(rate=0.7, number=12, part=900):
    return replace(GOOD, requests=[*served(12, 1000, 2.2), *served(number, 1000, rate, part)])


NONE = replace(GOOD, rates=(0.03, 0.0, 0.0, 0.0))
FIRST = replace(GOOD, rates=(0.6, 0.02, 0.01, 0.0))
HOST = replace(GOOD, overhead=60.0)
VERIFY = replace(GOOD, verify=25.0)
ALL = replace(GOOD, rates=(1.0, 1.0, 1.0, 1.0), sampled=True)
RARE = Observation("case", totals=(1.08, 0.1), verifications=0)
FELL = Change("acceptance", 21, 40, 21, "09:20:08", 0.6, 0.0)
#: Rule -> a record that fires, and near misses, with the speed-up where it matters.
CASES = {
    "nothing accepted": (
        (NONE,),
        [
            (replace(NONE, verifications=20),),
            (replace(NONE, method="lookup"),),
            (replace(NONE, rates=(0.2, 0, 0, 0)),),
        ],
    ),
    "only the first": (
        (FIRST,),
        [
            (replace(FIRST, verifications=40),),
            (replace(FIRST, rates=(0.6, 0.12)),),
            (replace(FIRST, rates=(0.6,)),),
        ],
    ),
    "everything accepted": (
        (ALL,),
        [
            (replace(ALL, rates=(1.0, 1.0, 1.0, 0.99)),),
            (replace(ALL, verifications=20),),
            (replace(ALL, method="suffix", sampled=False),),
        ],
    ),
    "drafts rarely": (
        (RARE,),
        [
            (replace(RARE, totals=(1.02, 0.1)),),
            (replace(RARE, totals=(1.5, 0.6)),),
            (replace(RARE, method="lookup"),),
        ],
    ),
    "collapses in time": (
        (GOOD, None, (FELL,)),
        [
            (GOOD, None, (replace(FELL, after=0.3),)),
            (GOOD, None, (replace(FELL, before=0.0, after=0.6),)),
            (GOOD, None, (replace(FELL, figure="speed"),)),
        ],
    ),
    "falls with context": (
        (context(),),
        [(context(1.9),), (context(number=5),), (context(far=1900),)],
    ),
    "falls with cached prefixes": (
        (cached(),),
        [(cached(2.0),), (cached(number=6),), (cached(part=100),)],
    ),
    "host overhead": (
        (HOST, 0.4),
        [
            (HOST, 1.1),
            (replace(HOST, overhead=3.0), 0.4),
            (replace(HOST, rates=(0.6, 0.3, 0.1, 0)), 0.4),
        ],
    ),
    "verification not memory-bound": (
        (VERIFY, 0.8),
        [(replace(VERIFY, batch=64), 0.8), (replace(VERIFY, verify=15.0), 0.8), (VERIFY, None)],
    ),
}


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.name)
def test_a_sign_is_seen_in_its_case_only(sign):
    case, misses = CASES[sign.name]

    (finding,) = findings(*case)

    assert finding.sign == sign
    assert finding.confidence in ("high", "medium")
    assert "https://github.com/" in sign.threads
    assert sign.check
    assert len(misses) == 3
    for miss in misses:
        assert sign not in column(findings(*miss), "sign")


def test_each_sign_has_a_case():
    assert CASES.keys() == set(column(SIGNS, "name"))


def test_a_healthy_record_and_n_grams_show_no_sign():
    assert not [*findings(GOOD, 2.0)]
    assert not [*findings(replace(NONE, method="suffix"))]
