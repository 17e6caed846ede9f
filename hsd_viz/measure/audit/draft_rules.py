"""Rules that draft a chain of tokens: when the draft ends, and which of its tokens are proposed.

A rule is safe if the decision to propose a token does not depend on that token or later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hsd_viz.measure.audit.enumeration import EnumeratedChoices
from hsd_viz.measure.audit.small_models import DRAFT, Chain, Row, likeliest, point_mass, reach

#: Probability of a draft below which it is unsure.
CONFIDENCE = Fraction(2, 5)
#: Largest probability of a row below which a draft is unsure of its next token.
SURE_OF_NEXT = Fraction(11, 20)
#: Estimate below which a further token of a database does not pay.
WORTH_IT = Fraction(2, 5)

#: A rule: a function of the text, the maximum draft length ``room``, the accepted tokens of earlier
#: ``rounds``, and the random choices, which returns a draft.
Drafting = Callable[[list[int], int, list[int], EnumeratedChoices], Chain]


def fixed(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Draft a fixed number of tokens."""
    return _sampled(text, room, choices, stop_before=_never, stop_after=_never)


def kept(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Draw and propose a token; then stop if the draft's probability is below the confidence."""
    return _sampled(text, room, choices, stop_before=_never, stop_after=_is_unsure)


def before_drawing(
    text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices
) -> Chain:
    """Stop before drawing a token if the largest probability of its row is below the confidence."""

    return _sampled(text, room, choices, stop_before=_next_is_unsure, stop_after=_never)


def earlier_rounds(
    text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices
) -> Chain:
    """Draft one token more than the previous round accepted."""
    wanted = rounds[-1] + 1 if rounds else 2
    return fixed(text, min(room, wanted), rounds, choices)


def dropped(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Draw a token, and drop it if the draft's probability is now below the confidence."""
    chain = kept(text, room, rounds, choices)
    if reach(chain) >= CONFIDENCE:
        return chain
    return chain.first(len(chain.tokens) - 1)


def drawn_again(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Draw a token, and draw it once more if it is unlikely."""
    tokens: list[int] = []
    rows: list[Row] = []
    while len(tokens) < room:
        row = DRAFT[[*text, *tokens][-1]]
        token = choices.branch(row)
        if row[token] < CONFIDENCE:
            token = choices.branch(row)
        tokens.append(token)
        rows.append(row)
    return Chain(tokens, rows)


def best_cut(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Draft all tokens, then cut where length times probability is largest."""
    chain = fixed(text, room, rounds, choices)
    best_length = 0
    best_value = Fraction(-1)
    for length in range(1, len(chain.tokens) + 1):
        value = length * reach(chain.first(length))
        if value > best_value:
            best_length = length
            best_value = value
    return chain.first(best_length)


def likeliest_dropped(
    text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices
) -> Chain:
    """Take the likeliest token, and drop it if its probability is below the confidence."""
    tokens: list[int] = []
    while len(tokens) < room:
        row = DRAFT[[*text, *tokens][-1]]
        if max(row) < SURE_OF_NEXT:
            break
        tokens.append(likeliest(row))
    return Chain(tokens, [*map(point_mass, tokens)])


def likeliest_by_softmax(
    text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices
) -> Chain:
    """Like :func:`likeliest_dropped`, but verified with the draft model's row as q."""
    tokens = likeliest_dropped(text, room, rounds, choices).tokens
    before = [text[-1], *tokens[:-1]][: len(tokens)]
    return Chain(tokens, [DRAFT[token] for token in before])


def worth_it(text: list[int], room: int, rounds: list[int], choices: EnumeratedChoices) -> Chain:
    """Copy the tokens after an earlier occurrence of the last token, while an estimate says that it
    pays.
    """
    last = text[-1]
    if last not in text[:-1]:
        return Chain([], [])
    earlier = max(place for place, token in enumerate(text[:-1]) if token == last)
    accepted = sum(rounds)
    estimate = Fraction(1)
    tokens: list[int] = []
    for token in text[earlier + 1 :][:room]:
        estimate *= Fraction(1 + accepted, 2 + accepted)
        if estimate < WORTH_IT:
            break
        tokens.append(token)
    return Chain(tokens, [*map(point_mass, tokens)])


def _never(probability: Fraction, row: Row) -> bool:
    return False


def _next_is_unsure(probability: Fraction, row: Row) -> bool:
    return max(row) < SURE_OF_NEXT


def _is_unsure(probability: Fraction, row: Row) -> bool:
    return probability < CONFIDENCE


def _sampled(
    text: list[int],
    room: int,
    choices: EnumeratedChoices,
    stop_before: Callable[[Fraction, Row], bool],
    stop_after: Callable[[Fraction, Row], bool],
) -> Chain:
    """Sample a draft. The two stop functions get its probability and the present row, before and
    after a token is drawn.
    """
    tokens: list[int] = []
    rows: list[Row] = []
    probability = Fraction(1)
    while len(tokens) < room:
        row = DRAFT[[*text, *tokens][-1]]
        if stop_before(probability, row):
            break
        token = choices.branch(row)
        tokens.append(token)
        rows.append(row)
        probability *= row[token]
        if stop_after(probability, row):
            break
    return Chain(tokens, rows)
