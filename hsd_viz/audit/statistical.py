"""The statistical audit of two OpenAI-style endpoints of one model, with and without speculation.

Greedy decoding: the first divergence of each prompt, which is a near-tie of two tokens (rounding
decides, and batches round differently) or a bug. Sampling: a sequential test, which can stop at
any time.

Texts come in pairs, one of each decoder for the same prompt. If both have one distribution, it is
a fair coin which of two texts came from which decoder, regardless of earlier pairs. The test bets
on that coin: with what earlier pairs suggest about tokens after one prefix, and with the
probabilities that the endpoints return, by which a text shows whether its tokens were drawn from
sharper or flatter rows, at all places or at every n-th. Under the null hypothesis a bet is fair
for any returned probabilities. The mean wealth of all bets (an e-value) exceeds 1 / alpha
with a probability of at most alpha, over all times at once (Ville 1939; Shafer 2021).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import fmean
from typing import Any

import httpx
import numpy as np

from hsd_viz.errors import MALFORMED, UserError, first_line
from hsd_viz.results.result import INTERRUPTED, Result
from hsd_viz.results.table import Table, Value

TIMEOUT = 120.0
#: Likeliest tokens requested per position.
LOGPROBS = 5
#: Prior weights of "no difference" for the bets by token, in observations of a prefix.
SHRINKAGE = (4.0, 16.0, 64.0)
#: Slopes of the bets by how likely a text is: one decoder may prefer likely texts, or unlikely
#: ones.
SLOPES = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
#: Exponents of the rows from which one decoder may draw: above 1 sharper, below 1 flatter.
EXPONENTS = (0.5, 0.75, 1.4, 2.0)
#: Places of a text at which it may: all, and every n-th, n = 2, ..., from each start.
PERIODS = (1, 2, 3, 4, 5)


def _groups() -> tuple[tuple[int, int], ...]:
    """Return each period with each of its starts."""
    groups = []
    for period in PERIODS:
        for start in range(period):
            groups.append((period, start))
    return tuple(groups)


GROUPS = _groups()
#: Request parameters that the audit sets itself.
OWN_PARAMETERS = frozenset(
    ("model", "prompt", "max_tokens", "temperature", "logprobs", "seed", "stream", "n")
)
_LEAST = 1e-12

Text = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion.

    Attributes:
        tokens: as text.
        likely: by position the log probabilities of the likeliest tokens, where reported.
        chosen: by position the log probability of the token itself, where reported.
    """

    tokens: Text
    likely: Sequence[Mapping[str, float]] = ()
    chosen: Sequence[float | None] = ()

    def rows(self) -> Iterator[tuple[float, tuple[float, ...]] | None]:
        """Yield by position the probability of the token and those of all likely ones; ``None``
        where they were not reported. The rest of the vocabulary counts as one token.
        """
        for place, token in enumerate(self.tokens):
            row = self.likely[place] if place < len(self.likely) else {}
            if not row:
                yield None
                continue
            known = {name: math.exp(min(0.0, log)) for name, log in row.items()}
            rest = max(_LEAST, 1 - sum(known.values()))
            yield known.get(token, rest), (*known.values(), rest)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint.

    Attributes:
        url: up to and including ``/v1``.
        model: the model it is asked for.
        key: an optional API key.
        body: further request parameters, such as penalties.
    """

    url: str
    model: str
    key: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    _client: httpx.Client = field(
        default_factory=lambda: httpx.Client(timeout=TIMEOUT), repr=False, compare=False
    )

    def __post_init__(self) -> None:
        clash = sorted(OWN_PARAMETERS & self.body.keys())
        if clash:
            raise UserError(f"the audit sets {', '.join(clash)} itself: leave it out of the body")

    def complete(
        self, prompt: str, max_tokens: int, temperature: float, seed: int | None = None
    ) -> Completion:
        """Request one completion.

        Raises:
            UserError: if the endpoint does not answer, or not with tokens.
        """
        body: dict[str, Any] = {
            **self.body,
            "model": self.model,
            "prompt": prompt,
            "max_tokens": max_tokens,
            "temperature": temperature,
            "logprobs": LOGPROBS,
        }
        if seed is not None:
            body["seed"] = seed
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        address = f"{self.url.rstrip('/')}/completions"
        try:
            answer = self._client.post(address, json=body, headers=headers).raise_for_status()
            return completion_of(answer.json())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(f"{address} does not answer: {first_line(error)}") from None
        except UserError as error:
            raise UserError(f"{address} did not answer with a completion: {error}") from None
        except MALFORMED:
            expected = "expected choices with logprobs and their tokens"
            raise UserError(f"{address} did not answer with a completion: {expected}") from None


def completion_of(answer: Mapping[str, Any]) -> Completion:
    """Return the completion of a response.

    Forms: ``logprobs`` with ``tokens`` and ``top_logprobs`` (OpenAI completions, vLLM, SGLang), and
    with ``content`` (chat, and llama-server, which has it for completions, too).

    Raises:
        UserError: if it has no log probabilities.
    """
    choice = answer["choices"][0]
    reported = choice.get("logprobs")
    if not reported:
        raise UserError("it has no logprobs: start the server with log probabilities on")
    if "content" in reported:
        return _of_content(reported["content"])
    likely = [dict(row or {}) for row in reported.get("top_logprobs") or ()]
    chosen = list(reported.get("token_logprobs") or ())
    return Completion(tuple(map(str, reported["tokens"])), likely, chosen)


def _likely_of(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the log probabilities of the likeliest tokens of a row."""
    likely = {}
    for one in row.get("top_logprobs") or ():
        likely[str(one["token"])] = float(one["logprob"])
    return likely


