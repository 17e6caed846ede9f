"""Databases from the first part of a log, so that the rest can be judged with them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hsd_viz.drafting.index.build import build_database, build_fivegrams
from hsd_viz.drafting.index.corpus import CorpusWriter
from hsd_viz.drafting.index.format import SUFFIX
from hsd_viz.drafting.make import FIVEGRAMS
from hsd_viz.logs.records import LogReader
from hsd_viz.logs.replay import tokenized
from hsd_viz.logs.tokens import LogTokenizer, TokenizedRequest
from hsd_viz.words import check_range

#: Places counted together, and output tokens counted for the 5-grams: both bound the memory.
PART_TOKENS, FIVEGRAM_TOKENS = 250_000, 500_000


def build(
    log: Path,
    tokenizer: LogTokenizer,
    folder: str | Path,
    share: float,
    progress: Callable[[int, int, str], None] | None = None,
) -> int:
    """Build the model, statistics and 5-gram databases in ``folder`` from the first ``share`` of the log.

    The model database and the 5-grams count outputs, the statistics database prompts and outputs. Returns the number
    of records used: a log is in the order of time, so none of the rest can have been seen.

    Raises: ValueError: if there is no tokenizer or the part has no usable request.
    """
    check_range("the training share", share, 0.01, 0.99)
    if not tokenizer.vocabulary:
        raise ValueError("databases need a tokenizer: give that of the log's model")
    identity: dict[str, Any] = {"vocabulary_size": tokenizer.size, "vocabulary_hash": tokenizer.hash}
    last = int(share * LogReader(log).count())

    def requests() -> Iterator[TokenizedRequest]:
        reader = LogReader(log)
        try:
            for request in tokenized(reader, tokenizer):
                if request.request.number > last:
                    return
                yield request
                if progress:
                    progress(reader.done, reader.size, "building databases")
        finally:
            reader.close()

    def feed(whole: bool) -> Callable[[CorpusWriter], dict[str, Any]]:
        def write(writer: CorpusWriter) -> dict[str, Any]:
            for request in requests():
                if whole:
                    writer.add(request.text.prompt)
                writer.add(request.text.output)
                writer.end()
            return {"from": log.name}

        return write

    folder = Path(folder)
    for kind in ("model", "statistics"):
        path = folder / f"{kind}{SUFFIX}"
        build_database(feed(kind == "statistics"), path, kind=kind, part_tokens=PART_TOKENS, **identity)
    outputs, tokens = [], 0
    for request in requests():
        outputs.append(request.text.output)
        tokens += len(request.text.output)
        if tokens >= FIVEGRAM_TOKENS:
            break
    build_fivegrams(outputs, folder / f"{FIVEGRAMS}{SUFFIX}", **identity, meta={"from": log.name})
    return last
