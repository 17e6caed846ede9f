"""The statistical audit of two OpenAI-style endpoints of one model, with and without speculation.

Greedy decoding: the first divergence of each prompt, which is a near-tie of two tokens (rounding decides, and batches
round differently) or a bug. Sampling: a sequential test, which can stop at any time.

Texts come in pairs, one of each decoder for the same prompt. If both have one distribution, it is a fair coin which of
two texts came from which decoder, regardless of earlier pairs. The test bets on that coin with what earlier pairs
suggest: which tokens one decoder prefers given those before them, and whether it prefers likely texts. Its mean wealth
(an e-value) exceeds 1 / alpha with a probability of at most alpha, over all times at once (Ville 1939; Shafer 2021).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import fmean
from typing import NamedTuple

import httpx
import numpy as np

from hsd_viz.errors import UserError
from hsd_viz.words import first_line

TIMEOUT = 120.0
#: Likeliest tokens requested per position.
LOGPROBS = 5
#: Prior weights of "no difference" for the bets by token, in observations of a prefix.
SHRINKAGE = (4.0, 16.0, 64.0)
#: Slopes of the bets by how likely a text is: one decoder may prefer likely texts, or unlikely ones.
SLOPES = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)

Text = tuple[str, ...]


class Completion(NamedTuple):
    """A completion: its ``tokens`` as text and, by position, the log probabilities of the likeliest, where reported."""

    tokens: Text
    likely: Sequence[Mapping[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint: ``url`` up to and including ``/v1``, the ``model`` it is asked for, and an optional API ``key``."""

    url: str
    model: str
    key: str | None = None
    _client: httpx.Client = field(
        default_factory=lambda: httpx.Client(timeout=TIMEOUT), repr=False, compare=False
    )

    def complete(
        self, prompt: str, max_tokens: int, temperature: float, seed: int | None = None
    ) -> Completion:
        """Request one completion. Raises: ValueError: if the endpoint does not answer, or not with tokens."""
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": temperature,
        }
        body |= {"logprobs": LOGPROBS} | ({} if seed is None else {"seed": seed})
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        address = f"{self.url.rstrip('/')}/completions"
        try:
            answer = self._client.post(address, json=body, headers=headers).raise_for_status()
            reported = answer.json()["choices"][0]["logprobs"]
            likely = [dict(row or {}) for row in reported.get("top_logprobs") or ()]
            return Completion(tuple(map(str, reported["tokens"])), likely)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(f"{address} does not answer: {first_line(error)}") from None
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            expected = "expected choices with logprobs and their tokens"
            raise UserError(f"{address} did not answer with a completion: {expected}") from None


@dataclass(slots=True)
class StatisticalAudit:
    """The result of :func:`statistical`. ``greedy`` counts prompts by kind (:func:`compare`), ``bug`` describes the
    first bug, ``evidence`` is the test's wealth: at 1 / ``alpha`` the distributions differ.
    """

    alpha: float
    prompts: int
    greedy: Counter[str] = field(default_factory=Counter)
    bug: str = ""
    pairs: int = 0
    evidence: float = 1.0
    complete: bool = False

    @property
    def differs(self) -> bool:
        """Whether the sampled distributions differ."""
        return self.evidence >= 1 / self.alpha

    @property
    def verdict(self) -> str:
        found = "no difference found" if self.complete else "unfinished"
        return "not lossless" if self.differs or self.bug else found

    def __str__(self) -> str:
        """Return the result in one line."""
        greedy = ", ".join(f"{n} {kind}" for kind, n in self.greedy.items())
        return (
            f"{self.verdict}: greedy texts of {self.prompts} prompts: {greedy}{self.bug}; {self.pairs} sampled pairs, "
            f"evidence {self.evidence:.3g} of {1 / self.alpha:.0f} (false alarms at most {self.alpha:g})"
        )


