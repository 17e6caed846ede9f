"""Install distributions of models with pip, or with uv where an environment has no pip.

Only the named distribution is installed, without those that it requires: it is read as data.
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

#: Parts of the messages of pip and uv where the package index cannot be reached.
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
#: Starts of the lines that explain a failure; the last of them is shown.
_REASONS = ("ERROR: ", "error: ", "  cause: ")
#: The first version of pip that continues a download that was cut.
_RESUMES = (25, 1)
#: How often such a download is continued.
_RESUME_TIMES = 20


@dataclass(frozen=True, slots=True)
class Installer:
    """What installs into the environment of this Python.

    Attributes:
        name: "pip" or "uv".
        command: the words of the command, without the distribution.
        find_links: the environment variable that names a folder with wheels.
    """

    name: str
    command: tuple[str, ...]
    find_links: str

    def install(self, requirement: str, retry_command: str) -> None:
        """Install a distribution.

        Args:
            requirement: its name and version.
            retry_command: the command that a message names to try again.

        Raises:
            UserError: if it cannot be installed; the message says whether the package index was not
                reached.
        """
        # pip draws the progress of a download on its standard output; ours is for results.
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
        """Return why an installation failed, in one line."""
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
    # Environments of uvx have no pip; uv names itself to the programs that it starts.
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise UserError(
            "this Python has neither pip nor uv: install one of them, for example with "
            f"`{sys.executable} -m ensurepip`"
        )
    command = [uv, "pip", "install", "--python", sys.executable, "--no-deps"]
    return Installer("uv", tuple(command), "UV_FIND_LINKS")


def resume_options(version: str) -> list[str]:
    """Return the options with which this version of pip continues a download that was cut."""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    if tuple(numbers) < _RESUMES:
        return []
    return ["--resume-retries", str(_RESUME_TIMES)]
