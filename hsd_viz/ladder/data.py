"""The corpus as token arrays on disk, and which windows of it each step reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import corpus
from .recipe import Profile
from .tokenizer import EOS_ID, save, train_tokenizer


@dataclass(frozen=True, slots=True)
class Data:
    """Token arrays, uint16, one dimension: what is learnt from and what is held out."""

    train: np.ndarray
    heldout: np.ndarray


def prepare(profile: Profile, out: Path) -> Data:
    """Collect, train the tokenizer and tokenize into ``out`` (``data/``, ``tokenizer/``), or read what is already there."""
    folder = out / "data"
    if not (folder / "manifest.json").exists():
        files = corpus.collect()
        if profile.corpus_files is not None:
            # Some of each, so that a short corpus still has a held-out part.
            train = corpus.train_files(files)[: profile.corpus_files]
            files = train + corpus.heldout_files(files)[: max(2, profile.corpus_files // 10)]
        train, heldout = corpus.train_files(files), corpus.heldout_files(files)
        texts, used = [], 0
        for f in train:
            if used > profile.tokenizer_bytes:
                break
            texts.append(f.text)
            used += len(f.text.encode())
        tokenizer = train_tokenizer(texts, profile.vocabulary)
        save(tokenizer, out / "tokenizer", profile.context)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = corpus.manifest(files)
        for name, part in (("train", train), ("heldout", heldout)):
            ids = corpus.tokenize(part, tokenizer, EOS_ID)
            np.save(folder / f"{name}.npy", ids)
            manifest["total"][f"{name}_tokens"] = len(ids)
        # Written last: its presence says that the rest is complete.
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return Data(np.load(folder / "train.npy", mmap_mode="r"), np.load(folder / "heldout.npy", mmap_mode="r"))


def step_windows(tokens: np.ndarray, step: int, count: int, window: int, seed: int) -> np.ndarray:
    """The windows of one step, a pure function of its arguments, so that resuming needs no other position.

    Every window is read once before any is read twice. Returns int64 [count, window + 1]: inputs and targets overlap by one.
    """
    available = (len(tokens) - 1) // window
    if available < count:
        raise ValueError(f"the corpus holds {available} windows of {window} tokens, fewer than the {count} of one step")
    epoch, first = divmod(step * count, available // count * count)
    order = np.random.default_rng([seed, epoch]).permutation(available)[first : first + count]
    return np.stack([tokens[w * window : w * window + window + 1] for w in order]).astype(np.int64)


def heldout_windows(tokens: np.ndarray, count: int, window: int) -> np.ndarray:
    """Up to ``count`` evenly spaced windows of the held-out tokens. Returns int64 [windows, window + 1]."""
    available = (len(tokens) - 1) // window
    if available < 1:
        raise ValueError(f"the held-out part has {len(tokens)} tokens, too few for a window of {window}")
    picks = np.unique(np.linspace(0, available - 1, min(count, available)).astype(int))
    return np.stack([tokens[w * window : w * window + window + 1] for w in picks]).astype(np.int64)
