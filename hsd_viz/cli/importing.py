"""``hsd-viz import``: records of other engines as traces, from files or from a server as they arise."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.cli import arguments

if TYPE_CHECKING:
    from hsd_viz.trace import Trace

ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm", "aiperf")
_EPILOG = """\
examples:
  hsd-viz import responses.jsonl --save runs/request.json.gz
  hsd-viz import llama-server.log --engine llama.cpp --save run.json.gz
  curl -s localhost:8000/metrics > metrics.txt; hsd-viz import metrics.txt --save server.json.gz
  hsd-viz import http://127.0.0.1:8080 --prompt "def main(" --max-new-tokens 64 --save request.json.gz

Read are: responses with metrics.speculative_decoding (vLLM, --per-request-spec-decode-metrics), its log lines and the
text of /metrics; responses with meta_info (SGLang); responses with timings and the log of llama-server; iteration
statistics with specDecodingStats (TensorRT-LLM); profile_export.jsonl (AIPerf). JSON is read as one object, lines or an
array. What a source does not report is not observed in the trace; nothing is guessed. `hsd-viz doctor` explains a trace.

The address of an OpenAI-compatible server streams one request: the text goes to standard output as it arrives, the
figures to standard error. Ctrl-C ends it: the trace then has what arrived, and the exit code is 130.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM or AIPerf to traces"
    parser = arguments.add_command(commands, "import", text, run, epilog=_EPILOG)
    text = "a file of responses, a log or a copy of /metrics; or the address of a server, with --prompt"
    parser.add_argument("record", metavar="RECORD", help=text)
    parser.add_argument("--engine", choices=ENGINES, help="read records of this engine only (default: any)")
    text = "write the traces; of several, each gets a number before its suffix"
    parser.add_argument("--save", type=arguments.file_name, metavar="FILE", help=text)
    add = parser.add_argument_group("a request to a server").add_argument
    add("--prompt", metavar="TEXT", help="the prompt")
    add("--chat", action="store_true", help="send it as a user message of a chat")
    add("--model", metavar="M", help="the model, for servers with several")
    limit = arguments.number(1, 100_000)
    add("--max-new-tokens", type=limit, default=128, metavar="N", help="token limit, 1-100000 (default 128)")
    add("--temperature", type=arguments.number(0.0, 100.0, float), default=0.0, metavar="T", help="0-100 (default 0)")
    add("--api-key", metavar="SECRET", help="sent to the server as its bearer token")


def run(args: argparse.Namespace) -> int:
    """Import, print what was observed, and save."""
    from hsd_viz.logs.engines import import_records, save, summary

    if args.save is not None:
        arguments.check_output(args.save)
    code = 0
    if "://" in args.record:
        code, traces = _live(args)
    elif args.prompt is not None:
        raise ValueError(f"--prompt needs the address of a server, such as http://127.0.0.1:8080, not '{args.record}'")
    else:
        with arguments.reading(args.record):
            traces = import_records(Path(args.record), args.engine)
    print(summary(traces), file=sys.stderr if "://" in args.record else sys.stdout)
    if args.save is not None:
        with arguments.writing(args.save):
            for path in save(traces, args.save):
                print(path)
    return code


def _live(args: argparse.Namespace) -> tuple[int, list[Trace]]:
    """Send one request, print its text as it arrives, and return the exit code and its trace."""
    from hsd_viz.logs.live import LiveRequest, lines, printable

    if args.prompt is None:
        raise ValueError("a request to a server needs --prompt TEXT")
    options: dict[str, Any] = {"max_tokens": args.max_new_tokens, "temperature": args.temperature}
    if args.model is not None:
        options["model"] = args.model
    request, code = LiveRequest(args.record, args.prompt, args.chat, args.api_key, options), 0
    try:
        for text in request:
            sys.stdout.write(printable(text))
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    print()
    for line in lines(request):
        print(line, file=sys.stderr)
    return code, [request.trace()]
