"""Prompt lookup: copy what followed the earliest occurrence of the text's last tokens."""

from collections.abc import Collection, Sequence

from hsd_viz.drafting.context import spell
from hsd_viz.drafting.make import drafter
from hsd_viz.drafting.tree import Drafter, DraftTree, as_eos_set


@drafter(
    "lookup",
    words="baseline: prompt lookup decoding",
    items=("original",),
    make=lambda run: PromptLookup(eos=run.eos, longest=3 if run.source.items else 2, whole=bool(run.source.items)),
)
class PromptLookup(Drafter):
    """Prompt lookup decoding with Hugging Face's rule, as a chain.

    Finds the longest n-gram at the end of the text, of ``longest`` tokens or fewer, that occurs earlier, and copies up
    to 10 tokens after its earliest occurrence, until an end-of-text token. Source: Saxena 2023, "Prompt Lookup
    Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with the defaults of transformers'
    ``PromptLookupCandidateGenerator``. The author's rule (``lookup[original]``) copies whole tens of tokens only.
    """

    nodes = 10

    def __init__(self, *, eos: int | Collection[int] | None = None, longest: int = 2, whole: bool = False) -> None:
        self.eos = as_eos_set(eos)
        self.longest, self.whole, self._text = longest, whole, ""

    def start(self, prompt: Sequence[int]) -> None:
        self._text = spell(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        self._text += spell(tokens)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        # Tokens that are not emitted yet are text, too.
        whole = self._text + spell(text[len(self._text) :])
        length, tree = len(whole), DraftTree()
        for n in range(min(self.longest, length - 1), 0, -1):
            # The search ends before the last token (or the last ten), as something must follow the match.
            place = whole.find(whole[length - n :], 0, max(0, length - (self.nodes if self.whole else 1)))
            if place < 0:
                continue
            start = place + n
            for i, token in enumerate(map(ord, whole[start : start + max(0, min(self.nodes, budget))])):
                if token in self.eos:
                    break
                tree.add(token, i - 1, self.name, key_length=n, position=start + i)
            break
        return tree.or_reason(budget)
