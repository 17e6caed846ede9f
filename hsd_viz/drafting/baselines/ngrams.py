"""Drafters that count n-grams: REST on a statistics database, and llama.cpp's ``ngram-cache``."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from hsd_viz.drafting.context_database import continuation_trie
from hsd_viz.drafting.make import Baseline, drafter
from hsd_viz.drafting.tree import DraftTree, spell


@drafter("retrieval")
class Retrieval(Baseline):
    """Retrieval-based speculative decoding (REST) for one run.

    It finds the longest suffix of the text, of 16 down to 2 tokens, in the corpus. It drafts the 64
    most frequent prefixes of its continuations as a trie of up to 10 tokens in depth.

    Source: He et al., "REST: Retrieval-Based Speculative Decoding", NAACL 2024, arXiv 2311.08252
    (repository FasterDecoding/REST, Apache-2.0), re-implemented from its description. The corpus is
    a statistics database instead of a suffix array: only keys of the index can be found, and counts
    beyond them are estimates (:func:`~hsd_viz.drafting.context_database.continuation_trie`).
    """

    longest = 16
    shortest = 2
    nodes = 64
    depth = 10

    def start(self, prompt: Sequence[int]) -> None:
        self.corpus = self.run.database("statistics")

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        tail = spell(text[-self.longest :])
        match = self.corpus.lookup(tail) if budget > 0 and tail else None
        if match is None or match[0] < self.shortest:
            return tree.or_reason(budget)
        length, total, _ = match
        trie = continuation_trie(
            self.corpus.lookup, tail[-length:], nodes=min(self.nodes, budget), depth=self.depth
        )
        # The index in the tree of each node of the trie; None after an end-of-text token.
        nodes: list[int | None] = []
        for token, parent, count in trie:
            above = nodes[parent] if parent >= 0 else -1
            if above is None or (above >= 0 and tree.tokens[above] in self.eos):
                nodes.append(None)
                continue
            score = min(1.0, count / total)
            nodes.append(tree.add(token, above, self.name, length, round(count), score))
        return tree.or_reason(budget)


#: The longest n-grams of the context and dynamic caches, in tokens.
MAX_ORDER = 4
#: The length of the n-grams in the static cache, in tokens.
STATIC = 2
#: The thresholds of the context and static caches by n-gram length 1, 2, 3, 4: the minimum sample
#: size, and the minimum percentage of the most frequent token.
LAX = ((2, 66), (2, 50), (1, 50), (1, 50))
#: The thresholds of the dynamic cache.
STRICT = ((4, 75), (3, 66), (2, 66), (2, 66))

#: The number of times that each token followed each n-gram (spelled).
Counts = defaultdict[str, Counter[int]]


class DynamicCache:
    """The n-gram counts of earlier runs, including their prompts.

    The counts of a run are merged when the next run begins. A cache serves one run at a time.
    """

    def __init__(self) -> None:
        self.counts: Counts = defaultdict(Counter)
        self._open: Counts = defaultdict(Counter)

    def begin(self) -> Counts:
        """Merge the counts of the previous run, and return the empty counts of a new run."""
        for key, followers in self._open.items():
            self.counts[key].update(followers)
        self._open = defaultdict(Counter)
        return self._open


@drafter("ngram-cache", remembers=DynamicCache)
class NgramCache(Baseline):
    """N-gram caches with llama.cpp's thresholds, for one run.

    The draft is a chain of up to 16 tokens. Each next token comes from the first of these caches in
    which it passes the thresholds:

    1. the **context** cache, with the thresholds :data:`LAX`: the best follower of the longest
       n-gram, of 4 down to 1 tokens, at the end of text and draft;
    2. the **dynamic** cache, in the same way with :data:`STRICT`;
    3. the **static** cache, with :data:`LAX`: the most frequent follower of the last 2 tokens.

    The draft ends if no cache has such a token. Followers in the context and dynamic caches are
    ranked by count × (100 · static count after the last 2 tokens, or 1), so that the static cache
    confirms the others.

    The static cache is the statistics database, which contains only the most frequent followers of
    a pair; without that database it is empty. Of equally ranked tokens the one seen first is taken;
    llama.cpp takes them in hash order.

    Source: llama.cpp's ``lookup`` (ggml-org/llama.cpp, ``common/ngram-cache.cpp``, pull request
    5479, MIT), re-implemented from its description.
    """

    def start(self, prompt: Sequence[int]) -> None:
        self.dynamic = self.run.state
        self.static = self.run.databases.present.get("statistics")
        self._text = ""
        self._context = self.dynamic.begin()
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            for n in range(1, min(MAX_ORDER, len(self._text)) + 1):
                self._context[self._text[-n:]][token] += 1
            self._text += chr(token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        tail = spell(text[-MAX_ORDER:])
        seen = False
        # As in llama.cpp, there is no draft for a text shorter than a static n-gram.
        caches = (self._context, self.dynamic.counts)
        while len(tail) >= STATIC and len(tree) < min(self.nodes, budget):
            match = self.static.lookup(tail[-STATIC:]) if self.static is not None else None
            total, followers = match[1:] if match is not None and match[0] == STATIC else (0, ())
            static = {token: count for token, count, _ in followers}
            best = _pick(caches[0], tail, static, LAX) or _pick(caches[1], tail, static, STRICT)
            if best is None and static:
                token = max(static, key=static.__getitem__)
                best = (
                    (token, STATIC, static[token])
                    if _passes(static[token], total, LAX[STATIC - 1])
                    else None
                )
            seen = seen or bool(static) or any(_has_end(cache, tail) for cache in caches)
            if best is None:
                break
            token, length, count = best
            tree.add(token, len(tree) - 1, self.name, key_length=length, count=count)
            if token in self.eos:
                break
            tail = (tail + chr(token))[-MAX_ORDER:]
        return tree.or_reason(budget, "not worth it" if seen else "no match")


def _has_end(counts: Mapping[str, Counter[int]], tail: str) -> bool:
    """Return whether any n-gram at the end of the text has counts."""
    return any(tail[-n:] in counts for n in range(1, MAX_ORDER + 1))


def _pick(
    counts: Mapping[str, Counter[int]],
    tail: str,
    static: dict[int, int],
    thresholds: Sequence[tuple[int, int]],
) -> tuple[int, int, int] | None:
    """Return the best follower of the longest n-gram at the end of ``tail`` that passes.

    Returns:
        The token, the length of the n-gram, and the count; ``None`` if no n-gram passes.
    """
    for n in range(min(MAX_ORDER, len(tail)), 0, -1):
        if followers := counts.get(tail[-n:]):
            token = max(
                followers,
                key=lambda t: followers[t] * 100 * static[t] if t in static else followers[t],
            )
            if _passes(followers[token], followers.total(), thresholds[n - 1]):
                return token, n, followers[token]
    return None


def _passes(count: int, total: int, threshold: tuple[int, int]) -> bool:
    return total >= threshold[0] and 100 * count >= threshold[1] * total
