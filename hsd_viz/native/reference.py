"""The forward pass in numpy: ``docs/reference/arithmetic.md`` in code, bit-equal to the library, and what runs where
there is no compiler.

    x = embedding;  per layer: x += o(attention(turn(qkv(norm(x)))));  x += down(silu(gate(norm(x))) * up(norm(x)))

and logits = head(norm(x)). Sums over an axis that is not the last are added in order, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.sampling import exponential, lane_sums
from hsd_viz.decoding.session import Session
from hsd_viz.errors import UserError
from hsd_viz.native.weights import Bytes, Weights, angles

ONE = np.float32(1)
#: A row without a number of at least this size is all zeros in 8 bits.
SMALLEST = np.float32(1e-30)


def quantised(x: np.ndarray, most: int = 127) -> tuple[np.ndarray, np.ndarray]:
    """Return rows ``[..., k]`` as integers up to ``most`` (held in float32) and their scales ``[..., 1]``."""
    largest, most = np.abs(x).max(-1, keepdims=True), np.float32(most)
    some = largest >= SMALLEST
    by = np.where(some, most / np.where(some, largest, ONE), np.float32(0))
    return np.rint(x * by), np.where(some, largest / most, np.float32(0))


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix product of 8-bit numbers in float32, each sum exact before it is rounded: sums of up to 1 040
    products are integers of 24 bits.
    """
    exact = np.float32 if a.shape[-1] <= 1040 else np.float64
    return (a.astype(exact, copy=False) @ b.astype(exact, copy=False)).astype(
        np.float32, copy=False
    )


