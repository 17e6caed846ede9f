"""The registry of serving engines: lists the readers of each module.

A new engine has its own module and its entries in these lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from hsd_viz.records.engines import (
    aiperf,
    fastdeploy,
    llama_cpp,
    llama_cpp_lines,
    llama_cpp_statistics,
    lm_studio,
    lmdeploy,
    mlc,
    openai,
    sglang,
    sglang_bench,
    sglang_lines,
    tensorrt_llm,
    tgi,
    tokenspeed,
    vllm,
    vllm_bench,
    vllm_lines,
)
from hsd_viz.records.file_context import Finisher, LinePattern, SampleCompletion, StatisticsObject
from hsd_viz.records.forms import Form
from hsd_viz.records.prometheus import Key
from hsd_viz.records.sample import Sample

#: The metrics of a model in one scrape.
Values = Mapping[Key, float]
#: A reader of an engine's metrics; returns ``None`` for those of another engine.
ReadsMetrics = Callable[[Values], tuple[Sample, Form] | None]
#: A reader of the rows of a summary by name; returns ``None`` for those of another engine.
ReadsRows = Callable[[dict[str, str]], Sample | None]

#: Patterns of log lines, in the order in which they are tried.
PATTERNS: tuple[LinePattern, ...] = (
    *vllm_lines.LINES,
    *sglang_lines.LINES,
    *llama_cpp_lines.LINES,
    *llama_cpp_statistics.LINES,
    *tensorrt_llm.LINES,
)
#: Finishers, in the order in which their samples are added.
FINISHERS: tuple[Finisher, ...] = (
    *llama_cpp_lines.FINISHERS,
    *llama_cpp_statistics.FINISHERS,
    *vllm.FINISHERS,
    *tensorrt_llm.FINISHERS,
)
#: Completions of samples by facts of the whole file.
COMPLETIONS: tuple[SampleCompletion, ...] = (
    *sglang_lines.COMPLETIONS,
    *llama_cpp_statistics.COMPLETIONS,
)
#: JSON objects of statistics that are not of one request.
OBJECTS: tuple[StatisticsObject, ...] = tensorrt_llm.OBJECTS
#: Readers of responses, in the order in which they are tried.
RESPONSES = (
    aiperf.response,
    vllm.response,
    tokenspeed.response,
    sglang.response,
    llama_cpp.response,
    tensorrt_llm.response,
    fastdeploy.response,
    lm_studio.response,
    mlc.response,
    # Last, because other engines report these fields and others.
    openai.response,
)
#: Readers of the state of a server or the result of a benchmark.
RESULTS = (sglang_bench.bench_json, sglang_bench.server_info, sglang_bench.batch_result)
#: Readers of the rows of printed summaries, each with the form of its samples.
SUMMARIES: tuple[tuple[ReadsRows, Form], ...] = (
    (vllm_bench.summary_rows, vllm.BENCH),
    (sglang_bench.summary_rows, sglang.BENCH),
)
#: Matches names of metrics: those of most engines have a colon, as ``vllm:spec_decode``.
METRIC_NAME = re.compile(r"\w:\w|^trtllm_|^tgi_")
#: Readers of counters in a scrape.
COUNTERS: tuple[ReadsMetrics, ...] = (
    vllm.metrics,
    llama_cpp.metrics,
    tensorrt_llm.metrics,
    lmdeploy.metrics,
    tgi.metrics,
)
#: Readers of gauges in a scrape.
GAUGES: tuple[ReadsMetrics, ...] = (sglang.metrics,)
