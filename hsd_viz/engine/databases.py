"""Build custom databases from the output of a model or from any text."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hsd_viz.drafting.index.build import DEFAULT_KEY_LENGTH, build_database, build_fivegrams
from hsd_viz.drafting.index.corpus import Encode, find_texts, read_documents
from hsd_viz.drafting.index.count import PART_TOKENS, Pruning
from hsd_viz.drafting.index.format import SUFFIX
from hsd_viz.drafting.shared import FIVEGRAMS, vocabulary_hash
from hsd_viz.engine.local import LocalEngine
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import PromptTooLong, Unsupported, UserError, no_panics
from hsd_viz.models.families import DEFAULT
from hsd_viz.models.files import GGUF
from hsd_viz.models.tokenizer import FILE, load_tokenizer
from hsd_viz.models.tokenizer_file import read_tokenizer_file, without_padding
from hsd_viz.prompts.suites import load_suite
from hsd_viz.prompts.templates import choose_template, opening
from hsd_viz.terminal import Progress

#: The default pruning of model databases.
PRUNING = Pruning(least=2, least_continuation=1, max_bytes=64_000_000)


def build_model(
    engine: LocalEngine,
    suites: Sequence[str | Path],
    out: str | Path,
    *,
    max_new_tokens: int,
    stack: str,
    progress: Progress,
    longest: int = DEFAULT_KEY_LENGTH,
    pruning: Pruning | None = None,
    part_tokens: int = PART_TOKENS,
) -> list[Path]:
    """Decode prompts at temperature 0, and build ``model.hsdb`` and ``fivegrams.hsdb`` from the
    output.

    A prompt that occurs several times is decoded once. A prompt that fills the context counts as an
    empty output.

    Args:
        engine: the engine whose target decodes.
        suites: the names or paths of suites (:func:`~hsd_viz.prompts.suites.load_suite`).
        out: the folder for the databases.
        max_new_tokens: the largest number of tokens in an output.
        stack: the stack that decodes; it affects only the speed.
        progress: a function that is called with the progress.
        longest: the longest key in tokens.
        pruning: the keys and continuations to store.
        part_tokens: the number of positions that are counted at a time.

    Returns:
        The paths of the files.

    Raises:
        UserError: if nothing can be decoded.
    """
    out = Path(out)
    target = engine.target
    text = engine.models.text(target)
    prompts = {}
    for suite in suites:
        for prompt in load_suite(str(suite)).prompts:
            prompts[prompt.text, prompt.turns] = prompt
    template = None
    if any(prompt.turns for prompt in prompts.values()):
        template = choose_template(engine.tokenizer, target)
    prompted = []
    for prompt in prompts.values():
        beginning = opening(prompt, template)
        ids = text.encode(beginning) if isinstance(beginning, str) else list(beginning)
        if ids:
            prompted.append(ids)
    sequences = []
    for done, ids in enumerate(prompted, start=1):
        output: list[int] = []
        with suppress(PromptTooLong):
            output = engine.run(ids, stack, max_new_tokens=max_new_tokens, record=False).token_ids
        sequences.append([ids[-1], *output])
        progress(done, len(prompted), "writing")
    if all(len(sequence) == 1 for sequence in sequences):  # only the last token of each prompt
        raise UserError(
            "the model wrote nothing: every prompt is empty, fills "
            "its context, or ends its text at once"
        )
    vocabulary = vocabulary_hash(text.tokenizer.get_vocab())
    vocabulary_size = engine.models.fast(target).vocab_size
    meta = {
        "model": target,
        "weights": engine.models.files.hash(target) or target,
        "decoding": "greedy",
        "max_new_tokens": max_new_tokens,
        "dtype": engine.dtype,
        "prompts": len(prompted),
    }
    path = out / f"model{SUFFIX}"
    build_database(
        ([sequence] for sequence in sequences),
        path,
        kind="model",
        vocabulary_size=vocabulary_size,
        vocabulary_hash=vocabulary,
        longest=longest,
        pruning=pruning,
        meta=meta,
        part_tokens=part_tokens,
        progress=progress,
    )
    fivegrams = out / f"{FIVEGRAMS}{SUFFIX}"
    build_fivegrams(
        sequences,
        fivegrams,
        vocabulary_size=vocabulary_size,
        vocabulary_hash=vocabulary,
        meta=meta,
    )
    return [path, fivegrams]


def build_text(
    paths: Sequence[str | Path],
    tokenizer: Any,
    out: str | Path,
    *,
    progress: Progress,
    longest: int = DEFAULT_KEY_LENGTH,
    pruning: Pruning | None = None,
    part_tokens: int = PART_TOKENS,
) -> list[Path]:
    """Count the text of files and folders into ``statistics.hsdb``.

    Files are read in pieces and counted on disk, in constant memory.

    Args:
        paths: the files and folders.
        tokenizer: any tokenizer of transformers.
        out: the folder for the database.
        progress: a function that is called with the progress.
        longest: the longest key in tokens.
        pruning: the keys and continuations to store.
        part_tokens: the number of positions that are counted at a time.

    Returns:
        The path of the file, in a list.

    Raises:
        UserError: if a named file cannot be read or has no text.
    """
    files, passed_over = find_texts(paths)
    vocabulary = tokenizer.get_vocab()
    path = Path(out) / f"statistics{SUFFIX}"
    documents = read_documents(
        files, _encoder(tokenizer), eos=tokenizer.eos_token_id, progress=progress
    )
    build_database(
        documents,
        path,
        kind="statistics",
        vocabulary_size=max(vocabulary.values(), default=-1) + 1,
        vocabulary_hash=vocabulary_hash(vocabulary),
        longest=longest,
        pruning=pruning,
        meta={
            "from": list(map(str, paths))[:20],
            "files": len(files),
            "passed_over": passed_over,
        },
        part_tokens=part_tokens,
        progress=progress,
    )
    return [path]


def find_tokenizer(name: str, family: str = DEFAULT) -> Any:
    """Load the tokenizer of a model, of a folder, or of a ``tokenizer.json`` file.

    A model is a name of the ``family``, a hub id, a path or a GGUF file.

    Raises:
        UserError: if there is no tokenizer.
    """
    path = Path(name).expanduser()
    is_file = path.is_file() and path.suffix != GGUF
    is_folder = path.is_dir() and not (path / "config.json").exists()
    if not is_file and not (is_folder and any(path.glob("tokenizer*"))):
        models = EngineModels(EngineOptions(name, device="cpu", family=family))
        return models.text(name).tokenizer
    file = path if is_file else path / FILE
    if file.name == FILE and file.is_file():
        try:
            return load_tokenizer(file.parent)
        except Unsupported:
            read_tokenizer_file(file)  # raises an error for settings that are not allowed
    elif file.is_file():
        read_tokenizer_file(file)
    return _tokenizer_of_transformers(name, path)


def _tokenizer_of_transformers(name: str, path: Path) -> Any:
    """Load a tokenizer from a folder or a file by transformers, without padding and truncation."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    with no_panics(f"the tokenizer '{name}' cannot be loaded"):
        if path.is_file():
            tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
        else:
            tokenizer = AutoTokenizer.from_pretrained(
                str(path), trust_remote_code=False, local_files_only=True
            )
    return without_padding(tokenizer)


def _encoder(tokenizer: Any) -> Encode:
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is None:
        return lambda text: tokenizer.encode(text, add_special_tokens=False, verbose=False)

    def encode(text: str) -> list[int]:
        # The text of a special token is encoded as characters, not as the special token.
        before = backend.encode_special_tokens
        backend.encode_special_tokens = True
        try:
            with no_panics("the tokenizer does not take this text"):
                return backend.encode(text, add_special_tokens=False).ids
        finally:
            backend.encode_special_tokens = before

    return encode
