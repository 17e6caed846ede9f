"""SGLang's figures of a whole server: ``/get_server_info``, ``bench_one_batch_server`` and
``bench_serving``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hsd_viz.records.engines.sglang import BATCH, BENCH, SERVER_INFO
from hsd_viz.records.fields import Number, typed
from hsd_viz.records.file_context import number
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import Sample


class _State(msgspec.Struct):
    """The state of a rank of a server.

    Attributes:
        avg_spec_accept_length: the tokens per verification since the start.
        last_gen_throughput: the tokens per second.
    """

    avg_spec_accept_length: Number | None = None
    last_gen_throughput: Number | None = None


class _ServerInfo(msgspec.Struct):
    """The state of a server.

    Attributes:
        internal_states: the states of the ranks; other values in the list are ignored.
        speculative_num_steps: the configured steps of a draft.
        speculative_eagle_topk: the branches of a draft; 1: a chain.
    """

    internal_states: list[Any]
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None


def server_info(value: Mapping[str, Any]) -> tuple[Sample, Form] | None:
    """Return the sample of ``/get_server_info``: the mean over its ranks, each with equal
    weight.
    """
    if not isinstance(value.get("internal_states"), list):
        return None
    info = typed(value, _ServerInfo)
    states = [typed(rank, _State) for rank in info.internal_states if isinstance(rank, Mapping)]
    lengths = [state.avg_spec_accept_length for state in states if state.avg_spec_accept_length]
    if not lengths:
        return None
    speed = sum(state.last_gen_throughput or 0.0 for state in states)
    chain = info.speculative_eagle_topk in (None, 1)
    sample = Sample(
        length=sum(lengths) / len(lengths),
        speed=speed or None,
        draft_length=info.speculative_num_steps if chain else None,
    )
    return sample, SERVER_INFO


class _BatchResult(msgspec.Struct):
    """A line of ``bench_one_batch_server``.

    Attributes:
        batch_size: the number of requests decoded together.
        last_gen_throughput: the tokens per second; -1: unknown.
        output_throughput: the tokens per second, by another name.
    """

    batch_size: Number | None
    last_gen_throughput: Number | None = None
    output_throughput: Number | None = None


def batch_result(value: Mapping[str, Any]) -> tuple[Sample, Form] | None:
    """Return the sample of a line of ``bench_one_batch_server``; -1: not known."""
    length = value.get("acc_length")
    if not isinstance(length, int | float) or length <= 0 or "batch_size" not in value:
        return None
    result = typed(value, _BatchResult)
    speed = result.last_gen_throughput or result.output_throughput
    sample = Sample(
        length=float(length),
        running=result.batch_size,
        speed=speed if speed and speed > 0 else None,
    )
    return sample, BATCH


def summary_rows(rows: Mapping[str, str]) -> Sample | None:
    """Return the sample of the rows of a printed summary; ``None`` without an accept length."""
    length = number(rows.get("Accept length"))
    if not length:
        return None
    tpot = number(rows.get("Median TPOT (ms)")) or number(rows.get("Mean TPOT (ms)"))
    running = number(rows.get("Concurrency")) or number(rows.get("Max request concurrency"))
    speed = 1e3 / tpot * (running or 1.0) if tpot else None
    return Sample(length=length, running=running, speed=speed)


class _Serving(msgspec.Struct):
    """A line of ``bench_serving --output-file``.

    Attributes:
        concurrency: the mean number of requests at a time.
        max_concurrency: the maximum number of requests at a time.
        median_tpot_ms: the median time per output token in milliseconds.
        mean_tpot_ms: the mean time per output token in milliseconds.
    """

    concurrency: Number | None = None
    max_concurrency: Number | None = None
    median_tpot_ms: Number | None = None
    mean_tpot_ms: Number | None = None


def bench_json(value: Mapping[str, Any]) -> tuple[Sample, Form] | None:
    """Return the sample of a line of ``bench_serving --output-file`` with its form."""
    length = value.get("accept_length")
    if not isinstance(length, int | float) or not length or "output_throughput" not in value:
        return None
    serving = typed(value, _Serving)
    running = serving.concurrency or serving.max_concurrency
    tpot = serving.median_tpot_ms or serving.mean_tpot_ms
    speed = 1e3 / tpot * (running or 1.0) if tpot else None
    return Sample(length=float(length), running=running, speed=speed), BENCH
