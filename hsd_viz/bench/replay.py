"""What a drafter would have done to a text that is there already: rounds without a model.

A drafter that proposes tokens, and not distributions, leaves the text as it is (greedy: the target's likeliest tokens; sampled: the
draws are keyed by position). So once a target has written a text, the rounds that any such drafter would have needed follow from the
text alone, and thousands of drafts a second can be judged. Drafters that look at the target's rows
(:mod:`hsd_viz.drafting.tree`) cannot be replayed: they have to decode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hsd_viz.drafting.tree import Drafter, DraftTree, LogitsObserver, Observer


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and what a target wrote after it, as token ids."""

    category: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """``tokens`` emitted in ``rounds`` of the target, of ``drafted`` nodes. ``examined`` and ``accepted`` count draft tokens by
    (source, key length): those whose parent was on the walked path, and those that were walked to."""

    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    examined: Counter = field(default_factory=Counter)
    accepted: Counter = field(default_factory=Counter)

    def add(self, other: Replayed) -> None:
        """Add another text's counts."""
        self.tokens += other.tokens
        self.rounds += other.rounds
        self.drafted += other.drafted
        self.examined.update(other.examined)
        self.accepted.update(other.accepted)


def can_replay(drafter: Drafter) -> bool:
    """Whether the drafter looks at nothing but the text."""
    return not isinstance(drafter, Observer | LogitsObserver)


def replay(
    drafter: Drafter, text: Text, budget: int, eos: frozenset[int] = frozenset(), limit: int | None = None
) -> Replayed:
    """Draft as a decode would have that wrote ``text``; ``limit`` is the most tokens it could have written (default: what it wrote).

    Raises ``ValueError`` for a drafter that has to see the target's rows.
    """
    if not can_replay(drafter):
        raise ValueError(f"'{drafter.name}' looks at the target's rows: it cannot be replayed")
    whole = [*text.prompt, *text.output]
    at, end = len(text.prompt), len(whole)
    last = at + (limit or len(text.output))
    done = Replayed()
    drafter.start(text.prompt)
    while at < end:
        tree = drafter.draft(whole[:at], budget).within(last - at - 1) if last - at > 1 else DraftTree()
        path = _walk(tree, whole[at:end], eos)
        kept = len(path) + (not path or tree.tokens[path[-1]] not in eos)
        drafter.extend(whole[at : at + kept])
        at += kept
        done.tokens += kept
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
    """The nodes that a text which goes on with ``ahead`` goes through, up to an end of text."""
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
