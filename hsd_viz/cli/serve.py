"""``hsd-viz serve``: the engine for many visitors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as A

from hsd_viz.cli.shared import HOST, TOKEN_FILE
from hsd_viz.decoding.options import MAX_NEW_TOKENS
from hsd_viz.engine.options import EngineOptions
from hsd_viz.serve.settings import DEFAULTS
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range

if TYPE_CHECKING:
    pass


def serve(
    *,
    host: A[str, HOST] = "127.0.0.1",
    port: A[int, Setting("the port to serve on", CliOption("PORT"), Range(1, 65535))] = 8800,
    token_file: A[Path | None, TOKEN_FILE] = None,
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
