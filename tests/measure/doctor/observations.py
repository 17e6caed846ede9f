"""Made-up observations: sick and healthy ones."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.options import Hardware

H100 = Hardware(gpu="H100", models=("llama-8b",))


def rounds(acceptance, depth=4, number=4000):
    """Return rounds of chains whose tokens are accepted independently."""
    draw = random.Random(0)
    counts = Counter()
    for _ in range(number):
        accepted = 0
        while accepted < depth and draw.random() < acceptance:
            accepted += 1
        counts[depth, accepted] += 1
    return counts


HEALTHY = Observation("case", rounds(0.9), step=10.0, verify=10.8, draft=1.0, overhead=0.2)


SICK = {
    "drafting": replace(HEALTHY, draft=40.0),
    "acceptance": replace(HEALTHY, rounds=rounds(0.1), draft=3.0),
    "verification": replace(HEALTHY, verify=50.0),
    "overhead": replace(HEALTHY, overhead=40.0),
    "round": replace(HEALTHY, verify=None, draft=None, overhead=None, round=90.0),
}


WELL = {
    "long drafts": HEALTHY,
    "one token": replace(HEALTHY, rounds=rounds(0.8, 1)),
    "n-grams": replace(
        HEALTHY, rounds=rounds(0.6, 8) + Counter({(0, 0): 2000}), method="lookup", draft=0.1
    ),
    "a batch": replace(HEALTHY, batch=32, verify=13.0),
    "a slow draft": replace(HEALTHY, draft=6.0),
}


#: Further records for the table of words: what a person reads of ten sick and ten healthy ones.
MORE_SICK = {
    "few drafts": replace(
        HEALTHY, rounds=Counter({(0, 0): 3600, (4, 4): 380, (4, 3): 20}), verify=10.2
    ),
    "nothing accepted": replace(HEALTHY, rounds=rounds(0.02)),
    "only the first": replace(HEALTHY, rounds=Counter({(4, 0): 1600, (4, 1): 2400})),
    "everything accepted": replace(HEALTHY, rounds=Counter({(4, 4): 4000}), sampled=True),
    "a plain decoding step measured too slow": replace(
        HEALTHY, verify=None, draft=None, overhead=None, step=50.0, round=12.0
    ),
}


MORE_WELL = {
    "sampled": replace(HEALTHY, rounds=rounds(0.75), sampled=True),
    "a measured round": replace(HEALTHY, verify=None, draft=None, overhead=None, round=16.0),
    "a parallel head": replace(HEALTHY, method="dflash", rounds=rounds(0.85, 7), draft=2.0),
    "repeated pairs": replace(HEALTHY, speedups=(3.3, 3.5, 3.45, 3.4)),
    "a suffix tree": replace(
        HEALTHY, rounds=rounds(0.9, 16) + Counter({(0, 0): 900}), method="suffix", draft=0.2
    ),
}
