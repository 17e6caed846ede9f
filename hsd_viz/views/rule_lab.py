"""The rule lab: one draft judged by six verification rules, and the law of what each emits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import traitlets

from hsd_viz.views.doors import View
from hsd_viz.words import check_range

#: The target's row at first.
ROW = {"the": 0.5, "a": 0.25, "one": 0.15, "no": 0.1}
#: Most tokens: the laws are enumerated in the browser.
MOST = 5


class RuleLab(View):
    """One draft, six rules: token, block and branch verification, sampler-match (the target's own draw equals the
    draft), and two that are not lossless: typical acceptance, and branch verification without the cap of a whole draft.

    ``row`` is the target's probability of each token (2-5, default :data:`ROW`); the draft model's row is between it
    and its reverse order, by ``disagreement`` (0-1). ``lookahead`` is 1-3, ``epsilon`` the threshold of typical
    acceptance, ``seed`` selects the draft. All sums are exact and change with the sliders, without Python.
    """

    view = traitlets.Unicode("rule_lab").tag(sync=True)

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    p = traitlets.List(traitlets.Float()).tag(sync=True)
    lookahead = traitlets.Int(3).tag(sync=True)
    disagreement = traitlets.Float(0.4).tag(sync=True)
    epsilon = traitlets.Float(0.2).tag(sync=True)
    seed = traitlets.Int(93).tag(sync=True)

    def __init__(
        self,
        row: Mapping[str, float] = ROW,
        *,
        lookahead: int = 3,
        disagreement: float = 0.4,
        epsilon: float = 0.2,
        seed: int = 93,
    ) -> None:
        weights = list(row.values())
        if not 2 <= len(row) <= MOST or not all(w >= 0 and math.isfinite(w) for w in weights) or sum(weights) <= 0:
            raise ValueError(f"the row {dict(row)} is not valid: use 2 to {MOST} tokens with probabilities from 0")
        check_range("the lookahead", lookahead, 1, 3)
        if not 0 <= disagreement <= 1:
            raise ValueError(f"disagreement={disagreement} is out of range: use a number from 0 to 1")
        if not 0 < epsilon <= 1:
            raise ValueError(f"epsilon={epsilon} is out of range: use a number above 0, up to 1")
        check_range("the seed", seed, 0, 2**31 - 1)
        super().__init__(
            tokens=list(row),
            p=[w / sum(weights) for w in weights],
            lookahead=lookahead,
            disagreement=disagreement,
            epsilon=epsilon,
            seed=seed,
        )
