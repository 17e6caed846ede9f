"""Facts about the machine, its threads, and the addresses where a server may listen."""

import functools
import ipaddress
import os
import platform
import re
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from hsd_viz.disk import read_text
from hsd_viz.errors import UserError
from hsd_viz.settings.engine_choices import MAX_THREADS
from hsd_viz.settings.spelling import spelled
from hsd_viz.version import __version__

#: The environment variable with the token of a server.
TOKEN_VARIABLE = "HSD_VIZ_TOKEN"


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Facts about a machine; ``None`` means unknown.

    Attributes:
        cpu: name of the processor.
        cores: number of cores that this process may use.
        memory_bytes: size of the memory, in bytes.
        gpu: name of torch's first GPU.
        threads: number of threads of forward passes.
        load_average: load average of the last minute.
        platform: the operating system.
        python: version of Python.
        torch: version of torch.
        transformers: version of transformers.
        hsd_viz: version of this package.
    """

    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    gpu: str | None = None
    threads: int | None = None
    load_average: float | None = None
    platform: str | None = None
    python: str | None = None
    torch: str | None = None
    transformers: str | None = None
    hsd_viz: str | None = None


def describe(given: int | None = None) -> dict[str, Any]:
    """Return :class:`MachineFacts` as JSON data.

    ``given`` replaces the number of threads of forward passes. The GPU is reported only if torch
    is loaded.
    """
    facts = MachineFacts(
        cpu=cpu_model(),
        cores=cores(),
        memory_bytes=psutil.virtual_memory().total,
        gpu=_first_gpu(),
        threads=given or threads(),
        load_average=psutil.getloadavg()[0],
        platform=platform.platform(),
        python=platform.python_version(),
        torch=_installed_version("torch"),
        transformers=_installed_version("transformers"),
        hsd_viz=__version__,
    )
    return asdict(facts)


def _first_gpu() -> str | None:
    """Return the name of torch's first GPU, or ``None`` without one or if torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return torch.cuda.get_device_name(0)


def _installed_version(package: str) -> str | None:
    """Return the version of a package, or ``None`` if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


#: The number of threads that was set before torch was loaded; torch then stores it.
_pending_threads: list[int] = []


def set_threads(count: int) -> None:
    """Set the number of CPU threads of forward passes, for the whole process."""
    _pending_threads[:] = [count]
    threads()


def threads() -> int:
    """Return the number of CPU threads of forward passes.

    It is torch's number if torch is loaded, else the number given to :func:`set_threads`, else one
    per core.
    """
    torch = sys.modules.get("torch")
    # A module that another thread is still importing may lack its functions.
    is_loaded = hasattr(torch, "get_num_threads") and hasattr(torch, "set_num_threads")
    if torch is not None and is_loaded:
        with suppress(IndexError):  # empty, perhaps because another thread took the number
            torch.set_num_threads(_pending_threads.pop())
        return torch.get_num_threads()
    if pending := _pending_threads[:]:
        return pending[0]
    # Hardware threads that share a core count once, as in torch.
    allowed = cores() or 1
    named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    physical = min(allowed, psutil.cpu_count(logical=False) or allowed)
    return min(int(named) if named.isdecimal() and int(named) else physical, MAX_THREADS)


def cores() -> int | None:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@functools.cache
def cpu_model() -> str:
    """Return the name of the processor as the system reports it."""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        if named := re.search(r"^model name\s*:(.*)$", text, re.MULTILINE):
            return named[1].strip()
    return platform.processor() or platform.machine()


def access_token(file: Path | None, variable: str = TOKEN_VARIABLE) -> str | None:
    """Return the token from a file, else from an environment variable, else ``None``.

    The variable is removed, so that child processes do not inherit it.

    Raises:
        UserError: if the file cannot be read, or the token is not valid.
    """
    token = os.environ.pop(variable, "")
    if file is not None:
        token = read_text(file, "token", 4096).strip()
        if not token:
            raise UserError(f"the token file {file} is empty")
    if token:
        check_token(token)
    return token or None


def check_token(token: str) -> None:
    """Check that a token has only visible ASCII characters.

    Raises:
        UserError: if it has other characters, which browsers and clients encode differently.
    """
    if not all("!" <= character <= "~" for character in token):
        raise UserError(
            "the token has a character that is not visible ASCII: "
            "use letters, digits and signs without spaces"
        )


def check_address(host: str, port: int, token: str | None) -> None:
    """Check the address where a server is to listen.

    Raises:
        UserError: if the port is not usable, or if the host is not loopback and there is no token.
    """
    if not 1 <= port <= 65535:
        raise UserError(f"port {port} is out of range: use 1 to 65535")
    if not token and not is_loopback(host):
        where = host or "all addresses"
        raise UserError(
            f"serving on {where} needs a token: set {TOKEN_VARIABLE}, add "
            f"{spelled('token_file')} FILE, or use {spelled('host')} 127.0.0.1"
        )
    if token:
        check_token(token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            why = error.strerror or error
            raise UserError(
                f"{host}:{port} cannot be served: {why}; choose another {spelled('port')}"
            ) from None


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is reachable only from this machine."""
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def free_port() -> int:
    """Return a currently free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def url(host: str, port: int) -> str:
    """Return the URL of a server for a browser on this machine."""
    if host in ("", "0.0.0.0", "::"):
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
