"""What a text's own past could have drafted: findable by tokens, by states, or not at all."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from hsd_viz.drafting.context_database import ContextDatabase
from hsd_viz.drafting.tree import spell
from hsd_viz.errors import UserError
from hsd_viz.figures.bars import bars
from hsd_viz.figures.charts import Figure
from hsd_viz.figures.theme import Given, as_trace
from hsd_viz.trace import Trace

BOTH = "by tokens and by state"
TOKENS = "by tokens only"
STATE = "by state only"
MISSED = "in the text, found by neither"
ABSENT = "not in the text"
#: In the order of the figure, with the part of the palette that colours each.
WAYS = {BOTH: "context", TOKENS: "context", STATE: "semantic", MISSED: "target", ABSENT: "baseline"}


def ways_to_find(trace: Trace) -> Counter[str]:
    """Count the rounds of the target by the way in which their first token could be found.

    *By tokens*: it is among what followed the latest occurrences of the longest suffix that occurs
    (:class:`~hsd_viz.drafting.context_database.ContextDatabase`). *By state*: the semantic database
    proposed it. *In the text*: it followed an earlier occurrence of the last token.

    Raises:
        UserError: if the run drafted nothing by states.
    """
    drafts = trace.drafts
    by_state = drafts[(drafts["depth"] == 1) & drafts["cosine"].notna()]
    if by_state.empty:
        raise UserError(
            "the run drafted nothing by states: decode with a stack such as "
            "'db[context,semantic] > target'"
        )
    proposed = set(zip(by_state["round"], by_state["token_id"], strict=True))
    text = list(trace.meta["prompt_ids"])
    context = ContextDatabase()
    context.extend(text)
    ways: Counter[str] = Counter()
    for number, rows in trace.tokens.groupby("round"):
        emitted = rows["token_id"].tolist()
        next_token = emitted[0]
        ways[_way(context, text, next_token, (number, next_token) in proposed)] += 1
        text += emitted
        context.extend(emitted)
    return ways


def _way(context: ContextDatabase, text: list[int], token: int, by_state: bool) -> str:
    match = context.lookup(spell(text[-context.longest :]))
    by_tokens = match is not None and any(token == proposed for proposed, _, _ in match[2])
    if by_tokens:
        return BOTH if by_state else TOKENS
    if by_state:
        return STATE
    followed = spell((text[-1], token)) in context.text
    return MISSED if followed else ABSENT


def findable(trace: Given, dark: bool = False) -> Figure:
    """Plot in how many rounds the next token could be found in the text before it, by tokens and by
    states.

    Raises:
        UserError: if the run drafted nothing by states.
    """
    trace = as_trace(trace)
    ways = ways_to_find(trace)
    rounds = ways.total()
    rows = pd.DataFrame(
        {
            "way": list(WAYS),
            "rounds": [f"{ways[way]} ({ways[way] / rounds:.0%})" for way in WAYS],
        }
    )
    parts = pd.DataFrame(
        {
            "row": range(len(WAYS)),
            "part": list(WAYS.values()),
            "value": [ways[way] for way in WAYS],
        }
    )
    text = (
        "By state: the semantic database drafted the token. A draft that would not have paid is "
        "not made, so that with a cost rule the share found by states is a lower bound."
    )
    return bars(
        rows,
        parts,
        "Where the next token was in the text",
        "target rounds",
        legend=False,
        text=text,
        note=f"{rounds} rounds of one run.",
        dark=dark,
    )
