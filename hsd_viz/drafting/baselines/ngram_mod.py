"""llama.cpp's ngram-mod: one hash table from n-grams to the next token, without a check for collisions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hsd_viz.drafting.tree import DraftTree, as_eos_set

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
    less than a quarter was accepted. ``ngram-mod[short]`` is for small models and short texts: 6 tokens, any length."""

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