def normalised(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    """Return ``x`` ``[..., n]`` over its root mean square, times ``weight`` ``[n]``."""
    mean = lane_sums(x * x) / np.float32(x.shape[-1])
    return weight * (x * (ONE / np.sqrt(mean + np.float32(epsilon))))


def turned(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Turn the pairs (i, i + half) of heads ``[n, heads, dim]`` by the angles of their places ``[n, 1, dim / 2]``."""
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attention(q: np.ndarray, keys: Bytes, values: Bytes) -> np.ndarray:
    """Return ``[heads, dim]`` for one token: scaled queries ``[heads, dim]`` and the 8-bit keys and values of what it
    sees, in the order of the text ``[heads, places, dim]`` with their scales ``[heads, places]``.
    """
    numbers, scale = quantised(q)
    scores = products(keys.numbers, numbers[:, :, None])[:, :, 0] * (keys.scales * scale)
    weights = exponential(scores - scores.max(-1, keepdims=True))
    numbers, scale = quantised(weights * values.scales, 16383)
    high = np.floor(numbers / np.float32(128))
    upper, lower = (
        products(part[:, None], values.numbers)[:, 0]
        for part in (high, numbers - high * np.float32(128))
    )
    return (upper * (scale * np.float32(128)) + lower * scale) * (ONE / lane_sums(weights))


class ReferenceModel:
    """A model in 8-bit integers that numpy runs; a :class:`~hsd_viz.decoding.session.Model`."""

    runtime = "numpy"

    def __init__(self, weights: Weights) -> None:
        if weights.dtype != "int8":
            raise UserError(f"the forward pass in numpy is for int8, not {weights.dtype}")
        self.weights, self.name, self.dtype = weights, weights.name, weights.dtype
        self.vocab_size, self.positions, self.parameters = (
            weights.vocab_size,
            weights.positions,
            weights.parameters,
        )
        self.layers: list[dict] = [{} for _ in range(weights.layers)]
        self.rest: dict = {}
        for layer, slot, tensor in weights.items():
            if isinstance(tensor, Bytes):
                exact = np.float32 if tensor.numbers.shape[1] <= 1040 else np.float64
                tensor = Bytes(tensor.numbers.astype(exact).T, tensor.scales)
            (self.rest if layer < 0 else self.layers[layer])[slot] = tensor
        head = self.rest["head"]
        self.rest["head"] = Bytes(
            head.numbers[:, : self.vocab_size], head.scales[: self.vocab_size]
        )

    def session(self, room: int | None = None) -> ReferenceSession:
        """Open an empty sequence."""
        return ReferenceSession(self)


class ReferenceSession(Session):
    """One sequence: 8-bit keys and values ``[2, layers, heads, places, dim]``, held in float32, and their scales."""

    def __init__(self, model: ReferenceModel) -> None:
        self._model, w, self.length = model, model.weights, 0
        self._numbers = np.empty((2, w.layers, w.kv_heads, 0, w.head_dim), np.float32)
        self._scales = np.empty((2, w.layers, w.kv_heads, 0), np.float32)

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        model, w, n, cached = self._model, self._model.weights, len(tokens), self.length
        if any(not 0 <= token < model.vocab_size for token in tokens):
            raise UserError("a token outside of the vocabulary was fed")
        seen: list[
            list[int]
        ] = []  # of each token the places of the cache that it sees, in the order of the text
        for i, parent in enumerate(range(-1, n - 1) if parents is None else parents):
            seen.append([*(range(cached) if parent < 0 else seen[parent]), cached + i])
        cos, sin = (
            part[[len(s) - 1 for s in seen], None]
            for part in angles(*w.rotary, cached + n, w.compute)
        )
        self._reserve(cached + n)
        embedding = model.rest["embedding"]
        x = (
            embedding.numbers.T[list(tokens)].astype(np.float32)
            * embedding.scales[list(tokens), None]
        )
        for at, layer in enumerate(model.layers):
            q, k, v = self._apply(
                normalised(x, layer["input_norm"], w.epsilon), layer, "q", "k", "v"
            )
            q, k, v = (part.reshape(n, -1, w.head_dim) for part in (q, k, v))
            q, k = (
                normalised(q, layer["q_norm"], w.epsilon),
                normalised(k, layer["k_norm"], w.epsilon),
            )
            q, k = turned(q, cos, sin) * np.float32(w.scale), turned(k, cos, sin)
            numbers, scales = quantised(np.stack([k, v]).swapaxes(1, 2))
            self._numbers[:, at, :, cached : cached + n] = numbers
            self._scales[:, at, :, cached : cached + n] = scales[..., 0]
            x = x + self._apply(self._attend(at, q, seen), layer, "o")[0]
            gate, up = self._apply(
                normalised(x, layer["post_norm"], w.epsilon), layer, "gate", "up"
            )
            x = x + self._apply(gate / (exponential(-gate) + ONE) * up, layer, "down")[0]
        self.length = cached + n
        return self._apply(
            normalised(x[-rows:], model.rest["final_norm"], w.epsilon), model.rest, "head"
        )[0]

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        places, end = [base + node for node in nodes], base + len(nodes)
        for cache in (self._numbers, self._scales):
            cache[:, :, :, base:end] = cache[:, :, :, places]
        self.length = end

    def _apply(self, x: np.ndarray, layer: dict, *slots: str) -> list[np.ndarray]:
        """Multiply rows with matrices: y = float32(integer sum) * (scale of the weights * scale of the row)."""
        numbers, scales = quantised(x)
        return [
            products(numbers, layer[slot].numbers) * (layer[slot].scales * scales) for slot in slots
        ]

    def _attend(self, at: int, q: np.ndarray, seen: list[list[int]]) -> np.ndarray:
        group = q.shape[1] // self._scales.shape[2]
        out = np.empty((len(q), q.shape[1] * q.shape[2]), np.float32)
        for i, places in enumerate(seen):
            chain = places[-1] - places[0] == len(places) - 1
            where = slice(places[0], places[-1] + 1) if chain else places
            cache = zip(
                self._numbers[:, at][:, :, where], self._scales[:, at][:, :, where], strict=True
            )
            keys, values = (
                Bytes(numbers.repeat(group, 0), scales.repeat(group, 0))
                for numbers, scales in cache
            )
            out[i] = attention(q[i], keys, values).ravel()
        return out

    def _reserve(self, places: int) -> None:
        if places > (room := self._scales.shape[-1]):
            more = max(256, places, 2 * room) - room
            self._numbers = np.pad(self._numbers, ((0, 0),) * 3 + ((0, more), (0, 0)))
            self._scales = np.pad(self._scales, ((0, 0),) * 3 + ((0, more),))
