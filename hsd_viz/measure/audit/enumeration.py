"""Enumeration of a randomized program: runs it once for every outcome of its random decisions, with
the exact probability of each run.

A random number is a :class:`Chance`: an unknown number, uniform in an interval. A comparison with a
number that the interval does not decide splits it, and the program runs once for each side.
Programs that compare random numbers with probabilities, scale them, or search them in cumulative
sums (numpy's ``searchsorted`` included) run unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from hsd_viz.errors import UserError

T = TypeVar("T")
#: A probability.
P = TypeVar("P", int, float, Fraction)
#: The tokens of a text.
Text = tuple[int, ...]
#: Maximum number of runs of an enumeration.
MAX_ENUMERATED_RUNS = 1_000_000


class TooManyOutcomes(UserError):
    """Raised if a program has too many outcomes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A random decision of a run.

    Attributes:
        place: the chosen index.
        shares: the probabilities of all indices.
        weight: the probability of this decision and those before it.
    """

    place: int
    shares: list[Any]
    weight: Any

    @classmethod
    def at(cls, place: int, shares: list[Any], before: Any) -> Decision:
        """Return a decision after decisions of probability ``before``."""
        return cls(place, shares, before * shares[place])


class EnumeratedChoices:
    """The random decisions of one run, with the methods of ``numpy.random.Generator`` and
    ``random.Random`` that decoders need. ``weight`` is the probability of the decisions so far.
    """

    def __init__(self, path: list[Decision]) -> None:
        self._path = path
        self._next = 0
        self.weight: Any = 1

    def branch(self, weights: Sequence[Any]) -> int:
        """Choose an index with probability proportional to ``weights``, exactly for integers and
        fractions.
        """
        if self._next == len(self._path):
            shares = _shares(weights)
            place = next(k for k, share in enumerate(shares) if share > 0)
            self._path.append(Decision.at(place, shares, self.weight))
        decision = self._path[self._next]
        self._next += 1
        self.weight = decision.weight
        return decision.place

    def random(self, size: int | None = None) -> Any:
        """Return a uniform number in [0, 1), or a list of ``size`` independent ones."""
        return Chance(self, [0.0, 1.0]) if size is None else [self.random() for _ in range(size)]

    uniform = random

    def choice(self, values: Any, p: Sequence[float] | None = None) -> Any:
        """Return one of ``values`` (of ``range(values)`` if that is a number), with the
        probabilities ``p``.
        """
        options = range(values) if isinstance(values, int) else values
        return options[self.branch([1.0] * len(options) if p is None else p)]

    def choices(self, values: Sequence[T], weights: Sequence[float]) -> list[T]:
        """Return a list with one of ``values``, as ``random.choices`` does."""
        return [values[self.branch(weights)]]


def _shares(weights: Sequence[Any]) -> list[Any]:
    """Return weights divided by their sum.

    Raises:
        UserError: if a weight is negative, or all are 0.
    """
    exact = [Fraction(w) if isinstance(w, (int, Fraction)) else float(w) for w in weights]
    total = sum(exact)
    if not total > 0 or min(exact) < 0:
        shown = ", ".join(map(str, exact))
        raise UserError(
            f"cannot choose with the weights [{shown}]: none may be negative, and the sum not 0"
        )
    return [weight / total for weight in exact]


def outcomes(
    program: Callable[[EnumeratedChoices], T], max_runs: int = MAX_ENUMERATED_RUNS
) -> Iterator[tuple[T, Any]]:
    """Yield (result, probability) for each run of ``program``.

    Raises:
        UserError: if there are more than ``max_runs`` runs.
    """
    path: list[Decision] = []
    for _ in range(max_runs):
        choices = EnumeratedChoices(path)
        result = program(choices)
        yield result, choices.weight
        while path:
            last = path.pop()
            before = path[-1].weight if path else 1
            following = range(last.place + 1, len(last.shares))
            if (place := next((k for k in following if last.shares[k] > 0), None)) is not None:
                path.append(Decision.at(place, last.shares, before))
                break
        else:
            return
    raise TooManyOutcomes(
        f"the program has more than {max_runs} outcomes: use fewer tokens, models or draft tokens"
    )


def law(
    program: Callable[[EnumeratedChoices], T], max_runs: int = MAX_ENUMERATED_RUNS
) -> dict[T, Any]:
    """Return the distribution of a program's result.

    Raises:
        UserError: as :func:`outcomes`.
    """
    probabilities: dict[T, Any] = {}
    for result, weight in outcomes(program, max_runs):
        probabilities[result] = probabilities.get(result, 0) + weight
    return probabilities


def plain_law(
    row: Callable[[Text], Iterable[P]],
    ended: Callable[[Text], bool],
    *,
    impossible: bool = False,
) -> dict[Text, P]:
    """Return the distribution of plain decoding.

    Args:
        row: returns the probabilities of the next token after a text.
        ended: whether a text is complete.
        impossible: whether texts with the probability 0 are included.
    """
    weights: dict[Text, P] = {}

    def extend(text: Text, weight: Any) -> None:
        if ended(text):
            weights[text] = weight
            return
        for token, probability in enumerate(row(text)):
            if probability or impossible:
                extend((*text, token), weight * probability)

    extend((), 1)
    return weights


class Chance:
    """A random number ``scale`` * u + ``shift`` that is only known as far as it was compared: u is
    uniform in the ``interval`` [low, high), which all numbers derived from u share.
    """

    __slots__ = ("_choices", "_interval", "_scale", "_shift")

    def __init__(
        self,
        choices: EnumeratedChoices,
        interval: list[float],
        scale: float = 1.0,
        shift: float = 0.0,
    ) -> None:
        self._choices = choices
        self._interval = interval
        self._scale = scale
        self._shift = shift

    def __lt__(self, value: Any) -> bool:
        if (
            isinstance(value, Chance) and value._interval is self._interval
        ):  # as numpy's searches do
            scale = self._scale - value._scale
            border = value._shift - self._shift
        else:
            scale = self._scale
            border = float(value) - self._shift
        if scale == 0:
            return border > 0
        is_below = self._is_below(border / scale)
        return is_below if scale > 0 else not is_below

    def _is_below(self, border: float) -> bool:
        """Decide whether u is below ``border``."""
        low, high = self._interval
        if border <= low or border >= high:
            return border >= high
        below = self._choices.branch((border - low, high - border)) == 0
        self._interval[below] = border
        return below

    def __gt__(self, value: Any) -> bool:
        return not self < value

    __le__ = __lt__
    __ge__ = __gt__

    def __mul__(self, by: Any) -> Chance:
        return Chance(
            self._choices, self._interval, self._scale * float(by), self._shift * float(by)
        )

    def __add__(self, value: Any) -> Chance:
        return Chance(self._choices, self._interval, self._scale, self._shift + float(value))

    __rmul__ = __mul__
    __radd__ = __add__

    def __truediv__(self, by: Any) -> Chance:
        return self * (1 / float(by))

    def __sub__(self, value: Any) -> Chance:
        return self + -float(value)

    def __rsub__(self, value: Any) -> Chance:
        return self * -1.0 + value

    def __float__(self) -> float:
        instead = "compare it, scale it, or draw with rng.choice"
        raise TypeError(f"a random number of an exact audit has no single value: {instead}")
