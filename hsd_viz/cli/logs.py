"""``hsd-viz import``, ``replay`` and ``doctor``: runs and logs of other programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, folder_name, number, option
from hsd_viz.terminal import progress_bar, show

if TYPE_CHECKING:
    from hsd_viz.tables import Table
    from hsd_viz.trace import Trace

ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm", "aiperf")
_IMPORT = """\
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
_REPLAY = """\
examples:
  hsd-viz replay log.jsonl --tokenizer owner/model
  hsd-viz replay log.jsonl --tokenizer target --drafter db --drafter suffix --state both --json report.json
  hsd-viz replay sharegpt.json --tokenizer path/to/tokenizer.json --build-databases mine/
  hsd-viz replay log.jsonl --tokenizer target --verify-cost free16 --html report.html

Drafts never change the text of greedy or sampled decoding, so the forward passes that each drafter would have saved
follow from the log alone. Logs: JSON lines or one array, also .gz: prompt and output as text or ids, OpenAI chat logs,
AIPerf raw records, ShareGPT. Files of any size are streamed. Drafters that read the target's probabilities (recycling,
db[logits]) cannot be replayed. Reports hold no text of the log unless --include-text is given. With --json,
an interrupted replay (Ctrl-C, exit code 130) resumes when the same command is given again.
"""
_DOCTOR = """\
examples:
  hsd-viz doctor run.json.gz
  hsd-viz doctor report.json --stack "nano:4 > target"
  hsd-viz doctor responses.jsonl --plain-speed 83 --speed 61 --batch 32
  hsd-viz doctor vllm.log --method eagle3 --gpu H100 --models llama-8b --batch 32
  hsd-viz doctor --acceptance 0.6 --lookahead 5 --method eagle3 --gpu H100 --models llama-8b --batch 32
  hsd-viz doctor --measure "nano:4 > target"

Read are: a trace (decode --save), a report (bench --profile --json) and records of other engines (see `hsd-viz import`),
or acceptance as an engine prints it (--acceptance). Records rarely have times: give tokens per second with and without
speculation, or the times of a round; all at the batch of the run. With --gpu and --models a hardware model fills in what
is missing and answers for other batches. What is unknown is not guessed: the speed-up is then bounded.
"""


def add(commands: argparse._SubParsersAction) -> None:
    _add_replay(commands)
    _add_import(commands)
    _add_doctor(commands)


def _add_replay(commands: argparse._SubParsersAction) -> None:
    text = "count what drafters would have brought on a log, without a model"
    parser = arguments.add_command(commands, "replay", text, run_replay, epilog=_REPLAY)
    add = partial(option, parser)
    add("log LOG", "a file of requests with their outputs", Path)
    text = (
        "tokenizer of the log's model: a ladder name, a hub id, a folder or a tokenizer.json; not needed for token ids"
    )
    add("--tokenizer T", text)
    text = "a draft source, as in a stack (repeatable; default db, db[context], hd, lookup, sam, suffix, ngram-cache)"
    add("--drafter NAME", text, action="append")
    text = "suffix and ngram-cache learn from request to request: cold starts each one empty (default cold)"
    add("--state", text, choices=("cold", "warm", "both"), default="cold")
    text = "at most N draft tokens per round for all, cost stopping off, 1-256 (default: each drafter's own limit)"
    add("--budget N", text, number(1, 256))
    text = (
        "cost of verifying drafts: cpu (0.15 steps per token), free16 (free up to 16 tokens), measured (the ladder's "
        "target on this machine), a number, or c(0),c(1),... (default cpu)"
    )
    add("--verify-cost C", text, default="cpu")
    text = "temperature the log was sampled at, 0-100: the initial trust of db in its drafts (default 0)"
    add("--temperature T", text, number(0.0, 100.0, float), default=0.0)
    add("--eos ID", "end-of-text token id (default: the tokenizer's)", number(0, 2**21))
    text = "use the databases in this folder (default: the shipped ones, if they have this tokenizer)"
    add("--databases DIR", text, folder_name)
    text = "build databases in this folder from the first part of the log, and judge the rest"
    add("--build-databases DIR", text, folder_name)
    text = "the part of the log that databases are built from, 0.01-0.99 (default 0.5)"
    add("--train-share S", text, number(0.01, 0.99, float), default=0.5)
    add("--suite S", "the questions of an answer file: a suite or a file (Spec-Bench, SPEED-Bench)")
    add("--limit N", "replay at most N requests", number(1, 10**9))
    add("--strict", "stop at a broken record instead of counting it", action="store_true")
    add("--include-text", "list the start of prompts and outputs in the report", action="store_true")
    add("--json OUT", "write the report; makes the replay resumable", file_name)
    add("--html OUT", "write the report as a page", file_name)
    arguments.add_ray(parser, "one drafter")
    add("--restart", "do not resume an interrupted replay", action="store_true")


