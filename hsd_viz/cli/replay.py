"""``hsd-viz replay``: what drafters would have brought on a log, without a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from hsd_viz.cli import arguments
from hsd_viz.terminal import progress_bar

_EPILOG = """\
examples:
  hsd-viz replay log.jsonl --tokenizer owner/model
  hsd-viz replay log.jsonl --tokenizer target --drafter db --drafter suffix --state both --json report.json
  hsd-viz replay sharegpt.json --tokenizer path/to/tokenizer.json --build-databases mine/
  hsd-viz replay log.jsonl --tokenizer target --verify-cost free16 --html report.html

Drafts never change the text of greedy or sampled decoding, so the forward passes that each drafter would have saved
follow from the log alone. Logs: JSON lines or one array, also .gz: prompt and output as text or ids, OpenAI chat logs,
AIPerf raw records, ShareGPT. Files of any size are streamed. Drafters that read the target's probabilities (recycling,
db[logits], hd[window]) cannot be replayed. Reports hold no text of the log unless --include-text is given. With --json,
an interrupted replay (Ctrl-C, exit code 130) resumes when the same command is given again.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    text = "count what drafters would have brought on a log, without a model"
    parser = arguments.add_command(commands, "replay", text, run, epilog=_EPILOG)
    add = parser.add_argument
    add("log", type=Path, metavar="LOG", help="a file of requests with their outputs")
    text = (
        "tokenizer of the log's model: a ladder name, a hub id, a folder or a tokenizer.json; not needed for token ids"
    )
    add("--tokenizer", metavar="T", help=text)
    text = "a draft source, as in a stack (repeatable; default db, db[context], hd, lookup, sam, suffix, ngram-cache)"
    add("--drafter", action="append", metavar="NAME", help=text)
    text = "suffix and ngram-cache learn from request to request: cold starts each one empty (default cold)"
    add("--state", choices=("cold", "warm", "both"), default="cold", help=text)
    text = "at most N draft tokens per round for all, cost stopping off, 1-256 (default: each drafter's own limit)"
    add("--budget", type=arguments.number(1, 256), metavar="N", help=text)
    text = (
        "cost of verifying drafts: cpu (0.15 steps per token), free16 (free up to 16 tokens), measured (the ladder's "
        "target on this machine), a number, or c(0),c(1),... (default cpu)"
    )
    add("--verify-cost", default="cpu", metavar="C", help=text)
    text = "temperature the log was sampled at, 0-100: the initial trust of db in its drafts (default 0)"
    add("--temperature", type=arguments.number(0.0, 100.0, float), default=0.0, metavar="T", help=text)
    add("--eos", type=arguments.number(0, 2**21), metavar="ID", help="end-of-text token id (default: the tokenizer's)")
    text = "use the databases in this folder (default: the shipped ones, if they have this tokenizer)"
    add("--databases", type=arguments.folder_name, metavar="DIR", help=text)
    text = "build databases in this folder from the first part of the log, and judge the rest"
    add("--build-databases", type=arguments.folder_name, metavar="DIR", help=text)
    text = "the part of the log that databases are built from, 0.01-0.99 (default 0.5)"
    add("--train-share", type=arguments.number(0.01, 0.99, float), default=0.5, metavar="S", help=text)
    add("--suite", metavar="S", help="the questions of an answer file: a suite or a file (Spec-Bench, SPEED-Bench)")
    add("--limit", type=arguments.number(1, 10**9), metavar="N", help="replay at most N requests")
    add("--strict", action="store_true", help="stop at a broken record instead of counting it")
    add("--include-text", action="store_true", help="list the start of prompts and outputs in the report")
    add("--json", type=arguments.file_name, metavar="OUT", help="write the report; makes the replay resumable")
    add("--html", type=arguments.file_name, metavar="OUT", help="write the report as a page")
    arguments.add_ray(parser, "one drafter")
    add("--restart", action="store_true", help="do not resume an interrupted replay")


def run(args: argparse.Namespace) -> int:
    """Replay, print the tables and write the reports."""
    from hsd_viz.logs.report import replay, replay_sharded

    for path in filter(None, (args.json, args.html)):
        arguments.check_output(path)
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
    if args.json is not None:
        arguments.write_json(args.json, report.to_dict())
    if args.html is not None:
        from hsd_viz.logs.page import page

        arguments.write_text(args.html, page(f"Replay of {args.log.name}", report.introduction(), report.tables()))
    if not report.complete:
        arguments.say("interrupted" + (": the same command resumes" if state else ""))
    return 0 if report.complete else 130
