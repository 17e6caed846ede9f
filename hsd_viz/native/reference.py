"""The reference of the native forward pass in numpy, as specified in
``docs/reference/arithmetic.md``.

It is bit-equal to the library in both arithmetics of int8, and needs no compiler.

    x = embedding
    in each layer: x += o(attention(rotate(qkv(norm(x)))))
                   x += down(silu(gate(norm(x))) * up(norm(x)))
    logits = head(norm(x))

Sums over an axis that is not the last are computed in order, one addend after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd_viz.decoding.sampling import exponential, lane_sums
from hsd_viz.decoding.session import Session
from hsd_viz.drafting.semantic_database import quantize_states, watched_layer
from hsd_viz.errors import UserError
from hsd_viz.models.matrix import GroupedMatrix
from hsd_viz.native.rounding import GROUP, padded
from hsd_viz.native.weights import Weights, angles

ONE = np.float32(1)
#: A row whose numbers are all smaller than this is quantized to zeros.
MIN_MAGNITUDE = np.float32(1e-30)
#: The largest integers of rows quantized to 8, 12, 14 and 16 bits.
MAX_INT8 = 127
MAX_INT12 = 2047
MAX_INT14 = 16383
MAX_INT16 = 32767


def quantized(x: np.ndarray, most: int = MAX_INT8) -> tuple[np.ndarray, np.ndarray]:
    """Quantize rows ``[..., k]`` to integers up to ``most``, with scales ``[..., 1]``."""
    largest = np.abs(x).max(-1, keepdims=True)
    most_float = np.float32(most)
    some = largest >= MIN_MAGNITUDE
    factor = np.where(some, most_float / np.where(some, largest, ONE), np.float32(0))
    scale = np.where(some, largest / most_float, np.float32(0))
    return np.rint(x * factor), scale


def products(a: np.ndarray, b: np.ndarray, most: int = MAX_INT8 * MAX_INT8) -> np.ndarray:
    """Return the matrix product of integers in float32. Each sum is exact before it is rounded.

    A product of two numbers is at most ``most``. Integers are exact up to 24 bits in float32 and 53
    bits in float64.
    """
    exact = np.float32 if a.shape[-1] * most < 2**24 else np.float64
    exact_sums = a.astype(exact, copy=False) @ b.astype(exact, copy=False)
    return exact_sums.astype(np.float32, copy=False)


def row_products(x: np.ndarray, matrix: GroupedMatrix) -> np.ndarray:
    """Multiply rows ``[m, in]`` by a matrix in the arithmetic ``rows``, and return ``[m, out]``.

    y = float32(integer sum) * (scale of the weights * scale of the row).
    """
    numbers, scales = quantized(x)
    return products(numbers, matrix.numbers.T) * (matrix.scales[:, 0] * scales)


def group_products(x: np.ndarray, matrix: GroupedMatrix) -> np.ndarray:
    """Multiply rows ``[m, in]`` by a matrix in the arithmetic ``groups``, and return ``[m, out]``.

    For each group in order: y += scale * float32(integer sum) and, with minima, y += minimum *
    float32(sum of the row's integers). At the end y *= scale of the row.
    """
    numbers, row_scales = quantized(x, MAX_INT16)
    numbers = padded(numbers)
    # Split into two parts of 8 bits, so that the sums of a group fit into 24 bits.
    high = np.floor(numbers / np.float32(256))
    low = numbers - high * np.float32(256)
    weights = padded(matrix.numbers)
    y = np.zeros((len(x), len(weights)), np.float32)
    for group in range(weights.shape[1] // GROUP):
        part = slice(group * GROUP, (group + 1) * GROUP)
        columns = weights[:, part].T.astype(np.float32)
        upper = (high[:, part] @ columns).astype(np.float64)
        lower = (low[:, part] @ columns).astype(np.float64)
        sums = (upper * 256 + lower).astype(np.float32)
        y += matrix.scales[:, group] * sums
        if matrix.minima is not None:
            y += matrix.minima[:, group] * numbers[:, part].sum(-1, keepdims=True)
    return y * row_scales


def normalized(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the RMS normalization of ``x`` ``[..., n]``, times ``weight`` ``[n]``."""
    mean = lane_sums(x * x) / np.float32(x.shape[-1])
    return weight * (x * (ONE / np.sqrt(mean + np.float32(epsilon))))


def rotated(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Rotate the pairs (i, i + half) of heads ``[n, heads, dim]`` by the angles of their positions.

    ``cos`` and ``sin`` are ``[n, 1, dim / 2]``.
    """
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def silu(x: np.ndarray) -> np.ndarray:
    """Return the SiLU activation, x times its sigmoid."""
    return x / (exponential(-x) + ONE)


def attention(
    q: np.ndarray,
    keys: np.ndarray,
    key_scales: np.ndarray,
    values: np.ndarray,
    value_scales: np.ndarray,
    in_groups: bool,
) -> np.ndarray:
    """Return the attention ``[heads, dim]`` of a token.

    Keys and values are those of the positions that the token attends to, in the order of the text,
    as integers of 12 bits for models in groups and of 8 bits for others.

    Args:
        q: the scaled queries ``[heads, dim]``.
        keys: the integers of the keys ``[heads, places, dim]``.
        key_scales: their scales ``[heads, places]``.
        values: the integers of the values ``[heads, places, dim]``.
        value_scales: their scales ``[heads, places]``.
        in_groups: whether the model has a scale per group.
    """
    most = MAX_INT12 if in_groups else MAX_INT8
    numbers, scale = quantized(q, most)
    sums = products(keys, numbers[:, :, None], most * most)[:, :, 0]
    scores = sums * (key_scales * scale)
    weights = exponential(scores - scores.max(-1, keepdims=True))
    total = lane_sums(weights)
    numbers, scale = quantized(weights * value_scales, MAX_INT14)
    if in_groups:
        products_of_values = products(numbers[:, None], values, MAX_INT14 * MAX_INT12)[:, 0]
        return (products_of_values * scale) * (ONE / total)
    high = np.floor(numbers / np.float32(128))
    low = numbers - high * np.float32(128)
    upper = products(high[:, None], values)[:, 0]
    lower = products(low[:, None], values)[:, 0]
    return (upper * (scale * np.float32(128)) + lower * scale) * (ONE / total)


class ReferenceModel:
    """A :class:`~hsd_viz.decoding.session.Model` in int8 that runs in numpy."""

    runtime = "numpy"

    def __init__(self, weights: Weights) -> None:
        if weights.dtype != "int8":
            raise UserError(f"the forward pass in numpy is for int8, not {weights.dtype}")
        self.weights = weights
        self.name = weights.name
        self.dtype = weights.dtype
        self.vocab_size = weights.vocab_size
        self.positions = weights.positions
        self.parameters = weights.parameters
        self.multiply = group_products if weights.in_groups else row_products
        #: The tensors of each layer, by the library's slots; ``rest`` has those outside the layers.
        self.layers: list[dict] = [{} for _ in range(weights.layers)]
        self.rest: dict = {}
        for layer, slot, tensor in weights.items():
            target = self.rest if layer < 0 else self.layers[layer]
            target[slot] = tensor
        head = self.rest.get("head", self.rest["embedding"])
        self.rest["head"] = _first_rows(head, weights.shape.head_rows)

    def session(self, room: int | None = None) -> ReferenceSession:
        """Open an empty sequence."""
        return ReferenceSession(self)

    def embed(self, tokens: Sequence[int]) -> np.ndarray:
        """Return the embeddings ``[n, width]`` of tokens."""
        embedding = self.rest["embedding"]
        minima = embedding.minima
        rows = [*tokens]
        return GroupedMatrix(
            numbers=embedding.numbers[rows],
            scales=embedding.scales[rows],
            minima=None if minima is None else minima[rows],
            bits=embedding.bits,
        ).widened()[:, : self.weights.form.width]


def _first_rows(matrix: GroupedMatrix, rows: int) -> GroupedMatrix:
    """Return the first rows of a matrix."""
    return GroupedMatrix(
        numbers=matrix.numbers[:rows],
        scales=matrix.scales[:rows],
        minima=None if matrix.minima is None else matrix.minima[:rows],
        bits=matrix.bits,
    )


class ReferenceSession(Session):
    """A sequence with a cache of the integers (in float32) and the scales of keys and values.

    The integers are ``[2, layers, heads, places, dim]``, the scales ``[2, layers, heads, places]``.
    """

    def __init__(self, model: ReferenceModel) -> None:
        form = model.weights.form
        self._model = model
        self.length = 0
        self._numbers = np.empty((2, form.layers, form.kv_heads, 0, form.head_dim), np.float32)
        self._scales = np.empty((2, form.layers, form.kv_heads, 0), np.float32)
        self._watched_layer: int | None = None
        self._watched = np.empty((0, form.width), np.float32)

    def watch(self, depth: float) -> None:
        self._watched_layer = watched_layer(depth, len(self._model.layers))

    def states(self, places: Sequence[int]) -> np.ndarray:
        return quantize_states(self._watched[[*places]])

    def forward(
        self, tokens: Sequence[int], rows: int, parents: Sequence[int] | None = None
    ) -> np.ndarray:
        model = self._model
        form = model.weights.form
        if any(not 0 <= token < model.vocab_size for token in tokens):
            raise UserError("a token outside of the vocabulary was fed")
        seen = self._seen(len(tokens), parents)
        self._reserve(self.length + len(tokens))
        x = model.embed(tokens)
        for at, layer in enumerate(model.layers):
            normed = normalized(x, layer["input_norm"], form.epsilon)
            if at == self._watched_layer:
                self._watched = normed
            x = x + model.multiply(self._attend(at, normed, seen), layer["o"])
            normed = normalized(x, layer["post_norm"], form.epsilon)
            gate = model.multiply(normed, layer["gate"])
            up = model.multiply(normed, layer["up"])
            x = x + model.multiply(silu(gate) * up, layer["down"])
        self.length += len(tokens)
        last = normalized(x[-rows:], model.rest["final_norm"], form.epsilon)
        return self._whole_rows(model.multiply(last, model.rest["head"]))

    def _whole_rows(self, logits: np.ndarray) -> np.ndarray:
        """Return logits over the vocabulary: -inf for tokens that a reduced head lacks."""
        tokens = self._model.weights.head_tokens
        if tokens is None:
            return logits
        rows = np.full((len(logits), self._model.vocab_size), -np.inf, np.float32)
        rows[:, tokens] = logits
        return rows

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        places = [base + node for node in nodes]
        end = base + len(nodes)
        for cache in (self._numbers, self._scales):
            cache[:, :, :, base:end] = cache[:, :, :, places]
        self.length = end

    def _seen(self, n: int, parents: Sequence[int] | None) -> list[list[int]]:
        """Return the cache positions that each fed token attends to, in the order of the text."""
        cached = self.length
        seen: list[list[int]] = []
        for i, parent in enumerate(range(-1, n - 1) if parents is None else parents):
            before = range(cached) if parent < 0 else seen[parent]
            seen.append([*before, cached + i])
        return seen

    def _attend(self, at: int, x: np.ndarray, seen: list[list[int]]) -> np.ndarray:
        """Return the attention ``[n, heads * dim]`` of a layer, and add its keys and values to the
        cache.

        Args:
            at: the index of the layer.
            x: the normalized input ``[n, width]``.
            seen: the cache positions that each token attends to.
        """
        form = self._model.weights.form
        q, k, v = self._queries_keys_values(at, x, [len(places) - 1 for places in seen])
        in_groups = self._model.weights.in_groups
        most = MAX_INT12 if in_groups else MAX_INT8
        numbers, scales = quantized(np.stack([k, v]).swapaxes(1, 2), most)
        fed = slice(self.length, self.length + len(x))
        self._numbers[:, at, :, fed] = numbers
        self._scales[:, at, :, fed] = scales[..., 0]
        group = form.heads // form.kv_heads
        out = np.empty((len(q), form.heads * form.head_dim), np.float32)
        for i, places in enumerate(seen):
            keys, values = self._numbers[:, at][:, :, places].repeat(group, 1)
            key_scales, value_scales = self._scales[:, at][:, :, places].repeat(group, 1)
            seen_by_heads = attention(q[i], keys, key_scales, values, value_scales, in_groups)
            out[i] = seen_by_heads.ravel()
        return out

    def _queries_keys_values(self, at: int, x: np.ndarray, places: list[int]) -> list[np.ndarray]:
        """Return the queries, keys and values of a layer, each ``[n, heads, dim]``.

        ``places`` are the positions of the tokens in the text. Queries are multiplied by the factor
        of attention scores.
        """
        model = self._model
        form = model.weights.form
        layer = model.layers[at]
        parts = []
        for slot in ("q", "k", "v"):
            part = model.multiply(x, layer[slot])
            if f"{slot}_bias" in layer:
                part = part + layer[f"{slot}_bias"]
            part = part.reshape(len(x), -1, form.head_dim)
            if f"{slot}_norm" in layer:
                part = normalized(part, layer[f"{slot}_norm"], form.epsilon)
            parts.append(part)
        q, k, v = parts
        if at not in form.layers_without_rotary:
            tables = angles(form.rotary, form.head_dim, max(places) + 1, model.weights.compute)
            cos, sin = (table[places, None] for table in tables)
            q = rotated(q, cos, sin)
            k = rotated(k, cos, sin)
        return [q * np.float32(model.weights.scale), k, v]

    def _reserve(self, places: int) -> None:
        room = self._scales.shape[-1]
        if places <= room:
            return
        more = max(256, places, 2 * room) - room
        self._numbers = np.pad(self._numbers, ((0, 0),) * 3 + ((0, more), (0, 0)))
        self._scales = np.pad(self._scales, ((0, 0),) * 3 + ((0, more),))