def _add_import(commands: argparse._SubParsersAction) -> None:
    text = "convert records of vLLM, SGLang, llama.cpp, TensorRT-LLM or AIPerf to traces"
    parser = arguments.add_command(commands, "import", text, run_import, epilog=_IMPORT)
    text = "a file of responses, a log or a copy of /metrics; or the address of a server, with --prompt"
    option(parser, "record RECORD", text)
    option(parser, "--engine", "read records of this engine only (default: any)", choices=ENGINES)
    option(parser, "--save FILE", "write one trace; several requests are added up", file_name)
    add = partial(option, parser.add_argument_group("a request to a server"))
    add("--prompt TEXT", "the prompt")
    add("--chat", "send it as a user message of a chat", action="store_true")
    add("--model M", "the model, for servers with several")
    limit = number(1, 100_000)
    add("--max-new-tokens N", "token limit, 1-100000 (default 128)", limit, default=128)
    add("--temperature T", "0-100 (default 0)", number(0.0, 100.0, float), default=0.0)
    add("--api-key SECRET", "sent to the server as its bearer token")


def _add_doctor(commands: argparse._SubParsersAction) -> None:
    text = "explain why speculative decoding is not faster, and what to set"
    parser = arguments.add_command(commands, "doctor", text, run_doctor, epilog=_DOCTOR)
    add = partial(option, parser)
    add("record FILE", "a trace, a bench report or a record of another engine", Path, nargs="?")
    add("--measure STACK", "measure a few short decodes with this stack instead")
    text = "acceptance instead of a record: accepted / drafted, a mean acceptance length, or rates by position: 0.8,0.6"
    add("--acceptance A", text)
    add("--lookahead K", "draft tokens per round, with --acceptance", number(1, 64))
    add("--method M", "the drafter: draft, eagle, eagle3, mtp, dflash, medusa, ngram or suffix (default: the record's)")
    add("--draft-model NAME", "the draft model in the settings to paste")
    add("--target M", "the target of --measure (default target)", default="target")
    add("--stack S", "the row of a bench report (default: the first with a drafter)")
    add("--batch N", "requests per batch of the run (default 1)", number(1, 4096), default=1)
    rate, ms = number(1e-6, 1e9, float), number(0.0, 1e6, float)
    add("--speed R", "tokens per second of a request with speculation", rate)
    add("--plain-speed R", "tokens per second of a request without speculation", rate)
    add("--step-ms MS", "time of a plain step of the target", ms)
    add("--verify-ms MS", "time of the target's forward pass over a draft", ms)
    add("--draft-ms MS", "time of drafting per round", ms)
    add("--overhead-ms MS", "other time per round", ms)
    add("--gpu NAME", "the GPU, as in H100: fill in times that are not known, and answer for other batches")
    add("--models T,D", "with --gpu: the target and its draft model: names or paths of a config.json")
    add("--tp N", "GPUs that share each model (default 1)", number(1, 64), default=1)
    add("--context N", "tokens cached per request (default 2048)", number(1, 10_000_000), default=2048)
    add(
        "--weights FORMAT",
        "bf16, fp8, int8 or int4 (default bf16)",
        choices=("bf16", "fp8", "int8", "int4"),
        default="bf16",
    )
    add("--profile OUT", "write acceptance by position as speculation_profile.json", file_name)
    add("--json OUT", "write the diagnosis", file_name)
    add("--html OUT", "write the diagnosis as a page", file_name)


