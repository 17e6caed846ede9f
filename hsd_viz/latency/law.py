"""Expected latency of a stack, in scalars: the law that predictions and selection evaluate in vectorised form.

Level i proposes at least γ_i tokens, overshoot kept. N_i is the number of tokens that one call of level i returns, R_i
the number that one of its rounds gains (the accepted tokens and one of its own), S_i(k) the probability that the first
k tokens of a draft of level i - 1 are all accepted, and c_i the cost of a forward pass:

- N_0 = γ_0: the lowest model drafts one token at a time;
- P(R_i > k) = S_i(k) P(N_{i-1} ≥ k): a round verifies a draft of N_{i-1} tokens in one forward pass;
- N_i is the first partial sum of independent copies of R_i that is at least γ_i;
- ℓ_0 = c_0 and, by Wald's identity, ℓ_i = (E[N_{i-1}] ℓ_{i-1} + c_i) / E[R_i] is the cost per token of level i.

Assumed: tokens are accepted independently of each other and of the text, forward passes run one after the other, the
text is long, and a forward pass costs the same for any number of tokens. :mod:`hsd_viz.latency.vectorised` evaluates
the same law (distributions in :mod:`~hsd_viz.latency.recursion`) over cost curves c_i(tokens fed) and over many
settings at a time; the tests compare the two. Hierarchies of models with a closed form for their latency are from
Globerson et al. 2025 (arXiv 2510.19705); this derivation is the project's own.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

#: Probabilities by number of tokens.
Distribution = dict[int, float]


class ExpectedLatency(NamedTuple):
    """Cost and forward passes per emitted token; ``forwards`` goes by level, 0 at the bottom."""

    cost: float
    forwards: tuple[float, ...]


def expected_latency(
    costs: Sequence[float],
    lookaheads: Sequence[int],
    survival: Sequence[Sequence[float]],
    database: Distribution | None = None,
) -> ExpectedLatency:
    """Return the expected cost per token of a stack of K + 1 levels.

    Args:
        costs: c_0, ..., c_K, the target's last.
        lookaheads: γ_0, ..., γ_{K-1}; none for plain decoding.
        survival: S_1, ..., S_K; ``survival[i - 1][k]`` is S_i(k), from S_i(0) = 1 to the longest draft.
        database: for a stack with a database as level 0, the distribution of its accepted tokens; c_0 is then the cost
            of a look-up, γ_0 is 1 (one look-up per round) and S_1 is not used.
    """
    cost = costs[0]
    drafted: Distribution = {lookaheads[0]: 1.0} if lookaheads else {}
    steps = []
    for i in range(1, len(costs)):
        if i == 1 and database is not None:
            gained: Distribution = {accepted + 1: p for accepted, p in database.items()}
        else:
            gained = tokens_per_round(drafted, survival[i - 1])
        cost = (mean(drafted) * cost + costs[i]) / mean(gained)
        steps.append((mean(drafted), mean(gained)))
        if i < len(lookaheads):
            drafted = tokens_per_call(gained, lookaheads[i])
    return ExpectedLatency(cost, forwards_per_token(steps))


def tokens_per_round(drafted: Distribution, survival: Sequence[float]) -> Distribution:
    """Return the distribution of R_i from that of N_{i-1}: k of n draft tokens are accepted, and one token is added."""
    gained: dict[int, float] = defaultdict(float)
    for n, p in drafted.items():
        for k in range(n):
            gained[k + 1] += p * (survival[k] - survival[k + 1])
        gained[n + 1] += p * survival[n]
    return gained


def tokens_per_call(gained: Distribution, lookahead: int) -> Distribution:
    """Return the distribution of N_i, the first partial sum of copies of R_i that is at least ``lookahead``."""
    returned: dict[int, float] = defaultdict(float)
    reached = [1.0] + [0.0] * (lookahead - 1)
    for s in range(lookahead):
        for r, p in gained.items():
            if s + r < lookahead:
                reached[s + r] += reached[s] * p
            else:
                returned[s + r] += reached[s] * p
    return returned


def forwards_per_token(steps: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Return the forward passes of each level per emitted token, from (E[N_{i-1}], E[R_i]) for i = 1, ..., K. Level i
    is called once in each round of level i + 1 and runs E[N_i] / E[R_i] rounds in each call.
    """
    counts: list[float] = []
    tokens = 1.0
    for drafted, gained in reversed(steps):
        counts.append(tokens / gained)
        tokens = counts[-1] * drafted
    return (tokens, *reversed(counts))


def mean(tokens: Distribution) -> float:
    """Return the expected number of tokens."""
    return sum(n * p for n, p in tokens.items())
