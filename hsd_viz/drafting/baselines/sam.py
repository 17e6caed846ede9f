"""SAM-Decoding: copy what followed the longest suffix of the text that occurred before."""

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.make import drafter
from hsd_viz.drafting.tree import Drafter, DraftTree, as_eos_set


@drafter("sam", words="baseline: SAM-Decoding (suffix automaton)", make=lambda run: SAMDecoding(eos=run.eos))
class SAMDecoding(Drafter):
    """SAM-Decoding from the text alone (without its static texts, Token Recycling or EAGLE), for one run.

    Source: Hu et al., "SAM Decoding: Speculative Decoding via Suffix Automaton", ACL 2025, arXiv 2411.10666 (repository
    hyx1999/SAM-Decoding), re-implemented from its description, with Python's string search in place of the automaton.
    The longest suffix of the text that occurs before is found, of any length. After a match of m tokens, up to min(60,
    1 + ``alpha`` · m) tokens are copied (alpha 4), as a chain, from after the **earliest** occurrence of the match. If
    fewer tokens than that follow it, the next shorter suffix with more occurrences is tried; the shortest one takes
    what exists. Nothing is drafted after an end-of-text token.
    """

    nodes, alpha = 60, 4

    def __init__(self, *, eos: int | Collection[int] | None = None) -> None:
        self.eos = as_eos_set(eos)
        self._text = ""

    def start(self, prompt: Sequence[int]) -> None:
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        self._text += spell(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree, own = DraftTree(), self._text
        whole = own + spell(text[len(own) :])
        matched = self._longest(whole) if budget > 0 else 0
        wanted = 0
        while matched:
            start = own.find(whole[-matched:]) + matched
            wanted = min(self.nodes, 1 + self.alpha * matched, budget)
            shorter = self._shorter(whole, matched) if len(own) - start < wanted else 0
            if not shorter:
                break
            matched = shorter
        if matched:
            for i, token in enumerate(map(ord, own[start : start + wanted])):
                tree.add(token, i - 1, self.name, key_length=matched, position=start + i)
                if token in self.eos:
                    break
        return tree.or_reason(budget)

    def _longest(self, whole: str) -> int:
        """Return the length of the longest suffix of ``whole`` that occurs in the text with a token after it."""
        low, high, end = 0, len(whole), len(self._text) - 1
        # If a suffix occurs, so does every shorter one.
        while low < high:
            middle = (low + high + 1) // 2
            if end > 0 and self._text.find(whole[-middle:], 0, end) >= 0:
                low = middle
            else:
                high = middle - 1
        return low

    def _shorter(self, whole: str, matched: int) -> int:
        """Return the length of the next shorter suffix that occurs where the longer one does not, 0 without one."""
        for length in range(matched - 1, 0, -1):
            key, before = whole[-length:], whole[-length - 1]
            place = self._text.find(key)
            while place > 0 and self._text[place - 1] == before:
                place = self._text.find(key, place + 1)
            if place >= 0:
                return length
        return 0
