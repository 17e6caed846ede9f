"""``hsd-viz decode``: a run in the terminal."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as A

from hsd_viz.cli.shared import Json, drop_stdout
from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.disk import STDOUT, read_text, writing
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import INVALID_JSON, UserError
from hsd_viz.settings.argument_types import TraceToWrite
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.stack import MAX_LOOKAHEAD, HFStack, parse_bench
from hsd_viz.terminal import status

if TYPE_CHECKING:
    from hsd_viz.trace import Event, Trace


def decode(
    *,
    stack: A[
        str,
        Setting(
            f"the stack, such as 'db > nano:4 > target' (lookahead 1-{MAX_LOOKAHEAD})",
            CliOption("S"),
        ),
    ],
    prompt: A[
        str | None,
        Setting("the text to continue; this or --prompt-file is required", CliOption("TEXT")),
    ] = None,
    prompt_file: A[
        Path | None,
        Setting("a UTF-8 file with the text to continue; - is standard input", CliOption("F")),
    ] = None,
    chat: A[
        bool,
        Setting(
            "format the prompt as a conversation by the model's chat "
            "template: text is the turn of a user, "
            "a .json file is a list of messages with role and content"
        ),
    ] = False,
    save: A[
        Path | None,
        Setting(
            "write the trace, for the explorer and for export",
            CliOption("F.json.gz", type=TraceToWrite),
        ),
    ] = None,
    json_: Json = None,
    decoding: DecodingOptions,
    machine: EngineOptions,
) -> int:
    """Continue a prompt with a stack and report the source of each token."""
    if isinstance(parse_bench(stack), HFStack):
        raise UserError(
            f"'{stack.strip()}' is one of transformers' own loops, which only `hsd-viz bench` runs"
        )
    if (prompt is None) == (prompt_file is None):
        raise UserError("give the text to continue by one of --prompt and --prompt-file")
    from hsd_viz.engine.beside_plain import PLAIN_TOKENS, decode_beside_plain
    from hsd_viz.engine.local import LocalEngine

    file = Path("/dev/stdin") if str(prompt_file) == "-" else prompt_file
    text: Any = prompt if file is None else read_text(file, "prompt")
    if chat and file is not None and file.suffix == ".json":
        text = _messages(file, text)
    options = replace(decoding, chat=chat)
    engine = LocalEngine.of(machine)
    events: Any = engine.events(text, stack, options)
    if save is not None:
        # A saved trace contains plain decoding, so that `hsd-viz doctor` can explain its speed-up.
        events = decode_beside_plain(engine, text, stack, options, least=PLAIN_TOKENS)
    trace, stopped = _follow(events, is_shown=json_ != STDOUT)
    if trace is None:
        # Interrupted before the first token: until then, nothing is printed.
        raise KeyboardInterrupt
    if save is not None:
        with writing(save):
            trace.save(save)
    from hsd_viz.cli.decode_result import DecodeResult
    from hsd_viz.results.result import print_result

    return print_result(DecodeResult(trace, stopped, save), json=json_, file=sys.stderr)


def _messages(file: Path, text: str) -> Any:
    """Return the content of a JSON file, a conversation that the engine validates."""
    try:
        return json.loads(text)
    except INVALID_JSON:
        raise UserError(f"{file} is not JSON: a conversation is a list of messages") from None


def _follow(
    events: Generator[Event, None, None], is_shown: bool
) -> tuple[Trace | None, str | None]:
    """Consume a decode; return its trace and the reason for which it stopped early. The trace is
    ``None`` if no token was emitted.
    """
    from hsd_viz.trace import Finished, Stage, Started, Step, Trace

    trace: Trace | None = None
    stopped: str | None = None
    # A character may span several tokens; print it with its last byte.
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    try:
        try:
            with closing(events):
                for event in events:
                    match event:
                        case Stage():
                            status(event.text)
                        case Started(meta, pieces):
                            status()
                            trace = Trace(meta, dict(pieces))
                        case Step() if trace is not None:
                            trace.append(event)
                            if is_shown:
                                print(decoder.decode(event.text_bytes), end="", flush=True)
                        case Finished():
                            trace = event.trace
        except KeyboardInterrupt:
            stopped = "interrupted"
        status()
        if is_shown and trace is not None:
            print(decoder.decode(b"", final=True), flush=True)
    except BrokenPipeError:
        drop_stdout()
        stopped = "standard output was closed"
    return trace, stopped
