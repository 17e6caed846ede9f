"""``hsd-viz dashboard``: the explorer in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as A

from hsd_viz.cli.shared import HOST, TOKEN_FILE
from hsd_viz.errors import UserError
from hsd_viz.models.families import DEFAULT
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range

if TYPE_CHECKING:
    from hsd_viz.engine.remote import RemoteEngine


def dashboard(
    *,
    host: A[str, HOST] = "127.0.0.1",
    port: A[int, Setting("the port to serve on", CliOption("PORT"))] = 8866,
    token_file: A[Path | None, TOKEN_FILE] = None,
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