def run_replay(args: argparse.Namespace) -> int:
    """Replay, print the tables and write the reports."""
    from hsd_viz.logs.report import replay, replay_sharded

    arguments.check_outputs(args.json, args.html)
    if args.databases is not None and args.build_databases is not None:
        raise ValueError("--databases and --build-databases exclude each other: use one of them")
    names = ("tokenizer", "state", "budget", "temperature", "eos", "databases", "build_databases", "train_share")
    options = {name: getattr(args, name) for name in (*names, "suite", "limit", "strict", "include_text", "restart")}
    if args.drafter:
        options["drafters"] = args.drafter
    state = None if args.json is None else args.json.with_name(args.json.name + ".partial")
    if args.ray is not None:
        options["address"] = args.ray
    with progress_bar() as update:
        work = replay if args.ray is None else replay_sharded
        report = work(args.log, verify_cost=args.verify_cost, state_file=state, progress=update, **options)
    print(report)
    _write(args, report.to_dict(), f"Replay of {args.log.name}", report.introduction(), report.tables())
    if not report.complete:
        arguments.say("interrupted" + (": the same command resumes" if state else ""))
    return 0 if report.complete else 130


def run_import(args: argparse.Namespace) -> int:
    """Import, print what was observed, and save."""
    from hsd_viz.adapters.read import import_records, pooled, summary
    from hsd_viz.trace.trace import checked_name

    arguments.check_outputs(args.save)
    if args.save is not None:
        checked_name(args.save)
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
            print(pooled(traces).save(args.save))
    return code


def _live(args: argparse.Namespace) -> tuple[int, list[Trace]]:
    """Send one request, print its text as it arrives, and return the exit code and its trace."""
    from hsd_viz.adapters.live import LiveRequest, lines, printable

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


def run_doctor(args: argparse.Namespace) -> int:
    """Diagnose, print and write."""
    from hsd_viz.logs.doctor import diagnose, roofline_of
    from hsd_viz.logs.observe import from_figures, measure, observe, profile_of, with_times

    if sum(one is not None for one in (args.record, args.measure, args.acceptance)) != 1:
        raise ValueError("give one of FILE, --measure STACK and --acceptance A")
    if (args.gpu is None) != (args.models is None):
        raise ValueError("--gpu and --models belong together: name the GPU and the models on it")
    arguments.check_outputs(args.json, args.html)
    roofline = None
    if args.gpu is not None:
        options = {"context": args.context, "weights": args.weights}
        roofline = roofline_of(args.gpu, args.models.split(","), args.tp, **options)
    if args.measure is not None:
        seen = measure(args.target, args.measure)
    elif args.acceptance is not None:
        seen = from_figures(_rates(args.acceptance), args.lookahead)
    else:
        with arguments.reading(args.record):
            seen = observe(args.record, args.stack)
    times = {name: getattr(args, f"{name}_ms") for name in ("step", "verify", "draft", "overhead")}
    about = {"batch": args.batch, "method": args.method, "draft_model": args.draft_model}
    seen = with_times(seen, speed=args.speed, plain_speed=args.plain_speed, **times, **about)
    found = diagnose(seen, roofline)
    if args.profile is not None:
        with arguments.writing(args.profile):
            profile_of(seen).save(args.profile)
    parts: list[Any] = found.lines()
    for table in found.tables():
        parts += ["", f"{table.title}: {table.note}" if table.note else table.title]
        parts += [table.rows] if table.rows else []
    # On lines of their own, to be pasted.
    settings = [f"  {engine}: {text}" for engine, text in found.flags.items()]
    show([*parts, *(["", f"{found.settings().title}:", *settings] if settings else [])])
    _write(args, found.to_dict(), f"Diagnosis of {seen.source}", found.lines(), [*found.tables(), found.settings()])
    return 0


def _rates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--acceptance {text!r} is not readable: use a number, or rates as in 0.8,0.6,0.5") from None


def _write(args: argparse.Namespace, data: Any, title: str, lines: Iterable[str], tables: Iterable[Table]) -> None:
    """Write the files of --json and --html."""
    if args.json is not None:
        arguments.write_json(args.json, data)
    if args.html is not None:
        from hsd_viz.tables import page

        arguments.write_text(args.html, page(title, lines, tables))
