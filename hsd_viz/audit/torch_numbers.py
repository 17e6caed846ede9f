"""Decoders that draw with torch: its random functions, decided by the enumeration of an exact audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from hsd_viz.audit.enumeration import Choices


class ChanceTensor:
    """A tensor of random numbers that are known only as far as they were compared."""

    def __init__(self, numbers: Sequence[Any], shape: Sequence[int]) -> None:
        self._numbers, self._shape = numbers, tuple(shape)

    def _compared(self, other: Any, name: str) -> Tensor:
        values = torch.as_tensor(other).expand(self._shape).reshape(-1).tolist()
        found = [getattr(number, name)(value) for number, value in zip(self._numbers, values, strict=True)]
        return torch.tensor(found).reshape(self._shape)

    def __lt__(self, other: Any) -> Tensor:
        return self._compared(other, "__lt__")

    def __le__(self, other: Any) -> Tensor:
        return self._compared(other, "__le__")

    def __gt__(self, other: Any) -> Tensor:
        return self._compared(other, "__gt__")

    def __ge__(self, other: Any) -> Tensor:
        return self._compared(other, "__ge__")

    def __mul__(self, other: Any) -> ChanceTensor:
        values = torch.as_tensor(other).expand(self._shape).reshape(-1).tolist()
        return ChanceTensor([n * v for n, v in zip(self._numbers, values, strict=True)], self._shape)

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
        shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return ChanceTensor(choices.random(torch.Size(shape).numel()), shape)

    def rand_like(values: Tensor, **_: Any) -> ChanceTensor:
        return rand(values.shape)

    fakes = {"multinomial": multinomial, "rand": rand, "rand_like": rand_like}
    with patch.multiple(torch, **fakes):
        yield
