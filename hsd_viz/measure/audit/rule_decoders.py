"""Decoders with rules that end or shorten drafts, for chains, trees, siblings and batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from hsd_viz.measure.audit.draft_rules import Drafting, fixed
from hsd_viz.measure.audit.enumeration import EnumeratedChoices
from hsd_viz.measure.audit.small_models import (
    DRAFT,
    START,
    TARGET,
    Chain,
    Row,
    Text,
    reach,
    residual,
    verify,
)

#: Number of tokens of a text, and maximum number of tokens of a draft.
LENGTH = 3
LOOKAHEAD = 3
#: Numbers of tokens of the texts of a batch.
LENGTHS = (3, 2)

Decoder = Callable[[EnumeratedChoices], Text]


def chains(drafting: Drafting) -> Decoder:
    """Return the decoder with a rule of chains."""

    def decode(choices: EnumeratedChoices) -> Text:
        text = [START]
        rounds: list[int] = []
        while (left := LENGTH + 1 - len(text)) > 0:
            chain = drafting(text, min(LOOKAHEAD, left - 1), rounds, choices)
            accepted, own = verify(text[-1], chain, choices)
            text += [*accepted, own]
            rounds.append(len(accepted))
        return tuple(text[1:])

    return decode


def ranked_tree(choices: EnumeratedChoices) -> Text:
    """Draft the two likeliest continuations of each token, and keep the three likeliest nodes
    of the tree.
    """
    text = [START]
    while (left := LENGTH + 1 - len(text)) > 0:
        nodes = _tree(text[-1], depth=min(2, left - 1))
        # A node is never more likely than its parent, so the kept nodes form a tree.
        tree = sorted(nodes, key=lambda path: (-nodes[path], len(path)))[:3]
        path: Text = ()
        while True:
            own = choices.branch(TARGET[path[-1] if path else text[-1]])
            path = (*path, own)
            if path not in tree:
                break
        text += path
    return tuple(text[1:])


def _tree(last: int, depth: int) -> dict[Text, Fraction]:
    """Return the two likeliest continuations of each node, with the probability of each path."""
    nodes: dict[Text, Fraction] = {}
    frontier: dict[Text, Fraction] = {(): Fraction(1)}
    for _ in range(depth):
        longer: dict[Text, Fraction] = {}
        for path, probability in frontier.items():
            row = DRAFT[path[-1] if path else last]
            for token in sorted(range(len(row)), key=row.__getitem__, reverse=True)[:2]:
                longer[*path, token] = probability * row[token]
        nodes |= longer
        frontier = longer
    return nodes


def siblings(keep: Callable[[Row, list[int]], list[int]]) -> Decoder:
    """Return a decoder that draws two candidates for the next token. ``keep`` selects those to
    verify, one after the other, with the residual after each rejection (SpecInfer, Miao et al.
    2024).
    """

    def decode(choices: EnumeratedChoices) -> Text:
        text = [START]
        while len(text) <= LENGTH:
            p: Sequence[Fraction] = TARGET[text[-1]]
            q = DRAFT[text[-1]]
            drawn = [choices.branch(q), choices.branch(q)]
            for token in keep(q, drawn):
                chance = min(Fraction(1), p[token] / q[token])
                if choices.branch([chance, 1 - chance]) == 0:
                    text.append(token)
                    break
                rest = residual(tuple(p), q)
                p = [mass / sum(rest) for mass in rest]
            else:
                text.append(choices.branch(p))
        return tuple(text[1:])

    return decode


def all_candidates(row: Row, drawn: list[int]) -> list[int]:
    """Keep both candidates."""
    return drawn


def likelier_candidate(row: Row, drawn: list[int]) -> list[int]:
    """Keep the more likely candidate."""
    return [max(drawn, key=lambda token: row[token])]


def batch(own_token: bool) -> Decoder:
    """Return a decoder of two requests that share the slots for draft tokens of a step, which are
    one fewer than their draft tokens. The slots go to the tokens with the likeliest drafts, where
    the draft includes the token itself (``own_token``) or ends before it.
    """

    def decode(choices: EnumeratedChoices) -> Text:
        texts = [[START], [START]]
        while any(_is_unfinished(text, request) for request, text in enumerate(texts)):
            drafts = []
            for request, text in enumerate(texts):
                drafts.append(fixed(text, max(0, LENGTHS[request] - len(text)), [], choices))
            kept_places = _shared_places(drafts, own_token)
            for request, text in enumerate(texts):
                if _is_unfinished(text, request):
                    draft = drafts[request].first(kept_places.count(request))
                    accepted, own = verify(text[-1], draft, choices)
                    text += [*accepted, own]
        return tuple(texts[0][1:] + texts[1][1:])

    return decode


def _is_unfinished(text: list[int], request: int) -> bool:
    return len(text) <= LENGTHS[request]


def _shared_places(drafts: Sequence[Chain], own_token: bool) -> list[int]:
    """Return the requests whose next draft tokens get the slots of a step, likeliest first."""
    places: list[tuple[Fraction, int, int]] = []
    for request, draft in enumerate(drafts):
        for depth in range(len(draft.tokens)):
            likelihood = reach(draft.first(depth + 1 if own_token else depth))
            places.append((-likelihood, depth, request))
    places.sort()
    return [request for _, _, request in places[:-1]]
