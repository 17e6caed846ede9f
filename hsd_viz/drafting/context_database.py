"""The interface of databases, the context and logits databases, and the trie of continuations."""

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
        token: the token that followed.
        count: the number of times that it followed; in the logits database, its probability.
        position: the position of its latest occurrence in the text; ``None`` if it is not from the
            text of the run.
    """

    token: int
    count: Any
    position: int | None


class Match(NamedTuple):
    """The answer of a database.

    Attributes:
        length: the number of tokens at the end of the text that matched; for the semantic database,
            the band of the most similar copy.
        total: the number of occurrences of these tokens that were followed by a token.
        continuations: the tokens that followed, most frequent first. An index returns plain tuples
            of the same fields, because creating them is faster.
    """

    length: int
    total: int
    continuations: Sequence[tuple[int, Any, int | None]]


class Database(Protocol):
    """The interface of databases, which look up what may follow the end of a text."""

    def lookup(self, tail: str) -> Match | None:
        """Return the continuations of the longest known suffix of ``tail`` (spelled); ``None`` if
        no suffix is known.
        """


class ContextDatabase:
    """The text of the current run, searched by keys of up to ``longest`` tokens.

    If a suffix occurs, so does every shorter one, so the longest is found by bisection. Only the
    ``recent`` latest occurrences of a key are counted, because 4 predict as well as 32. At most
    ``most`` candidates are returned.
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
        """Return the continuations of the longest suffix of ``tail`` that a token follows in the
        text.

        The most frequent continuation comes first; of equally frequent ones, the latest.

        Args:
            tail: the last tokens (spelled). They may end with tokens that are not in the text yet.
            longest: the largest key length. For back-off, ``lookup(tail, key_length - 1)`` returns
                the next match.

        Returns:
            The match; ``None`` if no suffix occurs.
        """
        size = len(tail)
        text = self.text
        most = self.longest if longest is None or longest > self.longest else longest
        most = size if most > size else most
        # No token follows a match at the end of the text.
        end = len(text) - 1
        find = text.rfind
        length = 0
        place = -1
        # The whole key is tried first, because half of all keys match as a whole.
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
        # The dictionary is ordered from the latest occurrence to the earliest, and sorting is
        # stable.
        candidates = []
        for follower, (count, at) in counts.items():
            candidates.append(Continuation(ord(follower), count, at))
        if len(candidates) > 1:
            candidates.sort(key=_count_of, reverse=True)
        return Match(length, total, candidates[: self.most])


_count_of = attrgetter("count")


class LogitsDatabase:
    """The database ``logits``: the target's likeliest tokens after the last 1 to 3 tokens.

    It stores the latest row of each key. Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696)
    stores the likeliest successors of each token, also at rejected nodes, and LogitSpec (arXiv
    2507.01449) looks up what may follow them. Here they form a database, with the target's own
    probabilities as shares. Beyond ``most`` keys, the oldest are removed.
    """

    longest = 3
    most = 100_000

    def __init__(self) -> None:
        self._rows: dict[str, list[Continuation]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, tail: str, ids: Sequence[int], probabilities: Sequence[float]) -> None:
        """Store a row of the target.

        Args:
            tail: the tokens before the row (spelled).
            ids: the likeliest tokens, highest probability first.
            probabilities: the probabilities of these tokens.
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
        """Return the row of the longest suffix of ``tail`` that is a key, with probabilities as
        counts; ``None`` if no suffix is a key.
        """
        for length in range(min(self.longest, len(tail)), 0, -1):
            row = self._rows.get(tail[-length:])
            if row is not None:
                return Match(length, 1, row)
        return None


class TrieNode(NamedTuple):
    """A node of a trie of continuations: a sequence of tokens that followed a key.

    Attributes:
        token: the last token of the sequence.
        parent: the index of the node of the sequence without its last token; -1 for the key.
        frequency: the known or estimated number of times that the sequence followed the key.
    """

    token: int
    parent: int
    frequency: float


def continuation_trie(
    lookup: Callable[[str], Match | None], key: str, *, nodes: int, depth: int
) -> list[TrieNode]:
    """Return the most frequent prefixes of the continuations of a key, as a trie.

    Nodes are ordered by frequency, then shorter sequences first, then by token; parents come before
    children. The published methods count every continuation in the corpus; an index contains only
    the most frequent followers of short keys. A count is exact while key and path together are a
    key of the index. Beyond that, the count of the path is divided in the proportions of the
    longest known suffix. Estimates below 1 are omitted.

    Args:
        lookup: the look-up function of a database.
        key: the last tokens of the text (spelled).
        nodes: the largest number of nodes.
        depth: the largest depth, in tokens after the key.
    """
    out = list[TrieNode]()
    queue = list[tuple]()
    match = lookup(key)
    if match is None or match[0] != len(key):
        return out
    # The serial number breaks ties, so that the elements after it are never compared.
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
