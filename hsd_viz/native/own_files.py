"""Files and folders that no other user of the machine can change or replace."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def is_out_of_reach(real: Path) -> bool:
    """Return whether this user (or root) has made a file, and no other user can change or replace
    it. ``real`` has no links.

    Raises:
        OSError: if it does not exist.
    """
    if not (is_closed(real) and is_closed(real.parent)):
        return False
    return all(map(is_safe_above, real.parent.parents))


def is_closed(path: Path) -> bool:
    """Return whether a file or folder belongs to this user or root, and no other user can write it.

    Raises:
        OSError: if it cannot be examined.
    """
    if not hasattr(os, "getuid"):
        return True
    status = path.stat()
    is_own = status.st_uid in (os.getuid(), 0)
    return is_own and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_safe_above(folder: Path) -> bool:
    """Return whether no other user can replace what this user has in a folder. Others may write it
    where only the owner of an entry can rename it (the sticky bit, as in ``/tmp``), or where this
    user is alone in its group.

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
    """Return whether a group is the private one of this user, of the same name."""
    import grp
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
        entry = grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == user and set(entry.gr_mem) <= {user}


def own_folder(folder: Path) -> None:
    """Make a folder that only this user can write, with those above it that are missing; one of
    this user that others can write is emptied of its libraries and closed.

    Raises:
        OSError: if it is not possible.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    if not hasattr(os, "getuid"):
        return
    if folder.stat().st_uid == os.getuid() and not is_closed(folder):
        # Another user may have put files here: nothing of them is kept.
        folder.chmod(0o700)
        for path in folder.glob("*.so"):
            path.unlink()
    real = folder.resolve()
    if not (is_closed(real) and all(map(is_safe_above, real.parents))):
        raise PermissionError(errno.EPERM, "other users can change this folder", str(folder))
