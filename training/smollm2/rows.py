"""The target's probabilities before each token that it has written: what draft models learn from.

A row holds the likeliest tokens alone, which have nearly all of the probability. Rows take a
hundred times the room of the text and are not kept with the project: a text can be fed again to
have them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd_viz import disk
from hsd_viz.native.model import NativeModel
from training.smollm2.text import Conversation

#: Tokens of a row at the most; those whose logit is further below the largest are left out.
MAX_TOKENS = 64
REACH = 10.0


@dataclass(frozen=True, slots=True)
class LikeliestRow:
    """The likeliest tokens at one place, at temperature 1.

    Attributes:
        tokens: Token ids ``[k]``, uint16.
        logs: The logarithms of their probabilities ``[k]``, float16, in nats.
    """

    tokens: np.ndarray
    logs: np.ndarray


def likeliest(logits: np.ndarray) -> LikeliestRow:
    """Return the row of logits ``[vocabulary]``."""
    largest = logits.max()
    total = np.exp(logits - largest).sum(dtype=np.float64)
    candidates = np.flatnonzero(logits > largest - np.float32(REACH))
    if len(candidates) > MAX_TOKENS:
        candidates = candidates[np.argpartition(logits[candidates], -MAX_TOKENS)[-MAX_TOKENS:]]
    logs = logits[candidates].astype(np.float64) - largest - np.log(total)
    return LikeliestRow(candidates.astype(np.uint16), logs.astype(np.float16))


def rows_of(conversation: Conversation, model: NativeModel) -> list[LikeliestRow]:
    """Return the row before each written token of a conversation, which is fed to the target."""
    logits = model.session().forward(conversation.tokens.tolist(), len(conversation.tokens))
    places = np.flatnonzero(conversation.written) - 1
    return [likeliest(logits[place]) for place in places]


def rows_path(folder: Path, shard: int) -> Path:
    """Return the file of the rows of a shard."""
    return folder / f"{shard:05d}.rows.npz"


def save_rows(path: Path, rows: Sequence[LikeliestRow]) -> None:
    """Write the rows of all written tokens of a shard, in order."""
    lengths = []
    tokens = []
    logs = []
    for row in rows:
        lengths.append(len(row.tokens))
        tokens.append(row.tokens)
        logs.append(row.logs)
    content = io.BytesIO()
    np.savez(
        content,
        ends=np.cumsum(lengths, dtype=np.uint32),
        tokens=np.concatenate(tokens),
        logs=np.concatenate(logs),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write_whole(path, content.getvalue())


def load_rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return tokens ``[n, MAX_TOKENS]`` (int32) and logarithms of the same shape (float32; -inf:
    none).
    """
    with np.load(path) as arrays:
        ends = arrays["ends"].astype(np.int64)
        lengths = np.diff(ends, prepend=0)
        tokens = np.zeros((len(ends), MAX_TOKENS), np.int32)
        logs = np.full((len(ends), MAX_TOKENS), -np.inf, np.float32)
        filled = np.arange(MAX_TOKENS)[None] < lengths[:, None]
        tokens[filled] = arrays["tokens"]
        logs[filled] = arrays["logs"]
    return tokens, logs
