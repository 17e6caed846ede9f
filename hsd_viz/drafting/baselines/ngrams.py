"""llama.cpp's drafters without a model: n-gram counts of this text, of earlier ones and of a corpus (``ngram-cache``),
and one hash table from n-grams to the next token, without a check for collisions (``ngram-mod``).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hsd_viz.drafting.context import Database, spell
from hsd_viz.drafting.tree import DraftTree, as_eos_set

#: N-gram lengths of the context and dynamic caches, and that of the static one.
LONGEST = 4
STATIC = 2
#: Minimum sample size and minimum percentage of the most frequent token, by n-gram length 1, 2, 3, 4.
LAX = ((2, 66), (2, 50), (1, 50), (1, 50))
STRICT = ((4, 75), (3, 66), (2, 66), (2, 66))

#: Times each token followed each n-gram (spelled).
Counts = dict[str, dict[int, int]]


class DynamicCache:
    """The n-gram counts of earlier runs, including prompts. A run's counts are merged when the next run begins. Passed
    from run to run it is warm, a new one is cold. It serves one run at a time.
    """

    __slots__ = ("_open", "counts")

    def __init__(self) -> None:
        self.counts: Counts = {}
        self._open: list[Counts] = []

    def begin(self, context: Counts) -> None:
        """Begin a run that counts into ``context``; merge the counts of the run before."""
        for finished in self._open:
            for key, followers in finished.items():
                ours = self.counts.setdefault(key, {})
                for token, count in followers.items():
                    ours[token] = ours.get(token, 0) + count
        self._open = [context]


class NgramCache:
    """N-gram caches with llama.cpp's thresholds, for one run.

    Source: llama.cpp's ``lookup`` (ggml-org/llama.cpp, ``common/ngram-cache.cpp``, pull request 5479, MIT),
    re-implemented from its description. Token by token, up to 16: of the n-grams of 4 down to 1 tokens at
    the end of text and draft, the longest in the **context** cache whose best follower passes the thresholds
    :data:`LAX`; else the same in the **dynamic** cache with :data:`STRICT`; else the most frequent follower of the last
    2 tokens in the **static** cache (lax). Followers in context and dynamic cache rank by count × (100 · static count
    of the token after the last 2 tokens, or 1): the static cache confirms the others. The first token to pass is
    drafted, as a chain, until none passes.

    ``static`` is a statistics database, which contains only the most frequent followers of a pair; ``None``: an empty
    one. Nothing is drafted after an end-of-text token. Among equals the token seen first is taken (llama.cpp: hash
    order).
    """

    name = "ngram-cache"
    nodes = 16

    def __init__(
        self,
        *,
        dynamic: DynamicCache | None = None,
        static: Database | None = None,
        eos: int | Collection[int] | None = None,
    ) -> None:
        self.eos = as_eos_set(eos)
        self.dynamic = dynamic if dynamic is not None else DynamicCache()
        self.static = static
        self._text = ""
        self._context: Counts = {}

    def start(self, prompt: Sequence[int]) -> None:
        """Begin a run with this prompt; earlier runs become part of the dynamic cache."""
        self._text, self._context = "", {}
        self.dynamic.begin(self._context)
        self.extend(prompt)

    def extend(self, tokens: Sequence[int]) -> None:
        """Count each of these emitted tokens after the 1 to 4 tokens before it."""
        for token in tokens:
            for n in range(1, min(LONGEST, len(self._text)) + 1):
                followers = self._context.setdefault(self._text[-n:], {})
                followers[token] = followers.get(token, 0) + 1
            self._text += chr(token)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree = DraftTree()
        tail = spell(text[-LONGEST:])
        seen = False
        # As in llama.cpp, there is no draft for a text shorter than a static n-gram.
        while len(tail) >= STATIC and len(tree) < min(self.nodes, budget):
            static, total = self._followers(tail[-STATIC:])
            caches = (self._context, self.dynamic.counts)
            best = _pick(caches[0], tail, static, LAX) or _pick(caches[1], tail, static, STRICT)
            if best is None and static:
                token = max(static, key=static.__getitem__)
                best = (token, STATIC, static[token]) if _passes(static[token], total, LAX[STATIC - 1]) else None
            seen = seen or bool(static) or any(tail[-n:] in c for c in caches for n in range(1, LONGEST + 1))
            if best is None:
                break
            token, length, count = best
            tree.add(token, len(tree) - 1, self.name, key_length=length, count=count)
            if token in self.eos:
                break
            tail = (tail + chr(token))[-LONGEST:]
        return tree.or_reason(budget, "not worth it" if seen else "no match")

    def _followers(self, pair: str) -> tuple[dict[int, int], int]:
        """Return the static counts of what follows two tokens, most frequent first, and the total."""
        match = self.static.lookup(pair) if self.static is not None else None
        if match is None or match[0] != STATIC:
            return {}, 0
        return {token: count for token, count, _ in match[2]}, match[1]


def _pick(
    counts: Counts, tail: str, static: dict[int, int], thresholds: Sequence[tuple[int, int]]
) -> tuple[int, int, int] | None:
    """Return (token, n-gram length, count) of the longest n-gram at the end of ``tail`` that passes, or ``None``."""
    for n in range(min(LONGEST, len(tail)), 0, -1):
        followers = counts.get(tail[-n:])
        if followers is None:
            continue
        token = max(followers, key=lambda t: followers[t] * (100 * static[t] if t in static else 1))
        if _passes(followers[token], sum(followers.values()), thresholds[n - 1]):
            return token, n, followers[token]
    return None


def _passes(count: int, total: int, threshold: tuple[int, int]) -> bool:
    return total >= threshold[0] and 100 * count >= threshold[1] * total


#: Slots of the table, a power of two, and the multiplier of the hash.
SLOTS, FACTOR = 1 << 22, 6364136223846793005
#: A table that is this full at the start of a run is cleared.
FULL = SLOTS // 4
#: The text is added to the table when it is longer by more than this than what was added.
STRIDE = 32
#: So many drafts in a row with a smaller accepted share than this clear the table.
LOW, STREAK = 0.25, 5


@dataclass(slots=True)
class HashTable:
    """The next token by slot; kept from run to run, as a server keeps it from request to request."""

    slots: dict[int, int] = field(default_factory=dict)


class NgramMod:
    """``ngram-mod`` for one run.

    Source: llama.cpp's ``--spec-type ngram-mod`` (ggml-org/llama.cpp, ``common/ngram-mod.cpp``, pull request 19164,
    MIT), re-implemented, with its defaults: n-grams of ``match`` tokens, hashed to one of
    4 194 304 slots, the latest next token in each. A draft follows the table from slot to slot, up to 64 tokens, and is
    dropped if it has fewer than ``least`` (than the budget, if that is smaller). The text but its newest token is
    added in pieces. A table that is a quarter full when a run begins is cleared, and after 5 drafts in a row of which
    less than a quarter was accepted. ``ngram-mod[short]`` is for small models and short texts: 6 tokens, any length.
    """

    name = "ngram-mod"
    nodes = 64

    def __init__(
        self,
        *,
        table: HashTable | None = None,
        eos: int | Collection[int] | None = None,
        match: int = 24,
        least: int = 48,
    ) -> None:
        self.eos = as_eos_set(eos)
        self.table = table if table is not None else HashTable()
        self.match, self.least = match, least
        self._out = pow(FACTOR, match, SLOTS)
        self._text: list[int] = []
        self._added, self._low = 0, 0
        self._drafted: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        if len(self.table.slots) > FULL:
            self.table.slots.clear()
        self._text, self._added, self._low, self._drafted = list(prompt), 0, 0, []
        self._add(len(self._text))

    def extend(self, tokens: Sequence[int]) -> None:
        if self._drafted:
            pairs = zip(self._drafted, tokens, strict=False)
            accepted = next((k for k, (d, t) in enumerate(pairs) if d != t), min(len(self._drafted), len(tokens)))
            self._low = self._low + 1 if accepted < LOW * len(self._drafted) else 0
            self._drafted = []
            if self._low >= STREAK:
                self.table.slots.clear()
                self._low = self._added = 0
        self._text += tokens
        if len(self._text) - 1 > self._added + STRIDE:
            self._add(len(self._text) - 1)

    def draft(self, text: Sequence[int], budget: int) -> DraftTree:
        tree, most = DraftTree(), min(self.nodes, budget)
        tail = list(text[-self.match :])
        place = self._hash(tail)
        while len(tail) >= self.match and len(tree) < most:
            token = self.table.slots.get(place)
            if token is None:
                break
            tree.add(token, len(tree) - 1, self.name, key_length=self.match)
            if token in self.eos:
                break
            place = self._next(place, tail[len(tree) - 1], token)
            tail.append(token)
        found = len(tree) > 0
        if len(tree) < min(self.least, most) and not (found and tree.tokens[-1] in self.eos):
            tree = DraftTree()
        self._drafted = list(tree.tokens)
        return tree.or_reason(budget, "not worth it" if found else "no match")

    def _add(self, end: int) -> None:
        """Add the n-grams of the first ``end`` tokens that are not in the table yet."""
        text, n = self._text, self.match
        if end <= self._added + n:
            return
        place = self._hash(text[self._added : self._added + n])
        for k in range(self._added, end - n):
            self.table.slots[place] = text[k + n]
            place = self._next(place, text[k], text[k + n])
        self._added = end - n

    def _hash(self, tokens: Sequence[int]) -> int:
        place = 0
        for token in tokens:
            place = (place * FACTOR + token) % SLOTS
        return place

    def _next(self, place: int, first: int, token: int) -> int:
        """Return the hash after ``first`` leaves the n-gram and ``token`` joins it."""
        return (place * FACTOR + token - first * self._out) % SLOTS
