"""``hsd-viz decode``: continue a prompt, and say how."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.prompts.suites import read_text
from hsd_viz.stack import HFStack, parse_bench
from hsd_viz.trace import Event, Finished, Stage, Started, Step, TokenRow, Trace

_EPILOG = """\
examples:
  hsd-viz decode --stack target --prompt "def main("
  hsd-viz decode --stack "db > nano:4 > small:8 > target" --prompt-file prompt.py --save run.json.gz
  hsd-viz decode --stack "nano:4 > target" --prompt "class Node:" --temperature 0.8 --seed 3 --json

The text goes to standard output as it comes, the figures to standard error. --json prints one object instead:
text, token_ids, stop_reason, stack, stack_resolved, target, padding_note, metrics, calls_by_level. Ctrl-C stops the decode, as
does a reader that leaves (`| head -1`); what was decoded so far is saved when --save was given, and the exit code is 130.
A prompt that begins with a dash is written --prompt=-x.
"""


_LEFT = "standard output was closed"


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "decode",
        help="continue a prompt with a stack",
        description="Continue a prompt with a stack, and say how each token came about.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--stack",
        required=True,
        metavar="S",
        help="who drafts for whom, such as 'db > nano:4 > target' (lookahead 1-64)",
    )
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="TEXT", help="the text to continue")
    prompt.add_argument(
        "--prompt-file",
        type=arguments.file_name,
        metavar="F",
        help="a UTF-8 file with the text to continue; - is standard input",
    )
    parser.add_argument(
        "--chat",
        action="store_true",
        help="give the prompt as a user's turn, by the chat template of the target's tokenizer",
    )
    parser.add_argument(
        "--save", type=arguments.file_name, metavar="F.json.gz", help="write the trace, for the explorer and for export"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    arguments.add_sampling(parser)
    arguments.add_machine(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Decode; returns the exit code. Raises ``ValueError`` with one sentence for bad input."""
    if isinstance(parse_bench(args.stack), HFStack):
        raise ValueError(
            f"'{args.stack.strip()}' is transformers' own loop, which only `hsd-viz bench` runs: decode needs a stack of ours"
        )
    sampling = arguments.sampling(args)
    if args.max_new_tokens < 1:
        raise ValueError(f"max new tokens {args.max_new_tokens} is out of range: it is a whole number from 1")
    prompt = _prompt(args)
    if args.save is not None:
        arguments.check_output(args.save)
    events = arguments.engine(args).decode(
        prompt,
        args.stack,
        max_new_tokens=args.max_new_tokens,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        seed=sampling.seed,
        chat=args.chat,
    )
    trace, stopped = _follow(events, show=not args.json)
    if trace is None:
        raise KeyboardInterrupt
    if args.save is not None:
        with arguments.writing(args.save):
            trace.save(args.save)
    if args.json:
        print(json.dumps(summary(trace)))
    else:
        print(_figures(trace), file=sys.stderr)
    if stopped is None:
        return 0
    count = len(trace.token_rows)
    tokens = f"{count} token{'' if count == 1 else 's'}"
    print(
        f"hsd-viz: {stopped}{f'; saved {tokens} to {args.save}' if args.save is not None else f' after {tokens}'}",
        file=sys.stderr,
    )
    return 130


def _prompt(args: argparse.Namespace) -> str:
    if args.prompt_file is None:
        try:
            args.prompt.encode()
        except UnicodeEncodeError:
            # Python keeps bytes of an argument that it cannot read as lone surrogates.
            raise ValueError("the prompt is not UTF-8 text") from None
        return args.prompt
    if str(args.prompt_file) != "-":
        return read_text(args.prompt_file, "prompt")
    if sys.stdin is None:
        raise ValueError("standard input is closed: there is no prompt to read")
    try:
        return sys.stdin.buffer.read().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"the prompt on standard input is not UTF-8 text (byte {error.start})") from None


def _follow(events: Iterator[Event], show: bool) -> tuple[Trace | None, str | None]:
    """Go along with a decode: (its trace, what stopped it early). The trace is None when no token was reached."""
    trace: Trace | None = None
    text = _Text()
    stopped: str | None = None
    try:
        with closing(events):
            for event in events:
                if isinstance(event, Stage):
                    arguments.status(event.text)
                elif isinstance(event, Started):
                    arguments.status()
                    trace = Trace(event.meta)
                    trace.pieces.update(event.pieces)
                elif isinstance(event, Step):
                    trace.append(event)
                    if show:
                        sys.stdout.write(text.of(event.tokens))
                        sys.stdout.flush()
                elif isinstance(event, Finished):
                    trace = event.trace
    except KeyboardInterrupt:
        stopped = "interrupted"
    except BrokenPipeError:
        arguments.drop_stdout()
        stopped = _LEFT
    arguments.status()
    if show and trace is not None:
        try:
            print(text.of([], last=True), flush=True)
        except BrokenPipeError:
            arguments.drop_stdout()
            stopped = _LEFT
    return trace, stopped


class _Text:
    """Tokens to text: a character may be spread over several tokens, and is shown when its last byte is there."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def of(self, tokens: list[TokenRow], last: bool = False) -> str:
        raw = b"".join(bytes.fromhex(t.raw) if t.raw is not None else t.text.encode() for t in tokens)
        return self._decoder.decode(raw, last)


def summary(trace: Trace) -> dict[str, Any]:
    """What ``--json`` prints."""
    figures = trace.metrics()
    calls = figures.pop("calls_by_level")
    return {
        "text": trace.text,
        "token_ids": trace.token_ids,
        "stop_reason": trace.meta["stop_reason"],
        "stack": trace.meta["stack"],
        "stack_resolved": trace.meta["stack_resolved"],
        "target": trace.meta["models"][-1]["model"],
        "padding_note": trace.meta.get("padding_note"),
        "metrics": figures,
        "calls_by_level": calls,
    }


def _figures(trace: Trace) -> str:
    m = trace.metrics()
    sources = ", ".join(
        f"{name} {count}" for name, count in sorted(m["emitted_by_source"].items(), key=lambda item: -item[1])
    )
    speed = _number(m["tokens_per_second"], ".1f")
    lines = [
        f"{trace.meta['stack_resolved']}: {m['tokens']} tokens in {m['seconds']:.2f} s ({speed} tokens/s)"
        + ("" if trace.meta["cancelled"] else f", stopped by {trace.meta['stop_reason']}"),
        f"  target forwards {m['target_forwards']}, {_number(m['mean_acceptance_length'], '.2f')} tokens each; "
        f"drafted {m['drafted']}, accepted {m['accepted']} ({_number(m['acceptance_rate'], '.0%')})",
        f"  from {sources or 'nobody'}",
    ]
    if note := trace.meta.get("padding_note"):
        lines.append(f"  {note}")
    return "\n".join(lines)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
