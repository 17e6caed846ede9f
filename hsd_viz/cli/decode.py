"""``hsd-viz decode``: continue a prompt and report how."""

import argparse
import codecs
import json
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, option
from hsd_viz.prompts import read_text
from hsd_viz.stack import HFStack, parse_bench
from hsd_viz.trace import Event, Finished, Stage, Started, Step, Trace
from hsd_viz.trace.trace import checked_name
from hsd_viz.words import counted

_EPILOG = """\
examples:
  hsd-viz decode --stack "db > target" --prompt "def main(" --temperature 0.7
  hsd-viz decode --stack "db > nano:4 > small:8 > target" --prompt-file prompt.py --temperature 0.7 --save run.json.gz
  hsd-viz decode --stack "nano:4 > target" --prompt "class Node:" --temperature 0.7 --seed 3 --json

The text is streamed to standard output, the figures go to standard error. --json prints one object instead: text,
token_ids, stop_reason, stack, stack_resolved, target, metrics, calls_by_level. Ctrl-C or a closed output
pipe (`| head -1`) stops the decode: --save then writes what was decoded so far; the exit code is 130. Write a prompt
that begins with a dash as --prompt=-x.
"""
_CLOSED = "standard output was closed"


def add(commands: argparse._SubParsersAction) -> None:
    text = "continue a prompt with a stack and report the source of each token"
    parser = arguments.add_command(commands, "decode", text, run, epilog=_EPILOG)
    option(parser, "--stack S", "the stack, such as 'db > nano:4 > target' (lookahead 1-64)", required=True)
    prompt = parser.add_mutually_exclusive_group(required=True)
    option(prompt, "--prompt TEXT", "the text to continue")
    option(prompt, "--prompt-file F", "a UTF-8 file with the text to continue; - is standard input", file_name)
    text = "format the prompt as a user turn by the chat template of the target's tokenizer"
    option(parser, "--chat", text, action="store_true")
    option(parser, "--save F.json.gz", "write the trace, for the explorer and for export", file_name)
    option(parser, "--json", "print one JSON object and nothing else", action="store_true")
    arguments.add_sampling(parser)
    arguments.add_machine(parser)


def run(args: argparse.Namespace) -> int:
    """Decode and return the exit code. Raises ValueError for invalid input."""
    if isinstance(parse_bench(args.stack), HFStack):
        raise ValueError(f"'{args.stack.strip()}' is one of transformers' own loops, which only `hsd-viz bench` runs")
    sampling = arguments.sampling(args)
    prompt = _prompt(args)
    arguments.check_outputs(args.save)
    if args.save is not None:
        checked_name(args.save)
    options = {"max_new_tokens": args.max_new_tokens, **asdict(sampling), "chat": args.chat}
    engine = arguments.engine(args)
    if args.save is None:
        events = engine.decode(prompt, args.stack, **options)
    else:
        # The trace then explains its own speed-up (`hsd-viz doctor`).
        # Not above: it imports the decoding, which no help text needs.
        from hsd_viz.engine.beside import PLAIN_TOKENS, decode_beside_plain

        events = decode_beside_plain(engine, prompt, args.stack, least=PLAIN_TOKENS, **options)
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
    tokens = counted(len(trace), "token")
    arguments.say(f"{stopped}; saved {tokens} to {args.save}" if args.save else f"{stopped} after {tokens}")
    return 130


def _prompt(args: argparse.Namespace) -> str:
    if args.prompt_file is None:
        try:
            args.prompt.encode()
        except UnicodeEncodeError:
            # Python represents undecodable bytes of an argument as lone surrogates.
            raise ValueError("the prompt is not UTF-8 text") from None
        return args.prompt
    if str(args.prompt_file) != "-":
        return read_text(args.prompt_file, "prompt")
    if sys.stdin is None:
        raise ValueError("standard input is closed: no prompt to read")
    try:
        return sys.stdin.buffer.read().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"the prompt on standard input is not UTF-8 text (byte {error.start})") from None


def _follow(events: Generator[Event, None, None], show: bool) -> tuple[Trace | None, str | None]:
    """Consume a decode and return (its trace, what stopped it early). The trace is None if no token was reached."""
    trace: Trace | None = None
    # A character may span several tokens; it is shown with its last byte.
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
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
                elif isinstance(event, Step) and trace is not None:
                    trace.append(event)
                    if show:
                        sys.stdout.write(decoder.decode(event.text_bytes))
                        sys.stdout.flush()
                elif isinstance(event, Finished):
                    trace = event.trace
    except KeyboardInterrupt:
        stopped = "interrupted"
    except BrokenPipeError:
        arguments.drop_stdout()
        stopped = _CLOSED
    arguments.status()
    if show and trace is not None:
        try:
            print(decoder.decode(b"", final=True), flush=True)
        except BrokenPipeError:
            arguments.drop_stdout()
            stopped = _CLOSED
    return trace, stopped


def summary(trace: Trace) -> dict[str, Any]:
    """Return the object that ``--json`` prints."""
    figures = trace.metrics()
    calls = figures.pop("calls_by_level")
    return {
        "text": trace.text,
        "token_ids": trace.token_ids,
        "stop_reason": trace.meta["stop_reason"],
        "stack": trace.meta["stack"],
        "stack_resolved": trace.meta["stack_resolved"],
        "target": trace.meta["models"][-1]["model"],
        "metrics": figures,
        "calls_by_level": calls,
    }


def _figures(trace: Trace) -> str:
    m = trace.metrics()
    speed, length = _number(m["tokens_per_second"], ".1f"), _number(m["mean_acceptance_length"], ".2f")
    sources = sorted(m["emitted_by_source"].items(), key=lambda item: -item[1])
    lines = [
        f"{trace.meta['stack_resolved']}: {m['tokens']} tokens in {m['seconds']:.2f} s ({speed} tokens/s)"
        + ("" if trace.meta["cancelled"] else f", stopped by {trace.meta['stop_reason']}"),
        f"  {m['target_forwards']} target forward passes, {length} tokens per pass; "
        f"drafted {m['drafted']}, accepted {m['accepted']} ({_number(m['acceptance_rate'], '.0%')})",
        f"  by source: {', '.join(f'{name} {count}' for name, count in sources) or 'none'}",
    ]
    return "\n".join(lines)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
