"""Decoders that draw with torch: its random functions, decided by the enumeration of an exact audit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from hsd_viz.audit.enumeration import Choices


class ChanceTensor:
    """A tensor of random numbers that are known only as far as they were compared."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def _each(self, act: Callable[[Any, Any], Any], other: Any) -> np.ndarray:
        values = torch.as_tensor(other).broadcast_to(self._numbers.shape).flatten().tolist()
        made = [act(number, value) for number, value in zip(self._numbers.flat, values, strict=True)]
        return np.array(made, object).reshape(self._numbers.shape)

    def __lt__(self, other: Any) -> Tensor:
        return torch.from_numpy(self._each(operator.lt, other).astype(bool))

    __le__ = __lt__

    def __gt__(self, other: Any) -> Tensor:
        return ~(self < other)

    __ge__ = __gt__

    def __mul__(self, other: Any) -> ChanceTensor:
        return ChanceTensor(self._each(operator.mul, other))

    __rmul__ = __mul__


@contextmanager
def torch_numbers(choices: Choices) -> Iterator[None]:
    """Within this context ``torch.multinomial`` (one sample), ``torch.rand`` and ``torch.rand_like`` draw from
    ``choices``.
    """

    def multinomial(weights: Tensor, num_samples: int, *_: Any, **__: Any) -> Tensor:
        if num_samples != 1:
            raise ValueError(f"an exact audit supports torch.multinomial with one sample, not {num_samples}")
        rows = weights.reshape(-1, weights.shape[-1]).tolist()
        return torch.tensor([choices.branch(row) for row in rows]).reshape((*weights.shape[:-1], 1))

    def rand(*size: Any, **_: Any) -> ChanceTensor:
        shape = tuple(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
        numbers = np.empty(shape, object)
        numbers.flat = choices.random(numbers.size)
        return ChanceTensor(numbers)

    fakes = {"multinomial": multinomial, "rand": rand, "rand_like": lambda values, **_: rand(values.shape)}
    with patch.multiple(torch, **fakes):
        yield
