"""Test the semantic database: its look-ups by hidden state, and the drafts that drafters make of
them.
"""

from __future__ import annotations

import numpy as np
import pytest

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.semantic_database import (
    Copy,
    SemanticDatabase,
    quantize_states,
    watched_layer,
)
from hsd_viz.errors import Unsupported
from hsd_viz.measure.audit.stacks import ToySession
from hsd_viz.stack import DraftSource
from tests.rows import column

#: Directions in a plane, and their cosines with EAST: 1, 0.8, 0.6, 0.
EAST = (100, 0)
NEAR = (80, 60)
FAR = (60, 80)
NORTH = (0, 100)


def database(text: list[int], states: list[tuple[int, int]]) -> SemanticDatabase:
    """Return the database of a text with these hidden states at its first positions."""
    made = SemanticDatabase()
    made.extend(text)
    made.observe(np.array(states, np.int8).reshape(-1, 2))
    return made


def test_the_most_similar_state_before_the_token_comes_first():
    # Token 7 at places 1, 3 and 5; the states before them are those of places 0, 2 and 4.
    copies = database([1, 7, 2, 7, 3, 7], [FAR, EAST, NEAR, EAST, EAST]).find(6)
    assert copies == [Copy(4, pytest.approx(0.8)), Copy(2, pytest.approx(0.6))]


def test_of_equal_states_the_latest_comes_first():
    copies = database([1, 7, 2, 7, 3, 7], [NEAR, EAST, NEAR, EAST, EAST]).find(6)
    assert column(copies, "position") == [4, 2]


def test_a_state_that_is_not_similar_is_no_copy():
    copies = database([1, 7, 2, 7, 3, 7], [NORTH, EAST, NEAR, EAST, EAST]).find(6)
    assert column(copies, "position") == [4]


def test_an_occurrence_without_a_state_before_it_is_no_copy():
    # As many states as there is room for at first: the last one is not that before the first token.
    text = [7, *[1] * 255, 7]
    assert database(text, [EAST] * 256).find(257) == []


def test_only_the_most_similar_copies_are_kept():
    text = [1, 7] * 6 + [2, 7]
    states = [EAST] * (len(text) - 1)
    assert len(database(text, states).find(len(text))) == SemanticDatabase.most


def test_only_the_latest_occurrences_are_compared():
    made = database([1, 7, 2, 7, 3, 7], [EAST, EAST, FAR, EAST, EAST])
    made.scanned = 1
    assert column(made.find(6), "position") == [4]


@pytest.mark.parametrize(
    ("states", "length"),
    [
        pytest.param([EAST] * 4, 6, id="the state before the last token is not known"),
        pytest.param([EAST] * 5, 7, id="a token was not emitted"),
        pytest.param([], 1, id="one token"),
    ],
)
def test_nothing_is_found(states, length):
    assert database([1, 7, 2, 7, 3, 7], states).find(length) == []


def test_states_may_come_in_parts():
    made = SemanticDatabase()
    made.extend([1, 7, 2])
    made.observe(np.array([FAR, EAST], np.int8))
    made.extend([7, 3, 7])
    made.observe(np.array([NEAR, EAST, EAST], np.int8))
    assert column(made.find(6), "position") == [4, 2]


def test_a_state_of_zeros_is_similar_to_none():
    assert database([1, 7, 2, 7], [(0, 0), EAST, EAST]).find(4) == []


def test_continuations_are_counted_over_the_copies():
    made = database([1, 7, 2, 7, 3], [EAST] * 5)
    copies = [Copy(2, 0.95), Copy(4, 0.75), Copy(2, 0.65)]
    # The band is that of the best: (0.95 - 0.5) / 0.0625 = 7.2.
    assert made.continuations(copies) == (8, 3, [(2, 2, 2), (3, 1, 4)])


def test_copies_end_with_the_text():
    made = database([1, 7, 2], [EAST] * 2)
    assert made.continuations([Copy(3, 0.9)]) is None
    assert made.advance([Copy(3, 0.9)], 2) == ()


def test_a_token_advances_the_copies_that_have_it():
    made = database([1, 7, 2, 7, 3], [EAST] * 4)
    assert made.advance([Copy(2, 0.9), Copy(4, 0.8)], 3) == (Copy(5, 0.8),)


