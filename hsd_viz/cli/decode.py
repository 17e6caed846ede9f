"""``hsd-viz decode``: continue a prompt and report how."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as A

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import MachineOptions, SamplingOptions, Save
from hsd_viz.disk import read_text
from hsd_viz.stack import HFStack, parse_bench
from hsd_viz.words import counted

if TYPE_CHECKING:
    from hsd_viz.trace import Event, Trace


def decode(
    *,
    stack: A[str, "S", "the stack, such as 'db > nano:4 > target' (lookahead 1-64)"],
    prompt: A[str | None, "TEXT", "the text to continue; this or --prompt-file is required"] = None,
    prompt_file: A[Path | None, "F", "a UTF-8 file with the text to continue; - is standard input"] = None,
    chat: A[bool, "format the prompt as a user turn by the chat template of the target's tokenizer"] = False,
    save: A[Save | None, "F.json.gz", "write the trace, for the explorer and for export"] = None,
    json_: A[bool, "print one JSON object and nothing else"] = False,
    sampling: SamplingOptions,
    machine: MachineOptions,
) -> int:
    """Continue a prompt with a stack and report the source of each token."""
    if isinstance(parse_bench(stack), HFStack):
        raise ValueError(f"'{stack.strip()}' is one of transformers' own loops, which only `hsd-viz bench` runs")
    if (prompt is None) == (prompt_file is None):
        raise ValueError("give the text to continue by one of --prompt and --prompt-file")
    options = {"max_new_tokens": sampling.max_new_tokens, **asdict(sampling.sampling()), "chat": chat}
    file = Path("/dev/stdin") if str(prompt_file) == "-" else prompt_file
    text = prompt if file is None else read_text(file, "prompt")
    engine = machine.engine()
    if save is None:
        events = engine.decode(text, stack, **options)
    else:
        # The trace then explains its own speed-up (`hsd-viz doctor`).
        from hsd_viz.engine.live import PLAIN_TOKENS, decode_beside_plain

        events = decode_beside_plain(engine, text, stack, least=PLAIN_TOKENS, **options)
    trace, stopped = _follow(events, show=not json_)
    if trace is None:
        raise KeyboardInterrupt
    if save is not None:
        with arguments.writing(save):
            trace.save(save)
    if json_:
        print(json.dumps(summary(trace)))
    else:
        from hsd_viz.tables import lines

        print("\n".join(lines("decode.jinja", meta=trace.meta, figures=trace.metrics())), file=sys.stderr)
    if stopped is None:
        return 0
    tokens = counted(len(trace), "token")
    arguments.say(f"{stopped}; saved {tokens} to {save}" if save else f"{stopped} after {tokens}")
    return 130


def _follow(events: Generator[Event, None, None], show: bool) -> tuple[Trace | None, str | None]:
    """Consume a decode and return (its trace, what stopped it early). The trace is None if no token was reached."""
    from hsd_viz.trace import Finished, Stage, Started, Step, Trace

    trace: Trace | None = None
    stopped: str | None = None
    # A character may span several tokens; it is shown with its last byte.
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    try:
        try:
            with closing(events):
                for event in events:
                    match event:
                        case Stage():
                            arguments.status(event.text)
                        case Started(meta, pieces):
                            arguments.status()
                            trace = Trace(meta, dict(pieces))
                        case Step() if trace is not None:
                            trace.append(event)
                            if show:
                                print(decoder.decode(event.text_bytes), end="", flush=True)
                        case Finished():
                            trace = event.trace
        except KeyboardInterrupt:
            stopped = "interrupted"
        arguments.status()
        if show and trace is not None:
            print(decoder.decode(b"", final=True), flush=True)
    except BrokenPipeError:
        arguments.drop_stdout()
        stopped = "standard output was closed"
    return trace, stopped


def summary(trace: Trace) -> dict[str, Any]:
    """Return the object that ``--json`` prints."""
    figures = trace.metrics()
    calls = figures.pop("calls_by_level")
    facts = {name: trace.meta[name] for name in ("stop_reason", "stack", "stack_resolved")}
    facts["target"] = trace.meta["models"][-1]["model"]
    return {"text": trace.text, "token_ids": trace.token_ids, **facts, "metrics": figures, "calls_by_level": calls}
