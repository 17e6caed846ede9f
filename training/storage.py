"""Files of a training run: checkpoints that survive a kill at any time, the append-only log, the
lock, and what travels between machines.
"""

import fcntl
import io
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from hsd_viz.disk import write_whole

LOG = "log.jsonl"
PART_BYTES = 15 * 2**20


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write ``state`` atomically; the checkpoint before it is kept as ``<name>.previous.pt``."""
    # One temporary name, so that a kill in the middle leaves at most one file behind.
    fresh = path.with_suffix(".tmp")
    previous = path.with_suffix(".previous.pt")
    with fresh.open("wb") as f:
        torch.save(state, f)
        f.flush()
        os.fsync(f.fileno())
    if path.exists():
        previous.unlink(missing_ok=True)
        os.link(path, previous)
    os.replace(fresh, path)


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint to the CPU."""
    return torch.load(path, map_location="cpu", weights_only=True)


class RunLog:
    """The log of a run: one JSON object per line, only ever appended to. A resumed run repeats the
    steps after its checkpoint and logs them again; the last entry of a step counts.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG

    def write(self, event: str, **fields: Any) -> None:
        """Append one entry with the current time (UTC)."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        with self.path.open("a") as f:
            f.write(json.dumps({"event": event, "time": time, **fields}) + "\n")


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, and publish the process group in ``pid``, for stopping and continuing
    the whole group.

    Raises:
        ValueError: if another process trains in this folder.
    """
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"another process is training in {folder}") from None
        pid = folder / "pid"
        pid.write_text(f"{os.getpgrp()}\n")
        try:
            yield
        finally:
            pid.unlink(missing_ok=True)


def unpack_corpus(path: Path, out: Path) -> None:
    """Unpack a tar archive of ``data`` and ``tokenizer`` into a training folder, unless it
    already contains a corpus.
    """
    if (out / "data" / "manifest.json").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path) as archive:
        archive.extractall(out, filter="data")


def split_weights(trained: Path, folder: Path) -> list[Path]:
    """Write the weights and the log of a training folder as a tar archive in parts of at most 15
    MiB; return their paths.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("weights", LOG):
            archive.add(trained / name, name)
    content = buffer.getvalue()
    paths: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(content), PART_BYTES):
        paths.append(folder / f"ladder.tar.{len(paths):02d}")
        write_whole(paths[-1], content[start : start + PART_BYTES])
    return paths
