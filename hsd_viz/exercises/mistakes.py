"""Known mistakes in the exercises: each is a wrong answer, and an answer that equals it in all cases made that mistake.
Their names are in ``texts.json``, by key; those of the audit's faults are shared.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from hsd_viz.exercises import hunt
from hsd_viz.exercises.check import MISTAKES, NAMES
from hsd_viz.exercises.formulas import ONE
from hsd_viz.exercises.lessons import agreed

Row = hunt.Row


def _each(f: Callable[[Any, Any], Any]) -> Callable[[Row, Row], Row]:
    """Return ``f`` of two rows, token by token."""
    return lambda p, q: [f(a, b) for a, b in zip(p, q, strict=True)]


def _unless_equal(f: Callable[[Row, Row], Row]) -> Callable[[Row, Row], Row]:
    return lambda p, q: f(p, q) if p != q else p


def _own_at(shift: int, bonus: bool = True) -> Callable[[list[int], list[int]], Any]:
    def verify(draft: list[int], own: list[int]) -> Any:
        kept = agreed(draft, own)
        added = [own[max(0, kept + shift)]] if bonus or kept < len(draft) else []
        return kept, draft[:kept] + added

    return verify


def _matches_anywhere(draft: list[int], own: list[int]) -> Any:
    same = [a for a, b in zip(draft, own, strict=False) if a == b]
    return len(same), [*same, own[len(same)]]


def _line(curve: dict[int, float]) -> tuple[float, float]:
    slope, constant = np.polyfit(list(curve), list(curve.values()), 1)
    return float(constant), float(slope)


def _longest(n: int) -> range:
    return range(n, 0, -1)


def _search(
    lengths: Callable[[int], Sequence[int]] = _longest, latest: bool = True, whole: bool = False, after: bool = True
) -> Callable[..., Any]:
    """Return a suffix search that tries keys of these lengths; ``whole``: also at the end of the text itself; without
    ``after`` it returns where the key begins.
    """

    def lookup(ids: Sequence[int], longest: int) -> Any:
        for length in lengths(min(longest, len(ids) - (not whole))):
            key, last = ids[len(ids) - length :], len(ids) - length + whole
            for start in reversed(range(last)) if latest else range(last):
                if ids[start : start + length] == key:
                    return length, start + length * after
        return None

    return lookup


def _reached(parents: Sequence[int], chances: Sequence[Fraction]) -> list[Fraction]:
    reached: list[Fraction] = []
    for parent, chance in zip(parents, chances, strict=True):
        reached.append(chance * (reached[parent] if parent >= 0 else 1))
    return reached


def _gain(alpha: Any, gamma: int) -> Any:
    return sum(alpha**k for k in range(gamma + 1))


def _time(alpha: float, gamma: int, draft: float, target: float) -> float:
    return (gamma * draft + target) / _gain(alpha, gamma)


def _repeated(ids: Sequence[int]) -> int:
    return max(0, len(ids) - 7) - len({tuple(ids[end - 8 : end]) for end in range(8, len(ids) + 1)})


def _ratios(of: Callable[[Any, Any, Any], Any], share: float = 0.95) -> Callable[..., Any]:
    """Return a speed-up with the interval of its ratios that holds ``share`` of them."""
    return lambda b, s, w: ((ratios := of(b, s, w))[0], *np.quantile(ratios[1:], [(1 - share) / 2, (1 + share) / 2]))


def _climb(handed: int = 1, correct: Callable[[Row, Row], Row] = hunt.residual) -> Callable[..., int]:
    """Return a decoder of three levels. ``handed`` is the row given to the second verification: 0 the small model's, 1
    the medium one's, 2 the residual after a correction. ``correct`` gives the row of a correction.
    """

    def verify(token: int, p: Row, q: Row, choose: hunt.Choose) -> tuple[int, bool]:
        keep = hunt.accept_ratio(p, q, token) if q[token] else ONE
        return (choose(correct(p, q)), True) if choose([keep, 1 - keep]) else (token, False)

    def decode(small: Row, medium: Row, large: Row, choose: hunt.Choose) -> int:
        token, corrected = verify(choose(small), medium, small, choose)
        q = correct(medium, small) if handed == 2 and corrected else small if handed == 0 else medium
        return verify(token, large, q, choose)[0]

    return decode


for _number, _key, _wrong in (
    ("1.1", "swapped line", lambda curve: _line(curve)[::-1]),
    ("1.1", "a of one token", lambda curve: (curve[1], _line(curve)[1])),
    ("1.2", "free pass", lambda a, b, k: Fraction(k)),
    ("1.2", "upside down", lambda a, b, k: (a + b * k) / (k * (a + b))),
    ("2.1", "late agreement", _matches_anywhere),
    ("2.1", "own place", _own_at(-1)),
    ("2.1", "no bonus", _own_at(0, bonus=False)),
    ("2.1", "no own token", lambda d, o: (agreed(d, o), d[: agreed(d, o)])),
    ("2.1", "rejected token", lambda d, o: (agreed(d, o), [*d, o[-1]][: agreed(d, o) + 1])),
    ("3.1", "no q", lambda u, p, q: u < p),
    ("3.1", "equality", lambda u, p, q: u * q <= p),
    ("3.1", "only larger", lambda u, p, q: p >= q),
    ("3.1", "every token", lambda u, p, q: True),
    ("3.1", "p and q", lambda u, p, q: u * p < q),
    ("3.2", "fault 1", lambda p, q: p),
    ("3.2", "draft's row", lambda p, q: q),
    ("3.2", "difference", hunt.apart),
    ("3.2", "difference, no sum", _unless_equal(_each(lambda a, b: abs(a - b)))),
    ("3.2", "no sum", _unless_equal(_each(lambda a, b: max(a - b, 0)))),
    ("3.2", "no max", _each(lambda a, b: a - b)),
    ("3.2", "most probable", lambda p, q: hunt.most_probable(hunt.residual(p, q))),
    ("3.3", "same token", lambda p, q: sum(_each(mul)(p, q))),
    ("3.3", "counted twice", lambda p, q: 1 - sum(_each(lambda a, b: abs(a - b))(p, q))),
    ("3.3", "no min", lambda p, q: sum(_each(lambda a, b: a if b else 0)(p, q))),
    ("3.4", "no cap", lambda ratios: [*accumulate(ratios, mul)]),
    ("3.4", "cut joint", lambda ratios: [min(ONE, r) for r in accumulate(ratios, mul)]),
    ("3.4", "cut each", lambda ratios: [*accumulate((min(ONE, r) for r in ratios), mul)]),
    ("4.2", "observed below", lambda c, p: sum(_each(lambda a, b: (a - sum(c) * b) ** 2 / a if a else 0)(c, p))),
    ("4.2", "probabilities", lambda c, p: sum(_each(lambda a, b: (a - b) ** 2 / b)(c, p))),
    (
        "4.2",
        "never observed",
        lambda c, p: sum(_each(lambda a, b: (a - sum(c) * b) ** 2 / (sum(c) * b) * (a > 0))(c, p)),
    ),
    ("5.1", "first", _search(latest=False)),
    ("5.1", "one token", _search(lambda n: range(min(n, 1), 0, -1), latest=False)),
    ("5.1", "short keys", _search(lambda n: range(1, n + 1))),
    ("5.1", "itself", _search(whole=True)),
    ("5.1", "key's place", _search(after=False)),
    ("6.1", "alone", lambda parents, chances: 1 + sum(chances)),
    ("6.1", "own missing", lambda parents, chances: sum(_reached(parents, chances))),
    ("6.2", "own chance", lambda parents, chances, n: sorted(range(len(parents)), key=lambda k: -chances[k])[:n]),
    ("6.2", "first nodes", lambda parents, chances, budget: range(budget)),
    ("7.1", "no k = 0", lambda a, n: _gain(a, n) - 1),
    ("7.1", "no k = gamma", lambda a, n: _gain(a, n - 1)),
    ("7.1", "all with alpha", lambda a, n: 1 + n * a),
    ("7.1", "alpha = 1", lambda a, n: (1 - a ** (n + 1)) / (1 - a)),
    ("7.2", "no target's pass", lambda a, n, d, t: n * d / _gain(a, n)),
    ("7.2", "not per token", lambda a, n, d, t: n * d + t),
    ("7.2", "one draft pass", lambda a, n, d, t: (d + t) / _gain(a, n)),
    ("7.2", "no bonus in the round", lambda a, n, d, t: (n * d + t) / _gain(a, n - 1)),
    ("7.3", "no plain", lambda a, c: min(range(1, 33), key=lambda n: _time(a, n, c, 1))),
    ("7.3", "most tokens", lambda a, c: 32),
    ("7.4", "pass of one", lambda a, n, d, curve: curve[1] / _time(a, n, d, curve[1])),
    ("7.4", "pass of gamma", lambda a, n, d, curve: curve[1] / _time(a, n, d, curve[n])),
    ("7.4", "time", lambda a, n, d, curve: _time(a, n, d, curve[n + 1])),
    ("7.4", "upside down", lambda a, n, d, curve: _time(a, n, d, curve[n + 1]) / curve[1]),
    ("8.1", "first seven", lambda ids: _repeated(ids) / max(1, len(ids) - 7)),
    ("8.1", "tokens, not grams", lambda ids: 1 - len(set(ids)) / len(ids) if ids else 0),
    ("8.2", "mean of ratios", _ratios(lambda b, s, w: w @ (b / s) / len(b))),
    ("8.2", "upside down", _ratios(lambda b, s, w: (w @ s) / (w @ b))),
    ("8.2", "90 %", _ratios(lambda b, s, w: (w @ b) / (w @ s), share=0.9)),
    ("P1", "target only", lambda drafted, own: True),
    ("P2", "no own token", lambda drafted, accepted: accepted),
    ("P2", "no bonus", lambda drafted, accepted: accepted + (accepted < drafted)),
    ("P3", "row after", lambda text, place: text + place),
    ("P3", "row of the draft", lambda text, place: place),
    ("P4", "no min", lambda p, q: p / q),
    ("P4", "p and q", lambda p, q: min(ONE, q / p) if p else ONE),
    ("P4", "no q", lambda p, q: p),
    ("P5", "emitted", _each(min)),
    ("P5", "fault 1", lambda p, q: p),
    ("P5", "no max", _each(lambda a, b: a - b)),
    ("P6", "fault 6", lambda p, token: min(ONE, p[token] * len(p))),
    ("P6", "greedy", lambda p, token: Fraction(p[token] == max(p))),
    ("P7", "fault 5", lambda q, power, token: q[token]),
    ("P7", "powers", lambda q, power, token: q[token] ** power),
    ("P8", "fault 4", lambda rounds, least: least),
    ("P8", "all rounds", lambda rounds, least: sum(rounds)),
    ("P9", "all with alpha", lambda a, k: a if k else ONE),
    ("P9", "added", lambda a, k: a * k),
    ("P10", "cut each", lambda ratios: [*accumulate((min(ONE, r) for r in ratios), mul)][-1]),
    ("P10", "cut at the end", lambda ratios: min(ONE, [*accumulate(ratios, mul)][-1])),
    ("P11", "equal gain", lambda alpha, c: alpha >= c),
    ("P11", "one half", lambda alpha, c: alpha > Fraction(1, 2)),
    ("P12", "fault 3", _climb(handed=0)),
    ("P12", "fault 2", _climb(handed=2)),
    ("P12", "fault 1", _climb(correct=lambda p, q: p)),
    ("P12", "medium's", lambda small, medium, large, choose: choose(medium)),
):
    MISTAKES.setdefault(_number, {})[NAMES[_key]] = _wrong
