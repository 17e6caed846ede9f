"""An OpenAI-style completions endpoint, by the standard library alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

TIMEOUT = 120.0
#: Likeliest tokens requested per position.
LOGPROBS = 5


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion: its ``tokens`` as text (words, where the endpoint does not report tokens) and, by position, the log
    probabilities of the likeliest tokens, where reported."""

    tokens: tuple[str, ...]
    likely: tuple[dict[str, float], ...] | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint: ``url`` up to and including ``/v1``, the ``model`` it is asked for, and an optional API ``key``."""

    url: str
    model: str
    key: str | None = None

    def complete(self, prompt: str, max_tokens: int, temperature: float, seed: int | None = None) -> Completion:
        """Request one completion.

        Raises:
            ValueError: if the endpoint does not answer, or not with a completion.
        """
        body: dict[str, Any] = {"model": self.model, "prompt": prompt, "max_tokens": max_tokens}
        body |= {"temperature": temperature, "logprobs": LOGPROBS} | ({} if seed is None else {"seed": seed})
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        address = f"{self.url.rstrip('/')}/completions"
        if not address.startswith(("http://", "https://")):
            raise ValueError(f"the endpoint '{self.url}' is not an address: it starts with http:// or https://")
        try:
            with urlopen(Request(address, json.dumps(body).encode(), headers), timeout=TIMEOUT) as answer:
                return _completion(json.loads(answer.read())["choices"][0])
        except HTTPError as error:
            raise ValueError(f"{address} answered {error.code} {error.reason}") from None
        except (URLError, HTTPException, OSError) as error:
            raise ValueError(f"{address} does not answer: {getattr(error, 'reason', None) or error}") from None
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise ValueError(f"{address} did not answer with a completion: expected choices with a text") from None


def _completion(choice: dict[str, Any]) -> Completion:
    found = choice.get("logprobs") or {}
    if tokens := found.get("tokens"):
        likely = found.get("top_logprobs")
        return Completion(tuple(map(str, tokens)), None if likely is None else tuple(dict(row or {}) for row in likely))
    return Completion(tuple(re.findall(r"\s*\S+|\s+$", str(choice["text"]))), None)
