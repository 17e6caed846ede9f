"""A sequential test: do two decoders give texts of one distribution? It can stop at any time.

Texts come in pairs, one of each decoder for the same prompt. If both have one distribution, it is a fair coin which of
two texts came from which decoder, regardless of what is known of earlier pairs. The test bets on that coin with what
earlier pairs suggest: which tokens one decoder prefers, and whether it prefers likely texts. Its mean wealth (an
e-value) exceeds 1 / alpha with a probability of at most alpha, over all times at once (Ville 1939; Shafer 2021). Tokens
are compared given the tokens before them; the evidence of a token is shrunk until it was seen often.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from random import Random
from statistics import fmean

#: Prior weights of "no difference" for the bets by token, in observations of a prefix.
SHRINKAGE = (4.0, 16.0, 64.0)
#: Slopes of the bets by how likely a text is: one decoder may prefer likely texts, or unlikely ones.
SLOPES = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
ALPHA = 0.001

Text = tuple[str, ...]


@dataclass(slots=True)
class PairTest:
    """The bets on pairs of texts. ``evidence`` is the wealth: above 1 / alpha the distributions differ."""

    pairs: int = 0
    _log_wealth: list[float] = field(default_factory=lambda: [0.0] * (len(SHRINKAGE) + len(SLOPES)))
    #: For each decoder, the tokens that followed a prompt and the tokens after it.
    _seen: tuple[defaultdict, defaultdict] = field(default_factory=lambda: (defaultdict(Counter), defaultdict(Counter)))

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
                seen[prompt, text[:place]][token] += 1
        self.pairs += 1
        return self.evidence

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


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def power(
    texts: Mapping[Hashable, Sequence[Text]], pairs: int, alpha: float, trials: int, seed: int
) -> dict[float, float]:
    """Return, by share, how often the test finds a decoder that gives a wrong text in that share of its outputs: the
    prompt's most frequent one instead of one drawn from the observed ``texts``. Share 0 is the rate of false alarms.
    """
    random, prompts = Random(seed), list(texts)
    favourite = {prompt: Counter(some).most_common(1)[0][0] for prompt, some in texts.items()}

    def found(share: float) -> bool:
        test = PairTest()
        for prompt in islice(cycle(prompts), pairs):
            right, wrong = random.choice(texts[prompt]), random.choice(texts[prompt])
            if test.add(prompt, favourite[prompt] if random.random() < share else wrong, right) >= 1 / alpha:
                return True
        return False

    return {share: sum(found(share) for _ in range(trials)) / trials for share in (0.0, 0.05, 0.1, 0.2, 0.4)}
