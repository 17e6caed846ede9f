"""Serve the dashboard with Voilà: one notebook with a custom template. Visitors cannot execute
code.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from hsd_viz.disk import read_text, write_whole
from hsd_viz.errors import FAULTS_VARIABLE, UserError
from hsd_viz.machine import TOKEN_VARIABLE, check_address, url
from hsd_viz.models.families import DEFAULT, find_family
from hsd_viz.views.page_data import offered, recorded_runs

#: Environment variables of a served page: the address of the server that decodes, and its token.
ENGINE_URL, ENGINE_TOKEN = "HSD_VIZ_ENGINE", "HSD_VIZ_ENGINE_TOKEN"
#: Environment variable with the path of a file that contains this token; other accounts cannot
#: read the file.
ENGINE_TOKEN_FILE = "HSD_VIZ_ENGINE_TOKEN_FILE"

PACKAGE = Path(__file__).resolve().parents[2]
#: Seconds until a kernel without a page is shut down, and seconds between checks.
GONE, LOOK = 600, 30
#: Seconds for Voilà to shut down its kernels before it is killed.
ENDING = 10
#: Name of a kernel's socket in the temporary folder, and maximum length of a socket's path in
#: bytes (macOS; Linux allows 107).
KERNEL_SOCKET, MAX_SOCKET_PATH = (
    "/voila_00000000/kernel-00000000-0000-0000-0000-000000000000-ipc-00000",
    103,
)
#: Extensions that the page uses; others would only delay it.
EXTENSIONS = (
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
)
#: Command-line arguments of every dashboard.
ARGUMENTS = (
    "--template=hsd",
    "--Voila.log_level=WARN",
    "--VoilaConfiguration.multi_kernel_manager_class=hsd_viz.views.app.kernels.PageKernels",
    # If thirty pages start at once, the output of a page takes longer than the default of 4 s.
    "--VoilaExecutor.iopub_timeout=120",
    "--VoilaExecutor.startup_timeout=120",
    r"--VoilaConfiguration.file_allowlist=.*\.(png|svg)",
    "--VoilaConfiguration.allow_template_override=NO",
    "--VoilaConfiguration.allow_theme_override=NO",
    *(f"--VoilaConfiguration.extension_allowlist={name}" for name in EXTENSIONS),
)


def engine_token() -> str | None:
    """Return the token of the server that decodes for this kernel, from a file or the
    environment.
    """
    if file := os.environ.get(ENGINE_TOKEN_FILE):
        return read_text(Path(file), "token", 4096).strip()
    return os.environ.get(ENGINE_TOKEN) or None


def serve(
    host: str = "127.0.0.1",
    port: int = 8866,
    token: str | None = None,
    *,
    allow_models: bool = False,
    family: str = DEFAULT,
    open_browser: bool = False,
    engine: tuple[str, str | None] | None = None,
    pages: int | None = None,
) -> int:
    """Serve until interrupted (Ctrl-C, SIGTERM, or end of the terminal), and return Voilà's exit
    code. Print the address. Kernels end with the server. The options are those of
    :func:`command`.

    Raises:
        UserError: if Voilà is not installed, the port is in use, or a host other than loopback has
            no token.
    """
    if find_spec("voila") is None:
        raise UserError("Voilà is not installed: pip install 'hsd-viz[app]'")
    check_address(host, port, token)
    for name in {"SIGTERM", "SIGHUP"} & set(dir(signal)):
        signal.signal(getattr(signal, name), signal.default_int_handler)
    arguments, environment, folder = command(
        host,
        port,
        token,
        allow_models=allow_models,
        family=family,
        open_browser=open_browser,
        preheat=True,
        engine=engine,
        pages=pages,
    )
    with folder:
        print(f"dashboard: {url(host, port)} (Ctrl-C to stop)", flush=True)
        # In a new session, so that Voilà gets each signal only once, from this process.
        server = subprocess.Popen(arguments, env=environment, start_new_session=True)
        try:
            return server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            # Voilà ends its kernels. After the time limit or a second interrupt they end by
            # themselves.
            server.terminate()
            try:
                server.wait(ENDING)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                server.kill()


def _notebook(statement: str) -> str:
    """Return a notebook of one cell, without importing nbformat, which takes a second."""
    cell: dict[str, object] = {
        "id": "dashboard",
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": f"import hsd_viz as hsd\n\n{statement}",
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {
            "cells": [cell],
            "metadata": {"kernelspec": kernel},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def command(
    host: str,
    port: int,
    token: str | None,
    *,
    allow_models: bool = False,
    family: str = DEFAULT,
    open_browser: bool = False,
    preheat: bool = False,
    notebook: Path | None = None,
    engine: tuple[str, str | None] | None = None,
    pages: int | None = None,
) -> tuple[list[str], dict[str, str], tempfile.TemporaryDirectory]:
    """Return Voilà's command line, its environment, and the temporary folder of the notebook that
    it serves (default: a dashboard).

    The template is in this package, which is added to Jupyter's search path. With ``preheat``, one
    kernel with a rendered page is ready for the next visitor. ``pages`` limits the number of open
    pages. ``engine`` is the address and the token of the server that decodes for all pages.
    :mod:`hsd_viz.views.app.kernels` defines when kernels end.
    """
    folder = tempfile.TemporaryDirectory(prefix="hsd-viz-")
    if notebook is None:
        options = f"allow_models={allow_models}, family={find_family(family).name!r}"
        notebook = Path(folder.name) / "dashboard.ipynb"
        notebook.write_text(_notebook(f"hsd.dashboard({options})"), encoding="utf-8")
    arguments = [
        *(sys.executable, "-m", "hsd_viz.views.app", str(notebook)),
        *(f"--Voila.open_browser={open_browser}", f"--Voila.ip={host}", f"--port={port}"),
        *ARGUMENTS,
        f"--PageKernels.cull_interval={LOOK}",
        f"--PageKernels.cull_idle_timeout={GONE}",
        f"--NotebookNotary.data_dir={folder.name}",
        f"--Voila.root_dir={notebook.parent}",
    ]
    arguments += [] if pages is None else [f"--PageKernels.pages={pages}"]
    if preheat:
        # Voilà starts the next kernel one second after a visit; a visitor before that waits.
        # For a class, as many kernels start at a time as there are cores.
        warm = 1 if pages is None else min(os.cpu_count() or 1, 4)
        arguments += [
            "--VoilaConfiguration.preheat_kernel=True",
            f"--VoilaConfiguration.default_pool_size={warm}",
        ]
    if preheat and pages is not None:
        # Visitors take turns, and see a recorded run while they wait
        # (:mod:`hsd_viz.views.app.pages`).
        recorded = Path(folder.name) / "recorded.html.gz"
        first = recorded_runs()[next(iter(offered()))]()
        recorded.write_bytes(gzip.compress(first.to_html().encode()))
        arguments += [f"--Pages.recorded={recorded}", "--VoilaKernelManager.fill_delay=0"]
    environment = dict(os.environ)
    if os.name == "posix" and len(tempfile.gettempdir()) + len(KERNEL_SOCKET) <= MAX_SOCKET_PATH:
        # Sockets in a folder of this user instead of ports that other accounts can reach.
        arguments.append("--KernelManager.transport=ipc")
    environment["JUPYTER_PATH"] = os.pathsep.join(
        filter(None, (str(PACKAGE), environment.get("JUPYTER_PATH")))
    )
    private = Path(folder.name)
    private.chmod(0o700)
    # A kernel sends its output to its visitor, so faults are written to a file for the log.
    environment[FAULTS_VARIABLE] = str(private / "faults")
    arguments.append(f"--Pages.faults={private / 'faults'}")
    if engine is not None:
        environment[ENGINE_URL] = engine[0]
        environment.pop(ENGINE_TOKEN, None)
        if engine[1]:
            write_whole(private / "engine-token", engine[1], mode=0o600)
            environment[ENGINE_TOKEN_FILE] = str(private / "engine-token")
    for name in ("JUPYTER_TOKEN", "JUPYTER_TOKEN_FILE", TOKEN_VARIABLE):
        environment.pop(name, None)
    if token:
        # Other processes can read or inherit command lines and environments, but not this file.
        # With "auto", Voilà uses the token of the identity provider (:class:`~.guard.Identity`).
        write_whole(private / "token", token, mode=0o600)
        arguments.append(f"--Identity.token_file={private / 'token'}")
        arguments.append("--Voila.auto_token=True")
    return arguments, environment, folder
