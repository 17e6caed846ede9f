"""The text that SmolLM2 writes: conversations as token ids, in shards of a few kilobytes.

A shard holds :data:`SHARD` requests. It is written whole or not at all, so that a stopped run
continues with the first missing shard, and several processes share the work by taking turns.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz import disk

#: Requests in a shard.
SHARD = 48
FOLDER = Path(__file__).parent / "text"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation as the model saw and wrote it.

    Attributes:
        number: The number of its request.
        temperature: The temperature of the replies.
        tokens: Token ids ``[n]``, uint16: the rendered template with the replies.
        written: Whether the model wrote each token ``[n]``; the end of a reply is written, too.
    """

    number: int
    temperature: float
    tokens: np.ndarray
    written: np.ndarray


def shard_path(folder: Path, index: int) -> Path:
    """Return the file of shard ``index``."""
    return folder / f"{index:05d}.npz"


def save(path: Path, conversations: Sequence[Conversation]) -> None:
    """Write a shard, whole or not at all."""
    numbers = []
    temperatures = []
    lengths = []
    tokens = []
    arrays = []
    for conversation in conversations:
        numbers.append(conversation.number)
        temperatures.append(conversation.temperature)
        lengths.append(len(conversation.tokens))
        tokens.append(conversation.tokens)
        arrays.append(conversation.written)
    content = io.BytesIO()
    np.savez_compressed(
        content,
        numbers=np.array(numbers, np.uint32),
        temperatures=np.array(temperatures, np.float32),
        ends=np.cumsum(lengths, dtype=np.uint32),
        tokens=np.concatenate(tokens).astype(np.uint16),
        written=np.packbits(np.concatenate(arrays)),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write_whole(path, content.getvalue())


def load(path: Path) -> list[Conversation]:
    """Read a shard."""
    conversations = []
    with np.load(path) as arrays:
        tokens = arrays["tokens"]
        written = np.unpackbits(arrays["written"], count=len(tokens)).astype(bool)
        start = 0
        for number, temperature, end in zip(
            arrays["numbers"], arrays["temperatures"], arrays["ends"], strict=True
        ):
            conversations.append(
                Conversation(
                    number=int(number),
                    temperature=round(float(temperature), 3),
                    tokens=tokens[start:end],
                    written=written[start:end],
                )
            )
            start = end
    return conversations


def shards(folder: Path = FOLDER) -> list[Path]:
    """Return the shards that exist, in order."""
    return sorted(folder.glob("*.npz"))


def read_all(folder: Path = FOLDER) -> Iterator[Conversation]:
    """Iterate over all conversations, in order."""
    for path in shards(folder):
        yield from load(path)


def is_kept_aside(number: int) -> bool:
    """Return whether a conversation is for measurements only: every second round of six kinds."""
    return number // 6 % 2 == 1
