"""The context database: what this text itself has said before. One object serves one run and forgets everything after it."""

from __future__ import annotations

from collections.abc import Sequence

#: What a database found for the end of a text: (key length, total, continuations). As many tokens of the end were matched; ``total``
#: counts how often they were seen with anything after them; the continuations are (token, count, position) triples, likeliest
#: first, the position being the place in the text of the latest copy of the token (``None`` outside the context database).
#: Plain tuples, because a named one takes ten times as long to make, and a round makes some ten of them.
Match = tuple[int, int, list[tuple[int, int, int | None]]]


class ContextDatabase:
    """Every token of a run's text under the 1 to ``longest`` tokens before it.

    Growing by a token costs ``longest`` dictionary entries (some microseconds), a look-up a few dictionary probes: a suffix
    that occurs implies that every shorter one does, so the longest is found by bisection. Of a key only its ``recent`` latest
    places are counted: what was said last is the best guess at what is said next, and a comma's thousandth place adds nothing.
    At most ``most`` candidates are given.
    """

    __slots__ = ("_places", "_tail", "longest", "most", "recent", "text")

    def __init__(self, longest: int = 8, recent: int = 16, most: int = 4) -> None:
        if longest < 1 or recent < 1 or most < 1:
            raise ValueError(f"keys of {longest} tokens, {recent} places and {most} candidates are out of range: all are at least 1")
        self.longest = longest
        self.recent = recent
        self.most = most
        self.text: list[int] = []
        self._tail: tuple[int, ...] = ()
        self._places: dict[tuple[int, ...], list[int]] = {}

    def extend(self, tokens: Sequence[int]) -> None:
        """The text grew by ``tokens``."""
        places, text, tail, longest = self._places, self.text, self._tail, self.longest
        for token in tokens:
            position = len(text)
            text.append(token)
            for start in range(len(tail)):
                key = tail[start:]
                found = places.get(key)
                if found is None:
                    places[key] = [position]
                else:
                    found.append(position)
            tail = (*tail, token) if len(tail) < longest else (*tail[1:], token)
        self._tail = tail

    def lookup(self, tail: tuple[int, ...], longest: int | None = None) -> Match | None:
        """What followed the longest suffix of ``tail`` that the text holds with something after it, or ``None``.

        ``tail`` may end in tokens the text does not have yet. ``longest`` caps the key, to back off to shorter ones:
        ``lookup(tail, key_length - 1)`` asks for the next. Candidates come most frequent first, the latest first among equals.
        """
        most = size = len(tail)
        if longest is None or longest > self.longest:
            longest = self.longest
        if most > longest:
            most = longest
        places = self._places
        found, length = None, 0
        while length < most:
            middle = (length + most + 1) >> 1
            here = places.get(tail[size - middle :])
            if here is None:
                most = middle - 1
            else:
                found, length = here, middle
        if found is None:
            return None
        text = self.text
        if len(found) == 1:
            return length, 1, [(text[found[0]], 1, found[0])]
        counts: dict[int, int] = {}
        latest: dict[int, int] = {}
        for position in found[-self.recent :]:
            token = text[position]
            counts[token] = counts.get(token, 0) + 1
            latest[token] = position
        if len(counts) == 1:
            return length, counts[token], [(token, counts[token], position)]
        order = sorted(counts, key=lambda t: (counts[t], latest[t]), reverse=True)
        return length, min(len(found), self.recent), [(t, counts[t], latest[t]) for t in order[: self.most]]

    def matches(self, tail: tuple[int, ...]) -> list[Match]:
        """Every match from the longest suffix down to the last token alone: the whole back-off."""
        out: list[Match] = []
        match = self.lookup(tail)
        while match is not None:
            out.append(match)
            match = self.lookup(tail, match[0] - 1)
        return out
