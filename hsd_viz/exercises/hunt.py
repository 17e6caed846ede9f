"""The bug hunt of lesson 4: right and wrong decoders over small exact models, and the score of a test.

A decoder is called as ``decode(target, draft, length, lookahead, choose)`` and returns ``length`` tokens. ``target``
and ``draft`` map a text (a tuple of tokens) to a list of probabilities; ``choose(weights)`` is the only source of
randomness and returns an index. :func:`law` tries every choice, so that a test can compare distributions exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from html import escape
from typing import Any, TypeVar

from hsd_viz.audit import enumeration
from hsd_viz.exercises.check import NAMES, Refused

T = TypeVar("T")
Text = tuple[int, ...]
Row = list[Fraction]
Model = Callable[[Text], Row]
Choose = Callable[[Sequence[Fraction]], int]
Decoder = Callable[[Model, Model, int, int, Choose], Text]
#: The sequences that :func:`law` tries: some seconds.
MOST_SEQUENCES = 20_000


def accept_ratio(p: Row, q: Row, token: int) -> Fraction:
    """Return the probability of accepting a drafted token: min(1, p / q)."""
    return min(Fraction(1), p[token] / q[token])


def residual(p: Row, q: Row) -> Row:
    """Return max(0, p - q), normalized; p where that is zero everywhere."""
    rest = [max(Fraction(0), a - b) for a, b in zip(p, q, strict=True)]
    return [r / sum(rest) for r in rest] if sum(rest) else p


@dataclass(frozen=True)
class _Rules:
    """A decoder by its parts; every mutant replaces one of them.

    ``tested`` maps the draft's row to the one in the acceptance test; ``bonus`` returns the row of the token after a
    fully accepted draft (``None``: no such token); ``shift`` moves the place of the target's row. ``resume`` verifies
    the tokens after a rejection as well, ``rest`` keeps them unverified. ``drop`` discards a correction with this
    number; ``stop`` ends a round after an accepted token with this number.
    """

    ratio: Callable[[Row, Row, int], Fraction] = accept_ratio
    correct: Callable[[Row, Row], Row] = residual
    tested: Callable[[Row], Row] = lambda q: q
    bonus: Callable[[Row, Row], Row] | None = lambda p, q: p
    shift: int = 0
    resume: bool = False
    rest: bool = False
    drop: int | None = None
    stop: int | None = None

    def __call__(self, target: Model, draft: Model, length: int, lookahead: int, choose: Choose) -> Text:
        text: Text = ()
        while len(text) < length:
            text += self._round(target, draft, text, min(lookahead, length - len(text)), choose)
        return text[:length]

    def _round(self, target: Model, draft: Model, text: Text, lookahead: int, choose: Choose) -> Text:
        drafted: Text = ()
        rows = []
        for _ in range(lookahead):
            rows.append(draft(text + drafted))
            drafted += (choose(rows[-1]),)
        kept: Text = ()
        for token, row in zip(drafted, rows, strict=True):
            place = text + kept
            p, q = target(place[: len(place) - self.shift] if self.shift else place), self.tested(row)
            chance = self.ratio(p, q, token) if q[token] else Fraction(1)
            if choose([chance, 1 - chance]) == 0:
                kept += (token,)
                if token == self.stop:
                    return kept
            else:
                kept += (choose(self.correct(p, q)),)
                if self.rest:
                    return kept + drafted[len(kept) :]
                if not self.resume:
                    return kept[:-1] if kept[-1] == self.drop and len(kept) > 1 else kept
        if self.bonus is not None and len(kept) == lookahead:
            kept += (choose(self.bonus(target(text + kept), rows[-1])),)
        return kept


def _normal(row: Row) -> Row:
    return [r / sum(row) for r in row] if sum(row) else row


def most_probable(row: Sequence[Fraction | int]) -> Row:
    best = max(row)
    return [Fraction(i == row.index(best)) for i in range(len(row))]


def apart(p: Row, q: Row) -> Row:
    """Return \\|p - q\\|, normalized."""
    return _normal([abs(a - b) for a, b in zip(p, q, strict=True)]) if p != q else p


#: Decoders that are right: a test that rejects one of them raises a false alarm.
RIGHT: dict[str, Decoder] = {
    "the loop of this package": _Rules(),
    "no bonus token": _Rules(bonus=None),
    "a round may stop after an accepted token": _Rules(stop=0),
    "tokens after a rejection are verified with the rows they were drawn from": _Rules(resume=True),
}
#: Decoders with one mistake each.
WRONG: dict[str, Decoder] = {
    NAMES[key]: wrong
    for key, wrong in {
        "fault 1": _Rules(correct=lambda p, q: p),
        "difference": _Rules(correct=apart),
        "draft's row": _Rules(correct=lambda p, q: q),
        "most probable": _Rules(correct=lambda p, q: most_probable(residual(p, q))),
        "inverse ratio": _Rules(ratio=lambda p, q, t: min(Fraction(1), q[t] / p[t]) if p[t] else Fraction(0)),
        "with p": _Rules(ratio=lambda p, q, t: p[t]),
        "only larger": _Rules(ratio=lambda p, q, t: Fraction(p[t] >= q[t])),
        "any p": _Rules(ratio=lambda p, q, t: Fraction(p[t] > 0)),
        "fault 5": _Rules(tested=lambda q: _normal([r * r for r in q])),
        "rest": _Rules(rest=True),
        "draft's bonus": _Rules(bonus=lambda p, q: q),
        "greedy bonus": _Rules(bonus=lambda p, q: most_probable(p)),
        "early row": _Rules(shift=1),
        "fault 4": _Rules(drop=0),
    }.items()
}


def mutants(n: int | None = None) -> list[Decoder]:
    """Return the first ``n`` wrong decoders (default: all). Raises: ValueError: if there are fewer."""
    found = list(WRONG.values())
    if n is not None and not 1 <= n <= len(found):
        raise ValueError(f"there are 1 to {len(found)} mutants, not {n}")
    return found[:n]


def right_decoder() -> Decoder:
    """Return the decoder without a mistake."""
    return next(iter(RIGHT.values()))


def law(decode: Decoder, target: Model, draft: Model, length: int, lookahead: int) -> dict[Text, Fraction]:
    """Return the exact distribution of a decoder's output: every sequence of random choices, with its probability.
    Raises: ValueError: if ``length`` or ``lookahead`` is below 1 or there are too many sequences.
    """
    if length < 1 or lookahead < 1:
        raise Refused(f"length {length} and lookahead {lookahead}: both start at 1")
    try:
        return outcomes(lambda choose: decode(target, draft, length, lookahead, choose))
    except enumeration.TooManyOutcomes:
        most = f"more than {MOST_SEQUENCES} sequences of choices"
        raise Refused(f"length {length} and lookahead {lookahead} allow {most}: use less") from None


def outcomes(program: Callable[[Choose], T]) -> dict[T, Fraction]:
    """Return the exact distribution of a program's result over all sequences of random choices."""
    found: dict[T, Fraction] = {}
    for result, weight in enumeration.outcomes(lambda choices: program(choices.branch), MOST_SEQUENCES):
        found[result] = found.get(result, Fraction(0)) + weight
    return found


