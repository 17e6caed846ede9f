"""Replays a text without a model: the rounds that a drafter would have needed for it.

A drafter that proposes tokens (point masses) does not change the text: greedy decoding takes the
likeliest tokens, and draws are keyed by position. Its rounds therefore follow from a text of the
target. Drafters that read the target's rows (:mod:`hsd_viz.drafting.tree`) cannot be replayed.
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
        prompt: the token ids of the prompt.
        output: the token ids of the output.
    """

    category: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]


@dataclass(slots=True)
class Replayed:
    """The counts of a replayed drafter.

    Attributes:
        tokens: the number of emitted tokens.
        rounds: the number of rounds of the target.
        drafted: the number of nodes of the drafts.
        examined: the number of nodes whose parent was accepted, by (source, key length).
        accepted: the number of accepted nodes, by (source, key length).
        shapes: the number of rounds by (tokens, nodes, depth of the tree, accepted tokens).
    """

    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    examined: Counter = field(default_factory=Counter)
    accepted: Counter = field(default_factory=Counter)
    shapes: Counter = field(default_factory=Counter)

    def add(self, other: Replayed) -> None:
        """Add the counts of another text."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def can_replay(drafter: Drafter) -> bool:
    """Return whether a drafter reads only the text."""
    return drafter.state_depth is None and not isinstance(drafter, Observer | LogitsObserver)


def replay_text(
    drafter: Drafter,
    text: Text,
    budget: int,
    eos: frozenset[int] = frozenset(),
    limit: int | None = None,
) -> Replayed:
    """Replay a drafter on ``text``. ``limit`` is the maximum number of new tokens of the decode
    (default: the length of the output).
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
