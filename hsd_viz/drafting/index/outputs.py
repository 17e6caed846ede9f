"""Collect a model's own outputs in batches, so that an interrupted collection can be resumed."""

import hashlib
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from hsd_viz.drafting.tree import as_eos_set
from hsd_viz.journal import Journal

#: Maps a batch of prompts of one length to the model's outputs, without the prompts.
Generate = Callable[[list[list[int]]], list[list[int]]]


def choose_prompts(
    documents: Sequence[np.ndarray],
    number: int,
    *,
    batch: int,
    lengths: Sequence[int] = (12, 24, 48, 96),
    seed: int = 0,
) -> list[list[list[int]]]:
    """Return about ``number`` prompts from ``documents`` in batches of ``batch``.

    A quarter of them are from a document's beginning. All prompts of a batch have one length, so that they need no
    padding, and the lengths alternate. Documents shorter than a prompt are skipped. The same arguments return the same
    prompts.

    Raises: ValueError: if no document is long enough.
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
    """Return the model's output after each prompt: the prompt's last token, then the output up to and including EOS.

    Every finished batch is appended to the file ``path`` by a digest of its prompts. Batches found in a file of the
    same ``identity`` (model and decoding settings) are not generated again, regardless of their order; any other file
    is replaced.
    """
    eos_set = as_eos_set(eos)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        journal = Journal(path, identity)
    except ValueError:
        journal = Journal(path, identity, restart=True)
    finished = {entry["prompts"]: entry["outputs"] for entry in journal.entries}
    digests = [hashlib.sha256(json.dumps(batch).encode()).hexdigest()[:24] for batch in batches]
    for number, (digest, batch) in enumerate(zip(digests, batches, strict=True)):
        if digest in finished:
            continue
        rows = []
        for prompt, output in zip(batch, generate(batch), strict=True):
            end = next((i + 1 for i, token in enumerate(output) if token in eos_set), len(output))
            rows.append([prompt[-1], *output[:end]])
        finished[digest] = rows
        journal.add({"prompts": digest, "outputs": rows})
        if progress:
            progress("writing", (number + 1) / len(batches))
    return [row for digest in digests for row in finished[digest]]
