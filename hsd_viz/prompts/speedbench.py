"""The questions of SPEED-Bench (Abramovich et al. 2026, arXiv 2604.09557), as published and as prepared.

NVIDIA publishes parquet files (``question_id``, ``category``, ``sub_category``, ``turns``, ``source``, ``src_id``,
``difficulty``, ``multiturn``): ``qualitative`` with eleven categories, and ``throughput_1k`` to ``throughput_32k`` by
length of the prompt, with the entropy of the output as category. Where the source of a question may not be
redistributed, the text is a placeholder; NVIDIA's own ``prepare_data.py`` (Model-Optimizer, specdec_bench)
replaces it. Its output is read, too, and JSON lines with ``turns`` or ``messages``. Nothing is downloaded: the licence
of the data has to be accepted first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hsd_viz.prompts import Prompt, Suite

#: The text of a question that is not included.
PLACEHOLDER = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
#: The parts of the data set: one of these is in the path of a published file.
PARTS = re.compile(r"qualitative|throughput_\d+k")
HOW = "prepare the files with NVIDIA's prepare_data.py and give their path with --suite"


def is_speed_bench(path: Path) -> bool:
    """Return whether a file has the form of SPEED-Bench: parquet, or JSON lines whose question_id is a text."""
    if path.suffix.lower() == ".parquet":
        return True
    try:
        with path.open("rb") as file:
            line = file.readline().removeprefix(b"\xef\xbb\xbf")
        return isinstance(json.loads(line)["question_id"], str)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def read_speed_bench(path: Path) -> Suite:
    """Return the questions of a file, without placeholders; the suite is named after its part of the data set.

    Raises ValueError for a malformed row (the message names file and row), or if only placeholders are left.
    """
    prompts: dict[str, Prompt] = {}
    left_out = 0
    for number, row in enumerate(_rows(path), start=1):
        try:
            prompt = _question(row)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path}, row {number}: not a question of SPEED-Bench ({error})") from None
        if any(PLACEHOLDER in turn for turn in prompt.turns):
            left_out += 1
        elif prompts.setdefault(prompt.id, prompt) is not prompt:
            raise ValueError(f"{path}, row {number}: question_id {prompt.id} occurs twice")
    if not prompts:
        what = f"only {left_out} placeholders: {HOW}" if left_out else "no question"
        raise ValueError(f"the file {path} contains {what}")
    part = PARTS.search(str(path))
    about = f", without {left_out} placeholders in all" if left_out else ""
    names = dict.fromkeys(p.category for p in prompts.values())
    categories = {name: f"The category {name} of SPEED-Bench{about}." for name in names}
    return Suite(f"speed-bench {part[0]}" if part else path.name, categories, tuple(prompts.values()))


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a file; the longest part has more than 100 MB."""
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow.parquet as parquet
        except ModuleNotFoundError:
            raise ValueError(f"reading {path} needs pyarrow: pip install pyarrow, or convert it to .jsonl") from None
        try:
            for batch in parquet.ParquetFile(path).iter_batches(batch_size=64):
                yield from batch.to_pylist()
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(f"{path} is not a parquet file: {str(error).splitlines()[0]}") from None
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line := line.removeprefix(b"\xef\xbb\xbf").strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    raise ValueError(f"{path}, line {number}: not JSON") from None


def _question(row: Mapping[str, Any]) -> Prompt:
    turns = row.get("turns") or [m["content"] for m in row["messages"] if m.get("role", "user") == "user"]
    texts = (row["question_id"], row["category"], *turns)
    if not turns or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("question_id, category and turns must be non-empty texts")
    if any(re.search("[\ud800-\udfff]", text) for text in texts):
        raise ValueError("a text contains a lone surrogate and is not valid Unicode")
    names = ("question_id", "category", "sub_category", "source", "difficulty")
    origin = {name: row[name] for name in names if row.get(name) is not None}
    return Prompt(row["question_id"], row["category"], turns[0], origin, tuple(turns))
