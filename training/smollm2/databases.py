"""Build the databases of the family ``smollm2``: ``python -m training.smollm2 databases``.

The model database and the 5-grams count half of the text that the target wrote; the other half is
kept aside for measurements. The statistics database counts prose and Python source from
permissively licensed packages, which ``sources.json`` beside it lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from hsd_viz import disk
from hsd_viz.drafting.index.build import build_database, build_fivegrams
from hsd_viz.drafting.index.count import Pruning
from hsd_viz.drafting.index.format import SUFFIX
from hsd_viz.drafting.shared import FIVEGRAMS, vocabulary_hash
from hsd_viz.models.files import open_model
from training import corpus
from training.smollm2.prompts import collect_prose
from training.smollm2.text import Conversation, is_kept_aside, read_all

#: What the files keep, and their sizes at the most, in bytes.
MODEL = Pruning(least=2, least_continuation=1, max_bytes=4_000_000)
STATISTICS = Pruning(least=4, max_bytes=4_000_000)
#: Python files that are counted: with more of them, code displaces the prose.
CODE_FILES = 4000


def outputs(conversation: Conversation) -> Iterator[np.ndarray]:
    """Iterate over the replies of a conversation, each with the token before it."""
    edges = np.diff(conversation.written.astype(np.int8), prepend=0, append=0)
    starts = np.flatnonzero(edges == 1)
    ends = np.flatnonzero(edges == -1)
    for start, end in zip(starts, ends, strict=True):
        yield conversation.tokens[start - 1 : end].astype(np.int64)


def counted_outputs(conversations: Iterable[Conversation]) -> list[list[int]]:
    """Return the replies that the databases may count: those of conversations not kept aside."""
    token_lists = []
    for conversation in conversations:
        if not is_kept_aside(conversation.number):
            token_lists += [output.tolist() for output in outputs(conversation)]
    return token_lists


def build_own_text(text: Path, out: Path, facts: dict[str, Any]) -> None:
    """Count the target's own text into ``model.hsdb`` and ``fivegrams.hsdb``."""
    sequences = counted_outputs(read_all(text))
    meta = {
        "model": "SmolLM2-135M-Instruct",
        "decoding": "sampled",
        "text": "training/smollm2/text",
    }
    documents = ([sequence] for sequence in sequences)
    path = out / f"model{SUFFIX}"
    build_database(documents, path, kind="model", pruning=MODEL, meta=meta, **facts)
    build_fivegrams(sequences, out / f"{FIVEGRAMS}{SUFFIX}", meta=meta, **facts)
    print(f"{path}: {len(sequences)} replies, {sum(map(len, sequences))} tokens", flush=True)


def build_statistics(tokenizer: Tokenizer, out: Path, facts: dict[str, Any]) -> None:
    """Count prose and Python source into ``statistics.hsdb``."""
    paragraphs, sources = collect_prose()
    files = corpus.train_files()[:CODE_FILES]
    texts = [*paragraphs, *(file.text for file in files)]
    meta = {
        "paragraphs": len(paragraphs),
        "packages": len(sources),
        "python_files": len(files),
    }
    packages = corpus.manifest(files)["packages"]
    code = []
    for name, row in packages.items():
        about = {key: row[key] for key in ("version", "licence", "files")}
        code.append({"name": name, **about})
    listed = {"prose": [asdict(source) for source in sources], "code": code}
    disk.write_whole(out / "sources.json", json.dumps(listed, indent=1) + "\n")
    path = out / f"statistics{SUFFIX}"
    documents = ([encode(tokenizer, text)] for text in texts)
    build_database(documents, path, kind="statistics", pruning=STATISTICS, meta=meta, **facts)
    print(f"{path}: {meta}", flush=True)


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the tokens of a text; special tokens that are spelled out are letters."""
    tokenizer.encode_special_tokens = True
    return tokenizer.encode(text, add_special_tokens=False).ids


def build(model: Path, text: Path, out: Path, only: str | None = None) -> None:
    """Build the databases for a target; with ``only``, those of one kind."""
    files = open_model(model)
    tokenizer = files.tokenizer()
    facts = {
        "vocabulary_size": files.form.vocabulary,
        "vocabulary_hash": vocabulary_hash(tokenizer.get_vocab()),
    }
    if only != "statistics":
        build_own_text(text, out, facts)
    if only != "model":
        build_statistics(tokenizer.backend_tokenizer, out, facts)
