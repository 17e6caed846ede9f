"""``hsd-viz import``: records of other engines as traces."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli import arguments

ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm", "aiperf")
_EPILOG = """\
examples:
  hsd-viz import responses.jsonl --save runs/request.json.gz
  hsd-viz import llama-server.log --engine llama.cpp --save run.json.gz
  curl -s localhost:8000/metrics > metrics.txt; hsd-viz import metrics.txt --save server.json.gz

Read are: responses with metrics.speculative_decoding (vLLM, --per-request-spec-decode-metrics), its log lines and the
text of /metrics; responses with meta_info (SGLang); responses with timings and the log of llama-server; iteration
statistics with specDecodingStats (TensorRT-LLM); profile_export.jsonl (AIPerf). JSON is read as one object, lines or an
array. What a source does not report is not observed in the trace; nothing is guessed. `hsd-viz doctor` explains a trace.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM or AIPerf to traces"
    parser = arguments.add_command(commands, "import", text, run, epilog=_EPILOG)
    parser.add_argument("record", type=Path, metavar="RECORD", help="a file of responses, a log or a copy of /metrics")
    parser.add_argument("--engine", choices=ENGINES, help="read records of this engine only (default: any)")
    text = "write the traces; of several, each gets a number before its suffix"
    parser.add_argument("--save", type=arguments.file_name, metavar="FILE", help=text)


def run(args: argparse.Namespace) -> int:
    """Import, print what was observed, and save."""
    from hsd_viz.logs.engines import import_records, save, summary

    if args.save is not None:
        arguments.check_output(args.save)
    with arguments.reading(args.record):
        traces = import_records(args.record, args.engine)
        print(summary(traces))
    if args.save is not None:
        with arguments.writing(args.save):
            for path in save(traces, args.save):
                print(path)
    return 0
