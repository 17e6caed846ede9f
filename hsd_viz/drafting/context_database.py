"""The interface of databases, the two held in memory (context and logits), and the trie of what
followed a key.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from hsd_viz.drafting.tree import spell

#: The name of the logits database in a stack.
LOGITS = "logits"


class Continuation(NamedTuple):
    """A token that followed a key.

    Attributes:
        token: the token.
        count: how often it did; of the logits database its probability.
        position: the place of its latest copy in the text; ``None`` outside of the run's own text.
    """

    token: int
    count: Any
    position: int | None


class Match(NamedTuple):
    """The answer of a database.

    Attributes:
        length: the tokens at the end of the text that were matched; of the semantic database the
            band of the most similar copy.
        total: how often they were seen with a token after them.
        continuations: what followed them, most frequent first. An index answers with plain tuples
            of the same fields, which it makes faster.
    """

    length: int
    total: int
    continuations: Sequence[tuple[int, Any, int | None]]


class Database(Protocol):
    """A database: what may follow the end of a text."""

    def lookup(self, tail: str) -> Match | None:
        """Return what followed the longest known suffix of ``tail``, or ``None``."""


class ContextDatabase:
    """The text of the current run, one string: every token by the up to ``longest`` tokens before
    it.

    If a suffix occurs, so does every shorter one, so the longest is found by bisection. Only the
    ``recent`` latest occurrences of a key are counted: 4 predict as well as 32. At most ``most``
    candidates are returned.
    """

    recent = 4
    most = 4

    def __init__(self, longest: int = 8) -> None:
        self.longest = longest
        self.text = ""

    def extend(self, tokens: Iterable[int]) -> None:
        """Append ``tokens`` to the text."""
        self.text += spell(tokens)

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """Return what followed the longest suffix of ``tail`` that occurs with a follower, or
        ``None``. ``tail`` (see :func:`spell`) may end in tokens that the text does not contain yet.
        ``longest`` limits the key, for back-off: ``lookup(tail, key_length - 1)`` returns the next
        match. Candidates: most frequent first, then latest.
        """
        size = len(tail)
        text = self.text
        most = self.longest if longest is None or longest > self.longest else longest
        most = size if most > size else most
        # A match at the end of the text has nothing after it.
        end = len(text) - 1
        find = text.rfind
        length = 0
        place = -1
        # Half of all keys match as a whole, so that is tried first.
        middle = most
        while length < most:
            at = find(tail[size - middle :], 0, end)
            if at < 0:
                most = middle - 1
            else:
                length = middle
                place = at
            middle = (length + most + 1) >> 1
        if place < 0:
            return None
        key = tail[size - length :]
        position = place + length
        total = 1
        counts = {text[position]: [1, position]}
        while total < self.recent:
            place = find(key, 0, place + length - 1)
            if place < 0:
                break
            total += 1
            follower = text[place + length]
            if follower in counts:
                counts[follower][0] += 1
            else:
                counts[follower] = [1, place + length]
        # The dictionary runs from the latest occurrence to the earliest, and sorting is stable.
        candidates = []
        for follower, (count, at) in counts.items():
            candidates.append(Continuation(ord(follower), count, at))
        if len(candidates) > 1:
            candidates.sort(key=_count_of, reverse=True)
        return Match(length, total, candidates[: self.most])


_count_of = attrgetter("count")


class LogitsDatabase:
    """The target's most probable tokens by the last one to three tokens: ``logits``, the latest row
    of each key.

    Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696) stores the most probable successors of
    each token, also at rejected nodes, and LogitSpec (arXiv 2507.01449) looks up what may follow
    them. Here they form a database, with the target's own probabilities as shares. Of more than
    ``most`` keys the oldest are dropped.
    """

    longest = 3
    most = 100_000

    def __init__(self) -> None:
        self._rows: dict[str, list[Continuation]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, tail: str, ids: Sequence[int], probabilities: Sequence[float]) -> None:
        """Store the target's ``probabilities`` of the tokens ``ids`` after ``tail`` (spelled),
        highest first.
        """
        row = []
        for token, probability in zip(ids, probabilities, strict=True):
            if probability > 0:
                row.append(Continuation(token, probability, None))
        rows = self._rows
        for length in range(1, min(self.longest, len(tail)) + 1):
            rows[tail[-length:]] = row
        while len(rows) > self.most:
            del rows[next(iter(rows))]

    def lookup(self, tail: str) -> Match | None:
        """Return the row of the longest suffix of ``tail`` that is a key; its counts are
        probabilities.
        """
        for length in range(min(self.longest, len(tail)), 0, -1):
            row = self._rows.get(tail[-length:])
            if row is not None:
                return Match(length, 1, row)
        return None


class TrieNode(NamedTuple):
    """A prefix of what followed a key.

    Attributes:
        token: its last token.
        parent: the place of the prefix without it; -1: the key.
        frequency: how often it followed the key, known or estimated.
    """

    token: int
    parent: int
    frequency: float


def continuation_trie(
    lookup: Callable[[str], Match | None], key: str, *, nodes: int, depth: int
) -> list[TrieNode]:
    """Return the most frequent prefixes of what followed a key.

    Most frequent first, then shorter, then the lower token; parents come before children. The
    published methods count every continuation in the corpus; an index holds the most frequent
    followers of short keys. A count is exact while key and path together are a key of the index;
    beyond, the path's count is divided as the longest known suffix suggests. Estimates below 1 are
    omitted.

    Args:
        lookup: the look-up of a database.
        key: the end of a text.
        nodes: the most prefixes.
        depth: the most tokens of one.
    """
    out = list[TrieNode]()
    queue = list[tuple]()
    match = lookup(key)
    if match is None or match[0] != len(key):
        return out
    # The serial number ends the comparison of equals.
    serial = 0
    reached = 0
    parent = -1
    path = key
    count = float(match[1])
    while True:
        match = lookup(path) if reached < depth else None
        if match is not None:
            length, total, continuations = match
            for token, c, _ in continuations:
                share = float(c) if length == len(path) else count * c / total
                if share >= 1:
                    serial += 1
                    heappush(queue, (-share, reached + 1, token, serial, parent, path))
        if not queue or len(out) == nodes:
            return out
        negative, reached, token, _, above, before = heappop(queue)
        parent = len(out)
        path = before + chr(token)
        count = -negative
        out.append(TrieNode(token, above, count))
