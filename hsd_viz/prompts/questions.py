"""Questions to chat models: Spec-Bench (Xia et al. 2024, arXiv 2401.07851), files in its format, and SPEED-Bench.

Each line of a question file is a JSON object with ``question_id``, ``category`` and ``turns``. The 480 questions of
Spec-Bench are six tasks of 80; the eight categories of MT-bench, two turns each, form one task.

For SPEED-Bench (Abramovich et al. 2026, arXiv 2604.09557) NVIDIA publishes parquet files, whose ids are texts:
``qualitative`` with eleven categories, and ``throughput_1k`` to ``throughput_32k`` by length of the prompt, with the
entropy of the output as category. Where the source of a question may not be redistributed, the text is a placeholder;
NVIDIA's own ``prepare_data.py`` (Model-Optimizer, specdec_bench) replaces it. Its output is read, too, and JSON lines
with ``turns`` or ``messages``. Nothing of it is downloaded: the licence of the data has to be accepted first.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from hsd_viz.disk import cache_folder, write_whole, writing
from hsd_viz.prompts import MAX_BYTES, Prompt, Suite

#: Task -> description.
TASKS = {
    "mt_bench": "Multi-turn conversation: the eight categories of MT-bench, two turns per question.",
    "translation": "German to English.",
    "summarization": "News articles to summarize: long prompts, much of whose text recurs in the answer.",
    "qa": "Short knowledge questions.",
    "math_reasoning": "Grade-school word problems.",
    "rag": "Questions with retrieved passages to answer them from.",
}
MT_BENCH = frozenset(["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"])
URL = "https://raw.githubusercontent.com/hemingkx/Spec-Bench/fd2c1cd7d2201ef71db4c5f4e455008f017967bf/data/spec_bench/question.jsonl"
SHA256 = "4b6d33e79484f9841c487ee87d1cf6aa8c6066f61d5d482ff09e5a007fafdf04"
_TIMEOUT = 20.0
#: The text of a question that is not included.
PLACEHOLDER = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
#: The parts of the data set: one of these is in the path of a published file.
PARTS = re.compile(r"qualitative|throughput_\d+k")
HOW = "prepare the files with NVIDIA's prepare_data.py and give their path with --suite"


def read_questions(path: Path, name: str | None = None) -> Suite:
    """Return the questions of a file as a suite, without placeholders; the categories of MT-bench become the one task
    ``mt_bench`` in a file of Spec-Bench, and one of SPEED-Bench is named after its part of the data set. Raises
    ValueError for a malformed row (the message names file and line or row), or if there is no question.
    """
    prompts: dict[str, Prompt] = {}
    left_out, published = 0, False
    for place, row in _rows(path):
        try:
            prompt = _question(row)
            if any(PLACEHOLDER in turn for turn in prompt.turns):
                left_out += 1
            elif prompts.setdefault(prompt.id, prompt) is not prompt:
                raise ValueError(f"question_id {prompt.id} occurs twice")
        except ValueError as error:
            raise ValueError(f"{path}, {place}: {error}") from None
        published = published or isinstance(row["question_id"], str)
    if not prompts:
        what = f"only {left_out} placeholders: {HOW}" if left_out else "no question: write a JSON object per line"
        raise ValueError(f"the question file {path} contains {what}")
    found = dict.fromkeys(p.category for p in prompts.values())
    about = (
        f"of {'SPEED-Bench' if published else path.name}{f', without {left_out} placeholders in all' * (left_out > 0)}"
    )
    tasks = {} if published else {task: words for task, words in TASKS.items() if task in found}
    categories = tasks | {c: f"The category {c} {about}." for c in found if c not in tasks}
    part = PARTS.search(str(path)) if published else None
    return Suite(name or (f"speed-bench {part[0]}" if part else path.name), categories, tuple(prompts.values()))


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file, each with its place; the longest part of SPEED-Bench has more than 100 MB."""
    if path.suffix.lower() == ".parquet":
        try:
            from pyarrow import parquet

            for k, batch in enumerate(parquet.ParquetFile(path).iter_batches(batch_size=64)):
                yield from ((f"row {64 * k + i}", row) for i, row in enumerate(batch.to_pylist(), start=1))
        except ModuleNotFoundError:
            raise ValueError(f"reading {path} needs pyarrow: pip install pyarrow, or convert it to .jsonl") from None
        except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
            raise ValueError(f"{path} is not a parquet file: {str(error).splitlines()[0]}") from None
        return
    number = 0
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_BYTES + 1):
                number += 1
                if len(line) > MAX_BYTES:
                    raise ValueError(f"the line is too long: the limit is {MAX_BYTES // 2**20} MiB")
                if line := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield f"line {number}", json.loads(line.decode("utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the question file {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        what = f"not UTF-8 text (byte {error.start} of the line is {error.object[error.start]:#04x})"
        raise ValueError(f"{path}, line {number}: {what}") from None
    except RecursionError:
        raise ValueError(f"{path}, line {number}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: not JSON ({str(error).splitlines()[0]})") from None


def _question(row: Any) -> Prompt:
    """Return the prompt of a row. Raises: ValueError: if it is not a question."""
    if not isinstance(row, dict):
        raise ValueError("a question must be a JSON object with question_id, category and turns")
    messages = row.get("messages")
    if isinstance(messages, list) and not row.get("turns"):
        users = [m for m in messages if isinstance(m, dict) and m.get("role", "user") == "user"]
        row = {**row, "turns": [m.get("content") for m in users]}
    for key in ("question_id", "category", "turns"):
        if key not in row:
            raise ValueError(f"the question has no {key}")
    number, category, turns = row["question_id"], row["category"], row["turns"]
    if isinstance(number, bool) or not isinstance(number, int | str) or not str(number).strip():
        raise ValueError(f"question_id must be an integer or a text, not {number!r}")
    if not isinstance(category, str) or not category.strip():
        raise ValueError(f"category must be a non-empty string, not {category!r}")
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) and t.strip() for t in turns):
        raise ValueError("turns must be a list of one or more non-empty strings")
    if any(re.search("[\ud800-\udfff]", text) for text in (str(number), category, *turns)):
        raise ValueError("a text contains a lone surrogate and is not valid Unicode")
    names = ("question_id", "category", "sub_category", "source", "difficulty")
    origin = {name: row[name] for name in names if row.get(name) is not None}
    task = "mt_bench" if category in MT_BENCH and isinstance(number, int) else category
    return Prompt(str(number), task, turns[0], origin, tuple(turns))


def question_file(folder: Path | None = None) -> Path:
    """Return the question file of Spec-Bench, downloaded once into the cache ``folder``; its SHA-256 is checked. Raises
    ValueError if it is not cached and cannot be downloaded, or ``HF_HUB_OFFLINE`` forbids network requests.
    """
    path = (folder or cache_folder("suites")) / f"spec-bench-{SHA256[:12]}.jsonl"
    if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
        return path
    otherwise = "give the path of its question.jsonl with --suite"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ValueError(f"Spec-Bench is not cached and HF_HUB_OFFLINE forbids downloading it: unset it or {otherwise}")
    try:
        data = httpx.get(URL, timeout=_TIMEOUT).raise_for_status().content
    except httpx.HTTPError as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"Spec-Bench is not cached and cannot be downloaded from {URL} ({why}): {otherwise}") from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"the file at {URL} is not the question file of Spec-Bench (its SHA-256 differs): {otherwise}")
    with writing(path):
        write_whole(path, data)
    return path
