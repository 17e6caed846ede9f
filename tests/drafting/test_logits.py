"""Test the database of the tokens that were likely by the target's logits."""

from __future__ import annotations

import pytest

from hsd_viz.drafting import Memory, SharedDatabases, make_drafter
from hsd_viz.drafting.context_database import LogitsDatabase
from hsd_viz.drafting.db import LogitsDatabaseDrafter
from hsd_viz.drafting.make import remembers
from hsd_viz.drafting.tree import DraftTree, LogitsObserver, spell
from hsd_viz.drafting.trust import GREEDY, SAMPLED, priors
from hsd_viz.stack import StackError, parse
from tests.drafting.corpora import bottom
from tests.rows import column


def test_a_lookup_returns_the_row_of_the_longest_key():
    rows = LogitsDatabase()
    rows.put(spell([1, 2, 3, 4]), [7, 8], [0.6, 0.3])
    rows.put(spell([9, 4]), [5], [0.9])
    assert rows.lookup(spell([2, 3, 4])) == (3, 1, [(7, 0.6, None), (8, 0.3, None)])
    assert rows.lookup(spell([3, 4]))[0] == 2
    assert rows.lookup(spell([6, 4])) == (1, 1, [(5, 0.9, None)])
    assert rows.lookup(spell([6])) is None
    assert rows.lookup("") is None


def test_tokens_of_probability_0_are_not_proposed_and_the_oldest_keys_are_removed():

    class Small(LogitsDatabase):
        longest = 1
        most = 2

    rows = Small()
    for token in (1, 2, 3):
        rows.put(spell([token]), [7, 8], [1.0, 0.0])
    assert len(rows) == 2
    assert rows.lookup(spell([1])) is None
    assert rows.lookup(spell([3])) == (1, 1, [(7, 1.0, None)])


def test_rows_of_rejected_nodes_are_drafted_from_later():
    drafter = make_drafter(bottom("db[logits]"), costs=None)
    assert isinstance(drafter, LogitsDatabaseDrafter)
    assert isinstance(drafter, LogitsObserver)
    drafter.start([1, 2])
    assert drafter.draft([1, 2], 4).why_empty == "no match"
    tree = DraftTree()
    tree.add(3, -1, "logits")
    tree.add(4, 0, "logits")
    # After 1 2 the target holds 5 likeliest, so 3 is rejected; after 3 it would have said 6, after
    # 3 4 it would have said 7.
    drafter.observe_probabilities(
        [1, 2], tree, [[5, 3], [6, 4], [7, 8]], [[0.7, 0.2], [0.8, 0.1], [0.9, 0.05]]
    )
    drafter.extend([5])
    drafter.extend([3])
    drafted = drafter.draft([1, 2, 5, 3], 8)
    first = []
    for k in range(len(drafted)):
        if drafted.parents[k] < 0:
            first.append(drafted.tokens[k])
    assert first[0] == 6
    assert set(column(drafted.origins, "source")) == {"logits"}
    assert column(drafted.origins, "count") == [None] * len(drafted)
    # 4 follows 3 as a second guess, and what the target said after 3 4 follows that.
    four = next(k for k in range(len(drafted)) if drafted.tokens[k] == 4 and drafted.parents[k] < 0)
    assert next(drafted.tokens[k] for k in range(len(drafted)) if drafted.parents[k] == four) == 7
    assert column(drafted.origins, "score") == sorted(
        column(drafted.origins, "score"), reverse=True
    )


def test_logits_joins_by_itself_only_where_no_other_database_is_at_hand():
    assert make_drafter(bottom("db")).sources == ("context", "logits")
    stored = SharedDatabases({"statistics": LogitsDatabase()})
    assert make_drafter(bottom("db"), databases=stored).sources == ("context", "statistics")
    assert make_drafter(bottom("db[context]")).sources == ("context",)
    with pytest.raises(StackError, match="logits"):
        parse("hd[logits] > target")


@pytest.mark.parametrize("name", ["db", "db[context]", "db[logits]"])
def test_a_memory_has_the_state_of_the_sources_that_remember(name):
    memory = Memory()
    source = bottom(name)
    make_drafter(source, memory=memory)
    assert bool(memory) == remembers(source)


def test_trust_falls_as_sampling_gets_warmer():
    for source in GREEDY:
        assert priors(source, 0.0) == list(GREEDY[source])
        assert priors(source, 1.0) == priors(source, 7.0) == list(SAMPLED[source])
        for a, b, c in zip(
            priors(source, 0.0), priors(source, 0.7), priors(source, 1.0), strict=True
        ):
            assert a >= b >= c
