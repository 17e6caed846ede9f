"""OpenAI-style endpoints and their completions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from hsd_viz.errors import MALFORMED, UserError, first_line

TIMEOUT = 120.0
#: Number of most likely tokens requested per position.
LOGPROBS = 5
#: Request parameters that the audit sets itself.
OWN_PARAMETERS = frozenset(
    ("model", "prompt", "max_tokens", "temperature", "logprobs", "seed", "stream", "n")
)
#: Value for probabilities that were rounded to 0.
MIN_PROBABILITY = 1e-12


Text = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion.

    Attributes:
        tokens: the tokens as texts.
        likely: the log probabilities of the most likely tokens by position, if reported.
        chosen: the log probability of the emitted token by position, if reported.
    """

    tokens: Text
    likely: Sequence[Mapping[str, float]] = ()
    chosen: Sequence[float | None] = ()

    def rows(self) -> Iterator[tuple[float, tuple[float, ...]] | None]:
        """Yield for each position the probability of the token and those of all likely tokens;
        ``None`` if not reported. The rest of the vocabulary counts as one token.
        """
        for place, token in enumerate(self.tokens):
            row = self.likely[place] if place < len(self.likely) else {}
            if not row:
                yield None
                continue
            probabilities = {name: math.exp(min(0.0, log)) for name, log in row.items()}
            rest = max(MIN_PROBABILITY, 1 - sum(probabilities.values()))
            yield probabilities.get(token, rest), (*probabilities.values(), rest)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint.

    Attributes:
        url: the address up to and including ``/v1``.
        model: the requested model.
        key: the API key; ``None``: none.
        body: further request parameters, such as penalties.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
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
    """Parse the completion of a response.

    Forms: ``logprobs`` with ``tokens`` and ``top_logprobs`` (OpenAI completions, vLLM, SGLang), and
    with ``content`` (chat, and llama-server, which has it for completions, too).

    Raises:
        UserError: if the response has no log probabilities.
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
    for candidate in row.get("top_logprobs") or ():
        likely[str(candidate["token"])] = float(candidate["logprob"])
    return likely


def _of_content(rows: Sequence[Mapping[str, Any]]) -> Completion:
    """Return the completion of a list of tokens with their log probabilities."""
    return Completion(
        tokens=tuple(str(row["token"]) for row in rows),
        likely=[_likely_of(row) for row in rows],
        chosen=[row.get("logprob") for row in rows],
    )
