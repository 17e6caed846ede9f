"""Serve the dashboard with Voilà: one notebook, our own template, no code for visitors to run."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
CHECKOUT_NOTEBOOK = PACKAGE.parent / "notebooks" / "dashboard.ipynb"
#: A kernel whose page has gone is ended after this many seconds (a closed lid may be opened again), looked for every so many.
GONE_SECONDS, LOOK_SECONDS = 600, 30
#: What Voilà has to end its kernels, before it is ended itself.
ENDING_SECONDS = 10
READY_SECONDS = 60
#: What the page needs of the extensions that may be installed; others would only make it open later.
EXTENSIONS = (
    "@jupyter-widgets/jupyterlab-manager",
    "@voila-dashboards/widgets-manager8",
    "anywidget",
    "jupyterlab-plotly",
)


def serve(
    host: str = "127.0.0.1",
    port: int = 8866,
    token: str | None = None,
    *,
    allow_models: bool = False,
    open_browser: bool = False,
    preheat: bool = True,
) -> int:
    """Serve until interrupted (Ctrl-C, SIGTERM, or its terminal's end) and return Voilà's exit code; its kernels end with it.

    ``preheat`` keeps one kernel with the page in it ready for the next visitor. Prints the address. Raises ``ValueError`` with one
    sentence where Voilà is not installed, the port is taken, or another host than loopback is asked for without a token.
    """
    check_address(host, port, token)
    arguments, environment, folder = command(host, port, token, allow_models=allow_models, preheat=preheat)
    with folder:
        address = f"http://{'localhost' if host in ('', '0.0.0.0', '::') else _bracketed(host)}:{port}/"
        print(f"the dashboard opens at {address} (Ctrl-C ends it)", flush=True)
        server: subprocess.Popen | None = None
        with _interrupts():
            try:
                # In a session of its own: what ends us reaches Voilà once, from here.
                server = subprocess.Popen(arguments, env=environment, start_new_session=True)
                if open_browser:
                    threading.Thread(target=_open_when_ready, args=(host, port, address), daemon=True).start()
                return server.wait()
            except KeyboardInterrupt:
                return 0
            finally:
                if server is not None:
                    _end(server)


def check_address(host: str, port: int, token: str | None) -> None:
    """Raise ``ValueError`` for an address that cannot or must not be served."""
    import importlib.util

    if importlib.util.find_spec("voila") is None:
        raise ValueError("Voilà is not installed: pip install 'hsd-viz[app]'")
    if not 1 <= port <= 65535:
        raise ValueError(f"the port {port} is out of range: it is a number from 1 to 65535")
    if not token and not _loopback(host):
        raise ValueError(
            f"serving on {host or 'all addresses'} lets others in: give a token, as in --token SECRET, or use 127.0.0.1"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ValueError(
                f"{host}:{port} cannot be served: {error.strerror or error}; choose another --port"
            ) from None


def command(
    host: str,
    port: int,
    token: str | None,
    *,
    allow_models: bool = False,
    preheat: bool = False,
    notebook: Path | None = None,
    gone: int = GONE_SECONDS,
    look: int = LOOK_SECONDS,
) -> tuple[list[str], dict[str, str], tempfile.TemporaryDirectory]:
    """Voilà's command line, its environment, and the folder with the notebook it serves (removed when left).

    In a checkout the ``notebook`` is ``notebooks/dashboard.ipynb``; from an installed wheel it is written here. The template lies in
    this package, which therefore goes on Jupyter's search path. With ``preheat`` a kernel waits for the next visitor, who asks for the
    light theme: a page in the dark one is rendered from the start. It tells its query itself (:mod:`hsd_viz.views.address`). A kernel
    whose page has been ``gone`` for so many seconds is ended, looked for every ``look`` (:mod:`hsd_viz.views.app.kernels`).
    """
    folder = tempfile.TemporaryDirectory(prefix="hsd-viz-")
    own = notebook is None
    notebook = notebook or CHECKOUT_NOTEBOOK
    if own and (allow_models or not notebook.is_file()):
        notebook = Path(folder.name) / "dashboard.ipynb"
        notebook.write_text(json.dumps(_notebook(allow_models)), encoding="utf-8")
    arguments = [
        *(sys.executable, "-m", "voila", str(notebook), "--no-browser"),
        f"--Voila.ip={host}",
        f"--port={port}",
        "--template=hsd",
        "--Voila.log_level=WARN",
        "--VoilaConfiguration.multi_kernel_manager_class=hsd_viz.views.app.kernels.PageKernels",
        f"--PageKernels.cull_interval={look}",
        f"--PageKernels.cull_idle_timeout={gone}",
        r"--VoilaConfiguration.file_allowlist=.*\.(png|svg)",
        *(f"--VoilaConfiguration.extension_allowlist={name}" for name in EXTENSIONS),
    ]
    if preheat:
        # Started anew a second after a visit, which is Voilà's own choice: who comes earlier waits for that kernel, from its start on.
        arguments += ["--VoilaConfiguration.preheat_kernel=True", "--VoilaConfiguration.default_pool_size=1"]
    environment = dict(os.environ)
    path = [str(PACKAGE), *filter(None, [environment.get("JUPYTER_PATH")])]
    environment["JUPYTER_PATH"] = os.pathsep.join(path)
    if token:
        # Not on the command line, where every user of the machine could read it; "auto" makes Voilà look into the environment.
        environment["JUPYTER_TOKEN"] = token
        arguments.append("--Voila.auto_token=True")
    return arguments, environment, folder


@contextmanager
def _interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt as Ctrl-C does, where signals can be caught: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(server: subprocess.Popen) -> None:
    """Let Voilà end its kernels and itself; where it does not, or somebody is in a hurry, it is ended, and its kernels miss it and end."""
    if server.poll() is not None:
        return
    server.terminate()
    try:
        server.wait(ENDING_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        server.kill()
        server.wait()


def _notebook(allow_models: bool) -> dict:
    source = f"import hsd_viz as hsd\n\nhsd.dashboard(allow_models={allow_models})"
    cell = {
        "cell_type": "code",
        "id": "dashboard",
        "metadata": {},
        "source": source,
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _open_when_ready(host: str, port: int, address: str) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            with socket.create_connection((host or "127.0.0.1", port), timeout=1):
                webbrowser.open(address)
                return
        except OSError:
            time.sleep(0.3)
