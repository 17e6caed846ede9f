"""A model's own greedy outputs, collected batch by batch so that an interrupted collection goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from hsd_viz.disk import replacing

from .tree import as_eos_set

#: From a batch of prompts of one length to what the model writes after each, without the prompt.
Generate = Callable[[list[list[int]]], list[list[int]]]


def choose_prompts(
    documents: Sequence[np.ndarray],
    number: int,
    *,
    batch: int,
    lengths: Sequence[int] = (12, 24, 48, 96),
    seed: int = 0,
) -> list[list[list[int]]]:
    """Batches of ``batch`` prompts cut from ``documents``, a quarter of them from a document's beginning; about ``number`` in all.

    All prompts of a batch have one length (they need no padding), and the lengths take turns. Documents shorter than a
    prompt are passed over. The same arguments give the same prompts. Raises ValueError where no document is long enough.
    """
    rng = np.random.default_rng(seed)
    batches: list[list[list[int]]] = []
    for turn in range(-(-number // batch)):
        length = lengths[turn % len(lengths)]
        long_enough = [d for d in documents if len(d) > length]
        if not long_enough:
            raise ValueError(f"no document is longer than a prompt of {length} tokens")
        prompts = []
        for which in rng.integers(len(long_enough), size=batch):
            document = long_enough[which]
            start = 0 if rng.random() < 0.25 else int(rng.integers(len(document) - length))
            prompts.append([int(t) for t in document[start : start + length]])
        batches.append(prompts)
    return batches


def collect_outputs(
    generate: Generate,
    batches: Sequence[list[list[int]]],
    path: str | Path,
    *,
    identity: dict,
    eos: int | Collection[int] | None,
    progress: Callable[[str, float], None] | None = None,
) -> list[list[int]]:
    """What the model writes after each prompt: the prompt's last token, then the output up to and with its end.

    Every finished batch is appended to the file ``path`` under a digest of its prompts. What a file begun with the same ``identity``
    (which model, decoding how) holds of these batches is not generated again, in whatever order they come; any other file is
    begun anew.
    """
    path = Path(path)
    ends_with = as_eos_set(eos)
    kept = _kept(path, identity)
    digests = [_digest(batch) for batch in batches]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written anew, so that a line cut short does not stay in the middle of the file; renamed, so that nothing kept is ever lost.
    with replacing(path, sync=True) as fresh, open(fresh, "w") as f:
        f.write(json.dumps(identity) + "\n")
        for digest, rows in kept.items():
            f.write(_line(digest, rows))
    with open(path, "a") as f:
        for number, (digest, batch) in enumerate(zip(digests, batches, strict=True)):
            if digest in kept:
                continue
            rows = []
            for prompt, output in zip(batch, generate(batch), strict=True):
                end = next((i + 1 for i, token in enumerate(output) if token in ends_with), len(output))
                rows.append([prompt[-1], *output[:end]])
            kept[digest] = rows
            f.write(_line(digest, rows))
            f.flush()
            os.fsync(f.fileno())
            if progress:
                progress("writing", (number + 1) / len(batches))
    return [row for digest in digests for row in kept[digest]]


def _digest(batch: list[list[int]]) -> str:
    return hashlib.sha256(json.dumps(batch).encode()).hexdigest()[:24]


def _line(digest: str, rows: list[list[int]]) -> str:
    return json.dumps({"prompts": digest, "outputs": rows}) + "\n"


def _kept(path: Path, identity: dict) -> dict[str, list[list[int]]]:
    """The batches that the file holds whole, by digest; none where it is missing or of something else."""
    found: dict[str, list[list[int]]] = {}
    try:
        with open(path, encoding="utf-8") as f:
            if json.loads(f.readline()) != identity:
                return {}
            for line in f:
                row = json.loads(line)
                outputs = row["outputs"]
                if not all(type(token) is int and token >= 0 for output in outputs for token in output):
                    break
                found[row["prompts"]] = outputs
    except (OSError, ValueError, KeyError, TypeError):
        # Missing, or cut within its last line: what was read whole so far is kept.
        pass
    return found
