"""Whole decodes by the compiled loop: what they promise without a look at the reference."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from models import ids, native

from hsd_viz.decoding.record import TOP, Level
from hsd_viz.decoding.sampling import Sampling
from hsd_viz.drafting.db import DatabaseDrafter
from hsd_viz.native.build import default_build
from hsd_viz.native.decode import NativeDatabaseDrafter, NativeDecode

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")

PROMPT = ids(8) * 4


def decode(lookaheads, sampling, prompt=PROMPT, database=False, costs=None, **options) -> NativeDecode:
    names = ["odd", "long heads", "odd", "long heads"][-1 - len(lookaheads) :]
    levels = [Level(name, native(name).session(), look) for name, look in zip(names, [*lookaheads, None], strict=True)]
    drafter = None
    if database:
        drafter = DatabaseDrafter(("context",), {}, costs=costs, temperature=sampling.temperature)
        drafter = NativeDatabaseDrafter(default_build().library, drafter)
    return NativeDecode(levels, drafter, sampling, prompt, **{"max_new_tokens": 40, "details": TOP, **options})


def joined(parts) -> SimpleNamespace:
    """The columns of all calls, by table."""
    parts = list(parts)
    return SimpleNamespace(
        **{
            table: {name: [*itertools.chain(*(part[table][name] for part in parts))] for name in columns}
            for table, columns in parts[0].items()
        }
    )


def batches_of(decode: NativeDecode, ns: int = 40_000_000):
    """The tables of each call."""
    list(decode.prefill())
    return (decode.take()() for _ in decode.rounds(ns))


def run(*args, **options) -> SimpleNamespace:
    return joined(batches_of(decode(*args, **options)))


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(1.2, seed=3)], ids=str)
def test_short_calls_add_up_to_one_long_call(sampling):
    """Every call does at least one target round, and its times lie within those of the decode."""
    found, short = run([2, 3, 5], sampling), decode([2, 3, 5], sampling)
    batches = [*batches_of(short, 0)]
    parts = joined(batches)
    for table, columns in vars(found).items():
        for name in columns.keys() - {"start_ns", "duration_ns"}:
            assert columns[name] == vars(parts)[table][name], name
    assert {batch["rounds"]["parent"].count(None) for batch in batches} == {1}
    assert short.text == [*PROMPT, *parts.tokens["token_id"]] and found.calls["kind"][:4] == ["prefill"] * 4
    spans = [*zip(parts.calls["start_ns"], parts.calls["duration_ns"], strict=True)]
    assert all(a + spent <= b for (a, spent), (b, _) in itertools.pairwise(spans))
    assert sum(parts.calls["duration_ns"]) <= spans[-1][0] + spans[-1][1] <= short.now()


@pytest.mark.parametrize("n", [1, 2, 513, 514, 1026])
def test_a_prompt_is_fed_in_parts_but_for_its_last_token(n):
    prompt = (ids(600, n) * 2)[:n]
    loop = decode([4], Sampling(), prompt, database=True, max_new_tokens=2)
    stages = [*loop.prefill()]
    assert [name for name, done, total in stages if done == total] == ["odd", "long heads"][: 2 * (n > 1)]
    calls = joined(loop.take()() for _ in loop.rounds()).calls
    fed = [
        (k, fed) for k, fed, kind in zip(calls["level"], calls["fed"], calls["kind"], strict=True) if kind == "prefill"
    ]
    whole = [min(512, n - 1 - begin) for begin in range(0, n - 1, 512)]
    assert fed == [(0, n), *((1, part) for part in whole), *((2, part) for part in whole)]


def test_a_decode_is_cancelled_by_making_no_further_call():
    expected, cancelled = run([4], Sampling(1.0, seed=1)), decode([4], Sampling(1.0, seed=1))
    calls = batches_of(cancelled, 0)
    some = joined([next(calls) for _ in range(6)]).tokens["token_id"]
    calls.close()
    del calls, cancelled
    assert 0 < len(some) < 40 and some == expected.tokens["token_id"][: len(some)]
    assert run([4], Sampling(1.0, seed=1)).tokens == expected.tokens


def test_a_token_outside_of_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match="vocabulary"):
        run([], Sampling(), [1, 2, 5000, 3])
