"""Rules that end or shorten drafts, audited exactly: the law of the text under each, in fractions.

A rule is safe if whether a token is proposed does not depend on that token or on later ones.
:data:`RULES` has safe and unsafe ones. Each decodes two small models by token-wise verification
(Leviathan et al. 2023), which is written here a second time, in fractions: a bias is exact, however
small.

>>> audit = audit_schedules(own=())
>>> next(row.safe for row in audit.rows if row.rule == "kept")
True
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from hsd_viz.audit.enumeration import Choices, law
from hsd_viz.audit.exact import ExactAudit, exact
from hsd_viz.audit.stacks import loop_decoder
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table
from hsd_viz.stack import parse

Row = tuple[Fraction, ...]
Text = tuple[int, ...]


def _rows(*tenths: tuple[int, ...]) -> tuple[Row, ...]:
    """Return rows of probabilities from tenths."""
    return tuple(tuple(Fraction(n, 10) for n in row) for row in tenths)


#: The rows after each token: of the target, and of the draft model.
TARGET = _rows((4, 4, 2), (3, 3, 4), (2, 6, 2))
DRAFT = _rows((6, 3, 1), (2, 5, 3), (1, 4, 5))
START = 0
#: Tokens of a text, and of a draft at most.
LENGTH = 3
LOOKAHEAD = 3
#: Tokens of the texts of a batch.
LENGTHS = (3, 2)
#: Below this probability a draft is unsure.
CONFIDENCE = Fraction(2, 5)
#: The stacks of the project's own loop that are audited beside the rules.
OWN = (
    "nano:3?0.4 > target",
    "nano:2?0.5 > small:3?0.4 > target",
    "db[context] > nano:2?0.4 > target",
    "db[context] > target",
)


class Chain(NamedTuple):
    """A draft: its tokens and the rows that they are verified with; of a point mass 1 for its
    token.
    """

    tokens: list[int]
    rows: list[Row]


#: A rule makes a draft of at most so many tokens after a text. ``rounds`` counts the accepted
#: tokens of earlier rounds.
Drafting = Callable[[list[int], int, list[int], Choices], Chain]


def point_mass(token: int) -> Row:
    return tuple(Fraction(k == token) for k in range(len(DRAFT)))


def likeliest(row: Row) -> int:
    return row.index(max(row))


def residual(p: Row, q: Row) -> list[Fraction]:
    return [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]


# --- rules of chains ------------------------------------------------------------------------------


def fixed(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Draft a fixed number of tokens."""
    return _sampled(text, room, choices, stop_before=_never, stop_after=_never)


