"""Prompt lookup: copy what followed the earliest occurrence of the text's last tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.tree import DraftTree, as_eos_set
from hsd_viz.words import check_range


class PromptLookup:
    """Prompt lookup decoding with Hugging Face's rule, as a chain.

    Finds the longest n-gram at the end of the text, from ``longest`` tokens (2) down to one, that occurs earlier, and
    copies the up to ``most`` (10) tokens after its earliest occurrence, up to an end-of-text token. There are no
    scores. Source: Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with the
    defaults of transformers' ``PromptLookupCandidateGenerator``, which unlike the original accepts short copies
    (``whole=False``).
    """

    name = "lookup"

    def __init__(
        self, *, eos: int | Collection[int] | None = None, longest: int = 2, most: int = 10, whole: bool = False
    ) -> None:
        check_range("the longest n-gram", longest, 1)
        check_range("the number of draft tokens", most, 1)
        self.eos = as_eos_set(eos)
        self.longest = longest
        self.most = self.nodes = most
        self.whole = whole
        self._text = ""

    @classmethod
    def original(cls, *, eos: int | Collection[int] | None = None) -> PromptLookup:
        """Return the author's rule: n-grams from three tokens down, whole copies of ten tokens only."""
        return cls(eos=eos, longest=3, whole=True)

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt."""
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append these emitted tokens to the text."""
        self._text += spell(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """Return a chain of at most ``budget`` tokens that may follow ``text``."""
        # Tokens that are not emitted yet are text, too.
        whole = self._text + spell(text[len(self._text) :])
        length = len(whole)
        tree = DraftTree()
        for n in range(min(self.longest, length - 1), 0, -1):
            # The search ends before the last token (or the last ``most``), as something must follow the match.
            place = whole.find(whole[length - n :], 0, max(0, length - (self.most if self.whole else 1)))
            if place < 0:
                continue
            start = place + n
            for i, token in enumerate(map(ord, whole[start : start + max(0, min(self.most, budget))])):
                if token in self.eos:
                    break
                tree.add(token, i - 1, self.name, key_length=n, position=start + i)
            break
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree
