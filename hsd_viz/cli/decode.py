"""``hsd-viz decode``, ``dashboard``, ``serve`` and ``classroom``: runs in the terminal and for
browsers.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from typing import Annotated as A

from hsd_viz.cli import shared
from hsd_viz.cli.arguments import Save
from hsd_viz.declare import Setting
from hsd_viz.disk import read_text, writing
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import INVALID_JSON, UserError
from hsd_viz.options import MAX_NEW_TOKENS, DecodingOptions
from hsd_viz.stack import MAX_LOOKAHEAD, HFStack, parse_bench
from hsd_viz.terminal import say, status

if TYPE_CHECKING:
    from hsd_viz.trace import Event, Trace

_HOST = "the address to serve on; others than loopback need a token"


def decode(
    *,
    stack: A[
        str,
        Setting(
            metavar="S",
            help=f"the stack, such as 'db > nano:4 > target' (lookahead 1-{MAX_LOOKAHEAD})",
        ),
    ],
    prompt: A[
        str | None,
        Setting(
            metavar="TEXT",
            help="the text to continue; this or --prompt-file is required",
        ),
    ] = None,
    prompt_file: A[
        Path | None,
        Setting(
            metavar="F",
            help="a UTF-8 file with the text to continue; - is standard input",
        ),
    ] = None,
    chat: A[
        bool,
        Setting(
            help="format the prompt as a conversation by the model's chat "
            "template: text is the turn of a user, "
            "a .json file is a list of messages with role and content",
        ),
    ] = False,
    save: A[
        Save | None,
        Setting(
            metavar="F.json.gz",
            help="write the trace, for the explorer and for export",
        ),
    ] = None,
    json_: A[
        bool,
        Setting(
            help="print one JSON object and nothing else",
        ),
    ] = False,
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
    from hsd_viz.decoding.engine import DecodeCall, options_of
    from hsd_viz.engine.live import PLAIN_TOKENS, decode_beside_plain
    from hsd_viz.engine.local import LocalEngine

    file = Path("/dev/stdin") if str(prompt_file) == "-" else prompt_file
    text: Any = prompt if file is None else read_text(file, "prompt")
    if chat and file is not None and file.suffix == ".json":
        text = _messages(file, text)
    options = options_of(decoding.sampling, decoding.max_new_tokens)
    options["chat"] = chat
    call = DecodeCall(text, stack, options)
    engine = LocalEngine.of(machine)
    events: Any = call.events(engine)
    if save is not None:
        # A saved trace explains its own speed-up (`hsd-viz doctor`).
        events = decode_beside_plain(engine, call, least=PLAIN_TOKENS)
    trace, stopped = _follow(events, show=not json_)
    if trace is None:
        # Nothing was decoded: standard output was closed at once, or Ctrl-C came before the prompt.
        if stopped == _CLOSED:
            return 1
        raise KeyboardInterrupt
    if save is not None:
        with writing(save):
            trace.save(save)
    from hsd_viz.cli.decoded import DecodeResult
    from hsd_viz.results.result import show

    result = DecodeResult(trace, stopped, save)
    if json_:
        # The object is all of standard output; what stopped the decode is said on standard error.
        print(json.dumps(result.to_dict()))
        if stopped is not None:
            say(result.ending(None))
        return result.exit_code
    return show(result, file=sys.stderr)


def _messages(file: Path, text: str) -> Any:
    """Return what a JSON file holds, a conversation that the engine checks."""
    try:
        return json.loads(text)
    except INVALID_JSON:
        raise UserError(f"{file} is not JSON: a conversation is a list of messages") from None


#: What stops a decode whose reader ended.
_CLOSED = "standard output was closed"


def _follow(events: Generator[Event, None, None], show: bool) -> tuple[Trace | None, str | None]:
    """Consume a decode and return (its trace, what stopped it early). The trace is None if no token
    was reached.
    """
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
                            status(event.text)
                        case Started(meta, pieces):
                            status()
                            trace = Trace(meta, dict(pieces))
                        case Step() if trace is not None:
                            trace.append(event)
                            if show:
                                print(decoder.decode(event.text_bytes), end="", flush=True)
                        case Finished():
                            trace = event.trace
        except KeyboardInterrupt:
            stopped = "interrupted"
        status()
        if show and trace is not None:
            print(decoder.decode(b"", final=True), flush=True)
    except BrokenPipeError:
        shared.drop_stdout()
        stopped = _CLOSED
    return trace, stopped


def dashboard(
    *,
    host: A[
        str,
        Setting(
            metavar="HOST",
            help=_HOST,
        ),
    ] = "127.0.0.1",
    port: A[
        int,
        Setting(
            metavar="PORT",
            help="the port to serve on",
        ),
    ] = 8866,
    token_file: A[
        Path | None,
        Setting(
            metavar="F",
            help="a file with the access token (else HSD_VIZ_TOKEN); needed for a host other than loopback",
        ),
    ] = None,
    allow_models: A[
        bool,
        Setting(
            help="allow models by hub id or path",
        ),
    ] = False,
    family: A[
        str,
        Setting(
            metavar="NAME",
            help="the family of models at first: code or smollm2",
        ),
    ] = "code",
    open_browser: A[
        bool,
        Setting(
            help="open the page in a browser",
        ),
    ] = False,
    engine: A[
        str | None,
        Setting(
            metavar="URL",
            help="a running `hsd-viz serve` that decodes for all; HSD_VIZ_ENGINE_TOKEN has its token",
        ),
    ] = None,
    pages: A[
        int | None,
        Setting(
            metavar="N",
            help="the most pages that may be open, one kernel each (default: any)",
            low=1,
            high=10_000,
        ),
    ] = None,
) -> int:
    """Serve the explorer to a browser until Ctrl-C."""
    from hsd_viz.engine.remote import connect
    from hsd_viz.machine import access_token
    from hsd_viz.views.app import server

    token = access_token(token_file)
    engine_token = access_token(None, server.ENGINE_TOKEN)
    remote = None if engine is None else (engine, engine_token)
    if remote is not None:
        connect(*remote)
    served = server.serve(
        host,
        port,
        token=token,
        engine=remote,
        open_browser=open_browser,
        pages=pages,
        allow_models=allow_models,
        family=family,
    )
    return served or 0


def serve(
    *,
    host: A[
        str,
        Setting(
            metavar="HOST",
            help=_HOST,
        ),
    ] = "127.0.0.1",
    port: A[
        int,
        Setting(
            metavar="PORT",
            help="the port to serve on",
            low=1,
            high=65535,
        ),
    ] = 8800,
    token_file: A[
        Path | None,
        Setting(
            metavar="F",
            help="a file with the access token (else HSD_VIZ_TOKEN); needed for a host other than loopback",
        ),
    ] = None,
    address: A[
        str | None,
        Setting(
            metavar="RAY",
            help="the address of a running Ray cluster, or auto (default: this machine)",
        ),
    ] = None,
    replicas: A[
        int,
        Setting(
            metavar="N",
            help="processes that decode",
            low=1,
            high=4096,
        ),
    ] = 1,
    gpus_per_replica: A[
        float,
        Setting(
            metavar="N",
            help="GPUs of each replica, fractions allowed",
            low=0,
            high=64,
        ),
    ] = 0.0,
    cpus_per_replica: A[
        float,
        Setting(
            metavar="N",
            help="CPUs reserved for each replica, fractions allowed",
            low=0,
            high=1024,
        ),
    ] = 1.0,
    queue: A[
        int,
        Setting(
            metavar="N",
            help="requests that may wait",
            low=0,
            high=100_000,
        ),
    ] = 64,
    new_tokens: A[
        int,
        Setting(
            metavar="N",
            help="the most tokens of one request",
            low=1,
            high=MAX_NEW_TOKENS,
        ),
    ] = 1024,
    prompt_characters: A[
        int,
        Setting(
            metavar="N",
            help="the longest prompt in characters",
            low=1,
            high=1_000_000,
        ),
    ] = 20_000,
    seconds: A[
        float,
        Setting(
            metavar="S",
            help="the longest decode in seconds",
            low=1,
            high=86_400,
        ),
    ] = 300.0,
    machine: EngineOptions,
) -> int:
    """Serve the engine to many visitors until Ctrl-C (needs the extra cluster)."""
    from hsd_viz.cli.served_page import served_page
    from hsd_viz.machine import access_token, check_address, is_loopback
    from hsd_viz.models.families import find_family
    from hsd_viz.serve.settings import Settings

    token = access_token(token_file)
    check_address(host, port, token)
    family = find_family(machine.family)
    # Any name may resolve to this machine; where there is a token, as behind a proxy, it decides.
    is_local = token is None and is_loopback(host)
    settings = Settings(
        models=tuple(family.names),
        queue=queue,
        prompt_characters=prompt_characters,
        new_tokens=new_tokens,
        seconds=seconds,
        token=token,
        family=family.name,
        hosts=("127.0.0.1", "localhost") if is_local else ("*",),
    )
    engine = machine.on_one_thread()
    if (replicas, address, gpus_per_replica) == (1, None, 0.0):
        from hsd_viz.serve.app import run as run_app

        return run_app(host, port, settings, engine, served_page)
    from hsd_viz.serve import prepare

    prepare(address)
    from hsd_viz.serve.cluster import Service, run

    service = Service(
        settings=settings,
        engine=engine,
        replicas=replicas,
        cpus=cpus_per_replica,
        gpus=gpus_per_replica,
        page=served_page,
    )
    return run(host, port, service, address)


def classroom(
    *,
    host: A[
        str,
        Setting(
            metavar="HOST",
            help="the address to serve on; 0.0.0.0: to the network",
        ),
    ] = "127.0.0.1",
    port: A[
        int,
        Setting(
            metavar="PORT",
            help="the port to serve on",
            low=1,
            high=65535,
        ),
    ] = 8866,
    token_file: A[
        Path | None,
        Setting(
            metavar="F",
            help="a file with the token of the class (else HSD_VIZ_TOKEN, else a random one where needed)",
        ),
    ] = None,
    pages: A[
        int,
        Setting(
            metavar="N",
            help="the most pages that may be open",
            low=1,
            high=10_000,
        ),
    ] = 40,
    new_tokens: A[
        int,
        Setting(
            metavar="N",
            help="the most tokens of one run",
            low=1,
            high=MAX_NEW_TOKENS,
        ),
    ] = 256,
    replicas: A[
        int,
        Setting(
            metavar="N",
            help="processes that decode, each with its own models",
            low=1,
            high=64,
        ),
    ] = 1,
    family: A[
        str,
        Setting(
            metavar="NAME",
            help="the family of models: code or smollm2",
        ),
    ] = "code",
) -> int:
    """Serve the explorer to a class, with one engine and a page for each student (needs the extras
    app and cluster).
    """
    from hsd_viz.machine import access_token
    from hsd_viz.views.app.classroom import serve_class

    return serve_class(
        host,
        port,
        access_token(token_file),
        pages=pages,
        new_tokens=new_tokens,
        replicas=replicas,
        family=family,
    )
