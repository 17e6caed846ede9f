"""Prompt lookup: the rival that copies what followed the earliest earlier copy of the text's last tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.tree import DraftTree, as_eos_set


class PromptLookup:
    """Prompt lookup decoding with Hugging Face's rule, as a chain.

    The longest n-gram at the end of the text, from ``longest`` tokens (2) down to one, that occurs earlier; of its places the
    earliest; the up to ``most`` (10) tokens that follow there, cut before an end-of-text token. Nothing is scored: the draft is
    as long as the copy. Source: Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with the
    defaults of transformers' ``PromptLookupCandidateGenerator``, which unlike the original takes short copies too.
    """

    name = "lookup"

    def __init__(
        self, *, eos: int | Collection[int] | None = None, longest: int = 2, most: int = 10, whole: bool = False
    ) -> None:
        if longest < 1 or most < 1:
            raise ValueError(f"n-grams of {longest} tokens and copies of {most} are out of range: both are at least 1")
        self.ends = as_eos_set(eos)
        self.longest = longest
        self.most = self.nodes = most
        self.whole = whole
        self._text = ""

    @classmethod
    def original(cls, *, eos: int | Collection[int] | None = None) -> PromptLookup:
        """The rule of its author: n-grams from three tokens down, whole copies of ten tokens only."""
        return cls(eos=eos, longest=3, whole=True)

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: the text grew by them."""
        self._text += spell(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """A chain of at most ``budget`` tokens that may follow ``text``."""
        # Tokens that are not emitted yet count as text too.
        whole = self._text + spell(text[len(self._text) :])
        length = len(whole)
        tree = DraftTree()
        for n in range(min(self.longest, length - 1), 0, -1):
            # A match that ends the text has nothing after it: the search stops one token before the end, or as many as it needs.
            place = whole.find(whole[length - n :], 0, max(0, length - (self.most if self.whole else 1)))
            if place < 0:
                continue
            start = place + n
            for i, token in enumerate(map(ord, whole[start : start + max(0, min(self.most, budget))])):
                if token in self.ends:
                    break
                tree.add(token, i - 1, self.name, key_length=n, position=start + i)
            break
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree
