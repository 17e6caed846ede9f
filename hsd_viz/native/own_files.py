"""Checks that no other user of the machine can change or replace a file or a folder."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def is_out_of_reach(real: Path) -> bool:
    """Return whether a file belongs to this user or root, and no other user can change or replace
    it.

    Args:
        real: the path of the file, without links.

    Raises:
        OSError: if the file does not exist.
    """
    if not (is_closed(real) and is_closed(real.parent)):
        return False
    return all(map(is_safe_above, real.parent.parents))


def is_closed(path: Path) -> bool:
    """Return whether a file or folder belongs to this user or root, and no other user can write to
    it.

    Raises:
        OSError: if it cannot be examined.
    """
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    is_own = status.st_uid in (os.getuid(), 0)
    return is_own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_safe_above(folder: Path) -> bool:
    """Return whether no other user can replace this user's entries in a folder.

    Others may write to the folder if only the owner of an entry can rename it (the sticky bit, as
    in ``/tmp``). The group may write to it if this user is its only member.

    Raises:
        OSError: if the folder does not exist.
    """
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    if status.st_uid not in (os.getuid(), 0):
        return False
    if status.st_mode & stat.S_ISVTX:
        return True
    if status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_alone_in(status.st_gid)


def _is_alone_in(group: int) -> bool:
    """Return whether a group is the private group of this user, which has the user's name."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == user and set(entry.gr_mem) <= {user}


def own_folder(folder: Path) -> None:
    """Create a folder to which only this user can write, with missing parents.

    If the folder exists and others can write to it, its libraries are deleted and its permissions
    are corrected.

    Raises:
        OSError: if this is not possible.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if not hasattr(os, "getuid"):
        return
    if folder.stat().st_uid == os.getuid() and not is_closed(folder):
        # Another user may have written files here, so all libraries are deleted.
        folder.chmod(0o700)
        for path in folder.glob("*.so"):
            path.unlink()
    real = folder.resolve()
    if not (is_closed(real) and all(map(is_safe_above, real.parents))):
        raise PermissionError(errno.EPERM, "other users can change this folder", str(folder))
