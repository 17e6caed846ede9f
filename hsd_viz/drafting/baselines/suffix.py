"""SuffixDecoding: a speculation tree from suffix trees of this text and of earlier outputs, as large as the match is long."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush

from hsd_viz.drafting.baselines.suffix_tree import Spot, SuffixTree
from hsd_viz.drafting.tree import DraftTree, as_eos_set

#: Outputs remembered from run to run.
OUTPUTS = 10_000


class SuffixDecoding:
    """SuffixDecoding for one run.

    Source: Oliaro et al., "SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications", NeurIPS 2025, arXiv
    2411.04975 (repository snowflakedb/ArcticInference, Apache-2.0), re-implemented from its description.

    Two suffix trees, of sequences up to ``depth`` (64) tokens: of this run's prompt and output, and of ``outputs``, those of
    earlier runs and this one, without prompts. For **every** length p of the text's end that a tree knows, a speculation tree
    is grown greedily: the most probable continuation next, a path's probability being the product of count(child) /
    count(node), none below ``least`` (0.1), at most MAX_SPEC = ``alpha`` · p tokens (alpha 1). The tree of the highest score (the sum
    of its probabilities: the expected number of accepted tokens) is drafted, the longer match among equals, and the
    outputs' only where it scores higher than the run's own. As published, a count includes the end of the text itself,
    after which nothing was seen yet.

    ``outputs`` is the state that outlives a run: one tree passed to run after run is warm, a fresh one (the default) cold; the
    oldest of 10 000 outputs makes room. It serves one run at a time. Unlike the published code, nothing is drafted after an
    end-of-text token, and among equally probable tokens the one that was put up first comes first.
    """

    name = "suffix"

    def __init__(
        self,
        *,
        outputs: SuffixTree | None = None,
        eos: int | Collection[int] | None = None,
        depth: int = 64,
        alpha: float = 1.0,
        least: float = 0.1,
    ) -> None:
        if alpha <= 0 or not 0 <= least <= 1:
            raise ValueError(
                f"alpha {alpha} and a least probability of {least} are out of range: above 0, and from 0 to 1"
            )
        self.ends = as_eos_set(eos)
        self.outputs = outputs if outputs is not None else SuffixTree(depth, OUTPUTS)
        self.depth = self.nodes = depth
        self.alpha = alpha
        self.least = least
        self.start(())

    def start(self, prompt: Sequence[int]) -> None:
        """A run begins with this prompt."""
        self._text = SuffixTree(self.depth)
        self._text.begin()
        for token in prompt:
            self._text.append(token)
        self._output: int | None = None

    def extend(self, tokens: Sequence[int]) -> None:
        """These tokens were emitted: both trees grew by them."""
        if self.outputs.current != self._output:
            self._output = self.outputs.begin()
        for token in tokens:
            self._text.append(token)
            self.outputs.append(token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        """The speculation tree of at most ``budget`` nodes after ``text``."""
        if budget < 1:
            return DraftTree(why_empty="no room")
        # A key is shorter than the text and leaves the tree a token to go on with.
        key = list(text[-min(self.depth, len(text)) + 1 :]) if min(self.depth, len(text)) > 1 else []
        tree, score, own = self._best(self._text, key, budget, 0.0, True)
        theirs, better, found = self._best(self.outputs, key, budget, score, False)
        if better > score:
            tree = theirs
        if not tree.tokens:
            tree.why_empty = "not worth it" if own or found else "no match"
        return tree

    def _best(
        self, trie: SuffixTree, key: list[int], budget: int, floor: float, local: bool
    ) -> tuple[DraftTree, float, bool]:
        """The tree that scores highest over all matches, and above ``floor``; its score; whether anything matched."""
        best, score = DraftTree(), floor
        low, high = 0, len(key)
        # If a sequence was followed by something, so was every suffix of it: the longest match is found by bisection.
        while low < high:
            middle = (low + high + 1) // 2
            spot = trie.locate(key[len(key) - middle :])
            if spot is not None and next(trie.children(spot), None) is not None:
                low = middle
            else:
                high = middle - 1
        for matched in range(low, 0, -1):
            most = min(budget, int(self.alpha * matched + 1e-6))
            # No probability is above 1, and shorter matches are allowed fewer tokens.
            if most <= score:
                break
            tree = self._speculate(trie, trie.locate(key[len(key) - matched :]), matched, most, local)
            total = sum(tree.scores)
            if total > score:
                best, score = tree, total
        return best, score, low > 0

    def _speculate(self, trie: SuffixTree, spot: Spot, matched: int, most: int, local: bool) -> DraftTree:
        """The up to ``most`` most probable tokens after ``spot`` as a tree."""
        tree = DraftTree()
        queue: list[tuple] = []
        serial, node, probability = 0, -1, 1.0
        grow: Spot | None = spot
        while len(tree) < most:
            if grow is not None:
                seen = trie.count(grow)
                for token, count, place, child in trie.children(grow):
                    p = probability * count / seen
                    if p >= self.least:
                        serial += 1
                        heappush(queue, (-p, serial, node, token, count, place, child))
            if not queue:
                break
            negative, _, parent, token, count, place, child = heappop(queue)
            probability = -negative
            node = tree.add(token, parent, self.name, matched, count, probability, place if local else None)
            grow = None if token in self.ends else child
        return tree
