"""Where the next token was: each round of the target is counted once, by what could find it."""

from __future__ import annotations

import pytest

from hsd_viz import figures, load_bundled
from hsd_viz.errors import UserError
from hsd_viz.figures.semantic import ABSENT, BOTH, MISSED, STATE, TOKENS, ways_to_find
from hsd_viz.trace import Trace
from hsd_viz.trace.rows import DraftRow, RoundRow, TokenRow
from hsd_viz.trace.trace import Step


def trace_of_rounds(prompt: list[int], *rounds: tuple[int, bool]) -> Trace:
    """A run in which each round emits one token; with True, it was drafted by state."""
    trace = Trace({"prompt_ids": prompt})
    for number, (token, by_state) in enumerate(rounds):
        emitted = _blank(TokenRow)._replace(
            index=number, token_id=token, round=number, source="target"
        )
        drafts = []
        if by_state:
            drafts = [_blank(DraftRow)._replace(round=number, token_id=token, depth=1, cosine=0.9)]
        turn = _blank(RoundRow)._replace(id=number, level=1)
        trace.append(Step().add_rows(tokens=[emitted], drafts=drafts, rounds=[turn]))
    return trace


def _blank(kind):
    return kind._make([None] * len(kind._fields))


@pytest.mark.parametrize(
    ("prompt", "token", "by_state", "way"),
    [
        pytest.param([1, 2, 1], 2, True, BOTH, id="both"),
        pytest.param([1, 2, 1], 2, False, TOKENS, id="tokens"),
        # Of the six places after a 1 only the latest four are looked at.
        pytest.param([1, 9, 1, 2, 1, 3, 1, 4, 1, 5, 1], 9, True, STATE, id="state"),
        pytest.param([1, 9, 1, 2, 1, 3, 1, 4, 1, 5, 1], 9, False, MISSED, id="missed"),
        pytest.param([1, 2, 1], 7, False, ABSENT, id="absent"),
    ],
)
def test_a_round_is_counted_by_what_finds_its_first_token(prompt, token, by_state, way):
    # The last round, drafted by state, makes it a run with a semantic database.
    ways = ways_to_find(trace_of_rounds(prompt, (token, by_state), (77, True)))
    ways.subtract([STATE])
    assert +ways == {way: 1}


def test_a_run_without_a_semantic_database_is_refused():
    with pytest.raises(UserError, match=r"db\[context,semantic\]"):
        figures.findable(load_bundled("both"))


def test_the_bars_are_the_counts():
    trace = trace_of_rounds([1, 2, 1], (2, True), (1, False), (8, True))
    figure = figures.findable(trace)
    assert sum(sum(bar.x) for bar in figure.data if bar.type == "bar") == 3
    assert figure.layout.meta["table"][1] == ["by tokens and by state", "1 (33%)"]
