"""The tokenizer, the corpus as token arrays on disk, and the windows that each step reads."""

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from hsd_viz.disk import write_whole
from training import corpus
from training.recipe import TrainingProfile

EOS = "<|endoftext|>"
EOS_ID = 0


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Train byte-level BPE on ``texts``. ``vocabulary`` is the number of tokens, at least 257: 256
    bytes and the end-of-text token.
    """
    if vocabulary < 257:
        raise ValueError(f"a byte-level vocabulary needs at least 257 tokens, not {vocabulary}")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, directory: Path, context: int = 2048) -> None:
    """Write tokenizer.json and tokenizer_config.json, readable by ``tokenizers`` and by
    ``AutoTokenizer``. It adds no special tokens; ``<|endoftext|>`` begins and ends a file.
    """
    directory.mkdir(parents=True, exist_ok=True)
    saved = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=EOS,
        eos_token=EOS,
        pad_token=EOS,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    saved.save_pretrained(str(directory))


@dataclass(frozen=True, slots=True)
class Data:
    """Token arrays, uint16, one dimension.

    Attributes:
        train: the text to learn from.
        heldout: the held-out text.
        breaks: for each token id the two tokens of a line break with its indentation, or zeros
            ``[vocabulary, 2]``.
    """

    train: np.ndarray
    heldout: np.ndarray
    breaks: np.ndarray


def prepare(profile: TrainingProfile, out: Path, tokenizer_dir: Path | None = None) -> Data:
    """Collect the corpus and tokenize it into ``out`` (``data/``, ``tokenizer/``), or read what is
    already there.

    Args:
        profile: the settings of the training.
        out: the folder of the training.
        tokenizer_dir: the folder with the ``tokenizer.json`` to use; by default a tokenizer is
            trained on the corpus.
    """
    folder = out / "data"
    if not (folder / "manifest.json").exists():
        files = _corpus_files(profile)
        _write_tokenizer(profile, files, out / "tokenizer", tokenizer_dir)
        _tokenize(files, _read_tokenizer(out), folder)
    train = np.load(folder / "train.npy", mmap_mode="r")
    heldout = np.load(folder / "heldout.npy", mmap_mode="r")
    return Data(train, heldout, line_breaks(_read_tokenizer(out)))


def _corpus_files(profile: TrainingProfile) -> list[corpus.SourceFile]:
    """Return the files of the corpus; of a short one some of both parts, so that it has held-out
    text too.
    """
    files = corpus.collect()
    if profile.corpus_files is None:
        return files
    train = corpus.train_files(files)[: profile.corpus_files]
    heldout = corpus.heldout_files(files)[: max(2, profile.corpus_files // 10)]
    return train + heldout


def _write_tokenizer(
    profile: TrainingProfile,
    files: Sequence[corpus.SourceFile],
    out: Path,
    tokenizer_dir: Path | None,
) -> None:
    """Write the tokenizer of the training: a copy, or one that is trained on ``files``."""
    if tokenizer_dir is None:
        texts = _first_texts(corpus.train_files(files), profile.tokenizer_bytes)
        save_tokenizer(train_tokenizer(texts, profile.vocabulary), out, profile.context)
        return
    out.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer_dir / name, out / name)


def _read_tokenizer(out: Path) -> Tokenizer:
    return Tokenizer.from_file(str(out / "tokenizer" / "tokenizer.json"))


def _tokenize(files: list[corpus.SourceFile], tokenizer: Tokenizer, folder: Path) -> None:
    """Write the token arrays and the manifest of ``files`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = corpus.manifest(files)
    for name, part in (
        ("train", corpus.train_files(files)),
        ("heldout", corpus.heldout_files(files)),
    ):
        ids = corpus.tokenize(part, tokenizer, EOS_ID)
        np.save(folder / f"{name}.npy", ids)
        manifest["total"][f"{name}_tokens"] = len(ids)
    # Written last: its presence means that the rest is complete.
    write_whole(folder / "manifest.json", json.dumps(manifest, indent=1))


def _first_texts(files: Sequence[corpus.SourceFile], most_bytes: int) -> list[str]:
    """Return texts until they have more than so many bytes."""
    texts = []
    earlier_bytes = 0
    for file in files:
        if earlier_bytes > most_bytes:
            break
        texts.append(file.text)
        earlier_bytes += len(file.text.encode())
    return texts


def line_breaks(tokenizer: Tokenizer) -> np.ndarray:
    """Return how to split each token that joins line breaks and indentation. Shape: [vocabulary,
    2], zeros for other tokens.
    """
    vocabulary = tokenizer.get_vocab()
    table = np.zeros((max(vocabulary.values()) + 1, 2), dtype=np.int64)
    for token, number in vocabulary.items():
        spaces = token.lstrip("Ċ")
        pair = token[: len(token) - len(spaces)], spaces
        if all(part in vocabulary for part in pair) and set(spaces) == {"Ġ"}:
            table[number] = [vocabulary[part] for part in pair]
    return table


def step_chunks(tokens: np.ndarray, step: int, count: int, length: int, seed: int) -> np.ndarray:
    """Return the chunks of one step, int64 [count, length + 1]: inputs and targets overlap by one
    token.

    It is a pure function of its arguments, so resuming needs only the step number. Every chunk is
    read once before any is read twice.

    Raises:
        ValueError: if the corpus has fewer chunks than one step reads.
    """
    available = (len(tokens) - 1) // length
    if available < count:
        raise ValueError(
            f"the corpus has {available} chunks of {length} tokens; one step needs {count}"
        )
    epoch, first_chunk = divmod(step * count, available // count * count)
    order = np.random.default_rng([seed, epoch]).permutation(available)[
        first_chunk : first_chunk + count
    ]
    return np.stack([tokens[k * length : (k + 1) * length + 1] for k in order]).astype(np.int64)


def cut(chunks: np.ndarray, window: int) -> np.ndarray:
    """Cut chunks [count, n · window + 1] into windows [count · n, window + 1] that overlap by
    one token.
    """
    starts = range(0, chunks.shape[1] - 1, window)
    return np.concatenate([chunks[:, s : s + window + 1] for s in starts])


def add_repeats(windows: np.ndarray, share: float, step: int, seed: int) -> np.ndarray:
    """Replace a ``share`` of the windows by windows in which a passage occurs twice, then
    continues. In the second occurrence one token of the passage is substituted by another
    everywhere, like a renamed variable. Models of this size learn to copy from their context late
    from plain text alone; a few such windows are enough.
    """
    if not share:
        return windows
    windows = windows.copy()
    random = np.random.default_rng([seed, step, 1])
    size = windows.shape[1]
    for row in np.flatnonzero(random.random(len(windows)) < share):
        text = windows[row]
        length = int(random.integers(size // 8, size * 5 // 8))
        repeated = text[:length].copy()
        repeated[repeated == random.choice(repeated)] = random.choice(text)
        windows[row] = np.concatenate([text[:length], repeated, text[length:]])[:size]
    return windows


def split_breaks(
    windows: np.ndarray, breaks: np.ndarray, share: float, step: int, seed: int
) -> np.ndarray:
    """Split a ``share`` of the tokens that join a line break and indentation; the windows keep
    their length. A prompt that ends in a line break ends in a token which the tokenizer never puts
    before indentation. Without these splits the models would be certain that the next line is not
    indented.
    """
    if not share:
        return windows
    windows = windows.copy()
    random = np.random.default_rng([seed, step, 2])
    is_split = (breaks[windows].sum(-1) > 0) & (random.random(windows.shape) < share)
    for row in np.flatnonzero(is_split.any(axis=1)):
        places = np.flatnonzero(is_split[row])
        first, second = breaks[windows[row, places]].T
        windows[row, places] = first
        windows[row] = np.insert(windows[row], places + 1, second)[: windows.shape[1]]
    return windows


def heldout_windows(tokens: np.ndarray, count: int, window: int) -> np.ndarray:
    """Return up to ``count`` evenly spaced windows of the held-out tokens, int64 [windows, window +
    1].

    Raises:
        ValueError: if there are fewer tokens than one window.
    """
    available = (len(tokens) - 1) // window
    if available < 1:
        raise ValueError(f"the held-out part has {len(tokens)} tokens; a window needs {window}")
    picks = np.unique(np.linspace(0, available - 1, min(count, available)).astype(int))
    return np.stack([tokens[w * window : w * window + window + 1] for w in picks]).astype(np.int64)
