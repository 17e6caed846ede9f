"""The serving engines whose records are read: what each module brings is listed here, once.

A new engine has a module of its own and its entries in these lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hsd_viz.records import (
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
    vllm_lines,
)
from hsd_viz.records.file_context import Finisher, LinePattern, SampleCompletion
from hsd_viz.records.forms import Form
from hsd_viz.records.prometheus import Key
from hsd_viz.records.sample import Sample

#: The metrics of a model in one scrape.
Values = Mapping[Key, float]
#: Reads the metrics of an engine; ``None`` where they are of another one.
ReadsMetrics = Callable[[Values], tuple[Sample, Form] | None]

#: Patterns of log lines, in the order in which they are tried.
PATTERNS: tuple[LinePattern, ...] = (
    *vllm_lines.LINES,
    *sglang_lines.LINES,
    *llama_cpp_lines.LINES,
    *llama_cpp_statistics.LINES,
    *tensorrt_llm.LINES,
)
#: What only the whole file shows, in the order in which it is kept.
FINISHERS: tuple[Finisher, ...] = (
    *llama_cpp_lines.FINISHERS,
    *llama_cpp_statistics.FINISHERS,
    *vllm.FINISHERS,
    *tensorrt_llm.FINISHERS,
)
#: What only a whole file shows of the samples of an engine.
COMPLETIONS: tuple[SampleCompletion, ...] = (
    *sglang_lines.COMPLETIONS,
    *llama_cpp_statistics.COMPLETIONS,
)
#: What reads a response: tried in this order.
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
    # Last: other engines report more beside these fields.
    openai.response,
)
#: What reads the state of a server or the result of a benchmark.
RESULTS = (sglang_bench.bench_json, sglang_bench.server_info, sglang_bench.batch_result)
#: What reads a scrape of counters.
COUNTERS: tuple[ReadsMetrics, ...] = (
    vllm.metrics,
    llama_cpp.metrics,
    tensorrt_llm.metrics,
    lmdeploy.metrics,
    tgi.metrics,
)
#: What reads a scrape of gauges.
GAUGES: tuple[ReadsMetrics, ...] = (sglang.metrics,)
