"""The databases of the ladder: statistics from its corpus, the model database from what its target writes.

>>> python -m hsd_viz.ladder.databases [--out DIR] [--weights DIR] [--data DIR] [--only model|statistics]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hsd_viz.drafting.build import build_fivegrams, build_model_database, build_statistics, split_documents
from hsd_viz.drafting.index import SUFFIX
from hsd_viz.drafting.outputs import Generate, choose_prompts, collect_outputs
from hsd_viz.drafting.shared import FIVEGRAMS, STORED, vocabulary_hash

from ..load import load_model, weights_dir, weights_hash
from ..tokenizer import EOS_ID

Progress = Callable[[str, float], None]


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
    progress: Progress | None = None,
) -> list[Path]:
    """Build ``statistics.hsdb``, ``model.hsdb`` and ``fivegrams.hsdb`` in ``out`` (the shipped databases' folder); return their paths.

    ``weights`` is the folder with the ladder's ``target`` (default: the shipped ones); ``data`` one with the ``train.npy`` that
    was made with that very tokenizer (default: read and tokenize the corpus of this environment); ``only`` one of the two
    kinds (the 5-grams go with the model database). The target writes ``new_tokens`` after each of ``prompts`` cuts of the corpus,
    greedily, computing in ``dtype``: bfloat16 is more than twice as fast as float32 where the processor multiplies it, and its
    few other choices hurt no draft.
    Many short outputs beat few long ones, because small models come to repeat themselves, and what repeats the context
    database knows.
    ``progress`` is called with what is being done and the share done. An interrupted run goes on where its last batch ended.
    """
    if only not in (None, *STORED):
        raise ValueError(f"unknown database '{only}': the ones to build are {' and '.join(STORED)}")
    weights = Path(weights) if weights is not None else weights_dir()
    out = Path(out) if out is not None else weights / "databases"
    tokenizer = _tokenizer(weights / "target")
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    # A model may have more token ids than its tokenizer, and may write them.
    size = max(json.loads((weights / "target" / "config.json").read_text())["vocab_size"], max(vocabulary.values()) + 1)
    facts = {"vocabulary_size": size, "vocabulary_hash": vocabulary_hash(vocabulary), "progress": progress}
    documents = split_documents(_tokens(tokenizer, data, progress), EOS_ID)
    paths = []
    if only != "model":
        paths.append(out / f"statistics{SUFFIX}")
        build_statistics(documents, paths[-1], **facts)
    if only != "statistics":
        paths.append(out / f"model{SUFFIX}")
        identity = {"weights": weights_hash(weights / "target"), "documents": len(documents), "prompts": prompts}
        identity |= {"new_tokens": new_tokens, "batch": batch, "dtype": dtype}
        partial = out / "outputs.partial.jsonl"
        batches = choose_prompts(documents, prompts, batch=batch)
        generate = _greedy(weights / "target", new_tokens, dtype)
        sequences = collect_outputs(generate, batches, partial, identity=identity, eos=EOS_ID, progress=progress)
        build_model_database(sequences, paths[-1], **facts, meta={"decoding": "greedy", **identity})
        paths.append(out / f"{FIVEGRAMS}{SUFFIX}")
        facts.pop("progress")
        build_fivegrams(sequences, paths[-1], **facts, meta={"decoding": "greedy", **identity})
        partial.unlink()
    return paths


def _tokenizer(folder: Path):
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.exists():
        raise ValueError(f"there is no ladder in '{folder.parent}': '{path}' does not exist")
    return Tokenizer.from_file(str(path))


def _tokens(tokenizer, data: str | Path | None, progress: Progress | None) -> np.ndarray:
    """The training part of the corpus as one array, each file preceded by the end-of-text token."""
    if data is not None:
        beside = Path(data).parent / "tokenizer"
        if (beside / "tokenizer.json").exists() and _tokenizer(beside).get_vocab() != tokenizer.get_vocab():
            raise ValueError(f"the tokens in '{data}' were made with another tokenizer than the target's")
        return np.load(Path(data) / "train.npy", mmap_mode="r")
    from . import corpus

    if progress:
        progress("reading the corpus", 0.0)
    return corpus.tokenize(corpus.train_files(), tokenizer, EOS_ID)


def _greedy(folder: Path, new_tokens: int, dtype: str) -> Generate:
    """The target's greedy continuation of a batch of equally long prompts."""
    import torch

    model = load_model(str(folder), dtype=dtype)

    def generate(prompts: list[list[int]]) -> list[list[int]]:
        ids = torch.tensor(prompts)
        with torch.inference_mode():
            whole = model.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=new_tokens, pad_token_id=EOS_ID
            )
        return whole[:, ids.shape[1] :].tolist()

    return generate


def main() -> None:
    """The command line of this module."""
    parser = argparse.ArgumentParser(description="build the ladder's databases")
    parser.add_argument("--out")
    parser.add_argument("--weights")
    parser.add_argument("--data")
    parser.add_argument("--only", choices=STORED)
    parser.add_argument("--prompts", type=int, default=4096)
    parser.add_argument("--new-tokens", type=int, default=96)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    args = parser.parse_args()
    begin = time.monotonic()

    def show(what: str, share: float) -> None:
        print(f"{time.monotonic() - begin:6.0f} s  {what}  {share:.0%}", flush=True)

    for path in rebuild_databases(
        args.out,
        weights=args.weights,
        data=args.data,
        only=args.only,
        prompts=args.prompts,
        new_tokens=args.new_tokens,
        dtype=args.dtype,
        progress=show,
    ):
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
