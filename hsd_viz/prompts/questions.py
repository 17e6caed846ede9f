"""Questions to chat models: Spec-Bench (Xia et al. 2024, arXiv 2401.07851), files in its format, and SPEED-Bench.

Each line of a question file is a JSON object with ``question_id``, ``category`` and ``turns``. The 480 questions of
Spec-Bench are six tasks of 80; the eight categories of MT-bench, two turns each, form one task.

For SPEED-Bench (Abramovich et al. 2026, arXiv 2604.09557) NVIDIA publishes parquet files (``question_id``,
``category``, ``sub_category``, ``turns``, ``source``, ``src_id``, ``difficulty``, ``multiturn``): ``qualitative`` with
eleven categories, and ``throughput_1k`` to ``throughput_32k`` by length of the prompt, with the entropy of the output
as category. Where the source of a question may not be redistributed, the text is a placeholder; NVIDIA's own
``prepare_data.py`` (Model-Optimizer, specdec_bench) replaces it. Its output is read, too, and JSON lines with ``turns``
or ``messages``. Nothing is downloaded: the licence of the data has to be accepted first.
"""

import hashlib
import json
import os
import re
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from hsd_viz.disk import cache_folder, write_whole, writing
from hsd_viz.prompts import Prompt, Suite, read_bytes
from hsd_viz.words import first_line

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
_BYTES = 698_768
_TIMEOUT = 20.0
_BOM = b"\xef\xbb\xbf"
#: The text of a question that is not included.
PLACEHOLDER = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"
#: The parts of the data set: one of these is in the path of a published file.
PARTS = re.compile(r"qualitative|throughput_\d+k")
HOW = "prepare the files with NVIDIA's prepare_data.py and give their path with --suite"


def read_questions(path: Path, name: str | None = None) -> Suite:
    """Return the questions of a file as a suite; the categories of MT-bench become the one task ``mt_bench``. Raises
    ValueError for a malformed line; the message names file and line.
    """
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(read_bytes(path, "question").removeprefix(_BOM).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            prompt = _question(line)
            if prompt.id in prompts:
                raise ValueError(f"question_id {prompt.id} occurs twice")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        prompts[prompt.id] = prompt
    if not prompts:
        raise ValueError(f"the question file {path} contains no question: write a JSON object per line")
    found = dict.fromkeys(p.category for p in prompts.values())
    categories = {task: about for task, about in TASKS.items() if task in found}
    categories |= {c: f"The category {c} of {path.name}." for c in found if c not in TASKS}
    return Suite(name or path.name, categories, tuple(prompts.values()))


def _question(line: bytes) -> Prompt:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text (byte {error.start} of the line is {line[error.start]:#04x})") from None
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(row, dict):
        raise ValueError("a question must be a JSON object with question_id, category and turns")
    for key in ("question_id", "category", "turns"):
        if key not in row:
            raise ValueError(f"the question has no {key}")
    number, category, turns = row["question_id"], row["category"], row["turns"]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(f"question_id must be an integer, not {number!r}")
    if not isinstance(category, str) or not category.strip():
        raise ValueError(f"category must be a non-empty string, not {category!r}")
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) and t.strip() for t in turns):
        raise ValueError("turns must be a list of one or more non-empty strings")
    _check_unicode((category, *turns))
    task = "mt_bench" if category in MT_BENCH else category
    return Prompt(str(number), task, turns[0], {"question_id": number, "category": category}, tuple(turns))


def question_file(folder: Path | None = None, fetch: Callable[[], bytes] | None = None) -> Path:
    """Return the question file of Spec-Bench, downloaded once into the cache ``folder``; its SHA-256 is checked. Raises
    ValueError if it is not cached and cannot be downloaded, or ``HF_HUB_OFFLINE`` forbids network requests.
    """
    path = (folder or cache_folder("suites")) / f"spec-bench-{SHA256[:12]}.jsonl"
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
            return path
    except OSError:
        pass
    otherwise = "give the path of its question.jsonl with --suite"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ValueError(f"Spec-Bench is not cached and HF_HUB_OFFLINE forbids downloading it: unset it or {otherwise}")
    try:
        data = (fetch or _fetch)()
    except OSError as error:  # every failure of urllib is one
        reason = getattr(error, "reason", None) or error
        raise ValueError(
            f"Spec-Bench is not cached and cannot be downloaded from {URL} ({reason}): {otherwise}"
        ) from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"the file at {URL} is not the question file of Spec-Bench (its SHA-256 differs): {otherwise}")
    with writing(path):
        write_whole(path, data)
    return path


def _fetch() -> bytes:
    """Download :data:`URL`; raise ``OSError`` if that fails or exceeds the time limit."""
    future: Future[bytes] = Future()

    def get() -> None:
        try:
            with urllib.request.urlopen(URL, timeout=_TIMEOUT) as answer:
                future.set_result(answer.read(_BYTES + 1))
        except Exception as error:  # http.client's own exceptions are not OSErrors
            future.set_exception(error if isinstance(error, OSError) else OSError(first_line(error)))

    # urlopen's timeout applies to each wait and not to name resolution; the thread has one limit for everything.
    threading.Thread(target=get, daemon=True).start()
    try:
        return future.result(_TIMEOUT)
    except TimeoutError:
        raise OSError(f"no answer in {_TIMEOUT:.0f} seconds") from None


def is_speed_bench(path: Path) -> bool:
    """Return whether a file has the form of SPEED-Bench: parquet, or JSON lines whose question_id is a text."""
    if path.suffix.lower() == ".parquet":
        return True
    try:
        with path.open("rb") as file:
            line = file.readline().removeprefix(_BOM)
        return isinstance(json.loads(line)["question_id"], str)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def read_speed_bench(path: Path) -> Suite:
    """Return the questions of a file, without placeholders; the suite is named after its part of the data set. Raises
    ValueError for a malformed row (the message names file and row), or if only placeholders are left.
    """
    prompts: dict[str, Prompt] = {}
    left_out = 0
    for number, row in enumerate(_rows(path), start=1):
        try:
            prompt = _speed_question(row)
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
            if line := line.removeprefix(_BOM).strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    raise ValueError(f"{path}, line {number}: not JSON") from None


def _speed_question(row: Mapping[str, Any]) -> Prompt:
    turns = row.get("turns") or [m["content"] for m in row["messages"] if m.get("role", "user") == "user"]
    texts = (row["question_id"], row["category"], *turns)
    if not turns or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("question_id, category and turns must be non-empty texts")
    _check_unicode(texts)
    names = ("question_id", "category", "sub_category", "source", "difficulty")
    origin = {name: row[name] for name in names if row.get(name) is not None}
    return Prompt(row["question_id"], row["category"], turns[0], origin, tuple(turns))


def _check_unicode(texts: Iterable[str]) -> None:
    if any(re.search("[\ud800-\udfff]", text) for text in texts):
        raise ValueError("a text contains a lone surrogate and is not valid Unicode")