def plain_law(target: Model, length: int) -> dict[Text, Fraction]:
    """Return the distribution of plain decoding: of the target alone."""
    found: dict[Text, Fraction] = {(): Fraction(1)}
    for _ in range(length):
        found = {(*t, i): w * p for t, w in found.items() for i, p in enumerate(target(t)) if p}
    return found


def toy_models(greedy: bool = False) -> tuple[Model, Model]:
    """Return a target and a draft model over three tokens, whose rows depend on the whole text. ``greedy``: rows that
    give all probability to the most probable token, as at temperature 0; the draft model is then right about half of
    the time.
    """
    return (_toy((4, 3, 1), greedy, 0), _toy((4, 3, 1) if greedy else (1, 2, 5), greedy, int(greedy)))


def _toy(weights: tuple[int, ...], greedy: bool, sway: int) -> Model:
    @cache
    def row(text: Text) -> Row:
        turn = (sum(text) + 2 * len(text) + sway * (sum(text) % 2)) % 3
        turned = weights[turn:] + weights[:turn]
        return most_probable(turned) if greedy else [Fraction(w, sum(weights)) for w in turned]

    return lambda text: list(row(text))


@dataclass(frozen=True)
class Score:
    """The result of a test on all decoders: ``killed`` names the mistakes found, ``survived`` numbers those that were
    not, ``false_alarms`` names right decoders that the test rejected.
    """

    killed: dict[int, str]
    survived: tuple[int, ...]
    false_alarms: dict[str, str]

    def __bool__(self) -> bool:
        return not self.survived and not self.false_alarms

    def __repr__(self) -> str:
        total = len(self.killed) + len(self.survived)
        lines = [f"killed {len(self.killed)} of {total} mutants, {len(self.false_alarms)} false alarms"]
        lines += [f"  killed   {n}: {what}" for n, what in self.killed.items()]
        lines += [f"  survived {n}" for n in self.survived]
        lines += [f"  false alarm: {name} ({why})" for name, why in self.false_alarms.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def score(test: Callable[[Decoder], Any]) -> Score:
    """Run a test on every decoder. A test rejects a decoder by raising an exception or returning ``False``."""
    reasons = [_rejected(test, decode) for decode in WRONG.values()]
    killed = {n: what for n, (what, why) in enumerate(zip(WRONG, reasons, strict=True), 1) if why}
    survived = tuple(n for n in range(1, len(WRONG) + 1) if n not in killed)
    alarms = {name: why for name, decode in RIGHT.items() if (why := _rejected(test, decode))}
    return Score(killed, survived, alarms)


def _rejected(test: Callable[[Decoder], Any], decode: Decoder) -> str:
    """Return why the test rejects the decoder, empty if it does not."""
    try:
        value = test(decode)
        return f"it returned {value!r}" if value is not None and not value else ""
    except (NotImplementedError, Refused):
        raise
    except Exception as error:  # a test may fail in any way
        return f"{type(error).__name__}: {error}"