def kept(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Draw a token, keep it, stop if the draft's probability is now below the confidence."""
    return _sampled(text, room, choices, stop_before=_never, stop_after=_is_unsure)


def before_drawing(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Look at the row before its token is drawn, and stop if its largest probability is below the
    confidence.
    """

    def unsure(reach: Fraction, row: Row) -> bool:
        return max(row) < Fraction(11, 20)

    return _sampled(text, room, choices, stop_before=unsure, stop_after=_never)


def earlier_rounds(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Draft one token more than the previous round accepted."""
    wanted = rounds[-1] + 1 if rounds else 2
    return fixed(text, min(room, wanted), rounds, choices)


def dropped(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Draw a token, and drop it if the draft's probability is now below the confidence."""
    chain = kept(text, room, rounds, choices)
    if _reach(chain) >= CONFIDENCE:
        return chain
    return Chain(chain.tokens[:-1], chain.rows[:-1])


def drawn_again(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
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


def best_cut(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Draft all tokens, then cut where length times probability is largest."""
    chain = fixed(text, room, rounds, choices)
    reach = Fraction(1)
    values = []
    for k, (token, row) in enumerate(zip(*chain, strict=True), 1):
        reach *= row[token]
        values.append(k * reach)
    n = 1 + values.index(max(values)) if values else 0
    return Chain(chain.tokens[:n], chain.rows[:n])


def likeliest_dropped(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Take the likeliest token, and drop it if its probability is below the confidence."""
    tokens: list[int] = []
    while len(tokens) < room:
        row = DRAFT[[*text, *tokens][-1]]
        if max(row) < Fraction(11, 20):
            break
        tokens.append(likeliest(row))
    return Chain(tokens, [*map(point_mass, tokens)])


def likeliest_by_softmax(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """The same, verified with the draft model's row as q."""
    tokens = likeliest_dropped(text, room, rounds, choices).tokens
    before = [text[-1], *tokens[:-1]][: len(tokens)]
    return Chain(tokens, [DRAFT[token] for token in before])


def worth_it(text: list[int], room: int, rounds: list[int], choices: Choices) -> Chain:
    """Copy what followed the last token earlier in the text, as long as estimates say that it
    pays.
    """
    earlier = [k for k in range(len(text) - 1) if text[k] == text[-1]]
    if not earlier:
        return Chain([], [])
    copied = text[earlier[-1] + 1 :][:room]
    estimate = Fraction(1)
    tokens: list[int] = []
    for token in copied:
        estimate *= Fraction(1 + sum(rounds), 2 + sum(rounds))
        if estimate < Fraction(2, 5):
            break
        tokens.append(token)
    return Chain(tokens, [*map(point_mass, tokens)])


def _never(reach: Fraction, row: Row) -> bool:
    return False


def _is_unsure(reach: Fraction, row: Row) -> bool:
    return reach < CONFIDENCE


def _sampled(
    text: list[int],
    room: int,
    choices: Choices,
    stop_before: Callable[[Fraction, Row], bool],
    stop_after: Callable[[Fraction, Row], bool],
) -> Chain:
    """Draw a draft; the stops see its probability and the row at hand, before and after the token
    is drawn.
    """
    tokens: list[int] = []
    rows: list[Row] = []
    reach = Fraction(1)
    while len(tokens) < room:
        row = DRAFT[[*text, *tokens][-1]]
        if stop_before(reach, row):
            break
        token = choices.branch(row)
        tokens.append(token)
        rows.append(row)
        reach *= row[token]
        if stop_after(reach, row):
            break
    return Chain(tokens, rows)


def _reach(chain: Chain) -> Fraction:
    product = Fraction(1)
    for token, row in zip(*chain, strict=True):
        product *= row[token]
    return product


# --- decoders -------------------------------------------------------------------------------------


def verify(last: int, chain: Chain, choices: Choices) -> tuple[list[int], int]:
    """Return the accepted tokens of a chain after the token ``last``, and the target's own after
    them.
    """
    accepted: list[int] = []
    for token, q in zip(*chain, strict=True):
        p = TARGET[last]
        chance = min(Fraction(1), p[token] / q[token])
        if choices.branch([chance, 1 - chance]):
            return accepted, choices.branch(residual(p, q))
        accepted.append(token)
        last = token
    return accepted, choices.branch(TARGET[last])


def chains(drafting: Drafting) -> Callable[[Choices], Text]:
    """Return the decoder of a rule of chains."""

    def decode(choices: Choices) -> Text:
        text = [START]
        rounds: list[int] = []
        while (left := LENGTH + 1 - len(text)) > 0:
            chain = drafting(text, min(LOOKAHEAD, left - 1), rounds, choices)
            accepted, own = verify(text[-1], chain, choices)
            text += [*accepted, own]
            rounds.append(len(accepted))
        return tuple(text[1:])

    return decode


def ranked_tree(choices: Choices) -> Text:
    """Draft the two likeliest continuations of each token, keep the three likeliest nodes of the
    tree.
    """
    text = [START]
    while (left := LENGTH + 1 - len(text)) > 0:
        nodes: dict[Text, Fraction] = {}
        frontier: list[tuple[Text, Fraction]] = [((), Fraction(1))]
        for _ in range(min(2, left - 1)):
            longer = []
            for start, reach in frontier:
                row = DRAFT[start[-1] if start else text[-1]]
                best = sorted(range(len(row)), key=lambda token: -row[token])[:2]
                longer += [((*start, token), reach * row[token]) for token in best]
            nodes |= dict(longer)
            frontier = longer
        # A node is never likelier than the one before it: what is kept is a tree.
        tree = sorted(nodes, key=lambda path: (-nodes[path], len(path)))[:3]
        path: Text = ()
        while True:
            own = choices.branch(TARGET[path[-1] if path else text[-1]])
            path = (*path, own)
            if path not in tree:
                break
        text += path
    return tuple(text[1:])


def siblings(keep: Callable[[Row, list[int]], list[int]]) -> Callable[[Choices], Text]:
    """Return a decoder that draws two candidates for the next token; ``keep`` says which are
    verified, one after the other, each rejection with its residual (SpecInfer, Miao et al. 2024).
    """

    def decode(choices: Choices) -> Text:
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
    return drawn


def likelier_candidate(row: Row, drawn: list[int]) -> list[int]:
    return [max(drawn, key=lambda token: row[token])]


def batch(own_token: bool) -> Callable[[Choices], Text]:
    """Return a decoder of two requests that share the places for draft tokens of a step, one fewer
    than they draft. The places go to the tokens whose draft is likeliest, with the token itself
    (``own_token``) or up to the one before it.
    """

    def decode(choices: Choices) -> Text:
        texts = [[START], [START]]
        while any(len(text) <= n for text, n in zip(texts, LENGTHS, strict=True)):
            drafts: list[Chain] = []
            places: list[tuple[Fraction, int, int]] = []
            for request, text in enumerate(texts):
                chain = fixed(text, max(0, LENGTHS[request] - len(text)), [], choices)
                drafts.append(chain)
                reach = Fraction(1)
                for depth, (token, row) in enumerate(zip(*chain, strict=True)):
                    before = reach
                    reach *= row[token]
                    places.append((-(reach if own_token else before), depth, request))
            kept_places = sorted(places)[: max(0, len(places) - 1)]
            for request, text in enumerate(texts):
                if len(text) > LENGTHS[request]:
                    continue
                n = sum(place[2] == request for place in kept_places)
                tokens, rows = drafts[request]
                accepted, own = verify(text[-1], Chain(tokens[:n], rows[:n]), choices)
                text += [*accepted, own]
        return tuple(texts[0][1:] + texts[1][1:])

    return decode


# --- the audit ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that ends or shortens drafts.

    Attributes:
        name: Its name.
        looks_at: What decides whether a token is proposed.
        safe: Whether the text has the target's law under it.
        why: The reason, as a sentence.
        decode: The decoder.
        lengths: The tokens of each request in its text.
    """

    name: str
    looks_at: str
    safe: bool
    why: str
    decode: Callable[[Choices], Text]
    lengths: tuple[int, ...] = (LENGTH,)


RULES = (
    Rule(
        "fixed",
        "the position",
        True,
        "The length is known before a token is drawn.",
        chains(fixed),
    ),
    Rule(
        "kept",
        "the tokens before it (confidence after a draw; the token stays)",
        True,
        "The token that makes the draft unsure is proposed: only the next one is not drawn.",
        chains(kept),
    ),
    Rule(
        "before drawing",
        "the row that it would be drawn from",
        True,
        "The row is a function of the tokens before it.",
        chains(before_drawing),
    ),
    Rule(
        "earlier rounds",
        "how many tokens earlier rounds accepted",
        True,
        "Earlier rounds are past.",
        chains(earlier_rounds),
    ),
    Rule(
        "likeliest, dropped",
        "the row; its token is the likeliest one, a point mass",
        True,
        "The likeliest token is a function of the row: nothing was drawn that could be hidden.",
        chains(likeliest_dropped),
    ),
    Rule(
        "worth it",
        "estimates from earlier text (cost stopping of a database)",
        True,
        "A database proposes a point mass, and its estimates are of earlier rounds.",
        chains(worth_it),
    ),
    Rule(
        "ranked tree",
        "the rows of a tree of the likeliest tokens, ranked by probability",
        True,
        "All nodes are functions of the rows: point masses.",
        ranked_tree,
    ),
    Rule(
        "all candidates",
        "the position; two candidates are drawn and both verified",
        True,
        "Nothing is left out.",
        siblings(all_candidates),
    ),
    Rule(
        "batch, without its own token",
        "the probability of the drafts up to the token before it, over the batch",
        True,
        "The token that is left out, and those after it, had no say in it.",
        batch(own_token=False),
        LENGTHS,
    ),
    Rule(
        "dropped",
        "the token itself (confidence after a draw; the token is dropped)",
        False,
        "Unlikely tokens are proposed less often than their q says.",
        chains(dropped),
    ),
    Rule(
        "drawn again",
        "the token itself",
        False,
        "Likely tokens are proposed more often than their q says.",
        chains(drawn_again),
    ),
    Rule(
        "best cut",
        "the token itself and later ones",
        False,
        "A draft is cut before tokens that make it less likely.",
        chains(best_cut),
    ),
    Rule(
        "likeliest, by its row",
        "the row; its token is the likeliest one, verified with the row as q",
        False,
        "The token was not drawn from the row that it is verified with.",
        chains(likeliest_by_softmax),
    ),
    Rule(
        "likelier candidate",
        "the candidates themselves (a drawn tree, ranked)",
        False,
        "The less likely of two drawn candidates is hidden.",
        siblings(likelier_candidate),
    ),
    Rule(
        "batch, with its own token",
        "the probability of the drafts with the token, over the batch",
        False,
        "Whether a token gets a place depends on how likely it is.",
        batch(own_token=True),
        LENGTHS,
    ),
)


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One rule, audited.

    Attributes:
        rule: Its name, or a stack of the project's own loop.
        looks_at: What decides whether a token is proposed.
        safe: Whether the text has the target's law.
        expected: Whether it is known to have.
        why: The reason, as a sentence.
        distance: The total variation distance to the target's law: a fraction, or the largest error
            of a stack.
        prefix: The tokens before the first wrong one.
        token: The token whose probability there is most wrong.
        found: That probability.
        wanted: The target's.
    """

    rule: str
    looks_at: str
    safe: bool
    expected: bool
    why: str
    distance: str
    prefix: tuple[int, ...] = ()
    token: int | None = None
    found: str | None = None
    wanted: str | None = None

    @property
    def bias(self) -> str:
        """The bias as text."""
        if self.token is None or self.found is None or self.wanted is None:
            return ""
        difference = Fraction(self.found) - Fraction(self.wanted)
        sign = "+" if difference > 0 else "−"
        where = f"after {list(self.prefix)}" if self.prefix else "first token"
        return (
            f"{where}: {self.token} has {self.found}, not {self.wanted} ({sign}{abs(difference)})"
        )


def true_law(lengths: tuple[int, ...]) -> dict[Text, Fraction]:
    """Return the target's law of the texts of requests of these lengths, one after the other."""

    def texts(last: int, left: int) -> Iterator[tuple[Text, Fraction]]:
        if not left:
            yield (), Fraction(1)
            return
        for token, p in enumerate(TARGET[last]):
            for rest, weight in texts(token, left - 1):
                yield (token, *rest), p * weight

    whole: dict[Text, Fraction] = {(): Fraction(1)}
    for length in lengths:
        one = dict(texts(START, length))
        whole = {a + b: x * y for a, x in whole.items() for b, y in one.items()}
    return whole


def audit_rule(rule: Rule) -> ScheduleRow:
    """Return the audit of a rule."""
    found: dict[Text, Fraction] = law(rule.decode)
    true = true_law(rule.lengths)
    texts = found.keys() | true.keys()
    gaps = [abs(found.get(text, Fraction(0)) - true.get(text, Fraction(0))) for text in texts]
    distance = sum(gaps, Fraction(0)) / 2
    row = ScheduleRow(
        rule=rule.name,
        looks_at=rule.looks_at,
        safe=distance == 0,
        expected=rule.safe,
        why=rule.why,
        distance=str(distance),
    )
    if not distance:
        return row
    prefix, token, has, wants = _worst(found, true)
    return ScheduleRow(
        rule=row.rule,
        looks_at=row.looks_at,
        safe=False,
        expected=row.expected,
        why=row.why,
        distance=row.distance,
        prefix=prefix,
        token=token,
        found=str(has),
        wanted=str(wants),
    )


def _worst(
    found: dict[Text, Fraction], true: dict[Text, Fraction]
) -> tuple[Text, int, Fraction, Fraction]:
    """Return the prefix of the first wrong conditional, and the token that is most wrong there."""
    ours = _conditionals(found)
    theirs = _conditionals(true)
    wrong = []
    for prefix in sorted(theirs, key=lambda prefix: (len(prefix), prefix)):
        for token, wants in theirs[prefix].items():
            has = ours.get(prefix, {}).get(token, Fraction(0))
            if has != wants:
                wrong.append((len(prefix), -abs(has - wants), prefix, token, has, wants))
    _, _, prefix, token, has, wants = min(wrong)
    return prefix, token, has, wants


def _conditionals(texts: dict[Text, Fraction]) -> dict[Text, dict[int, Fraction]]:
    """Return the probability of each next token after each prefix."""
    sums: defaultdict[Text, Fraction] = defaultdict(Fraction)
    for text, weight in texts.items():
        for n in range(len(text) + 1):
            sums[text[:n]] += weight
    out: defaultdict[Text, dict[int, Fraction]] = defaultdict(dict)
    for text, weight in sums.items():
        if text and sums[text[:-1]]:
            out[text[:-1]][text[-1]] = weight / sums[text[:-1]]
    return dict(out)


def audit_own(stack: str, rule: str = "block") -> ScheduleRow:
    """Return the audit of the project's own loop of a stack, over toy models, in float64."""
    levels = parse(stack)
    loop = loop_decoder(levels, rule)
    found: ExactAudit = exact(loop, models=len(levels.models), instances=2)
    return ScheduleRow(
        rule=stack,
        looks_at="the tokens before it, which stay",
        safe=found.lossless,
        expected=True,
        why="The project's own loop.",
        distance=f"{found.error:.0e}",
    )


@dataclass(frozen=True, slots=True)
class ScheduleAudit(Result):
    """The audit of rules that end or shorten drafts.

    Attributes:
        rows: The rules and the project's own stacks.
    """

    rows: tuple[ScheduleRow, ...]
    title = "Rules that stop drafts"
    noun = "audit"

    @property
    def exit_code(self) -> int:
        """1 if a rule has another verdict than the one it is known to have."""
        return 0 if self.as_expected else 1

    @property
    def as_expected(self) -> bool:
        """Whether every rule has the verdict that it is known to have."""
        return all(row.safe == row.expected for row in self.rows)

    def lines(self) -> list[str]:
        """Return what the audit found."""
        safe = sum(row.safe for row in self.rows)
        lines = [
            f"{safe} of {len(self.rows)} rules leave the target's law as it is; "
            f"{len(self.rows) - safe} change it.",
            "A rule is safe if whether a token is proposed depends on earlier tokens alone.",
        ]
        for row in self.rows:
            if row.safe != row.expected:
                lines.append(f"Unexpected: '{row.rule}' is {'safe' if row.safe else 'not safe'}.")
        return lines

    def tables(self) -> list[Table]:
        """Return the rules with their verdicts."""
        head = ["rule", "a token is proposed by", "verdict", "distance", "bias"]
        rows = [
            [row.rule, row.looks_at, "safe" if row.safe else "not safe", row.distance, row.bias]
            for row in self.rows
        ]
        return [Table("Rules", [head, *rows])]

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data; probabilities are fractions in text."""
        return {
            "target": [[str(p) for p in row] for row in TARGET],
            "draft": [[str(q) for q in row] for row in DRAFT],
            "rules": [asdict(row) | {"bias": row.bias} for row in self.rows],
            "as_expected": self.as_expected,
        }


def audit_schedules(own: Sequence[str] = OWN) -> ScheduleAudit:
    """Audit :data:`RULES` and the project's own loop of these stacks."""
    rows = [*map(audit_own, own), *map(audit_rule, RULES)]
    return ScheduleAudit(tuple(rows))
