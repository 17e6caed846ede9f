"""Prompt lookup: the rival that copies what followed the earliest earlier copy of the text's last tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .tree import DraftTree, ends


class PromptLookup:
    """Prompt lookup decoding with Hugging Face's rule, as a chain.

    The longest n-gram at the end of the text, from ``longest`` tokens (2) down to one, that occurs earlier; of its places the
    earliest; the up to ``most`` (10) tokens that follow there, cut before an end-of-text token. Nothing is scored: the draft is
    as long as the copy. Source: Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with the
    defaults of transformers' ``PromptLookupCandidateGenerator``, which unlike the original takes short copies too.

    Where the text is the one that grew by :meth:`extend`, the earliest places are remembered, so that a draft costs a few
    microseconds however long the text is; the rule is unchanged.
    """

    name = "lookup"

    def __init__(self, *, eos: int | Collection[int] | None = None, longest: int = 2, most: int = 10) -> None:
        if longest < 1 or most < 1:
            raise ValueError(f"n-grams of {longest} tokens and copies of {most} are out of range: both are at least 1")
        self.ends = ends(eos)
        self.longest = longest
        self.most = most
        self._text: list[int] = []
        self._first: dict[tuple[int, ...], int] = {}

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""
        self._text, self._first = [], {}
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: the text grew by them."""
        self._text += tokens
        self._remember(self._text, len(self._text) - len(tokens), self._first)

    def _remember(self, text: list[int], start: int, into: dict[tuple[int, ...], int]) -> None:
        """Note for each n-gram ending at ``start`` or later where it ends first."""
        for end in range(start + 1, len(text) + 1):
            for n in range(1, min(self.longest, end) + 1):
                into.setdefault(tuple(text[end - n : end]), end)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """A chain of at most ``budget`` tokens that may follow ``text``."""
        length, known = len(text), len(self._text)
        ahead = list(text[known:])
        whole = self._text + ahead if ahead else self._text
        # Tokens that are not emitted yet count as text too, but must not be remembered.
        later: dict[tuple[int, ...], int] = {}
        if ahead:
            self._remember(whole, known, later)
        tree = DraftTree()
        for n in range(min(self.longest, length - 1), 0, -1):
            key = tuple(whole[length - n :])
            end = self._first.get(key) or later.get(key)
            if end is None or end >= length:
                continue
            copied = whole[end : end + min(self.most, budget)]
            for place, token in enumerate(copied):
                if token in self.ends:
                    break
                tree.add(token, place - 1, self.name, key_length=n, position=end + place)
            break
        if not tree.tokens:
            tree.why_empty = "no room" if budget < 1 else "no match"
        return tree
