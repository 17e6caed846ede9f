"""The bug hunt of lesson 4: right and wrong decoders over small exact models, and the score of a
test.

A decoder is called as ``decode(target, draft, length, lookahead, choose)`` and returns ``length``
tokens. ``target`` and ``draft`` map a text (a tuple of tokens) to a list of probabilities;
``choose(weights)`` is the only source of randomness and returns an index. :func:`law` tries every
choice, so that a test can compare distributions exactly.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import getsource
from typing import Any

from hsd_viz.exercises.check import TEXTS, edited
from hsd_viz.exercises.editions import Program
from hsd_viz.measure.audit import enumeration

Text = enumeration.Text
Row = list[Fraction]
Model = Callable[[Text], Row]
Choose = Callable[[Sequence[Fraction]], int]
Decoder = Callable[[Model, Model, int, int, Choose], Text]
#: The sequences that :func:`law` tries: some seconds.
MAX_SEQUENCES = 20_000


def right_decoder(target: Model, draft: Model, length: int, lookahead: int, choose: Choose) -> Text:
    """The right decoder; every other one is an edit of it, in ``exercises.toml``."""
    text: Text = ()
    while len(text) < length:
        drafted: Text = ()
        rows = []
        for _ in range(min(lookahead, length - len(text))):
            rows.append(draft(text + drafted))
            drafted += (choose(rows[-1]),)
        kept: Text = ()
        for token, q in zip(drafted, rows, strict=True):
            p = target(text + kept)
            chance = min(Fraction(1), p[token] / q[token])
            if choose([chance, 1 - chance]) == 0:
                kept += (token,)
            else:
                rest = [max(a - b, Fraction(0)) for a, b in zip(p, q, strict=True)]
                kept += (choose(rest),)
                break
        else:
            kept += (choose(target(text + kept)),)
        text += kept
    return text[:length]


def most_probable(row: Sequence[Fraction | int]) -> Row:
    """Return the row that gives all probability to the most probable token."""
    return [Fraction(i == row.index(max(row))) for i in range(len(row))]


_PROGRAM = Program("right_decoder", getsource(right_decoder), names=globals())
#: Decoders that are right: a test that rejects one of them raises a false alarm.
RIGHT: dict[str, Decoder] = {"draft, verify, correct or add a bonus token": right_decoder}
RIGHT |= edited(_PROGRAM, TEXTS["decoder"]["right"])
#: Decoders with one mistake each.
WRONG: dict[str, Decoder] = edited(_PROGRAM, TEXTS["decoder"]["wrong"])
mutants: list[Decoder] = list(WRONG.values())


def law(
    decode: Decoder, target: Model, draft: Model, length: int, lookahead: int
) -> dict[Text, Fraction]:
    """Return the exact distribution of a decoder's output: every sequence of random choices, with
    its probability.

    Raises:
        UserError: if there are too many sequences.
    """
    return enumeration.law(
        lambda choices: decode(target, draft, length, lookahead, choices.branch), MAX_SEQUENCES
    )


def plain_law(target: Model, length: int) -> dict[Text, Fraction]:
    """Return the distribution of plain decoding: of the target alone."""
    return enumeration.plain_law(target, lambda text: len(text) == length)


def toy_models(greedy: bool = False) -> tuple[Model, Model]:
    """Return a target and a draft model over three tokens, whose rows depend on the whole text.
    ``greedy``: rows that give all probability to the most probable token, as at temperature 0; the
    draft model is then right about half of the time.
    """
    return (
        _toy((4, 3, 1), greedy, 0),
        _toy((4, 3, 1) if greedy else (1, 2, 5), greedy, int(greedy)),
    )


def _toy(weights: tuple[int, ...], greedy: bool, sway: int) -> Model:
    def row(text: Text) -> Row:
        turn = (sum(text) + 2 * len(text) + sway * (sum(text) % 2)) % 3
        turned = weights[turn:] + weights[:turn]
        return most_probable(turned) if greedy else [Fraction(w, sum(weights)) for w in turned]

    return row


def score(test: Callable[[Decoder], Any]) -> str:
    """Run a test on every decoder and return a report: mutants killed, with their mistake,
    survivors by number, and right decoders that the test rejected. A test rejects by raising an
    exception or returning ``False``.
    """
    killed = {n: name for n, (name, wrong) in enumerate(WRONG.items(), 1) if rejected(test, wrong)}
    alarms = {name: why for name, right in RIGHT.items() if (why := rejected(test, right))}
    lines = [f"killed {len(killed)} of {len(WRONG)} mutants, {len(alarms)} false alarms"]
    lines += [f"  killed   {n}: {what}" for n, what in killed.items()]
    survivors = [str(n) for n in range(1, len(WRONG) + 1) if n not in killed]
    if survivors:
        lines.append(f"  survived {', '.join(survivors)}")
    return "\n".join(lines + [f"  false alarm: {name} ({why})" for name, why in alarms.items()])


def rejected(test: Callable[[Decoder], Any], decode: Decoder) -> str:
    """Return why the test rejects the decoder, empty if it does not."""
    try:
        value = test(decode)
        return f"it returned {value!r}" if value is not None and not value else ""
    except (NotImplementedError, enumeration.TooManyOutcomes):
        raise
    except Exception as error:  # a test may fail in any way
        return f"{type(error).__name__}: {error}"