def statistical(
    speculative: Endpoint,
    plain: Endpoint,
    prompts: Sequence[str],
    *,
    samples: int = 400,
    tokens: int = 8,
    greedy_tokens: int = 64,
    temperature: float = 1.0,
    alpha: float = 0.001,
    near_tie: float = 0.05,
    seed: int = 0,
    progress: Callable[[str], None] = lambda state: None,
) -> StatisticalAudit:
    """Compare the endpoints on ``prompts``: one greedy text each, then up to ``samples`` pairs of sampled texts. The
    test of pairs stops as soon as it is decided. Ctrl-C ends it with a partial result. Raises: ValueError: if the
    prompts are missing, or an endpoint does not answer.
    """
    if not prompts:
        raise UserError("an audit needs at least one prompt")
    found, test = StatisticalAudit(alpha, len(prompts)), PairTest()
    with suppress(KeyboardInterrupt):
        for k, prompt in enumerate(prompts):
            progress(f"greedy {k}/{len(prompts)}")
            ours, theirs = (
                end.complete(prompt, greedy_tokens, 0.0) for end in (speculative, plain)
            )
            kind, place = compare(ours, theirs, near_tie)
            found.greedy[kind] += 1
            if kind == "bug" and not found.bug:
                found.bug = f" (first at token {place} of prompt {k + 1})"
        for k in range(samples):
            progress(f"sampling {k}/{samples}, evidence {found.evidence:.3g}")
            place = k % len(prompts)
            # Different seeds: with one seed two lossless endpoints could give the same texts, which is not evidence.
            one = speculative.complete(prompts[place], tokens, temperature, 2 * (seed + k))
            other = plain.complete(prompts[place], tokens, temperature, 2 * (seed + k) + 1)
            found.evidence, found.pairs = test.add(place, one.tokens, other.tokens), k + 1
            if found.differs:
                break
        found.complete = True
    return found


def compare(speculative: Completion, plain: Completion, near_tie: float = 0.05) -> tuple[str, int]:
    """Return how greedy texts differ, and where first: ``equal``, ``near-tie`` (by nats), ``bug`` or ``unknown``."""
    pairs = [*zip_longest(plain.tokens, speculative.tokens, fillvalue=None)]
    if (place := next((k for k, (mine, other) in enumerate(pairs) if mine != other), None)) is None:
        return "equal", len(pairs)
    mine, other = pairs[place]
    likely = plain.likely[place] if place < len(plain.likely) else {}
    known = likely and mine and other  # a text that ended earlier has no token here
    tie = mine in likely and other in likely and likely[mine] - likely[other] <= near_tie
    return ("unknown" if not known else "near-tie" if tie else "bug"), place


@dataclass(slots=True)
class PairTest:
    """The bets on pairs of texts."""

    _log_wealth: list[float] = field(default_factory=lambda: [0.0] * (len(SHRINKAGE) + len(SLOPES)))
    #: For each decoder, the tokens that followed a prompt and the tokens after it.
    _seen: tuple[defaultdict, defaultdict] = field(
        default_factory=lambda: (defaultdict(Counter), defaultdict(Counter))
    )

    def add(self, prompt: Hashable, first: Text, second: Text) -> float:
        """Bet on a pair of texts after ``prompt``, and return the wealth: above 1 / alpha the distributions differ."""
        one, other = self._scores(prompt, first), self._scores(prompt, second)
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            # The stake is 2 * sigma(a - b): fair, since a swap of the texts would have given 2 * sigma(b - a).
            self._log_wealth[k] += math.log(2) - float(np.logaddexp(0.0, b - a))
        for seen, text in zip(self._seen, (first, second), strict=True):
            for place, token in enumerate(text):
                seen[prompt, text[:place]][token] += 1
        return fmean(math.exp(min(700.0, log)) for log in self._log_wealth)

    def _scores(self, prompt: Hashable, text: Text) -> list[float]:
        """Return the log likelihood ratio of ``text``, first decoder over second, by what each bet learned."""
        ratios, likely = [0.0] * len(SHRINKAGE), 0.0
        for place, token in enumerate(text):
            first, second = (seen[prompt, text[:place]] for seen in self._seen)
            m, n, a, b = first.total(), second.total(), first[token], second[token]
            # Half an observation more, so that a token that was never seen is unlikely and not impossible.
            likely += math.log((a + b + 0.5) / (m + n + 1))
            if a + b:
                for k, prior in enumerate(SHRINKAGE):
                    pooled = prior * (a + b) / (m + n)
                    ratios[k] += math.log((a + pooled) / (m + prior) * (n + prior) / (b + pooled))
        return [*ratios, *(slope * likely for slope in SLOPES)]
