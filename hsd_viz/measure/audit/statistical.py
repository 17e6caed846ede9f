"""The statistical audit of two OpenAI-style endpoints of one model, with and without speculation.

Greedy decoding: the first divergence of each prompt, which is a near-tie of two tokens (rounding
decides, and batches round differently) or a bug. Sampling: a sequential test, which can stop at
any time.

Texts come in pairs, one of each decoder for the same prompt. If both have one distribution, it is
a fair coin which of two texts came from which decoder, regardless of earlier pairs. The test bets
on that coin: with what earlier pairs suggest about tokens after one prefix, and with the
probabilities that the endpoints return, by which a text shows whether its tokens were drawn from
sharper or flatter rows, at all places or at every n-th. Under the null hypothesis a bet is fair
for any returned probabilities. The mean wealth of all bets (an e-value) exceeds 1 / alpha
with a probability of at most alpha, over all times at once (Ville 1939; Shafer 2021).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from hsd_viz.errors import INTERRUPTED, UserError
from hsd_viz.measure.audit.bets import PairTest
from hsd_viz.measure.audit.endpoint import Completion, Endpoint
from hsd_viz.measure.audit.options import ALPHA, NEAR_TIE, SAMPLES, TEMPERATURE
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table, Value
from hsd_viz.terminal import Status, ignore_status


@dataclass(slots=True)
class StatisticalAudit(Result):
    """The result of :func:`audit_endpoints`.

    Attributes:
        alpha: the largest rate of false alarms.
        prompts: the number of prompts.
        greedy: the number of prompts by kind (:func:`compare`).
        bug: a description of the first bug; "": none.
        pairs: the number of sampled pairs.
        evidence: the wealth of the test; at 1 / ``alpha`` the distributions differ.
        complete: whether the audit finished without interruption.
    """

    alpha: float
    prompts: int
    greedy: Counter[str] = field(default_factory=Counter)
    bug: str = ""
    pairs: int = 0
    evidence: float = 1.0
    complete: bool = False
    title = "Audit of losslessness"
    noun = "audit"

    @property
    def exit_code(self) -> int:
        """1 if a difference was found, 130 if the audit was interrupted."""
        if self.verdict == "not lossless":
            return 1
        return 0 if self.complete else INTERRUPTED

    def lines(self) -> list[str]:
        """Return the verdict with its evidence."""
        return [str(self)]

    def tables(self) -> list[Table]:
        """Return the greedy prompts by kind, and the evidence of the sampled pairs."""
        rows: list[list[Value]] = [["greedy texts", "prompts"]]
        for kind, count in self.greedy.items():
            rows.append([kind, count])
        head = ["sampled pairs", "evidence", "differs from"]
        evidence = [self.pairs, self.evidence, 1 / self.alpha]
        return [Table("Greedy texts", rows), Table("Samples", [head, evidence])]

    def parts(self) -> list[str | Table]:
        """Return only the line of the verdict, which has all figures."""
        return list(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data."""
        return {
            "verdict": self.verdict,
            "result": str(self),
            "prompts": self.prompts,
            "greedy": dict(self.greedy),
            "pairs": self.pairs,
            "evidence": self.evidence,
            "alpha": self.alpha,
            "complete": self.complete,
        }

    @property
    def differs(self) -> bool:
        """Whether the sampled distributions differ."""
        return self.evidence >= 1 / self.alpha

    @property
    def verdict(self) -> str:
        """``not lossless``, ``no difference found`` or ``unfinished``."""
        if self.differs or self.bug:
            return "not lossless"
        return "no difference found" if self.complete else "unfinished"

    def __str__(self) -> str:
        """Return the result in one line."""
        greedy = ", ".join(f"{n} {kind}" for kind, n in self.greedy.items())
        return (
            f"{self.verdict}: greedy texts of {self.prompts} prompts: {greedy}{self.bug}; "
            f"{self.pairs} sampled pairs, evidence {self.evidence:.3g} of {1 / self.alpha:.0f} "
            f"(false alarms at most {self.alpha:g})"
        )


def audit_endpoints(
    speculative: Endpoint,
    plain: Endpoint,
    prompts: Sequence[str],
    *,
    samples: int = SAMPLES,
    tokens: int = 8,
    greedy_tokens: int = 64,
    temperature: float = TEMPERATURE,
    alpha: float = ALPHA,
    near_tie: float = NEAR_TIE,
    seed: int = 0,
    progress: Status = ignore_status,
) -> StatisticalAudit:
    """Compare the endpoints on ``prompts``: one greedy text each, then up to ``samples`` pairs of
    sampled texts. The test of pairs stops as soon as it is decided. Ctrl-C ends it with a partial
    result.

    Raises:
        UserError: if the prompts are missing, or an endpoint does not answer.
    """
    if not prompts:
        raise UserError("an audit needs at least one prompt")
    audit = StatisticalAudit(alpha, len(prompts))
    test = PairTest()
    with suppress(KeyboardInterrupt):
        for number, prompt in enumerate(prompts):
            progress(f"greedy {number}/{len(prompts)}")
            ours = speculative.complete(prompt, greedy_tokens, 0.0)
            theirs = plain.complete(prompt, greedy_tokens, 0.0)
            kind, place = compare(ours, theirs, near_tie)
            audit.greedy[kind] += 1
            if kind == "bug" and not audit.bug:
                audit.bug = f" (first at token {place} of prompt {number + 1})"
        for k in range(samples):
            progress(f"sampling {k}/{samples}, evidence {audit.evidence:.3g}")
            place = k % len(prompts)
            # Use different seeds, because two lossless endpoints with the same seed could return
            # the same texts, which is not evidence.
            first = speculative.complete(prompts[place], tokens, temperature, 2 * (seed + k))
            second = plain.complete(prompts[place], tokens, temperature, 2 * (seed + k) + 1)
            audit.evidence = test.add(place, first, second)
            audit.pairs = k + 1
            if audit.differs:
                break
        audit.complete = True
    return audit


def compare(speculative: Completion, plain: Completion, near_tie: float = 0.05) -> tuple[str, int]:
    """Return the kind of the difference between greedy texts, and its first position: ``equal``,
    ``near-tie`` (in nats), ``bug`` or ``unknown``.
    """
    pairs = [*zip_longest(plain.tokens, speculative.tokens, fillvalue=None)]
    different = [place for place, (mine, other) in enumerate(pairs) if mine != other]
    if not different:
        return "equal", len(pairs)
    place = different[0]
    mine, other = pairs[place]
    likely = plain.likely[place] if place < len(plain.likely) else {}
    # A text that ended earlier has no token at this position.
    if not likely or not mine or not other:
        return "unknown", place
    tie = mine in likely and other in likely and likely[mine] - likely[other] <= near_tie
    return ("near-tie" if tie else "bug"), place
