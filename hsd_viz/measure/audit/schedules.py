"""The exact audit of rules that end or shorten drafts: the distribution of the text, in fractions.

:data:`SCHEDULE_RULES` has safe and unsafe rules. Each decodes with two small models
(:mod:`hsd_viz.measure.audit.small_models`).

>>> audit = audit_schedules(own=())
>>> next(row.safe for row in audit.rows if row.rule == "kept")
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from hsd_viz.measure.audit.draft_rules import (
    before_drawing,
    best_cut,
    drawn_again,
    dropped,
    earlier_rounds,
    fixed,
    kept,
    likeliest_by_softmax,
    likeliest_dropped,
    worth_it,
)
from hsd_viz.measure.audit.enumeration import law
from hsd_viz.measure.audit.exact import exact
from hsd_viz.measure.audit.rule_decoders import (
    LENGTH,
    LENGTHS,
    Decoder,
    all_candidates,
    batch,
    chains,
    likelier_candidate,
    ranked_tree,
    siblings,
)
from hsd_viz.measure.audit.schedule_result import ScheduleAudit, ScheduleRow
from hsd_viz.measure.audit.small_models import Text, true_law
from hsd_viz.measure.audit.stacks import loop_decoder
from hsd_viz.stack import Stack, parse

#: Stacks of the project's own loop that are audited with the rules.
OWN = tuple(
    map(
        parse,
        (
            "nano:3?0.4 > target",
            "nano:2?0.5 > small:3?0.4 > target",
            "db[context] > nano:2?0.4 > target",
            "db[context] > target",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class ScheduleRule:
    """A rule that ends or shortens drafts.

    Attributes:
        name: the name.
        looks_at: the facts on which the decision to propose a token depends.
        safe: whether the text has the target's distribution under the rule.
        why: the reason, as a sentence.
        decode: the decoder with the rule.
        lengths: the number of tokens of each request in the text.
    """

    name: str
    looks_at: str
    safe: bool
    why: str
    decode: Decoder
    lengths: tuple[int, ...] = (LENGTH,)


SCHEDULE_RULES = (
    ScheduleRule(
        "fixed",
        "the position",
        True,
        "The length is known before a token is drawn.",
        chains(fixed),
    ),
    ScheduleRule(
        "kept",
        "the tokens before it (confidence after a draw; the token stays)",
        True,
        "The token that makes the draft unsure is proposed: only the next one is not drawn.",
        chains(kept),
    ),
    ScheduleRule(
        "before drawing",
        "the row that it would be drawn from",
        True,
        "The row is a function of the tokens before it.",
        chains(before_drawing),
    ),
    ScheduleRule(
        "earlier rounds",
        "how many tokens earlier rounds accepted",
        True,
        "Earlier rounds are past.",
        chains(earlier_rounds),
    ),
    ScheduleRule(
        "likeliest, dropped",
        "the row; its token is the likeliest one, a point mass",
        True,
        "The likeliest token is a function of the row: nothing was drawn that could be hidden.",
        chains(likeliest_dropped),
    ),
    ScheduleRule(
        "worth it",
        "estimates from earlier text (cost stopping of a database)",
        True,
        "A database proposes a point mass, and its estimates are of earlier rounds.",
        chains(worth_it),
    ),
    ScheduleRule(
        "ranked tree",
        "the rows of a tree of the likeliest tokens, ranked by probability",
        True,
        "All nodes are functions of the rows: point masses.",
        ranked_tree,
    ),
    ScheduleRule(
        "all candidates",
        "the position; two candidates are drawn and both verified",
        True,
        "Nothing is left out.",
        siblings(all_candidates),
    ),
    ScheduleRule(
        "batch, without its own token",
        "the probability of the drafts up to the token before it, over the batch",
        True,
        "The token that is left out, and those after it, had no say in it.",
        batch(own_token=False),
        LENGTHS,
    ),
    ScheduleRule(
        "dropped",
        "the token itself (confidence after a draw; the token is dropped)",
        False,
        "Unlikely tokens are proposed less often than their q says.",
        chains(dropped),
    ),
    ScheduleRule(
        "drawn again",
        "the token itself",
        False,
        "Likely tokens are proposed more often than their q says.",
        chains(drawn_again),
    ),
    ScheduleRule(
        "best cut",
        "the token itself and later ones",
        False,
        "A draft is cut before tokens that make it less likely.",
        chains(best_cut),
    ),
    ScheduleRule(
        "likeliest, by its row",
        "the row; its token is the likeliest one, verified with the row as q",
        False,
        "The token was not drawn from the row that it is verified with.",
        chains(likeliest_by_softmax),
    ),
    ScheduleRule(
        "likelier candidate",
        "the candidates themselves (a drawn tree, ranked)",
        False,
        "The less likely of two drawn candidates is hidden.",
        siblings(likelier_candidate),
    ),
    ScheduleRule(
        "batch, with its own token",
        "the probability of the drafts with the token, over the batch",
        False,
        "Whether a token gets a place depends on how likely it is.",
        batch(own_token=True),
        LENGTHS,
    ),
)


@cache
def audit_rule(rule: ScheduleRule) -> ScheduleRow:
    """Audit a rule."""
    actual: dict[Text, Fraction] = law(rule.decode)
    true = true_law(rule.lengths)
    distance = _distance(actual, true)
    row = ScheduleRow(
        rule=rule.name,
        looks_at=rule.looks_at,
        safe=distance == 0,
        expected=rule.safe,
        why=rule.why,
        distance=str(distance),
    )
    if not distance:
        return row
    prefix, token, has, wants = _worst(actual, true)
    return replace(row, prefix=prefix, token=token, found=str(has), wanted=str(wants))


def _distance(actual: dict[Text, Fraction], true: dict[Text, Fraction]) -> Fraction:
    """Return the total variation distance of two distributions."""
    gaps = Fraction(0)
    for text in actual.keys() | true.keys():
        gaps += abs(actual.get(text, Fraction(0)) - true.get(text, Fraction(0)))
    return gaps / 2


def _worst(
    actual: dict[Text, Fraction], true: dict[Text, Fraction]
) -> tuple[Text, int, Fraction, Fraction]:
    """Return the prefix of the first wrong conditional, the token with the largest error, its
    probability, and the correct one.
    """
    ours = _conditionals(actual)
    theirs = _conditionals(true)
    wrong = []
    for prefix, wanted in theirs.items():
        for token, wants in wanted.items():
            has = ours.get(prefix, {}).get(token, Fraction(0))
            if has != wants:
                wrong.append((len(prefix), -abs(has - wants), prefix, token, has, wants))
    _, _, prefix, token, has, wants = min(wrong)
    return prefix, token, has, wants


def _conditionals(texts: dict[Text, Fraction]) -> dict[Text, dict[int, Fraction]]:
    """Return the probability of each next token after each prefix."""
    sums: defaultdict[Text, Fraction] = defaultdict(Fraction)
    for text, weight in texts.items():
        for length in range(len(text) + 1):
            sums[text[:length]] += weight
    conditionals: defaultdict[Text, dict[int, Fraction]] = defaultdict(dict)
    for text, weight in sums.items():
        prefix = text[:-1]
        if text and sums[prefix]:
            conditionals[prefix][text[-1]] = weight / sums[prefix]
    return dict(conditionals)


@cache
def audit_own(stack: Stack, rule: str = "block") -> ScheduleRow:
    """Audit the project's own loop of a stack over toy models, in float64."""
    loop = loop_decoder(stack, rule)
    audited = exact(loop, models=len(stack.models), instances=2)
    return ScheduleRow(
        rule=str(stack),
        looks_at="the tokens before it, which stay",
        safe=audited.lossless,
        expected=True,
        why="The project's own loop.",
        distance=f"{audited.error:.0e}",
    )


def audit_schedules(own: Sequence[Stack] = OWN) -> ScheduleAudit:
    """Audit :data:`SCHEDULE_RULES`, and the project's own loop of the stacks ``own``."""
    rows = [*map(audit_own, own), *map(audit_rule, SCHEDULE_RULES)]
    return ScheduleAudit(tuple(rows))
