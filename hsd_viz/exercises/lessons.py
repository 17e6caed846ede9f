"""The exercises of the lessons that are compared with recordings, brute force and enumeration; those that are one
formula are in :mod:`hsd_viz.exercises.formulas`.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from hsd_viz.drafting.context import ContextDatabase, spell
from hsd_viz.exercises import data, hunt
from hsd_viz.exercises.check import Case, Refused, at_most, exercise, show
from hsd_viz.exercises.formulas import EIGHTHS, PAIRS, THREE, expected_length, small_trees
from hsd_viz.intervals import estimate, ratio, resample
from hsd_viz.trace.metrics import repetition_share


def agreed(draft: Sequence[int], own: Sequence[int]) -> int:
    """Return the length of the longest common start."""
    return next((k for k, (a, b) in enumerate(zip(draft, own, strict=False)) if a != b), min(len(draft), len(own)))


@exercise("1.1")
def _fit(answer: Any) -> Iterator[Case]:
    for model, runtime in product(("nano", "small", "target"), ("native", "eager")):
        curve = data.cost_curve(model, runtime)
        slope, intercept = np.polyfit(list(curve), list(curve.values()), 1)
        want = (float(intercept), float(slope))
        yield Case(f"a, b of {model}, {runtime}", lambda curve=curve: tuple(answer(dict(curve))), want)


@exercise("2.1")
def _greedy_verify(answer: Any) -> Iterator[Case]:
    for r in data.greedy_rounds():
        # After the first difference the target's tokens are unknown and must not matter: they agree with the draft.
        own = (r.own + r.draft[len(r.own) :] + r.draft[-1:])[: len(r.draft) + 1]
        texts = f"draft {r.words(r.draft)}, the target's own tokens {r.words(own)}"
        want = (r.accepted, [*r.draft[: r.accepted], own[r.accepted]])
        got = lambda r=r, own=own: answer(list(r.draft), list(own))
        yield Case(f"round {r.id} of '{r.name}', {texts}", got, want, lambda v, r=r: _accepted(v, r.words))
    for n in range(4):
        for draft, own in product(map(list, product((0, 1), repeat=n)), map(list, product((0, 1), repeat=n + 1))):
            kept = agreed(draft, own)
            got = lambda draft=draft, own=own: answer(draft.copy(), own.copy())
            yield Case(f"greedy_verify({draft}, {own})", got, (kept, [*draft[:kept], own[kept]]))


def _accepted(value: Any, words: Callable[[Sequence[int]], str]) -> str:
    try:
        count, tokens = value
        return f"{show(count)} accepted and {words(tokens)} emitted"
    except (TypeError, ValueError, KeyError):
        return show(value)


@exercise("2.2")
def _speculative(answer: Any) -> Iterator[Case]:
    for seed, lookahead, length in product(range(6), (1, 2, 4), (1, 5, 12)):
        asked = f"decode(target, drafter, prompt=[{seed}], length={length}, lookahead={lookahead})"
        after = lambda token, seed=seed: (3 * token + seed) % 7
        guess = lambda token, after=after: (after(token) + (token % 3 == 0)) % 7
        why = f"{asked} makes no progress: every round must emit the target's own token"
        calls: list[int] = []

        def target(text: Sequence[int], draft: Sequence[int], a=asked, n=lookahead, c=calls, after=after) -> list[int]:
            if len(draft) > n:
                raise Refused(f"{a}: the target was given a draft of {len(draft)} tokens")
            c.append(len(draft))
            return [after(t) for t in [text[-1], *draft]]

        def drafter(text: Sequence[int], n: int, guess=guess) -> list[int]:
            return _chain(guess, text[-1], n)

        place, rounds, plain = 0, 0, _chain(after, seed, length)
        while place < length:
            draft = drafter([seed, *plain[:place]], min(lookahead, length - place))
            place, rounds = place + agreed(draft, plain[place:]) + 1, rounds + 1
        counted = [at_most(10 * length, function, why) for function in (target, drafter)]
        yield Case(asked, lambda c=counted, s=seed, n=length, g=lookahead: answer(*c, [s], n, g), plain)
        yield Case(f"calls of target in {asked}", lambda calls=calls: len(calls), rounds)


def _chain(after: Callable[[int], int], token: int, n: int) -> list[int]:
    """Return the ``n`` tokens after ``token``."""
    chain = [token]
    for _ in range(n):
        chain.append(after(chain[-1]))
    return chain[1:]


@exercise("3.1")
def _accept(answer: Any) -> Iterator[Case]:
    for t in data.acceptance_tests():
        asked = f"{t.text!r} in round {t.round} of '{t.name}', accept(u={t.u!r}, p={t.p!r}, q={t.q!r})"
        yield Case(asked, lambda t=t: answer(t.u, t.p, t.q), t.accepted)
    for u, p, q in product(EIGHTHS[:-1], EIGHTHS, EIGHTHS[1:]):
        # Of all u on this grid, P(accept) must be met exactly: the test is strict.
        yield Case(f"accept(u={u}, p={p}, q={q})", lambda u=u, p=p, q=q: answer(u, p, q), min(1, p / q) > u)


@exercise("3.2")
def _residual(answer: Any) -> Iterator[Case]:
    for p, q in PAIRS:
        kept = [min(a, b) for a, b in zip(p, q, strict=True)]
        own = lambda p=p, q=q: [*answer(list(p), list(q))]
        output = lambda own=own, kept=kept: [a + (1 - sum(kept)) * r for a, r in zip(kept, own(), strict=True)]
        asked = f"residual({show(p)}, {show(q)})"
        yield Case(f"output law with {asked}", output, p)
        yield Case(f"sum of {asked}", lambda own=own: sum(own()), 1)
        if p == q:
            yield Case(asked, own, p)


@exercise("4.1", seconds=60, success=f"{len(hunt.WRONG)} mutants killed, {len(hunt.RIGHT)} right decoders accepted")
def _hunt(answer: Any) -> Iterator[Case]:
    scores: list[hunt.Score] = []

    def false_alarms() -> list[str]:
        scores.append(hunt.score(answer))
        alarms = scores[0].false_alarms
        if len(alarms) == len(hunt.RIGHT) and len(set(alarms.values())) == 1:
            raise Refused(f"the test rejects every right decoder: {next(iter(alarms.values()))}")
        return [f"{name} ({why})" for name, why in alarms.items()]

    yield Case("right decoders that the test rejects", false_alarms, [])
    yield Case("mutants that survive the test", lambda: list(scores[0].survived), [])


@exercise("5.1")
def _lookup(answer: Any) -> Iterator[Case]:
    short = ([*text] for size in range(1, 8) for text in product((1, 2), repeat=size))
    for trace, ids, prompt in (*((None, ids, 0) for ids in short), *data.texts()):
        database = ContextDatabase(longest=8)
        database.extend(ids[:prompt])
        for end in range(max(prompt, 1), len(ids) + 1):
            database.extend(ids[len(database.text) : end])
            match = database.lookup(spell(ids[max(0, end - 8) : end]))
            want = None if match is None else (match[0], max(place for _, _, place in match[2]))
            asked, say = f"lookup({ids[:end]}, longest=8)", show
            if trace is not None:
                last = "".join(trace.pieces[i] for i in ids[max(0, end - 12) : end])
                where = f"the first {end} tokens of '{trace.stack}', which end with {last!r}"
                asked = f"lookup(ids, longest=8), ids: {where}"
                say = lambda v, ids=ids, end=end, trace=trace: _match(v, ids[:end], trace.pieces)
            yield Case(asked, lambda ids=ids, end=end: answer(ids[:end], 8), want, say)


def _match(value: Any, ids: Sequence[int], pieces: dict[int, str]) -> str:
    """Return the key that ends the text, and what follows the match."""
    try:
        length, place = value
        key, then = ("".join(pieces[i] for i in part) for part in (ids[len(ids) - length :], ids[place : place + 4]))
        return f"{show(value)}: the key {key!r}, and at {place} {then!r}"
    except (TypeError, ValueError, KeyError):
        return show(value)


@exercise("5.2")
def _replay(answer: Any) -> Iterator[Case]:
    # The first draft is accepted, which it need not be in a recorded text.
    recorded = [(trace.stack, ids, prompt) for trace, ids, prompt in data.texts()]
    for (name, ids, prompt), n in product([("[1, 2] * 6", [1, 2] * 6, 3), *recorded], (0, 1, 4)):

        def copied(ids: Sequence[int], n: int = n) -> list[int]:
            """Return the ``n`` tokens after the latest earlier occurrence of the last token."""
            places = [i for i in range(len(ids) - 1) if ids[i] == ids[-1]]
            return list(ids[places[-1] + 1 :][:n]) if places else []

        place, rounds = prompt, 0
        while place < len(ids):
            place, rounds = place + agreed(copied(ids[:place]), ids[place:]) + 1, rounds + 1
        asked = f"rounds of '{name}' with {n} copied tokens"
        draft = at_most(
            10 * len(ids), copied, f"{asked} makes no progress: every round must emit the target's own token"
        )
        yield Case(asked, lambda a=ids[:prompt], b=ids[prompt:], draft=draft: answer(a, b, draft), rounds)


@exercise("6.2")
def _best_tree(answer: Any) -> Iterator[Case]:
    for parents, chances in small_trees():
        for budget in range(1, len(parents) + 1):
            asked = f"best_tree({parents}, {show(chances)}, budget={budget})"
            trees = [set(c) for c in combinations(range(len(parents)), budget) if _is_tree(parents, c)]

            def got(parents=parents, chances=chances, budget=budget, asked=asked, trees=trees) -> Fraction:
                nodes = sorted(answer(list(parents), list(chances), budget))
                if set(nodes) not in trees or len(nodes) != budget:
                    expected = "as many different nodes as the budget, each with its parent"
                    raise Refused(f"{asked} returned {nodes}: expected {expected}")
                return expected_length(parents, chances, nodes)

            yield Case(f"expected length of {asked}", got, max(expected_length(parents, chances, c) for c in trees))


def _is_tree(parents: Sequence[int], nodes: Sequence[int]) -> bool:
    return all(parents[n] in (-1, *nodes) for n in nodes)


@exercise("8.1")
def _repetition(answer: Any) -> Iterator[Case]:
    for trace, ids, prompt in data.texts():
        for end in (prompt, prompt + 7, prompt + 40, len(ids)):
            output = ids[prompt:end]
            asked = f"repetition_share of {len(output)} tokens of '{trace.stack}'"
            yield Case(asked, lambda output=output: answer(list(output)), repetition_share(output))
    yield Case("repetition_share([1] * 16)", lambda: answer([1] * 16), 0.5)


@exercise("8.2")
def _speedup(answer: Any) -> Iterator[Case]:
    for seed, units in product(range(3), (2, 6, 12)):
        numbers = np.random.default_rng(seed)
        baseline = numbers.uniform(1, 3, units)
        seconds, weights = baseline / numbers.uniform(0.8, 2.5, units), resample(units, seed)
        want = estimate(ratio(weights @ baseline, weights @ seconds), units)
        got = lambda b=baseline, s=seconds, w=weights: answer(b.copy(), s.copy(), w.copy())
        yield Case(f"speedup of {units} prompts, seed {seed}", got, (want.value, want.low, want.high))


@exercise("P12")
def _three_levels(answer: Any) -> Iterator[Case]:
    # The small model may draw every token: then no wrong row makes an answer divide by 0.
    for rows in product([row for row in THREE if all(row)], THREE, THREE):

        def law(rows: Sequence[hunt.Row] = rows) -> hunt.Row:
            emitted = hunt.outcomes(lambda choose: answer(*map(list, rows), choose))
            return [emitted.get(token, Fraction(0)) for token in range(3)]

        yield Case(f"law of three_levels({', '.join(map(show, rows))}, choose)", law, rows[-1])
