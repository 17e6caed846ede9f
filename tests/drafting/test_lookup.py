from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drafting.corpora import make
from tests.rows import column


def check_copies(drafter, text, budget, copied, length, place):
    """Check that a draft is the expected copy.

    It is requested twice, because a rejected draft must not change the drafter.
    """
    for _ in range(2):
        tree = drafter.draft(text, budget)
        assert tree.tokens == copied
        assert tree.parents == list(range(-1, len(copied) - 1))
        assert column(tree.origins, "source") == [drafter.name] * len(copied)
        assert column(tree.origins, "key_length") == [length] * len(copied)
        assert (
            column(tree.origins, "position") == [place + i for i in range(len(copied))]
            if copied
            else not column(tree.origins, "position")
        )
        assert (tree.why_empty is None) == bool(copied)


def reference(text, eos, budget, longest=2, most=10):
    """Return the draft of the published rule: search the text from its start, n-gram by n-gram."""
    for n in range(min(longest, len(text) - 1), 0, -1):
        for i in range(len(text) - n + 1):
            if text[i : i + n] == text[-n:] and i + n < len(text):
                copied = text[i + n : i + n + most]
                if eos in copied:
                    copied = copied[: copied.index(eos)]
                return copied[:budget], n, i + n
    return [], None, None


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50), st.integers(0, 6), st.integers(0, 12))
def test_the_rule(text, ahead, budget):
    ahead = min(ahead, len(text))
    known = len(text) - ahead
    drafter = make("lookup", eos=0)
    drafter.start(text[: known // 2])
    for token in text[known // 2 : known]:
        drafter.extend([token])
    check_copies(drafter, text, budget, *reference(text, 0, budget))


def test_transformers_drafts_the_same():
    import torch
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    theirs = PromptLookupCandidateGenerator(eos_token_id=torch.tensor([0]), max_length=10**6)
    generator = torch.Generator().manual_seed(0)
    drafted = 0
    for length in range(2, 120):
        text = torch.randint(0, 12, (length,), generator=generator).tolist()
        candidates, _ = theirs.get_candidates(torch.tensor([text]))
        ours = make("lookup", eos=0)
        ours.start(text)
        tree = ours.draft(text, 10)
        assert tree.tokens == candidates[0, length:].tolist()
        drafted += len(tree)
    assert drafted > 500


@settings(max_examples=200)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=60))
def test_original_lookup_wants_whole_copies(text):
    drafter = make("lookup", "original")
    drafter.start(text)
    expected = []
    for n in range(min(3, len(text) - 1), 0, -1):
        places = []
        for i in range(len(text) - n):
            if text[i : i + n] == text[-n:] and i + n + 10 <= len(text):
                places.append(i + n)
        if places:
            expected = text[places[0] : places[0] + 10]
            break
    assert drafter.draft(text, 99).tokens == expected


# --- SAM-Decoding ---


def ends_of(text, part):
    """Return the positions at which an occurrence of ``part`` in ``text`` ends."""
    ends = []
    for i in range(len(text) - len(part) + 1):
        if text[i : i + len(part)] == part:
            ends.append(i + len(part) - 1)
    return ends


def sam_reference(text, ahead, most, alpha, budget):
    """Return the draft, key length and position of the longest suffix of text and ahead that
    continues in the text.
    """
    whole = text + ahead
    choice = None
    before = None
    for m in range(len(whole), 0, -1):
        ends = ends_of(text, whole[len(whole) - m :])
        if not ends or ends[0] == len(text) - 1 or ends == before:
            continue
        # Suffixes that end at the same places are one: the longest of them is tried.
        before = ends
        wanted = min(most, 1 + alpha * m, budget)
        choice = text[ends[0] + 1 : ends[0] + 1 + wanted], m, ends[0] + 1
        if len(choice[0]) == wanted:
            break
    return choice or ([], None, None)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.integers(0, 3), max_size=40),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(1, 20),
)
def test_the_rule_of_sam(text, ahead, most, alpha, budget):
    drafter = make("sam")
    drafter.nodes = most
    drafter.alpha = alpha
    drafter.start(text[: len(text) // 2])
    for token in text[len(text) // 2 :]:
        drafter.extend([token])
    check_copies(drafter, text + ahead, budget, *sam_reference(text, ahead, most, alpha, budget))


def test_sam_by_hand():
    drafter = make("sam")
    # After "1 1 1" the match of two tokens has one token to offer, that of one token two.
    drafter.start([1, 1, 1])
    tree = drafter.draft([1, 1, 1], 99)
    assert tree.tokens == [1, 1]
    assert column(tree.origins, "key_length") == [1, 1]
    assert column(tree.origins, "position") == [1, 2]
    long = list(range(100, 200))
    drafter.start(long * 2)
    assert len(drafter.draft(long * 2, 99)) == 60
    ended = make("sam", eos=0)
    ended.start([5, 6, 0, 7, 5])
    assert ended.draft([5, 6, 0, 7, 5], 9).tokens == [6, 0]
    assert ended.draft([5], 0).why_empty == "no room"


def test_sam_copies_five_tokens_after_a_match_of_one():
    """A match of one token copies 1 + 4 * 1 tokens, those after the first 5."""
    text = [5, 1, 2, 3, 4, 6, 7, 8, 9, 5]
    drafter = make("sam")
    drafter.start(text)
    assert drafter.draft(text, 60).tokens == [1, 2, 3, 4, 6]


def test_prompt_lookup_copies_ten_tokens():
    text = [*range(20), 3]
    drafter = make("lookup")
    drafter.start(text)
    assert drafter.draft(text, 60).tokens == list(range(4, 14))