@pytest.mark.parametrize(("cosine", "band"), [(0.5, 1), (0.56, 1), (0.563, 2), (0.99, 8), (1.0, 8)])
def test_bands_divide_the_cosines(cosine, band):
    assert SemanticDatabase().band(cosine) == band


def test_states_are_quantized_by_their_largest_number():
    states = np.array([[0.5, -1.0], [0.0, 0.0], [2.0, 3.0]], np.float32)
    assert quantize_states(states).tolist() == [[64, -127], [0, 0], [85, 127]]


@pytest.mark.parametrize(("layers", "layer"), [(30, 20), (3, 2), (1, 0)])
def test_the_watched_layer_is_at_a_share_of_the_depth(layers, layer):
    assert watched_layer(2 / 3, layers) == layer


# --- drafters -----------------------------------------------------------------------------------


def drafter(name: str, items: tuple[str, ...], text: list[int], states: list[tuple[int, int]]):
    """Return a drafter at the end of a text, for which verified tokens cost nothing."""
    made = make_drafter(DraftSource(name, items), databases=SharedDatabases(), costs=None)
    assert made.state_depth == 2 / 3
    made.start(text)
    made.observe_states(np.array(states, np.int8))
    return made


TEXT = [1, 7, 8, 5, 3, 7, 4, 6, 9, 7]
#: Before the last token the text is in the state of its beginning.
STATES = [EAST, EAST, EAST, EAST, NORTH, EAST, EAST, EAST, EAST]


def test_db_drafts_what_followed_the_similar_state():
    tree = drafter("db", ("semantic",), TEXT, STATES).draft(TEXT, 3)
    assert tree.tokens == [8, 5, 3]
    assert column(tree.origins, "source") == ["semantic"] * 3
    assert column(tree.origins, "position") == [2, 3, 4]
    assert column(tree.origins, "cosine") == [1.0] * 3
    assert column(tree.origins, "key_length") == [None] * 3


def test_db_prefers_the_similar_state_to_the_latest_occurrence():
    without = make_drafter(DraftSource("db", ("context",)), costs=None)
    without.start(TEXT)
    assert without.draft(TEXT, 1).tokens == [4]
    assert drafter("db", ("semantic", "context"), TEXT, STATES).draft(TEXT, 1).tokens == [8]


def test_a_token_that_the_context_database_proposed_first_has_a_cosine_too():
    tree = drafter("db", ("context", "semantic"), TEXT, STATES).draft(TEXT, 8)
    roots = [node for node, parent in enumerate(tree.parents) if parent < 0]
    assert {tree.origins[node].source for node in roots} == {"context"}
    assert {tree.tokens[node]: tree.origins[node].cosine for node in roots} == {8: 1.0, 4: None}


def test_db_drafts_by_tokens_alone_after_tokens_that_were_not_emitted():
    made = drafter("db", ("context", "semantic"), TEXT, STATES)
    tree = made.draft([*TEXT, 8], 3)
    assert tree.tokens[0] == 5
    assert set(column(tree.origins, "source")) == {"context"}


def test_db_learns_how_far_to_trust_a_band():
    made = drafter("db", ("semantic",), TEXT, STATES)
    before = made.trust.rates[0][8]
    made.draft(TEXT, 3)
    made.extend([8])
    assert made.trust.rates[0][8] > before


def test_hd_drafts_four_tokens_from_the_similar_state():
    tree = drafter("hd", ("semantic",), TEXT, STATES).draft(TEXT, 28)
    assert tree.tokens == [8, 5, 3, 7]
    assert column(tree.origins, "position") == [2, 3, 4, 5]
    assert column(tree.origins, "cosine") == [1.0] * 4


def test_a_runtime_without_states_is_refused():
    made = make_drafter(DraftSource("db", ("semantic",)), costs=None)
    target = Level("target", ToySession(np.zeros((4, 4))))
    with pytest.raises(Unsupported, match="leave out 'semantic'"):
        Loop(LoopInputs([target], made, Sampling(), [1, 2], max_new_tokens=3))
