"""Lookahead's window, against models whose next token can be worked out by hand."""

from __future__ import annotations

from corpora import paths
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting import make_drafter
from hsd_viz.drafting.hd import JacobiWindow
from hsd_viz.drafting.tree import DraftTree, Observer
from hsd_viz.stack import parse


def rows(follow, text, tree):
    """What a model that continues ``text + path`` with ``follow(text + path)`` says after the text and every node."""
    return [[follow(list(text) + list(path))] for path in [(), *paths(tree)]]


def counting(text):
    return text[-1] + 1


def test_it_fills_in_three_rounds_and_then_reads_seven_fivegrams_a_round():
    window = JacobiWindow([1000])
    # Guesses far apart, so that no two nodes are equal.
    window.levels = [[1000 * k for k in range(1, 10)]]
    text, sizes, found = [7], [], []
    for _ in range(6):
        tree = DraftTree()
        assert window.plant(tree, 27)
        sizes.append((len(tree), [len(level) for level in window.levels]))
        found.append(window.advance(text[-1], tree, rows(counting, text, tree)))
        text.append(counting(text))
    assert sizes == [
        (9, [9]),
        (17, [8, 9]),
        (23, [7, 8, 8]),
        (27, [6, 7, 7, 7]),
        (27, [6, 7, 7, 7]),
        (27, [6, 7, 7, 7]),
    ]
    assert [len(f) for f in found] == [0, 0, 0, 7, 7, 7]
    # The model counts on, so a column aligned with its guess reads "guess, +1, +2, +3, +4".
    for grams in found[3:]:
        for gram in grams[1:]:
            assert list(gram) == list(range(gram[0], gram[0] + 5))
        assert len({gram[0] for gram in grams}) == 7
    assert [grams[0][0] for grams in found[3:]] == text[3:6], "the first column's key is the text's last token"


class Plain:
    """The same window with lists of columns and explicit contexts, no tree: the rule as its authors draw it."""

    def __init__(self, guesses, width=7, length=5):
        self.levels, self.width, self.length = [list(guesses)], width, length

    def round(self, follow, text):
        levels = self.levels
        if len(levels) == 1:
            contexts = [levels[0][: j + 1] for j in range(len(levels[0]))]
        else:
            contexts = [levels[0][:j] + [level[j] for level in levels[1:]] for j in range(len(levels[1]))]
        said = [follow(text + c) for c in contexts]
        if len(levels) == 1:
            self.levels = [levels[0][1:], said]
            return []
        if len(levels) < self.length - 1:
            self.levels = [level[1:] for level in levels] + [said[1:]]
            return []
        heads = [text[-1], *levels[0]]
        grams = [tuple([heads[j]] + [level[j] for level in levels[1:]] + [said[j]]) for j in range(self.width)]
        self.levels = [levels[1][1:], levels[2], levels[3], said]
        return grams


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.integers(1, 99),
    st.lists(st.integers(1, 4), min_size=9, max_size=9),
)
def test_merging_equal_guesses_changes_nothing(prompt, salt, steps):
    def follow(text):
        return hash((salt, *text[-3:])) % 5

    window = JacobiWindow(prompt)
    plain, text = Plain(window.levels[0]), list(prompt)
    for accepted in steps:
        tree = DraftTree()
        assert window.plant(tree, 27)
        assert len(set(zip(tree.parents, tree.tokens, strict=True))) == len(tree) <= 27
        assert window.advance(text[-1], tree, rows(follow, text, tree)) == plain.round(follow, text)
        for _ in range(accepted):
            text.append(follow(text))


def test_the_context_database_learns_what_the_window_reads():
    drafter = make_drafter(parse("hd[window] > target").bottom)
    assert isinstance(drafter, Observer) and not isinstance(make_drafter(parse("hd > target").bottom), Observer)
    assert drafter.nodes == 55
    text = [3, 50, 90]
    drafter.start(text)
    for _ in range(4):
        tree = drafter.draft(text, 55)
        assert "lookahead" in tree.sources
        drafter.observe(text, tree, rows(counting, text, tree))
        text.append(1)
        drafter.extend([1])
    # Guesses come from the prompt; the model's continuation of each is known now, although the text never had it.
    assert any(drafter.draft([g], 28).tokens[:4] == [g + 1, g + 2, g + 3, g + 4] for g in (3, 50, 90))


def test_a_window_that_is_cut_or_not_observed_stands_still():
    drafter = make_drafter(parse("hd[window] > target").bottom)
    text = [3, 50, 90]
    drafter.start(text)
    assert drafter.draft(text, 8).why_empty == "no match", "it does not fit"
    tree = drafter.draft(text, 9)
    assert len(tree) > 0
    before = [list(level) for level in drafter.window.levels]
    assert drafter.draft(text, 55).why_empty == "no match", "nobody looked at the last one: it is not sent again"
    cut = tree.within(4)
    drafter.observe(text, cut, rows(counting, text, cut))
    assert drafter.window.levels == before
    assert len(drafter.draft(text, 9)) > 0
    empty = make_drafter(parse("hd[window] > target").bottom)
    empty.start([])
    assert empty.draft([5], 55).why_empty == "no match"
