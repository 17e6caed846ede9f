from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hsd_viz.drafting.baselines.suffix import SuffixTree
from tests.drafting.corpora import make
from tests.rows import column

texts = st.lists(st.integers(0, 3), max_size=30)


def counted(texts, depth):
    """Return the number of occurrences of each sequence of at most ``depth`` tokens."""
    counts = Counter()
    for text in texts:
        for start in range(len(text)):
            longest = min(depth, len(text) - start)
            counts.update(tuple(text[start : start + n]) for n in range(1, longest + 1))
    return counts


def spelled(tree, text=None):
    """Return the same counts from a tree, and check each node against :meth:`locate` and its
    ``text``.
    """
    out = {}
    nodes = [((), tree.root)]
    while nodes:
        path, node = nodes.pop()
        for token, child in tree.children(node, len(path)):
            out[(*path, token)] = child.count
            assert tree.locate([*path, token]) is child
            assert text is None or tuple(text[child.start : child.start + len(path) + 1]) == (
                *path,
                token,
            )
            nodes.append(((*path, token), child))
    return out


def grown(texts, depth, most=None):
    tree = SuffixTree(depth, most)
    for text in texts:
        tree.begin()
        for token in text:
            tree.append(token)
    return tree


@settings(deadline=None)
@given(st.lists(texts, max_size=4), st.integers(1, 6))
def test_counts_are_those_of_counting(texts, depth):
    tree = SuffixTree(depth)
    for text in texts:
        spelled(grown([text], depth), text)
    for k, text in enumerate(texts):
        tree.begin()
        for n, token in enumerate(text):
            tree.append(token)
            if n % 7 == 0:
                assert spelled(tree) == counted([*texts[:k], text[: n + 1]], depth)
    assert spelled(tree) == counted(texts, depth)
    assert tree.root.count == sum(map(len, texts))


@settings(deadline=None)
@given(st.lists(texts, max_size=6), st.integers(1, 5), st.integers(1, 3))
def test_a_tree_counts_the_latest_texts_only(texts, depth, most):
    tree = grown(texts, depth, most)
    assert spelled(tree) == counted(texts[-most:], depth)
    assert list(tree.texts.values()) == texts[-most:]


# --- the drafter ----------------------------------------------------------------------------------


def best_of(counts, key, depth, budget, alpha=1.0, least=0.1):
    """Return the score and key length of the best speculation over all match lengths, the longer
    one among equals.
    """
    best = (0.0, None)
    for p in range(1, min(len(key), depth)):
        tail = tuple(key[len(key) - p :])
        if tail not in counts:
            break
        seen = [(1.0, tail)]
        total = 0.0
        options = []
        picked = 0
        while picked < min(budget, int(alpha * p + 1e-6)):
            for prob, path in seen:
                options += [
                    (prob * n / counts[path], q)
                    for q, n in counts.items()
                    if len(q) == len(path) + 1 and q[:-1] == path
                ]
            options = [o for o in options if o[0] >= least and len(o[1]) <= depth]
            if not options:
                break
            top = max(options, key=lambda o: o[0])
            options.remove(top)
            seen = [top]
            total = total + top[0]
            picked = picked + 1
        if total >= best[0] and total > 0:
            best = (total, p)
    return best


@settings(deadline=None, max_examples=150)
@given(
    st.lists(texts, max_size=2),
    texts,
    st.lists(st.integers(0, 3), max_size=2),
    st.integers(1, 9),
    st.integers(2, 6),
)
def test_the_rule(earlier, text, ahead, budget, depth):
    outputs = SuffixTree(depth)
    for output in earlier:
        drafter = make("suffix", state=outputs)
        drafter.start([])
        drafter.extend(output)
    drafter = make("suffix", state=outputs)
    prompt = text[: len(text) // 2]
    output = text[len(text) // 2 :]
    drafter.start(prompt)
    for token in output:
        drafter.extend([token])
    whole = text + ahead
    tree = drafter.draft(whole, budget)
    mine = best_of(counted([text], depth), whole, depth, budget)
    theirs = best_of(counted([*earlier, output], depth), whole, depth, budget)
    score, length = theirs if theirs[0] > mine[0] else mine
    assert sum(column(tree.origins, "score")) == pytest.approx(score)
    assert set(column(tree.origins, "key_length")) <= {length}
    assert len(tree) <= min(budget, length or 0)
    assert column(tree.origins, "score") == sorted(column(tree.origins, "score"), reverse=True)
    if theirs[0] <= mine[0]:
        assert [text[p] for p in column(tree.origins, "position")] == tree.tokens
    else:
        assert set(column(tree.origins, "position")) == {None}
    assert drafter.draft(whole, budget) == tree


def test_by_hand():
    text = [1, 2, 3, 1, 2, 4, 1, 2]
    drafter = make("suffix")
    drafter.start(text)
    tree = drafter.draft(text, 9)
    # "1 2" was seen three times, the end of the text included: a third for 3 and for 4, two tokens
    # after a match of two.
    assert tree.tokens == [3, 4]
    assert tree.parents == [-1, -1]
    assert column(tree.origins, "key_length") == [2, 2]
    assert column(tree.origins, "score") == pytest.approx([1 / 3, 1 / 3])
    assert column(tree.origins, "position") == [2, 5]
    assert drafter.draft(text, 1).tokens == [3]
    # A draft is as long as its match, and the longer match among equal scores.
    drafter.start([5, 6, 7, 8, 9, 5, 6, 7])
    tree = drafter.draft([5, 6, 7, 8, 9, 5, 6, 7], 9)
    assert tree.tokens == [8, 9, 5]
    assert column(tree.origins, "key_length") == [3, 3, 3]
    assert column(tree.origins, "score") == [0.5] * 3
    assert drafter.draft([5, 6, 7, 8, 9, 5, 6, 7], 0).why_empty == "no room"
    assert drafter.draft([5, 6, 7, 8, 9, 5, 6, 44], 9).why_empty == "no match"


@pytest.mark.parametrize(
    ("others", "drafted"),
    [
        pytest.param(9, [2], id="one in ten, the least probability"),
        pytest.param(10, [], id="one in eleven"),
    ],
)
def test_a_token_is_drafted_down_to_the_least_probability(others, drafted):
    """The text is 1 2 1 3 1 4 ... 1. Each token after a 1 occurs once, and the end of the text
    counts as an occurrence.
    """
    text = [1]
    for token in range(2, 2 + others):
        text += [token, 1]
    drafter = make("suffix")
    drafter.start(text)
    assert drafter.draft(text, 9).tokens == drafted


def test_earlier_outputs_are_remembered_and_prompts_are_not():
    outputs = SuffixTree()
    first = make("suffix", state=outputs)
    first.start([1, 2, 3])
    first.extend([4, 5, 6, 7])
    second = make("suffix", state=outputs)
    second.start([9, 4, 5])
    assert second.draft([9, 4, 5], 9).tokens == [6, 7], "warm"
    assert make("suffix").draft([9, 4, 5], 9).why_empty == "no match", "cold"
    second.start([9, 1, 2])
    assert second.draft([9, 1, 2], 9).why_empty == "no match", "what was a prompt then"
    # A second run that writes in between begins a text of its own.
    second.extend([8])
    first.extend([6])
    assert list(outputs.texts.values()) == [[4, 5, 6, 7], [8], [6]]
    ended = make("suffix", eos=6)
    ended.start([4, 5, 6, 7, 4, 5])
    assert ended.draft([4, 5, 6, 7, 4, 5], 9).tokens == [6]
