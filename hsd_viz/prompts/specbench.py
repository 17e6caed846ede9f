"""The questions of Spec-Bench (Xia et al. 2024, arXiv 2401.07851; github.com/hemingkx/Spec-Bench) and files like it.

A question file has one JSON object a line: ``question_id``, ``category``, ``turns``. The 480 questions of Spec-Bench are six
tasks of 80; the eight categories of MT-bench, two turns each, are one of them. No torch here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

from hsd_viz.disk import cache_folder, write_whole
from hsd_viz.prompts.suites import Prompt, Suite, read_bytes

#: Task -> sentence.
TASKS = {
    "mt_bench": "Multi-turn conversation: the eight categories of MT-bench, two turns a question.",
    "translation": "German to English.",
    "summarization": "News articles to be summed up: long prompts, much of which comes again.",
    "qa": "Short questions of knowledge.",
    "math_reasoning": "Word problems of grade-school mathematics.",
    "rag": "Questions with retrieved passages to answer them from.",
}
MT_BENCH = frozenset(["writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities"])
URL = "https://raw.githubusercontent.com/hemingkx/Spec-Bench/fd2c1cd7d2201ef71db4c5f4e455008f017967bf/data/spec_bench/question.jsonl"
SHA256 = "4b6d33e79484f9841c487ee87d1cf6aa8c6066f61d5d482ff09e5a007fafdf04"
_BYTES = 698_768
_SECONDS = 20.0


def read_questions(path: Path, name: str | None = None) -> Suite:
    """The questions of a file as a suite; the categories of MT-bench become the one task ``mt_bench``.

    Raises ``ValueError`` with one sentence, which names file and line, for a line that is no question.
    """
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(read_bytes(path, "question").removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            prompt = _question(line)
            if prompt.id in prompts:
                raise ValueError(f"question_id {prompt.id} was there before")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
        prompts[prompt.id] = prompt
    if not prompts:
        raise ValueError(
            f"the question file {path} holds no question: each line is a JSON object with question_id, category and turns"
        )
    there = {p.category for p in prompts.values()}
    categories = {task: sentence for task, sentence in TASKS.items() if task in there}
    categories |= {
        c: f"The category {c} of {path.name}."
        for c in dict.fromkeys(p.category for p in prompts.values())
        if c not in TASKS
    }
    return Suite(name or path.name, categories, tuple(prompts.values()))


def _question(line: bytes) -> Prompt:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"this is not UTF-8 text (byte {error.start} of the line is {line[error.start]:#04x})"
        ) from None
    except RecursionError:
        raise ValueError("this JSON is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"this is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(row, dict):
        raise ValueError("a question is a JSON object with question_id, category and turns")
    for key in ("question_id", "category", "turns"):
        if key not in row:
            raise ValueError(f"the question has no {key}")
    number, category, turns = row["question_id"], row["category"], row["turns"]
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError("question_id is no whole number")
    if not isinstance(category, str) or not category.strip():
        raise ValueError("category is no name")
    if not isinstance(turns, list) or not turns or not all(isinstance(t, str) and t.strip() for t in turns):
        raise ValueError("turns is no list of one or more texts")
    if any(re.search("[\ud800-\udfff]", text) for text in (category, *turns)):
        raise ValueError("a text holds half a character (a lone surrogate)")
    task = "mt_bench" if category in MT_BENCH else category
    return Prompt(str(number), task, turns[0], {"question_id": number, "category": category}, tuple(turns))


def question_file(folder: Path | None = None, fetch: Callable[[], bytes] | None = None) -> Path:
    """The question file of Spec-Bench: from the cache ``folder``, else fetched once; always the very bytes that are known here.

    Raises ``ValueError`` with one sentence where it is not there and cannot be had, or ``HF_HUB_OFFLINE`` forbids the network.
    """
    path = (folder or cache_folder("suites")) / f"spec-bench-{SHA256[:12]}.jsonl"
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == SHA256:
            return path
    except OSError:
        pass
    otherwise = "give the path of its question.jsonl with --suite"
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ValueError(
            f"Spec-Bench is not on this machine and HF_HUB_OFFLINE forbids fetching it: unset it or {otherwise}"
        )
    try:
        data = (fetch or _fetch)()
    except OSError as error:  # every failure of urllib is one
        reason = getattr(error, "reason", None) or error
        raise ValueError(
            f"Spec-Bench is not on this machine and cannot be fetched from {URL} ({reason}): {otherwise}"
        ) from None
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(
            f"what {URL} sends is not the question file of Spec-Bench (its SHA-256 is another): {otherwise}"
        )
    try:
        write_whole(path, data)
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def _fetch() -> bytes:
    """What stands at :data:`URL`; ``OSError`` where it is not there within the time limit."""
    found: list[bytes | OSError] = []

    def get() -> None:
        try:
            with urllib.request.urlopen(URL, timeout=_SECONDS) as answer:
                found.append(answer.read(_BYTES + 1))
        except OSError as error:
            found.append(error)
        except Exception as error:  # http.client's own complaints are no OSErrors
            found.append(OSError(str(error) or type(error).__name__))

    # urlopen's time limit is one for each wait and none for finding the address: a thread has one for all of it.
    thread = threading.Thread(target=get, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if not found:
        raise OSError(f"no answer in {_SECONDS:.0f} seconds")
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]
