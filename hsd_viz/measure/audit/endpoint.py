"""OpenAI-style endpoints and their completions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated as A
from typing import Any

import httpx
import msgspec

from hsd_viz.conversion import OF_ANOTHER_TYPE
from hsd_viz.errors import INVALID_JSON, UserError, first_line

TIMEOUT = 120.0
#: Number of likeliest tokens requested per position.
LOGPROBS = 5
#: Request parameters that the audit sets itself.
OWN_PARAMETERS = frozenset(
    ("model", "prompt", "max_tokens", "temperature", "logprobs", "seed", "stream", "n")
)
#: Value for probabilities that were rounded to 0.
MIN_PROBABILITY = 1e-12
#: The form of a completion, in messages.
EXPECTED = "expected choices with logprobs and their tokens"


Text = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion.

    Attributes:
        tokens: the tokens as texts.
        likely: the log probabilities of the likeliest tokens by position, if reported.
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
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(f"{address} does not answer: {first_line(error)}") from None
        try:
            return completion_of(answer.json())
        except UserError as error:
            raise UserError(f"{address} did not answer with a completion: {error}") from None
        except INVALID_JSON:
            raise UserError(f"{address} did not answer with a completion: {EXPECTED}") from None


class _LikelyToken(msgspec.Struct):
    """A token with its log probability."""

    token: str
    logprob: float


class _TokenRow(msgspec.Struct):
    """An emitted token, with the likeliest tokens of its position."""

    token: str
    logprob: float | None = None
    top_logprobs: list[_LikelyToken] | None = None

    def likely(self) -> dict[str, float]:
        """Return the log probabilities of the likeliest tokens."""
        return {token.token: token.logprob for token in self.top_logprobs or ()}


class _Logprobs(msgspec.Struct):
    """The log probabilities of a completion, in one of two forms: ``content``, or the others."""

    content: list[_TokenRow] | None = None
    tokens: list[str] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None
    token_logprobs: list[float | None] | None = None


class _Choice(msgspec.Struct):
    """A completion of an answer."""

    logprobs: _Logprobs | None = None


class _Answer(msgspec.Struct):
    """The part of an answer that is read."""

    choices: A[list[_Choice], msgspec.Meta(min_length=1)]


def completion_of(answer: Any) -> Completion:
    """Parse the completion of a response.

    Forms: ``logprobs`` with ``tokens`` and ``top_logprobs`` (OpenAI completions, vLLM, SGLang), and
    with ``content`` (chat, and llama-server, which has it for completions, too).

    Raises:
        UserError: if the response has another form, or no log probabilities.
    """
    try:
        reported = msgspec.convert(answer, _Answer).choices[0].logprobs
    except OF_ANOTHER_TYPE:
        raise UserError(EXPECTED) from None
    if reported is None or reported == _Logprobs():
        raise UserError("it has no logprobs: start the server with log probabilities on")
    if reported.content is not None:
        return _of_content(reported.content)
    if reported.tokens is None:
        raise UserError(EXPECTED)
    return Completion(
        tokens=tuple(reported.tokens),
        likely=[row or {} for row in reported.top_logprobs or ()],
        chosen=reported.token_logprobs or (),
    )


def _of_content(rows: Sequence[_TokenRow]) -> Completion:
    """Return the completion of a list of tokens with their log probabilities."""
    return Completion(
        tokens=tuple(row.token for row in rows),
        likely=[row.likely() for row in rows],
        chosen=[row.logprob for row in rows],
    )
