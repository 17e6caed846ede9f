"""The law of the expected latency of a stack, over measured cost curves and measured survival.

Level i proposes at least γ_i tokens and keeps its overshoot. N_i is the number of tokens that a
call of level i returns. R_i is the number of tokens that a round of level i gains: the accepted
tokens and one of its own. S_i(k) is the probability that the first k tokens of a draft of level
i - 1 are all accepted. c_i(m) is the cost of a forward pass that feeds m tokens. Then:

- N_0 = γ_0: the lowest model drafts one token at a time;
- P(R_i > k) = S_i(k) P(N_{i-1} ≥ k): a round verifies a draft of N_{i-1} tokens in one forward
  pass;
- N_i is the first partial sum of independent copies of R_i that is at least γ_i;
- ℓ_0 = c_0 and, by Wald's identity, ℓ_i = (E[N_{i-1}] ℓ_{i-1} + F_i D_{i-1} + E[c_i(N_{i-1} + 1)])
  / E[R_i] is the cost per token of level i.

F_i D_{i-1} is the cost of catching up. After a draft that was accepted completely (probability
F_i), the level below has not fed its last token, so its next forward pass feeds a token more, which
costs D_{i-1}.

A database as level 0 proposes a draft of random length once per round. Its acceptance is a measured
joint distribution (:class:`~hsd_viz.latency.inputs.Tier`). Tokens that the model above accepted
from the database survive the next verification far more often than that model's own tokens, and
come in long drafts. So S_2 is not a single curve there, and P(R_2 > k) follows from two rates
(:class:`~hsd_viz.latency.inputs.OverDatabase`) along the rounds of the call.

A draft that stops by confidence has a random length, too. It is modelled by the measured pairs of
(drafted, accepted) tokens (:class:`~hsd_viz.latency.inputs.UnsureStop`), which a shorter lookahead
truncates. A level that verifies and stops by confidence is a mixture over these pairs: its call
continues to the position at which the measured draft stopped.

The law assumes that tokens are accepted independently of earlier rounds, that forward passes run
one after the other, and that the text is long (no prefill, no last round). A backlog of more than
two tokens, which needs full acceptance at two levels at once, is counted as two. Hierarchies of
models with a closed form for their latency are from Globerson et al. 2025 (arXiv 2510.19705). This
derivation is the project's own, and is checked against the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul
from typing import NamedTuple

from hsd_viz.errors import UserError
from hsd_viz.latency.inputs import (
    Calibration,
    Edge,
    LevelCost,
    LookupCost,
    OverDatabase,
    Tier,
    UnsureStop,
)
from hsd_viz.stack import ModelPart, Stack, parse

#: The largest lookahead that is considered by default.
MAX_PLANNED_LOOKAHEAD = 16
#: A database or ``None``, and the draft models, smallest first: a stack without its lookaheads and
#: its target.
Hierarchy = tuple[str | None, tuple[str, ...]]


class ExpectedRound(NamedTuple):
    """The expected course of a round of a level, or of a call of the level by the one above.

    Attributes:
        tokens: ``tokens[n]`` is the probability that n tokens are gained or returned.
        times: the expected time in ms by level, this level last.
        forwards: the expected number of forward passes by level; for a database, of look-ups.
        catch_up: the cost in ms of a further token in the level's next forward pass.
        reached: ``reached[k]`` is the probability that the level above accepts at least k tokens.
            It is empty unless acceptance depends on the source of a token.
        full: the probability that the level above accepts all tokens; only with ``reached``.
    """

    tokens: tuple[float, ...]
    times: tuple[float, ...] = ()
    forwards: tuple[float, ...] = ()
    catch_up: float = 0.0
    reached: tuple[float, ...] = ()
    full: float = 0.0


#: The call that a level without a drafter verifies: an empty draft.
NOTHING = ExpectedRound((1.0,), reached=(1.0,))


def draft(lookahead: int, cost: LevelCost) -> ExpectedRound:
    """Return a call of the lowest model, which drafts ``lookahead`` tokens, a forward pass each."""
    catch_up = cost.drafting(2) - cost.drafting(1)
    return ExpectedRound(
        (*(0.0,) * lookahead, 1.0), (cost.alone(lookahead),), (float(lookahead),), catch_up
    )


def unsure_draft(lookahead: int, cost: LevelCost, stop: UnsureStop) -> ExpectedRound:
    """Return a call of the lowest model, which drafts up to ``lookahead`` tokens and stops by
    confidence.
    """
    tokens = [0.0] * (lookahead + 1)
    reached = [0.0] * (lookahead + 1)
    full = 0.0
    for drafted, accepted, chance in stop.outcomes:
        length = min(drafted, lookahead)
        usable = min(accepted, lookahead)
        tokens[length] += chance
        full += chance * (usable == length)
        for k in range(usable + 1):
            reached[k] += chance
    times = sum(p * cost.alone(n) for n, p in enumerate(tokens) if n)
    catch_up = cost.drafting(2) - cost.drafting(1)
    return ExpectedRound(tuple(tokens), (times,), (mean(tokens),), catch_up, tuple(reached), full)


def look_up(tier: Tier, cost: LookupCost) -> ExpectedRound:
    """Return a call of a database: a look-up, whose draft may be empty."""
    return ExpectedRound(tier.drafted(), (cost.lookup,), (1.0,), reached=tier.reached())


def verify(call: ExpectedRound, edge: Edge | None, cost: LevelCost) -> ExpectedRound:
    """Return a round of the level above ``call``: a forward pass over the draft.

    Args:
        call: the call of the level below, which returns the draft.
        edge: the acceptance of draft tokens; ``None`` if ``call.reached`` specifies it.
        cost: the costs of the level.
    """
    reached = call.reached
    full = call.full
    if edge is not None:
        survival = edge.curve(len(call.tokens) - 1)
        reached = tuple(map(mul, survival, list(accumulate(reversed(call.tokens)))[::-1]))
        full = sum(map(mul, survival, call.tokens))
    curve = [cost.verifying(fed) for fed in range(1, len(call.tokens) + 2)]
    forward_ms = sum(map(mul, call.tokens, curve))
    times = [*call.times, forward_ms + cost.overhead]
    if full:
        times[-2] += full * call.catch_up
    gained = (0.0, *(a - b for a, b in pairwise((*reached, 0.0))))
    return ExpectedRound(
        gained,
        tuple(times),
        (*call.forwards, 1.0),
        sum(map(mul, call.tokens, curve[1:])) - forward_ms,
    )


def repeat(
    level_round: ExpectedRound, lookahead: int, rates: OverDatabase | None = None
) -> ExpectedRound:
    """Return a call of a level: rounds until it has at least ``lookahead`` tokens.

    Args:
        level_round: a round of the level.
        lookahead: the number of tokens after which the call ends.
        rates: the acceptance of its tokens by the level above, for a model over a database, whose
            last token of a round is its own.
    """
    gained = level_round.tokens
    # visits[s] is the probability that s is a partial sum, so their sum is the expected number of
    # rounds.
    visits = [1.0] + [0.0] * (lookahead - 1)
    returned = [0.0] * (lookahead + len(gained) - 1)
    for s in range(lookahead):
        for r, p in enumerate(gained[1:], start=s + 1):
            (visits if r < lookahead else returned)[r] += visits[s] * p
    rounds = sum(visits)
    times = tuple(rounds * time for time in level_round.times)
    forwards = tuple(rounds * passes for passes in level_round.forwards)
    call = ExpectedRound(tuple(returned), times, forwards, level_round.catch_up)
    if rates is None:
        return call
    reached = [1.0] + [0.0] * (len(returned) - 1)
    full = 0.0
    alive = [1.0] + [0.0] * (lookahead - 1)
    for s in range(lookahead):
        # P(all tokens before s were accepted, and the round gains more than k tokens)
        longer = alive[s]
        for r, p in enumerate(gained[1:], start=1):
            survives = rates.taken ** (r - 1)
            all_accepted = alive[s] * p * survives * rates.own
            longer -= alive[s] * p
            reached[s + r] += all_accepted + longer * survives * rates.taken
            if s + r < lookahead:
                alive[s + r] += all_accepted
            else:
                full += all_accepted
    return call._replace(reached=tuple(reached), full=full)


def repeat_until_unsure(
    level_round: ExpectedRound, lookahead: int, stop: UnsureStop, edge: Edge
) -> ExpectedRound:
    """Return a call of a level that verifies and also stops by confidence.

    Each measured draft determines where the call stops and how many tokens the level above accepts.
    Beyond the end of the measured draft, each token is accepted with the tail probability of
    ``edge``.
    """
    calls = {n: repeat(level_round, n) for n in range(1, lookahead + 1)}
    size = len(calls[lookahead].tokens)
    tokens = [0.0] * size
    reached = [0.0] * size
    times = [0.0] * len(level_round.times)
    forwards = [0.0] * len(level_round.forwards)
    full = 0.0
    for drafted, accepted, chance in stop.outcomes:
        limit = lookahead if drafted == stop.lookahead else min(max(1, drafted), lookahead)
        call = calls[limit]
        times = [t + chance * more for t, more in zip(times, call.times, strict=True)]
        forwards = [n + chance * more for n, more in zip(forwards, call.forwards, strict=True)]
        longer = 1.0
        for n, p in enumerate(call.tokens):
            survives = _survival_beyond(n, drafted, accepted, edge)
            tokens[n] += chance * p
            reached[n] += chance * longer * survives
            full += chance * p * survives
            longer -= p
    return ExpectedRound(
        tuple(tokens), tuple(times), tuple(forwards), level_round.catch_up, tuple(reached), full
    )


def _survival_beyond(k: int, drafted: int, accepted: int, edge: Edge) -> float:
    """Return the probability that k tokens are accepted, given that ``accepted`` of ``drafted``
    measured tokens were.
    """
    if k <= accepted:
        return 1.0
    if accepted < drafted:
        return 0.0
    return edge.tail ** (k - accepted)


def mean(distribution: Sequence[float]) -> float:
    """Return the expected number of tokens, given the probability of each number of tokens."""
    return sum(n * p for n, p in enumerate(distribution))


@dataclass(frozen=True, slots=True)
class Prediction:
    """The expected latency of a stack. Sequences have an entry per level, the lowest first.

    Attributes:
        levels: the stack.
        names: the names of its levels.
        ms_per_token: the time in ms per emitted token.
        forwards_per_token: the number of forward passes per emitted token by level; for a
            database, of look-ups.
        share: the share of the time by level.
        acceptance_length: the number of tokens emitted per forward pass of the target.
    """

    levels: Stack
    names: tuple[str, ...]
    ms_per_token: float
    forwards_per_token: tuple[float, ...]
    share: tuple[float, ...]
    acceptance_length: float

    @property
    def stack(self) -> str:
        """The stack as text."""
        return str(self.levels)

    def gain_over(self, other: Prediction) -> float:
        """Return the relative gain over ``other``: 0.2 is 20 % more tokens per second."""
        return other.ms_per_token / self.ms_per_token - 1


class Law:
    """The law for a calibration. Results for the lower part of a stack are cached for stacks that
    share it.
    """

    def __init__(self, calibration: Calibration) -> None:
        self.calibration = calibration
        self._rounds: dict[tuple[str | None, tuple[ModelPart, ...], str], ExpectedRound] = {}
        self._calls: dict[tuple[str | None, tuple[ModelPart, ...], str], ExpectedRound] = {}

    def predict(self, stack: Stack | str) -> Prediction:
        """Return the prediction for ``stack``.

        Raises:
            UserError: if a lookahead is left out, if a part of the stack was not measured, or if
                the text is not a valid stack (``StackError``).
        """
        stack = parse(stack)
        for model in stack.drafts:
            if not isinstance(model.lookahead, int):
                raise UserError(
                    f"'{model}' in '{stack}' has no lookahead: write one, as in '{model.name}:4'"
                )
        database = stack.source
        top = self._round(database, stack.drafts, stack.target.name)
        tokens = mean(top.tokens)
        times = [*top.times]
        if database is not None:
            times[0] += self.calibration.lookup(database).update
        total = sum(times)
        names = tuple(model.name for model in stack.models)
        if database is not None:
            names = (database, *names)
        return Prediction(
            levels=stack,
            names=names,
            ms_per_token=total / tokens,
            forwards_per_token=tuple(n / tokens for n in top.forwards),
            share=tuple(t / total if total else t for t in times),
            acceptance_length=tokens,
        )

    def ms(self, hierarchy: Hierarchy, lookaheads: Sequence[int]) -> float:
        """Return the expected ms per token of a hierarchy below the calibrated target."""
        database, names = hierarchy
        return self.ms_of(database, tuple(map(ModelPart, names, lookaheads)))

    def ms_of(self, database: str | None, drafts: tuple[ModelPart, ...]) -> float:
        """Return the expected ms per token of draft models, with lookaheads and confidences, over a
        database and below the calibrated target.
        """
        top = self._round(database, drafts, self.calibration.target)
        update = 0.0 if database is None else self.calibration.lookup(database).update
        return (sum(top.times) + update) / mean(top.tokens)

    def _round(
        self, database: str | None, drafts: tuple[ModelPart, ...], verifier: str
    ) -> ExpectedRound:
        """Return a round of ``verifier`` above ``drafts``, from the cache if possible."""
        key = (database, drafts, verifier)
        if key not in self._rounds:
            self._rounds[key] = self._new_round(database, drafts, verifier)
        return self._rounds[key]

    def _call(
        self, database: str | None, drafts: tuple[ModelPart, ...], verifier: str
    ) -> ExpectedRound:
        """Return a call of the last of ``drafts`` by ``verifier``, from the cache if possible."""
        key = (database, drafts, verifier)
        if key not in self._calls:
            self._calls[key] = self._new_call(database, drafts, verifier)
        return self._calls[key]

    def _new_round(
        self, database: str | None, drafts: tuple[ModelPart, ...], verifier: str
    ) -> ExpectedRound:
        calibration = self.calibration
        call = NOTHING
        edge = None
        below = database
        if drafts:
            below = drafts[-1].name
            call = self._call(database, drafts, verifier)
            edge = None if call.reached else calibration.edge(below, verifier)
        elif database is not None:
            call = look_up(calibration.tier(database, verifier), calibration.lookup(database))
        return verify(call, edge, calibration.cost(verifier, below))

    def _new_call(
        self, database: str | None, drafts: tuple[ModelPart, ...], verifier: str
    ) -> ExpectedRound:
        calibration = self.calibration
        *lower, model = drafts
        name = model.name
        lookahead: int = model.lookahead  # type: ignore[assignment]
        lowest = database is None and not lower
        if model.confidence is not None:
            stop = calibration.stop(name, verifier, model.confidence)
            if lowest:
                return unsure_draft(min(lookahead, stop.lookahead), calibration.cost(name), stop)
            level_round = self._round(database, tuple(lower), name)
            return repeat_until_unsure(
                level_round, lookahead, stop, calibration.edge(name, verifier)
            )
        if lowest:
            return draft(lookahead, calibration.cost(name))
        rates = None if lower else calibration.over.get((f"{database} > {name}", verifier))
        return repeat(self._round(database, tuple(lower), name), lookahead, rates)


def predict(stack: Stack | str, calibration: Calibration) -> Prediction:
    """Return the prediction for a stack; for many stacks, reuse a :class:`Law`."""
    return Law(calibration).predict(stack)
