"""``hsd-viz classroom``: the explorer for a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated as A

from hsd_viz.decoding.options import MAX_NEW_TOKENS
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import Range

if TYPE_CHECKING:
    pass


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
