import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hsd_viz.intervals import UNKNOWN, Estimate
from hsd_viz.serialize import Record, from_dict, to_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    name: str
    pair: tuple[int, int] | None
    parts: dict[str, Part]
    many: tuple[float, ...] = ()
    options: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    speed: Estimate


WHOLE = Whole(name="x", pair=(1, 2), parts={"a": Part(length=3)}, options={"k": [1]})


def test_data_and_back():
    data = json.loads(json.dumps(to_dict(WHOLE)))
    assert data == {"name": "x", "pair": [1, 2], "parts": {"a": {"length": 3}}, "many": [], "options": {"k": [1]}}
    assert from_dict(Whole, data) == WHOLE
    assert from_dict(Whole, {**data, "unknown": 1, "many": [1]}).many == (1.0,)
    assert to_dict(Measured(Estimate(2.0, 1.0, 3.0))) == {"speed": 2.0, "speed_ci": [1.0, 3.0]}
    assert to_dict(Measured(UNKNOWN)) == {"speed": None, "speed_ci": None}


@pytest.mark.parametrize(
    "change",
    [
        {"name": 1},
        {"pair": [1]},
        {"pair": [1, True]},
        {"parts": []},
        {"many": 1},
    ],
)
def test_values_of_another_type_are_refused(change):
    with pytest.raises((TypeError, ValueError)):
        from_dict(Whole, {**to_dict(WHOLE), **change})


def test_a_field_without_a_default_is_needed():
    with pytest.raises(KeyError, match="pair"):
        from_dict(Whole, {"name": "x", "parts": {}})
    with pytest.raises(TypeError, match="needs an object"):
        from_dict(Whole, [])


@dataclass(frozen=True, slots=True)
class Pair:
    values: tuple[int, ...] = field(metadata={"bare": True})


@dataclass(frozen=True, slots=True)
class Table(Record):
    rows: Mapping[tuple[str, str], Pair]
    inner: Mapping[int, float] = field(default_factory=dict)


def test_a_mapping_of_tuples_is_a_list_and_a_bare_record_its_value():
    table = Table({("a", "b"): Pair((1, 2))}, {3: 0.5})
    data = json.loads(json.dumps(table.to_dict()))
    assert data == {"rows": [["a", "b", [1, 2]]], "inner": {"3": 0.5}}
    assert Table.from_dict(data) == table
    assert Table.from_dict({"rows": []}).rows == {}


@pytest.mark.parametrize("data", [{}, [], {"rows": 3}, {"rows": [["a", "b", 3]]}, {"rows": [["a", 1, [1]]]}])
def test_a_record_of_another_form_is_named(data):
    with pytest.raises(ValueError, match="not a table: unexpected form"):
        Table.from_dict(data)
