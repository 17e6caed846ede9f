"""Classifies the exceptions of commands: invalid input, or a fault of this package."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hsd_viz.disk import cache_folder
from hsd_viz.errors import UserError

#: Modules of extras, each with the extra that provides it.
_EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "tokenizers", "safetensors"), "models"),
    **dict.fromkeys(("voila", "jupyterlab", "jupyter_server", "ipykernel"), "app"),
    **dict.fromkeys(("ray", "fastapi", "pydantic", "prometheus_client", "segno"), "cluster"),
}
#: Error codes of the machine: no space, too many open files, an address in use.
_OF_MACHINE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EMFILE,
    errno.EADDRINUSE,
    errno.EADDRNOTAVAIL,
}
#: Matches separators of paths within a word, as in --target=DIR or 'model.gguf:4 > target'.
_SEPARATORS = re.compile(r"[=,>]|:\d*")


def user_message(error: Exception, words: Sequence[str]) -> str | None:
    """Return a message on which the user can act; ``None`` for a fault of this package.

    Args:
        error: the exception of the command.
        words: the command line; errors about files that it does not name are faults.
    """
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        module = (error.name or "").partition(".")[0]
        if module not in _EXTRAS:
            return None
        install = f"pip install 'hsd-viz[{_EXTRAS[module]}]'"
        return f"this command needs {module}, which is not installed: {install}"
    if isinstance(error, OSError) and _is_of_user(error, words):
        where = f" {error.filename}" if error.filename else ""
        reason = error.strerror or str(error)
        if isinstance(error, FileExistsError):
            reason = "it is a file; give a folder"
        return f"cannot read or write{where}: {reason}"
    return None


def _is_of_user(error: OSError, words: Sequence[str]) -> bool:
    """Return whether an error is about the machine, or about a file that the user named."""
    if error.errno in _OF_MACHINE:
        return True
    if not isinstance(error.filename, str | os.PathLike):
        return False
    file = Path(error.filename).absolute()
    return any(file.is_relative_to(path) for path in (*_named_paths(words), cache_folder("")))


def _named_paths(words: Sequence[str]) -> Iterator[Path]:
    """Yield the possible paths in the words of a command line."""
    for word in words:
        for part in (word, *_SEPARATORS.split(word)):
            if part.strip():
                # Path.expanduser would raise an error for the home folder of an unknown user.
                yield Path(os.path.expanduser(part.strip())).absolute()
