import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.costs import CPU_MARGINAL, CostCurve, cost_curve
from hsd_viz.drafting.db import MIN_SCORE, MIN_SCORE_FREE, DatabaseDrafter
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.shared import vocabulary_hash
from hsd_viz.drafting.trust import MAX_RATE
from tests.drafting.corpora import bottom, check
from tests.rows import column

EOS = 0
VOCABULARY = {f"t{i}": i for i in range(8)}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    rng = np.random.default_rng(0)
    # Texts with habits: each token is mostly followed by the next one.
    texts = []
    for _ in range(40):
        text = [1]
        while len(text) < 150:
            text.append((text[-1] + 1) % 8 if rng.random() < 0.8 else int(rng.integers(8)))
        texts.append(text)
    for kind, some in (("statistics", texts[:30]), ("model", texts[30:])):
        build_database(
            ([text] for text in some),
            folder / f"{kind}.hsdb",
            kind=kind,
            pruning=Pruning(least=2),
            vocabulary_size=8,
            vocabulary_hash=vocabulary_hash(VOCABULARY),
        )
    return SharedDatabases.open(folder, VOCABULARY)


class Says:
    """A database that gives the same answer for every context."""

    def __init__(self, *answers):
        self.match = (2, sum(c for _, c in answers), [(t, c, None) for t, c in answers])
        self.asked = 0

    def lookup(self, tail, longest=None):
        self.asked += 1
        return self.match


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=80),
    st.lists(st.integers(0, 7), max_size=3),
    st.integers(0, 40),
    st.sampled_from(
        ["db", "db[context]", "db[statistics,context]", "db[model]", "db[statistics,model,context]"]
    ),
    st.sampled_from([None, 0.0, 0.02, 0.15, [5, 5, 5, 5, 9, 9, 9, 9, 14]]),
)
def test_every_tree_is_well_formed(shared, text, ahead, budget, stack, costs):
    drafter = make_drafter(bottom(stack), databases=shared, eos=EOS, costs=costs)
    drafter.start(text[: len(text) // 2])
    for token in text[len(text) // 2 :]:
        drafter.draft(text, budget)
        drafter.extend([token])
    tree = drafter.draft(text + ahead, budget)
    check(tree, text, budget, {EOS})
    for node, parent in enumerate(tree.parents):
        assert tree.origins[node].source in drafter.sources
        assert 1 <= tree.origins[node].key_length <= 8
        assert tree.origins[node].count >= 1
        assert (MIN_SCORE_FREE if costs is None else MIN_SCORE) < tree.origins[node].score <= 1
        if parent >= 0:
            assert tree.origins[node].score <= tree.origins[parent].score
        if tree.origins[node].source == "context":
            # The key really stands before the place it was copied from.
            path = []
            up = parent
            while up >= 0:
                path = [tree.tokens[up], *path]
                up = tree.parents[up]
            n = tree.origins[node].key_length
            assert (
                text[tree.origins[node].position - n : tree.origins[node].position]
                == (text + ahead + path)[-n:]
            )
        else:
            assert tree.origins[node].position is None
    assert column(tree.origins, "score") == sorted(column(tree.origins, "score"), reverse=True)
    siblings = {}
    for parent, score in zip(tree.parents, column(tree.origins, "score"), strict=True):
        siblings[parent] = siblings.get(parent, 0) + score
    for parent, total in siblings.items():
        assert total <= (1 if parent < 0 else tree.origins[parent].score) + 1e-9


def started(databases, prompt=(), *, costs=CPU_MARGINAL):
    drafter = DatabaseDrafter(tuple(databases), databases, costs=costs)
    drafter.start(prompt)
    return drafter


def test_a_token_of_two_databases_is_kept_once_with_the_more_local_source():
    local = Says((5, 3), (6, 1))
    far = Says((5, 9), (7, 9))
    both = started({"model": local, "statistics": far}, costs=None)
    tree = both.draft([1, 2], 3)
    (root,) = (
        node for node, parent in enumerate(tree.parents) if parent < 0 and tree.tokens[node] == 5
    )
    assert tree.origins[root].source == "model"
    alone = started({"model": local}, costs=None).draft([1, 2], 1)
    assert tree.origins[root].score > alone.origins[0].score, (
        "what the second database says adds to the score"
    )


def test_less_local_databases_are_not_asked_when_no_probability_is_left():
    sure = Says((5, 1000))
    far = Says((6, 1000))
    drafter = started({"model": sure, "statistics": far}, costs=0.3)
    drafter.trust.rates[0][:] = [1.0] * 9
    tree = drafter.draft([1, 2], 8)
    assert far.asked == 0
    assert len(tree) == 8
    assert set(column(tree.origins, "source")) == {"model"}


def test_an_empty_draft_has_its_reason():
    drafter = make_drafter(bottom("db"), costs=0.15)
    drafter.start([1, 2, 3])
    assert drafter.draft([1, 2, 3], 8).why_empty == "no match"
    assert drafter.draft([1, 2, 3], 0).why_empty == "no room"
    drafter.extend([1])
    assert len(drafter.draft([1, 2, 3, 1], 8)) > 0
    dear = make_drafter(bottom("db"), costs=0.95)
    dear.start([1, 2, 3, 1])
    assert dear.draft([1, 2, 3, 1], 8).why_empty == "not worth it"


def test_nothing_after_the_end_of_text():
    for eos, drafted in ((EOS, [6, EOS]), ([EOS], [6, EOS]), (None, [6, EOS, 7, 8, 5])):
        drafter = make_drafter(bottom("db"), eos=eos, costs=None)
        drafter.start([5, 6, EOS, 7, 8, 5])
        assert drafter.draft([5, 6, EOS, 7, 8, 5], 5).tokens == drafted


@given(st.lists(st.floats(0, 2), min_size=1, max_size=12))
def test_cost_slopes_are_the_least_ahead(steps):
    curve = [1.0]
    for s in steps:
        curve.append(curve[-1] + s)
    known = cost_curve(curve)
    costs, slopes = known.tables(1000)
    for m in range(len(curve)):
        ahead = [(costs[k] - costs[m]) / (k - m) for k in range(m + 1, len(curve) + 2)]
        assert slopes[m] == pytest.approx(min([*ahead, known.slopes[-1]]), abs=1e-6)
    assert list(map(len, known.tables(3))) == [4, 4]


def test_a_draft_fills_the_flat_part_of_the_cost_curve():
    # Four tokens cost as much as none, the fifth doubles the step.
    curve = CostCurve((1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.1, 2.2, 2.3))
    weak = {"model": Says((5, 4), (6, 3), (7, 3))}
    assert len(started(weak, costs=curve).draft([1], 16)) == 4
    sure = {"model": Says((5, 10**6))}
    drafter = started(sure, costs=curve)
    drafter.trust.rates[0][:] = [1.0] * 9
    assert len(drafter.draft([1], 8)) == 4, "five tokens for a step beat nine for 2.3"
    assert len(drafter.draft([1], 16)) == 16, "seventeen for 3.1 beat both"


def test_unlikely_tokens_are_drafted_where_the_cost_curve_is_flat():
    # The first token costs as much as the first three: .4 alone does not pay, .4 + .19 + .18 does
    # (1.77 tokens for 1.6 steps).
    answers = [(5, 400), (6, 190), (7, 180), *((t, 23) for t in range(10, 20))]
    drafter = started({"model": Says(*answers)}, costs=(1.0, 1.6, 1.6, 1.6, 3.0))
    drafter.trust.rates[0][:] = [1.0] * 9
    assert drafter.draft([1], 3).tokens == [5, 6, 7]
    assert drafter.draft([1], 1).why_empty == "not worth it"


@pytest.mark.parametrize("bad", [[1], [0, 1], [2, 1], []])
def test_bad_cost_curves_are_refused(bad):
    with pytest.raises(ValueError, match="cost curve"):
        cost_curve(bad)


def test_a_drafter_learns_from_what_was_emitted():
    rng = np.random.default_rng(3)
    drafter = started({"model": Says((5, 10))}, [1], costs=0.15)
    text = [1]
    assert len(drafter.draft(text, 8)) > 0
    for _ in range(60):
        drafter.draft(text, 8)
        token = int(rng.integers(6, 99))
        drafter.extend([token])
        text.append(token)
    assert drafter.draft(text, 8).why_empty == "not worth it"
    drafter.start([1])
    assert len(drafter.draft([1], 8)) > 0, "the next run starts anew"


@pytest.mark.parametrize("answers", [[(5, 1)], [(5, 3)], [(5, 7), (6, 7), (7, 3)]])
def test_scores_fall_along_a_branch_and_stay_below_one(answers):
    drafter = started({"model": Says(*answers), "statistics": Says(*answers)}, costs=None)
    for rates in drafter.trust.rates:
        rates[:] = [MAX_RATE] * 9
    tree = drafter.draft([1], 30)
    assert len(tree) == 30
    for score, parent in zip(column(tree.origins, "score"), tree.parents, strict=True):
        assert score < (1 if parent < 0 else tree.origins[parent].score)


def test_trust_ignores_drafts_after_rejected_tokens():
    drafter = started({"model": Says((5, 10))}, [1])
    rates = list(drafter.trust.rates[0])
    drafter.draft([1, 2, 3], 8)
    drafter.extend([2, 4, 5])
    assert drafter.trust.rates[0] == rates
    drafter.draft([1, 2, 4, 5, 6], 8)
    drafter.extend([6, 5])
    assert drafter.trust.rates[0][2] > rates[2]


def test_a_named_database_that_is_absent_is_refused():
    with pytest.raises(ValueError, match="no statistics database"):
        make_drafter(bottom("db[context,statistics]"))
    assert make_drafter(bottom("db")).sources == ("context", "logits")
    with pytest.raises(ValueError, match="'db\\[model\\]' cannot be used: gone"):
        make_drafter(bottom("db[model]"), databases=SharedDatabases(absent={"model": "gone"}))
