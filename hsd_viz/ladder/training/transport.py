"""Move a training run between machines: the corpus as one small file, the trained weights as files of bounded size.

python -m hsd_viz.ladder.training.transport pack TRAINED corpus.tar.xz
python -m hsd_viz.ladder.training.transport join PARTS TRAINED
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
from pathlib import Path

from .storage import LOG

PART_BYTES = 15 * 2**20
_CORPUS = ("data", "tokenizer")


def pack_corpus(trained: Path, path: Path) -> Path:
    """Write the tokens, the manifest and the tokenizer of a training folder into one compressed archive."""
    with tarfile.open(path, "w:xz", preset=3) as archive:
        for name in _CORPUS:
            archive.add(trained / name, name)
    return path


def unpack_corpus(path: Path, out: Path) -> None:
    """Unpack a corpus into a training folder, unless it already contains one."""
    if (out / "data" / "manifest.json").exists():
        return
    out.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path) as archive:
        archive.extractall(out, filter="data")


def split_weights(trained: Path, folder: Path) -> list[Path]:
    """Write the weights and the log of a training folder into files of at most 15 MiB; return their paths."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("weights", LOG):
            archive.add(trained / name, name)
    content, paths = buffer.getvalue(), []
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(content), PART_BYTES):
        paths.append(folder / f"ladder.tar.{len(paths):02d}")
        paths[-1].write_bytes(content[start : start + PART_BYTES])
    return paths


def join_weights(folder: Path, trained: Path) -> None:
    """Undo ``split_weights``: write ``weights`` and the log into a training folder.

    Raises:
        ValueError: if ``folder`` contains no parts.
    """
    parts = sorted(folder.glob("ladder.tar.*"))
    if not parts:
        raise ValueError(f"{folder} contains no files ladder.tar.*")
    trained.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(b"".join(p.read_bytes() for p in parts))) as archive:
        archive.extractall(trained, filter="data")


def main(argv: list[str] | None = None) -> int:
    """Run the command line of this module."""
    parser = argparse.ArgumentParser(description="move a training run between machines")
    parser.add_argument("action", choices=("pack", "join"))
    parser.add_argument("source", type=Path)
    parser.add_argument("destination", type=Path)
    args = parser.parse_args(argv)
    {"pack": pack_corpus, "join": join_weights}[args.action](args.source, args.destination)
    return 0


if __name__ == "__main__":
    sys.exit(main())
