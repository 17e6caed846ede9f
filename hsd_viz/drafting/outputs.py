"""A model's own greedy outputs, collected batch by batch so that an interrupted collection goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

#: From a batch of prompts of one length to what the model writes after each, without the prompt.
Generate = Callable[[list[list[int]]], list[list[int]]]


def choose_prompts(
    documents: Sequence[np.ndarray], number: int, *, batch: int, lengths: Sequence[int] = (12, 24, 48, 96), seed: int = 0
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
    eos: int | None,
    progress: Callable[[str, float], None] | None = None,
) -> list[list[int]]:
    """What the model writes after each prompt: the prompt's last token, then the output up to and with its end.

    Every finished batch is appended to the file ``path``; a file begun with the same ``identity`` (which model, which prompts)
    is gone on with, any other is begun anew.
    """
    path = Path(path)
    sequences: list[list[int]] = []
    done = 0
    try:
        lines = path.read_text().splitlines()
        if lines and json.loads(lines[0]) == identity:
            for line in lines[1:]:
                sequences += json.loads(line)
                done += 1
    except (OSError, json.JSONDecodeError):
        # Missing, or cut within its last line: what was read whole so far is kept.
        pass
    # Written anew so that a line cut short does not stay in the middle of the file.
    path.parent.mkdir(parents=True, exist_ok=True)
    sizes = [len(b) for b in batches[:done]]
    with open(path, "w") as f:
        f.write(json.dumps(identity) + "\n")
        for i, size in enumerate(sizes):
            first = sum(sizes[:i])
            f.write(json.dumps(sequences[first : first + size]) + "\n")
        for number in range(done, len(batches)):
            rows = []
            for prompt, output in zip(batches[number], generate(batches[number]), strict=True):
                if eos is not None and eos in output:
                    output = output[: output.index(eos) + 1]
                rows.append([prompt[-1], *output])
            sequences += rows
            f.write(json.dumps(rows) + "\n")
            f.flush()
            os.fsync(f.fileno())
            if progress:
                progress("writing", (number + 1) / len(batches))
    return sequences
