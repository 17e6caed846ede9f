"""Replay a text without a model: the rounds that a drafter would have needed for it.

A drafter that proposes tokens (point masses) does not change the text: greedy decoding takes the
most likely tokens, and draws are keyed by position. So the rounds that it would have needed follow
from a text of the target alone. Drafters that read the target's rows (:mod:`hsd_viz.drafting.tree`)
cannot be replayed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hsd_viz.drafting.tree import Drafter, DraftTree, LogitsObserver, Observer
from hsd_viz.errors import UserError


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and the target's output, as token ids.

    Attributes:
        category: the kind of the text.
        prompt: its tokens.
        output: the tokens after it.
    """

    category: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """What a drafter would have brought.

    Attributes:
        tokens: emitted tokens.
        rounds: of the target.
        drafted: nodes of its drafts.
        examined: nodes whose parent was accepted, by (source, key length).
        accepted: accepted nodes, by (source, key length).
        shapes: rounds by (tokens, nodes, depth of the tree, accepted tokens).
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
    return drafter.state_depth is None and not isinstance(drafter, Observer | LogitsObserver)


def replay(
    drafter: Drafter,
    text: Text,
    budget: int,
    eos: frozenset[int] = frozenset(),
    limit: int | None = None,
) -> Replayed:
    """Draft as a decode that wrote ``text`` would have; ``limit``: its max new tokens (default: all
    written).
    """
    if not can_replay(drafter):
        raise UserError(f"'{drafter.name}' reads the target's rows: it cannot be replayed")
    output = text.output
    at = 0
    last = limit or len(output)
    done = Replayed()
    written = list(text.prompt)
    drafter.start(text.prompt)
    while at < len(output):
        tree = DraftTree()
        if last - at > 1:
            tree = drafter.draft(written, budget).within(last - at - 1)
        nodes: dict[tuple[int, int], int] = {}
        for node, place in enumerate(zip(tree.parents, tree.tokens, strict=True)):
            nodes[place] = node
        path: list[int] = []
        for token in output[at : at + len(tree)]:
            child = nodes.get((path[-1] if path else -1, token))
            if child is None:
                break
            path.append(child)
            if token in eos:
                break
        emitted = len(path) + (not path or tree.tokens[path[-1]] not in eos)
        new = output[at : at + emitted]
        drafter.extend(new)
        written += new
        at += emitted
        done.tokens += len(new)
        done.shapes[len(new), len(tree), max(tree.depths(), default=0), len(path)] += 1
        done.rounds += 1
        done.drafted += len(tree)
        about = [(origin.source, origin.key_length or 0) for origin in tree.origins]
        done.examined.update(
            about[node] for node, parent in enumerate(tree.parents) if parent in (-1, *path)
        )
        done.accepted.update(about[node] for node in path)
    return done
