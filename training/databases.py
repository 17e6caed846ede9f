"""The databases of the ladder: statistics from the corpus, the model database from the target's
outputs.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hsd_viz.drafting.index.build import build_database, build_fivegrams
from hsd_viz.drafting.index.format import SUFFIX
from hsd_viz.drafting.shared import FIVEGRAMS, STORED, vocabulary_hash
from hsd_viz.ladder.torch_modules import load_model
from hsd_viz.models.families import LADDER
from hsd_viz.models.files import folder_hash
from hsd_viz.terminal import Progress, ignore_progress
from training.data import EOS_ID


def split_documents(tokens: np.ndarray, eos: int) -> list[np.ndarray]:
    """Return the documents of a corpus with ``eos`` before each, as views that begin and end
    with it.
    """
    starts = np.flatnonzero(tokens == eos)
    if not len(starts) or starts[0] != 0:
        starts = np.concatenate(([0], starts))
    ends = np.append(starts[1:] + 1, len(tokens))
    return [tokens[a:b] for a, b in zip(starts, ends, strict=True)]


def choose_prompts(
    documents: Sequence[np.ndarray],
    number: int,
    *,
    batch: int,
    lengths: Sequence[int] = (12, 24, 48, 96),
    seed: int = 0,
) -> list[list[list[int]]]:
    """Return about ``number`` prompts from ``documents`` in batches of ``batch``.

    A quarter of them are from a document's beginning. All prompts of a batch have one length, so
    that they need no padding, and the lengths alternate. Documents shorter than a prompt are
    skipped. The same arguments return the same prompts.

    Raises:
        ValueError: if no document is long enough.
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


def rebuild_databases(
    out: str | Path | None = None,
    *,
    weights: str | Path | None = None,
    data: str | Path | None = None,
    only: str | None = None,
    prompts: int = 4096,
    new_tokens: int = 96,
    batch: int = 128,
    dtype: str = "bfloat16",
    progress: Progress = ignore_progress,
) -> list[Path]:
    """Build ``statistics.hsdb``, ``model.hsdb`` and ``fivegrams.hsdb``; return their paths.

    The target continues ``prompts`` passages of the corpus by ``new_tokens`` each, with greedy
    decoding. Many short outputs are better than few long ones: small models repeat themselves, and
    repetitions are in the context database anyway.

    Args:
        out: folder of the databases (default: that of the shipped ones).
        weights: folder that contains ``target`` (default: the shipped weights).
        data: folder of a ``train.npy`` tokenized with the target's tokenizer (default: read this
            environment's corpus).
        only: one of the two kinds; the 5-grams belong to the model database.
        dtype: data type of the forward passes; bfloat16 takes less than half the time on processors
            that support it.
        progress: called with what is done of the current activity, all of it, and its name.

    Raises:
        ValueError: for an unknown kind, missing weights, or tokens of another tokenizer.
    """
    if only not in (None, *STORED):
        raise ValueError(f"unknown database '{only}': choose from {', '.join(STORED)}")
    weights = Path(weights) if weights is not None else LADDER
    out = Path(out) if out is not None else weights / "databases"
    tokenizer = _tokenizer(weights / "target")
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    # A model may have more token ids than its tokenizer and may generate them.
    size = max(
        json.loads((weights / "target" / "config.json").read_text())["vocab_size"],
        max(vocabulary.values()) + 1,
    )
    hashed = vocabulary_hash(vocabulary)
    documents = split_documents(_tokens(tokenizer, data, progress), EOS_ID)
    paths = []
    if only != "model":
        paths.append(out / f"statistics{SUFFIX}")
        build_database(
            ([document] for document in documents),
            paths[-1],
            kind="statistics",
            vocabulary_size=size,
            vocabulary_hash=hashed,
            progress=progress,
        )
    if only != "statistics":
        paths.append(out / f"model{SUFFIX}")
        meta = {
            "decoding": "greedy",
            "weights": folder_hash(weights / "target"),
            "documents": len(documents),
            "prompts": prompts,
            "new_tokens": new_tokens,
            "batch": batch,
            "dtype": dtype,
        }
        batches = choose_prompts(documents, prompts, batch=batch)
        generate = _greedy(weights / "target", new_tokens, dtype)
        sequences = []
        for number, some in enumerate(batches, start=1):
            for prompt, output in zip(some, generate(some), strict=True):
                end = output.index(EOS_ID) + 1 if EOS_ID in output else len(output)
                sequences.append([prompt[-1], *output[:end]])
            progress(number, len(batches), "writing")
        build_database(
            ([sequence] for sequence in sequences),
            paths[-1],
            kind="model",
            vocabulary_size=size,
            vocabulary_hash=hashed,
            progress=progress,
            meta=meta,
        )
        paths.append(out / f"{FIVEGRAMS}{SUFFIX}")
        build_fivegrams(
            sequences,
            paths[-1],
            vocabulary_size=size,
            vocabulary_hash=hashed,
            meta=meta,
        )
    return paths


def _tokenizer(folder: Path):
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.exists():
        raise ValueError(f"there is no ladder in '{folder.parent}': '{path}' does not exist")
    return Tokenizer.from_file(str(path))


def _tokens(tokenizer, data: str | Path | None, progress: Progress) -> np.ndarray:
    """Return the training part of the corpus as one array, each file preceded by the end-of-text
    token.
    """
    if data is not None:
        beside = Path(data).parent / "tokenizer"
        if (beside / "tokenizer.json").exists() and _tokenizer(
            beside
        ).get_vocab() != tokenizer.get_vocab():
            raise ValueError(
                f"the tokens in '{data}' were made with another tokenizer than the target's"
            )
        return np.load(Path(data) / "train.npy", mmap_mode="r")
    from training import corpus

    progress(0, 1, "reading the corpus")
    return corpus.tokenize(corpus.train_files(), tokenizer, EOS_ID)


def _greedy(
    folder: Path, new_tokens: int, dtype: str
) -> Callable[[list[list[int]]], list[list[int]]]:
    """Return a function that continues a batch of prompts of equal length with greedy decoding."""
    import torch

    model = load_model(str(folder), dtype=dtype)

    def generate(prompts: list[list[int]]) -> list[list[int]]:
        ids = torch.tensor(prompts)
        with torch.inference_mode():
            whole = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=new_tokens,
                pad_token_id=EOS_ID,
            )
        return whole[:, ids.shape[1] :].tolist()

    return generate
