"""``hsd-viz dashboard``, ``serve`` and ``classroom``: runs for browsers, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as A

from hsd_viz.decoding.options import MAX_NEW_TOKENS
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.models.families import DEFAULT
from hsd_viz.serve.settings import DEFAULTS
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range

if TYPE_CHECKING:
    from hsd_viz.engine.remote import RemoteEngine

_HOST = Setting("the address to serve on; others than loopback need a token", CliOption("HOST"))
_TOKEN_FILE = Setting(
    "a file with the access token (else HSD_VIZ_TOKEN); needed for a host other than loopback",
    CliOption("F"),
)


def dashboard(
    *,
    host: A[str, _HOST] = "127.0.0.1",
    port: A[int, Setting("the port to serve on", CliOption("PORT"))] = 8866,
    token_file: A[Path | None, _TOKEN_FILE] = None,
    allow_models: A[bool, Setting("allow models by hub id or path")] = False,
    family: A[
        str, Setting("the family of models at first: code or smollm2", CliOption("NAME"))
    ] = "code",
    open_browser: A[bool, Setting("open the page in a browser")] = False,
    engine: A[
        str | None,
        Setting(
            "a running `hsd-viz serve` that decodes for all; HSD_VIZ_ENGINE_TOKEN has its token",
            CliOption("URL"),
        ),
    ] = None,
    pages: A[
        int | None,
        Setting(
            "the most pages that may be open, one kernel each (default: any)",
            CliOption("N"),
            Range(1, 10_000),
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
        family = _family_of(connect(*remote), family)
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


def _family_of(server: RemoteEngine, family: str) -> str:
    """Return the family of a server's models, if it is the selected one or none was selected.

    Raises:
        UserError: if another family was selected.
    """
    if family not in (DEFAULT, server.family):
        raise UserError(f"{server.url} decodes the family {server.family}, not {family}")
    return server.family


def serve(
    *,
    host: A[str, _HOST] = "127.0.0.1",
    port: A[int, Setting("the port to serve on", CliOption("PORT"), Range(1, 65535))] = 8800,
    token_file: A[Path | None, _TOKEN_FILE] = None,
    address: A[
        str | None,
        Setting(
            "the address of a running Ray cluster, or auto (default: this machine)",
            CliOption("RAY"),
        ),
    ] = None,
    replicas: A[int, Setting("processes that decode", CliOption("N"), Range(1, 4096))] = 1,
    gpus_per_replica: A[
        float, Setting("GPUs of each replica, fractions allowed", CliOption("N"), Range(0, 64))
    ] = 0.0,
    cpus_per_replica: A[
        float,
        Setting(
            "CPUs reserved for each replica, fractions allowed", CliOption("N"), Range(0, 1024)
        ),
    ] = 1.0,
    queue: A[int, Setting("requests that may wait", CliOption("N"), Range(0, 100_000))] = (
        DEFAULTS.queue
    ),
    new_tokens: A[
        int, Setting("the most tokens of one request", CliOption("N"), Range(1, MAX_NEW_TOKENS))
    ] = DEFAULTS.new_tokens,
    prompt_characters: A[
        int, Setting("the longest prompt in characters", CliOption("N"), Range(1, 1_000_000))
    ] = DEFAULTS.prompt_characters,
    seconds: A[
        float, Setting("the longest decode in seconds", CliOption("S"), Range(1, 86_400))
    ] = DEFAULTS.seconds,
    machine: EngineOptions,
) -> int:
    """Serve the engine to many visitors until Ctrl-C (needs the extra cluster)."""
    from hsd_viz.cli.served_page import served_page
    from hsd_viz.machine import access_token, check_address, is_loopback
    from hsd_viz.models.families import find_family
    from hsd_viz.serve.settings import ServerSettings

    token = access_token(token_file)
    check_address(host, port, token)
    family = find_family(machine.family)
    # Without a token, accept only loopback names, since any name may resolve to this machine;
    # with one, as behind a proxy, the token decides.
    is_local = token is None and is_loopback(host)
    settings = ServerSettings(
        models=tuple(family.names),
        queue=queue,
        prompt_characters=prompt_characters,
        new_tokens=new_tokens,
        seconds=seconds,
        token=token,
        family=family.name,
        hosts=DEFAULTS.hosts if is_local else ("*",),
    )
    engine = machine.on_one_thread()
    if (replicas, address, gpus_per_replica) == (1, None, 0.0):
        from hsd_viz.serve.app import run as run_app

        return run_app(host, port, settings, engine, served_page)
    from hsd_viz.serve import prepare

    prepare(address)
    from hsd_viz.serve.cluster import ClusterService, run

    service = ClusterService(
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
        str, Setting("the address to serve on; 0.0.0.0: to the network", CliOption("HOST"))
    ] = "127.0.0.1",
    port: A[int, Setting("the port to serve on", CliOption("PORT"), Range(1, 65535))] = 8866,
    token_file: A[
        Path | None,
        Setting(
            "a file with the token of the class (else HSD_VIZ_TOKEN, else a random one where "
            "needed)",
            CliOption("F"),
        ),
    ] = None,
    pages: A[
        int, Setting("the most pages that may be open", CliOption("N"), Range(1, 10_000))
    ] = 40,
    new_tokens: A[
        int, Setting("the most tokens of one run", CliOption("N"), Range(1, MAX_NEW_TOKENS))
    ] = 256,
    replicas: A[
        int,
        Setting("processes that decode, each with its own models", CliOption("N"), Range(1, 64)),
    ] = 1,
    family: A[str, Setting("the family of models: code or smollm2", CliOption("NAME"))] = "code",
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
