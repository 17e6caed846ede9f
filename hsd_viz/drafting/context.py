"""The context database: what this text itself has said before. One object serves one run and forgets everything after it."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

#: What a database found for the end of a text: (key length, total, continuations). As many tokens of the end were matched; ``total``
#: counts how often they were seen with anything after them; the continuations are (token, count, position) triples, likeliest
#: first, the position being the place in the text of the latest copy of the token (``None`` outside the context database).
#: Plain tuples, because a named one takes ten times as long to make, and a round makes some ten of them.
Match = tuple[int, int, list[tuple[int, int, int | None]]]


def spell(tokens: Iterable[int]) -> str:
    """Tokens as a string, each the character of its number: what the databases search and compare.

    Python's own string search then finds a run of tokens in a text of a thousand in a few tenths of a microsecond, with no
    index to keep, and a string is the smallest and fastest key plain Python has. Token ids reach to 1 114 111.
    """
    return "".join(map(chr, tokens))


_count = itemgetter(1)


class ContextDatabase:
    """Every token of a run's text under the up to ``longest`` tokens before it.

    The text is kept as one string and searched backwards: growing costs next to nothing, a look-up a few searches, because a
    suffix that occurs implies that every shorter one does and the longest is found by bisection. Of a key only its ``recent``
    latest places are counted: what was said last is the best guess at what is said next, and four places were found to say as
    much as thirty-two. At most ``most`` candidates are given.
    """

    __slots__ = ("longest", "most", "recent", "text")

    def __init__(self, longest: int = 8, recent: int = 4, most: int = 4) -> None:
        if longest < 1 or recent < 1 or most < 1:
            raise ValueError(
                f"keys of {longest} tokens, {recent} places and {most} candidates are out of range: all are at least 1"
            )
        self.longest = longest
        self.recent = recent
        self.most = most
        self.text = ""

    def extend(self, tokens: Iterable[int]) -> None:
        """The text grew by ``tokens``."""
        self.text += spell(tokens)

    def lookup(self, tail: str, longest: int | None = None) -> Match | None:
        """What followed the longest suffix of ``tail`` that the text holds with something after it, or ``None``.

        ``tail`` (see :func:`spell`) may end in tokens the text does not have yet. ``longest`` caps the key, to back off to
        shorter ones: ``lookup(tail, key_length - 1)`` asks for the next. Candidates come most frequent first, the latest first
        among equals.
        """
        size = len(tail)
        most = self.longest if longest is None or longest > self.longest else longest
        if most > size:
            most = size
        text = self.text
        # A match that ends the text has nothing after it.
        end = len(text) - 1
        find = text.rfind
        # Half of all keys match as a whole, so that is tried first.
        length, place = most, find(tail[size - most :], 0, end) if most > 0 else -1
        if place < 0:
            length, most = 0, most - 1
            while length < most:
                middle = (length + most + 1) >> 1
                at = find(tail[size - middle :], 0, end)
                if at < 0:
                    most = middle - 1
                else:
                    length, place = middle, at
            if place < 0:
                return None
        key = tail[size - length :]
        position = place + length
        first = text[position]
        total = seen = 1
        rest: dict[str, list[int]] | None = None
        while total < self.recent:
            place = find(key, 0, place + length - 1)
            if place < 0:
                break
            total += 1
            follower = text[place + length]
            if follower == first:
                seen += 1
            elif rest is None:
                rest = {follower: [1, place + length]}
            elif follower in rest:
                rest[follower][0] += 1
            else:
                rest[follower] = [1, place + length]
        if rest is None:
            return length, total, [(ord(first), total, position)]
        # The dictionary runs from the latest place to the earliest, and sorting keeps the order of equals.
        found = [(ord(first), seen, position), *((ord(f), count, at) for f, (count, at) in rest.items())]
        found.sort(key=_count, reverse=True)
        return length, total, found[: self.most]

    def matches(self, tail: str) -> list[Match]:
        """Every match from the longest suffix down to the last token alone: the whole back-off."""
        out: list[Match] = []
        match = self.lookup(tail)
        while match is not None:
            out.append(match)
            match = self.lookup(tail, match[0] - 1)
        return out
