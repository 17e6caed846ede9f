"""A sequential test: do two decoders give texts of one distribution? It can stop at any time.

Texts come in pairs, one of each decoder for the same prompt. If both have one distribution, it is a fair coin which of
two texts came from which decoder, regardless of what is known of earlier pairs. The test bets on that coin with what
earlier pairs suggest: which tokens one decoder prefers, and whether it prefers likely texts. Its mean wealth (an
e-value) exceeds 1 / alpha with a probability of at most alpha, over all times at once (Ville 1939; Shafer 2021). Tokens
are compared given the tokens before them; the evidence of a token is shrunk until it was seen often.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean

#: Prior weights of "no difference" for the bets by token, in observations of a prefix.
SHRINKAGE = (4.0, 16.0, 64.0)
#: Slopes of the bets by how likely a text is: one decoder may prefer likely texts, or unlikely ones.
SLOPES = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
ALPHA = 0.001

Text = tuple[str, ...]
#: A prompt and the tokens after it.
Prefix = tuple[Hashable, Text]


@dataclass(slots=True)
class PairTest:
    """The bets on pairs of texts. ``evidence`` is the wealth: above 1 / alpha the distributions differ."""

    pairs: int = 0
    _log_wealth: list[float] = field(default_factory=lambda: [0.0] * (len(SHRINKAGE) + len(SLOPES)))
    _seen: tuple[dict[Prefix, Counter[str]], dict[Prefix, Counter[str]]] = field(default_factory=lambda: ({}, {}))

    @property
    def evidence(self) -> float:
        return fmean(math.exp(min(700.0, log)) for log in self._log_wealth)

    def add(self, prompt: Hashable, first: Text, second: Text) -> float:
        """Bet on one pair of texts after ``prompt``, and return the evidence so far."""
        one, other = self._scores(prompt, first), self._scores(prompt, second)
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            # The stake is 2 * sigma(a - b): fair, since a swap of the texts would have given 2 * sigma(b - a).
            self._log_wealth[k] += math.log(2) - _softplus(b - a)
        for seen, text in zip(self._seen, (first, second), strict=True):
            for place, token in enumerate(text):
                seen.setdefault((prompt, text[:place]), Counter())[token] += 1
        self.pairs += 1
        return self.evidence

    def largest_difference(self) -> tuple[Prefix, str, float, float] | None:
        """Return (prefix, token, its frequency for the first decoder, for the second) where the two differ most, in
        standard errors.
        """
        best, found = 0.0, None
        for prefix in self._seen[0].keys() & self._seen[1].keys():
            first, second = (seen[prefix] for seen in self._seen)
            m, n = first.total(), second.total()
            for token in first.keys() | second.keys():
                a, b, both = first[token] / m, second[token] / n, (first[token] + second[token]) / (m + n)
                error = math.sqrt(both * (1 - both) * (1 / m + 1 / n))
                if error and abs(a - b) / error > best:
                    best, found = abs(a - b) / error, (prefix, token, a, b)
        return found

    def _scores(self, prompt: Hashable, text: Text) -> list[float]:
        """Return the log likelihood ratio of ``text``, first decoder over second, by what each bet learned."""
        ratios, likely = [0.0] * len(SHRINKAGE), 0.0
        for place, token in enumerate(text):
            first, second = (seen.get((prompt, text[:place])) or Counter() for seen in self._seen)
            m, n, a, b = first.total(), second.total(), first[token], second[token]
            # Half an observation more, so that a token that was never seen is unlikely and not impossible.
            likely += math.log((a + b + 0.5) / (m + n + 1))
            if a + b:
                for k, prior in enumerate(SHRINKAGE):
                    pooled = prior * (a + b) / (m + n)
                    ratios[k] += math.log((a + pooled) / (m + prior) * (n + prior) / (b + pooled))
        return [*ratios, *(slope * likely for slope in SLOPES)]


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def power(
    texts: dict[Hashable, Sequence[Text]],
    pairs: int,
    *,
    alpha: float = ALPHA,
    shares: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.4),
    trials: int = 100,
    seed: int = 0,
) -> dict[float, float]:
    """Return, by share, how often the test finds a decoder that gives a wrong text in that share of its outputs. The
    right decoder draws from the observed ``texts`` of each prompt; the wrong one gives the prompt's most frequent text
    instead, in the given share. With share 0 this is the rate of false alarms, at most ``alpha`` in expectation.
    """
    random, found = Random(seed), {}
    prompts = list(texts)
    favourite = {prompt: Counter(some).most_common(1)[0][0] for prompt, some in texts.items()}
    for share in shares:
        alarms = 0
        for _ in range(trials):
            test = PairTest()
            for k in range(pairs):
                prompt = prompts[k % len(prompts)]
                right, wrong = random.choice(texts[prompt]), random.choice(texts[prompt])
                wrong = favourite[prompt] if random.random() < share else wrong
                if test.add(prompt, wrong, right) >= 1 / alpha:
                    alarms += 1
                    break
        found[share] = alarms / trials
    return found
