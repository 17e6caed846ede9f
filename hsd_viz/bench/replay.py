"""Replay a text without a model: the rounds that a drafter would have needed for it.

A drafter that proposes tokens (point masses) does not change the text: greedy decoding takes the most likely tokens,
and draws are keyed by position. Given a text of the target, the rounds that any such drafter would have needed follow
from the text alone, and thousands of drafts can be evaluated per second. Drafters that read the target's rows
(:mod:`hsd_viz.drafting.tree`) cannot be replayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hsd_viz.drafting.tree import Drafter, DraftTree, LogitsObserver, Observer


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and the target's output, as token ids."""

    category: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """``tokens`` emitted in ``rounds`` of the target, with ``drafted`` nodes. ``examined`` and ``accepted`` count draft
    tokens by (source, key length): those whose parent was on the accepted path, and those on the path. ``shapes``
    counts rounds by (nodes, depth of the tree, accepted tokens).
    """

    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    examined: Counter = field(default_factory=Counter)
    accepted: Counter = field(default_factory=Counter)
    shapes: Counter = field(default_factory=Counter)

    def add(self, other: Replayed) -> None:
        """Add another text's counts."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def can_replay(drafter: Drafter) -> bool:
    """Return whether the drafter reads nothing but the text."""
    return not isinstance(drafter, Observer | LogitsObserver)


def replay(
    drafter: Drafter, text: Text, budget: int, eos: frozenset[int] = frozenset(), limit: int | None = None
) -> Replayed:
    """Draft as a decode that wrote ``text`` would have; ``limit``: its max new tokens (default: all written). Raises:
    ValueError: if the drafter reads the target's rows.
    """
    if not can_replay(drafter):
        raise ValueError(f"'{drafter.name}' reads the target's rows: it cannot be replayed")
    output, at = text.output, 0
    last = limit or len(output)
    done = Replayed()
    written = list(text.prompt)
    drafter.start(text.prompt)
    while at < len(output):
        tree = drafter.draft(written, budget).within(last - at - 1) if last - at > 1 else DraftTree()
        path = _walk(tree, output[at : at + len(tree) + 1], eos)
        emitted = len(path) + (not path or tree.tokens[path[-1]] not in eos)
        new = output[at : at + emitted]
        drafter.extend(new)
        written += new
        at += emitted
        done.tokens += len(new)
        done.shapes[len(tree), max(tree.depths(), default=0), len(path)] += 1
        done.rounds += 1
        done.drafted += len(tree)
        places = {-1, *path}
        for node, parent in enumerate(tree.parents):
            if parent in places:
                done.examined[tree.sources[node], tree.key_lengths[node] or 0] += 1
        for node in path:
            done.accepted[tree.sources[node], tree.key_lengths[node] or 0] += 1
    return done


def _walk(tree: DraftTree, ahead: Sequence[int], eos: frozenset[int]) -> list[int]:
    """Return the nodes on the path of the tokens ``ahead``, up to an end of text."""
    children = {
        (parent, token): node for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))
    }
    path: list[int] = []
    for token in ahead:
        node = children.get((path[-1] if path else -1, token))
        if node is None:
            break
        path.append(node)
        if token in eos:
            break
    return path
