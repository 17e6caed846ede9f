"""Damage data and bytes: values replaced or left out, bytes changed, cut, doubled or inserted."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any

SCRIPT = "</script><img src=x onerror=alert(1)>"


#: Values that replace others.
WRONG: list[Any] = [
    *(10**30, -(2**63), 2**63, 2**31, -1, 0, 1.5, 1e999, float("nan"), None, True, [], {}),
    *("", SCRIPT, "\ud800", "\0", "9" * 5000, "x" * 10_000, "/etc/passwd", "../../etc/passwd"),
    *([[[]]], [0] * 1000, {"a": {"a": {}}}, [None], "nan", "-1", "1e5"),
]


#: Contents of no valid file of any kind.
NOTHING = (
    *(b"", b"{", b"[]", b"{}", b"null", b"9" * 5000, b"[" * 100_000, b'{"a":' * 100_000),
    *(b"\xff\xfe" * 50, b"\0" * 1000, b"PK\x03\x04", gzip.compress(b"[" * 1_000_000)),
    *(gzip.compress(gzip.compress(b"{}")), b"\x1f\x8b\x08" + b"x" * 50, b"-1", b"NaN", b'"x"'),
)


def places(data: Any, path: tuple = ()) -> Iterator[tuple]:
    """Yield the places of all values, of lists the first three."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data[:3]):
            yield from places(value, (*path, index))
    yield path


def with_value(data: Any, path: tuple, value: Any) -> Any:
    """Return a copy of data with another value at a place."""
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = with_value(data[path[0]], path[1:], value)
    return copy


def without(data: Any, path: tuple) -> Any:
    """Return a copy of data without the value at a place."""
    copy = data.copy()
    if len(path) > 1:
        copy[path[0]] = without(data[path[0]], path[1:])
    else:
        del copy[path[0]]
    return copy


def damaged_data(data: Any, chance: random.Random) -> Any:
    """Return data with one to three values replaced or left out."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path = chance.choice([*places(data)])
        value = chance.choice(WRONG)
        removes = path and chance.random() < 0.2
        data = without(data, path) if removes else with_value(data, path, value)
        if not isinstance(data, dict | list):
            break
    return data


def damaged_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with some changed, cut, doubled or inserted."""
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 2, 8, 64))):
        if damaged:
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    place = chance.randrange(len(damaged) + 1)
    kind = chance.randrange(4)
    if kind == 0:
        return bytes(damaged[:place])
    if kind == 1:
        return bytes(damaged[:place] + damaged[max(0, place - 100) :])
    if kind == 2:
        return bytes(damaged[:place] + chance.randbytes(20) + damaged[place:])
    return bytes(damaged)


def damaged_json(data: Any, chance: random.Random) -> bytes:
    """Return a damaged JSON file, or something else in its place."""
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(NOTHING)
    if kind < 0.25:
        return damaged_bytes(json.dumps(data).encode(), chance)
    content = json.dumps(damaged_data(data, chance)).encode()
    return gzip.compress(content) if kind > 0.95 else content
