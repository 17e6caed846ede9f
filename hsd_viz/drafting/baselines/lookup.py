"""Drafts copied from the text of the run: prompt lookup decoding and SAM-Decoding, both by string
search.
"""

from bisect import bisect_left
from collections.abc import Sequence

from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree, spell


class CopyingDrafter(Baseline):
    """A drafter that copies a part of the run's text, up to an end-of-text token."""

    def start(self, prompt: Sequence[int]) -> None:
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        self._text += spell(tokens)

    def _with_ahead(self, text: Sequence[int]) -> str:
        """Return the text of the run and the tokens of ``text`` that are not emitted yet."""
        return self._text + spell(text[len(self._text) :])

    def _copy(
        self, text: str, start: int, most: int, key_length: int, *, with_eos: bool
    ) -> DraftTree:
        """Return up to ``most`` tokens of ``text`` from ``start`` as a chain."""
        tokens = list(map(ord, text[start : start + max(0, most)]))
        end = next((i + with_eos for i, token in enumerate(tokens) if token in self.eos), None)
        return DraftTree.chain(tokens[:end], self.name, key_length, start)


@drafter("lookup", items=("original",))
class PromptLookup(CopyingDrafter):
    """Prompt lookup decoding with Hugging Face's rule, as a chain.

    Finds the longest n-gram at the end of the text, of 2 tokens or fewer, that occurs earlier, and
    copies up to 10 tokens after its earliest occurrence, until an end-of-text token. Source: Saxena
    2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with the
    defaults of transformers. The author's rule (``lookup[original]``) takes up to 3 tokens and
    copies whole tens of tokens only.
    """

    nodes = 10

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        whole = self._with_ahead(text)
        original = bool(self.run.source.items)
        # The search ends before the last token (or the last ten), as something must follow the
        # match.
        end = max(0, len(whole) - (self.nodes if original else 1))
        for n in range(min(3 if original else 2, len(whole) - 1), 0, -1):
            place = whole.find(whole[-n:], 0, end)
            if place >= 0:
                return self._copy(
                    whole, place + n, min(self.nodes, budget), n, with_eos=False
                ).or_reason(budget)
        return DraftTree().or_reason(budget)


@drafter("sam")
class SAMDecoding(CopyingDrafter):
    """SAM-Decoding from the text alone (without its static texts, Token Recycling or EAGLE), for
    one run.

    Source: Hu et al., "SAM Decoding: Speculative Decoding via Suffix Automaton", ACL 2025, arXiv
    2411.10666 (repository hyx1999/SAM-Decoding), re-implemented from its description, with Python's
    string search in place of the automaton. After the longest match, of m tokens, up to min(60, 1 +
    ``alpha`` · m) tokens are copied (alpha 4), as a chain, from after its **earliest** occurrence.
    If fewer tokens than that follow it, the next shorter suffix with more occurrences is tried; the
    shortest one takes what exists.
    """

    nodes = 60
    alpha = 4

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        own = self._text
        whole = self._with_ahead(text)

        # The longest suffix that occurs in the text with a token after it; if one occurs, so does
        # every shorter one.
        def is_new(length: int) -> bool:
            return own.find(whole[-length:], 0, len(own) - 1) < 0

        matched = bisect_left(range(1, len(whole) + 1), True, key=is_new) if budget > 0 else 0
        start = wanted = 0
        while matched:
            start = own.find(whole[-matched:]) + matched
            wanted = min(self.nodes, 1 + self.alpha * matched, budget)
            shorter = self._shorter(whole, matched) if len(own) - start < wanted else 0
            if not shorter:
                break
            matched = shorter
        return self._copy(own, start, wanted, matched, with_eos=True).or_reason(budget)

    def _shorter(self, whole: str, matched: int) -> int:
        """Return the length of the next shorter suffix that occurs where the longer one does not, 0
        without one.
        """
        for length in range(matched - 1, 0, -1):
            key = whole[-length:]
            before = whole[-length - 1]
            place = self._text.find(key)
            while place > 0 and self._text[place - 1] == before:
                place = self._text.find(key, place + 1)
            if place >= 0:
                return length
        return 0