def _of_content(rows: Sequence[Mapping[str, Any]]) -> Completion:
    """Return the completion of a list of tokens with their log probabilities."""
    return Completion(
        tokens=tuple(str(row["token"]) for row in rows),
        likely=[_likely_of(row) for row in rows],
        chosen=[row.get("logprob") for row in rows],
    )


@dataclass(slots=True)
class StatisticalAudit(Result):
    """The result of :func:`statistical`.

    Attributes:
        alpha: the largest rate of false alarms.
        prompts: the number of prompts.
        greedy: prompts by kind (:func:`compare`).
        bug: a description of the first bug.
        pairs: sampled pairs.
        evidence: the test's wealth: at 1 / ``alpha`` the distributions differ.
        complete: whether the audit was not interrupted.
    """

    alpha: float
    prompts: int
    greedy: Counter[str] = field(default_factory=Counter)
    bug: str = ""
    pairs: int = 0
    evidence: float = 1.0
    complete: bool = False
    title = "Audit of losslessness"
    noun = "audit"

    @property
    def exit_code(self) -> int:
        """1 if a difference was found, 130 if the audit was interrupted."""
        if self.verdict == "not lossless":
            return 1
        return 0 if self.complete else INTERRUPTED

    def lines(self) -> list[str]:
        """Return the verdict with its evidence."""
        return [str(self)]

    def tables(self) -> list[Table]:
        """Return the greedy prompts by kind, and the evidence of the sampled pairs."""
        rows: list[list[Value]] = [["greedy texts", "prompts"]]
        for kind, count in self.greedy.items():
            rows.append([kind, count])
        head = ["sampled pairs", "evidence", "differs from"]
        evidence = [self.pairs, self.evidence, 1 / self.alpha]
        return [Table("Greedy texts", rows), Table("Samples", [head, evidence])]

    def parts(self) -> list[str | Table]:
        """Return the line of the verdict, which has all figures."""
        return list(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON data."""
        return {
            "verdict": self.verdict,
            "result": str(self),
            "prompts": self.prompts,
            "greedy": dict(self.greedy),
            "pairs": self.pairs,
            "evidence": self.evidence,
            "alpha": self.alpha,
            "complete": self.complete,
        }

    @property
    def differs(self) -> bool:
        """Whether the sampled distributions differ."""
        return self.evidence >= 1 / self.alpha

    @property
    def verdict(self) -> str:
        """``not lossless``, ``no difference found`` or ``unfinished``."""
        if self.differs or self.bug:
            return "not lossless"
        return "no difference found" if self.complete else "unfinished"

    def __str__(self) -> str:
        """Return the result in one line."""
        greedy = ", ".join(f"{n} {kind}" for kind, n in self.greedy.items())
        return (
            f"{self.verdict}: greedy texts of {self.prompts} prompts: {greedy}{self.bug}; "
            f"{self.pairs} sampled pairs, evidence {self.evidence:.3g} of {1 / self.alpha:.0f} "
            f"(false alarms at most {self.alpha:g})"
        )


def _no_progress(state: str) -> None:
    """Report nothing."""


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
    progress: Callable[[str], None] = _no_progress,
) -> StatisticalAudit:
    """Compare the endpoints on ``prompts``: one greedy text each, then up to ``samples`` pairs of
    sampled texts. The test of pairs stops as soon as it is decided. Ctrl-C ends it with a partial
    result.

    Raises:
        UserError: if the prompts are missing, or an endpoint does not answer.
    """
    if not prompts:
        raise UserError("an audit needs at least one prompt")
    audit = StatisticalAudit(alpha, len(prompts))
    test = PairTest()
    with suppress(KeyboardInterrupt):
        for number, prompt in enumerate(prompts):
            progress(f"greedy {number}/{len(prompts)}")
            ours = speculative.complete(prompt, greedy_tokens, 0.0)
            theirs = plain.complete(prompt, greedy_tokens, 0.0)
            kind, place = compare(ours, theirs, near_tie)
            audit.greedy[kind] += 1
            if kind == "bug" and not audit.bug:
                audit.bug = f" (first at token {place} of prompt {number + 1})"
        for k in range(samples):
            progress(f"sampling {k}/{samples}, evidence {audit.evidence:.3g}")
            place = k % len(prompts)
            # Different seeds: with one seed two lossless endpoints could give the same texts,
            # which is not evidence.
            one = speculative.complete(prompts[place], tokens, temperature, 2 * (seed + k))
            other = plain.complete(prompts[place], tokens, temperature, 2 * (seed + k) + 1)
            audit.evidence = test.add(place, one, other)
            audit.pairs = k + 1
            if audit.differs:
                break
        audit.complete = True
    return audit


def compare(speculative: Completion, plain: Completion, near_tie: float = 0.05) -> tuple[str, int]:
    """Return how greedy texts differ, and where first: ``equal``, ``near-tie`` (by nats), ``bug``
    or ``unknown``.
    """
    pairs = [*zip_longest(plain.tokens, speculative.tokens, fillvalue=None)]
    different = [place for place, (mine, other) in enumerate(pairs) if mine != other]
    if not different:
        return "equal", len(pairs)
    place = different[0]
    mine, other = pairs[place]
    likely = plain.likely[place] if place < len(plain.likely) else {}
    # A text that ended earlier has no token here.
    if not likely or not mine or not other:
        return "unknown", place
    tie = mine in likely and other in likely and likely[mine] - likely[other] <= near_tie
    return ("near-tie" if tie else "bug"), place


@dataclass(slots=True)
class PairTest:
    """The bets on pairs of texts."""

    _log_wealth: list[float] = field(
        default_factory=lambda: (
            [0.0] * (len(SHRINKAGE) + len(SLOPES) + len(EXPONENTS) * len(GROUPS))
        )
    )
    #: For each decoder, the tokens that followed a prompt and the tokens after it.
    _seen: tuple[defaultdict, defaultdict] = field(
        default_factory=lambda: (defaultdict(Counter), defaultdict(Counter))
    )

    def add(self, prompt: Hashable, first: Completion, second: Completion) -> float:
        """Bet on a pair of texts after ``prompt``, and return the wealth: above 1 / alpha the
        distributions differ.
        """
        one = [*self._scores(prompt, first.tokens), *tilts(first)]
        other = [*self._scores(prompt, second.tokens), *tilts(second)]
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            # The stake is 2 * sigma(a - b): fair, since a swap of the texts would have given
            # 2 * sigma(b - a).
            self._log_wealth[k] += math.log(2) - float(np.logaddexp(0.0, b - a))
        for seen, text in zip(self._seen, (first.tokens, second.tokens), strict=True):
            for place, token in enumerate(text):
                seen[prompt, text[:place]][token] += 1
        return fmean(math.exp(min(700.0, log)) for log in self._log_wealth)

    def _scores(self, prompt: Hashable, text: Text) -> list[float]:
        """Return the log likelihood ratio of ``text``, first decoder over second, by what each bet
        learned.
        """
        ratios = [0.0] * len(SHRINKAGE)
        likely = 0.0
        for place, token in enumerate(text):
            first, second = (seen[prompt, text[:place]] for seen in self._seen)
            m = first.total()
            n = second.total()
            a = first[token]
            b = second[token]
            # Half an observation more, so that a token that was never seen is unlikely and not
            # impossible.
            likely += math.log((a + b + 0.5) / (m + n + 1))
            if a + b:
                for k, prior in enumerate(SHRINKAGE):
                    pooled = prior * (a + b) / (m + n)
                    ratios[k] += math.log((a + pooled) / (m + prior) * (n + prior) / (b + pooled))
        return [*ratios, *(slope * likely for slope in SLOPES)]


def tilts(text: Completion) -> list[float]:
    """Return the log likelihood ratios of a text, drawn from rows raised to each of
    :data:`EXPONENTS` at the places of each of :data:`GROUPS` over the returned rows.
    """
    by_place = [_tilts_of_row(row) for row in text.rows()]
    sums = []
    for k in range(len(EXPONENTS)):
        for period, start in GROUPS:
            sums.append(sum(place[k] for place in by_place[start::period]))
    return sums


def _tilts_of_row(row: tuple[float, tuple[float, ...]] | None) -> tuple[float, ...]:
    """Return log(p(token)^γ / Σ p^γ / p(token)) of a row by exponent γ, 0 without one."""
    if row is None:
        return (0.0,) * len(EXPONENTS)
    probability, whole = row
    log = math.log(max(_LEAST, probability))
    tilts = []
    for exponent in EXPONENTS:
        mass = sum(p**exponent for p in whole)
        tilts.append((exponent - 1) * log - math.log(mass))
    return tuple(tilts)
