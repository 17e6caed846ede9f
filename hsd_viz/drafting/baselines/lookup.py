"""Drafters that copy from the text of the run: prompt lookup decoding and SAM-Decoding."""

from bisect import bisect_left
from collections.abc import Sequence

from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree, spell


class CopyingDrafter(Baseline):
    """The base class of drafters that copy a part of the run's text, up to an end-of-text token."""

    def start(self, prompt: Sequence[int]) -> None:
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        self._text += spell(tokens)

    def _with_ahead(self, text: Sequence[int]) -> str:
        """Return the text of the run (spelled), with the tokens of ``text`` not emitted yet."""
        return self._text + spell(text[len(self._text) :])

    def _copy(
        self, text: str, start: int, count: int, key_length: int, *, with_eos: bool
    ) -> DraftTree:
        """Return up to ``count`` tokens of ``text`` from ``start`` as a chain.

        The chain ends at an end-of-text token, which ``with_eos`` includes.
        """
        tokens = list(map(ord, text[start : start + max(0, count)]))
        end = next((i + with_eos for i, token in enumerate(tokens) if token in self.eos), None)
        return DraftTree.chain(tokens[:end], self.name, key_length, start)


@drafter("lookup", items=("original",))
class PromptLookup(CopyingDrafter):
    """Prompt lookup decoding with the rule of transformers, as a chain.

    It finds the longest n-gram of up to 2 tokens at the end of the text that occurs earlier, and
    copies up to 10 tokens after its earliest occurrence, until an end-of-text token. The author's
    rule (``lookup[original]``) matches up to 3 tokens, and drafts only where 10 tokens follow.

    Source: Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding),
    with the defaults of transformers.
    """

    nodes = 10

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        full_text = self._with_ahead(text)
        original = bool(self.run.source.items)
        # The search leaves out the last token (or the last ten), because tokens must follow the
        # match.
        end = max(0, len(full_text) - (self.nodes if original else 1))
        for n in range(min(3 if original else 2, len(full_text) - 1), 0, -1):
            place = full_text.find(full_text[-n:], 0, end)
            if place >= 0:
                return self._copy(
                    full_text, place + n, min(self.nodes, budget), n, with_eos=False
                ).or_reason(budget)
        return DraftTree().or_reason(budget)


@drafter("sam")
class SAMDecoding(CopyingDrafter):
    """SAM-Decoding from the text alone (without its static texts, Token Recycling or EAGLE), for
    one run.

    Of the longest match, with m tokens, up to min(60, 1 + ``alpha`` · m) following tokens are
    copied as a chain (alpha is 4), from its **earliest** occurrence. If fewer tokens follow it, the
    next shorter suffix with more occurrences is tried; the shortest one copies all that follow.

    Source: Hu et al., "SAM Decoding: Speculative Decoding via Suffix Automaton", ACL 2025, arXiv
    2411.10666 (repository hyx1999/SAM-Decoding), re-implemented from its description, with Python's
    string search in place of the automaton.
    """

    nodes = 60
    alpha = 4

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        run_text = self._text
        full_text = self._with_ahead(text)

        # Bisection finds the longest suffix that a token follows in the text: if a suffix occurs,
        # so does every shorter one.
        def is_new(length: int) -> bool:
            return run_text.find(full_text[-length:], 0, len(run_text) - 1) < 0

        matched = bisect_left(range(1, len(full_text) + 1), True, key=is_new) if budget > 0 else 0
        start = wanted = 0
        while matched:
            start = run_text.find(full_text[-matched:]) + matched
            wanted = min(self.nodes, 1 + self.alpha * matched, budget)
            shorter = self._shorter(full_text, matched) if len(run_text) - start < wanted else 0
            if not shorter:
                break
            matched = shorter
        return self._copy(run_text, start, wanted, matched, with_eos=True).or_reason(budget)

    def _shorter(self, full_text: str, matched: int) -> int:
        """Return the length of the next shorter suffix that occurs where the longer one does not;
        0 if there is none.
        """
        for length in range(matched - 1, 0, -1):
            key = full_text[-length:]
            before = full_text[-length - 1]
            place = self._text.find(key)
            while place > 0 and self._text[place - 1] == before:
                place = self._text.find(key, place + 1)
            if place >= 0:
                return length
        return 0
