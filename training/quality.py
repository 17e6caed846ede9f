"""What the models write: repetition, copying and valid Python in continuations of given prompts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING

from hsd_viz.trace.metrics import repetition_share

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

# Openings of the fixed-seed samples. None ends in white space: the tokenizer joins a line break and
# the indentation after it.
OPENINGS = (
    "def read_lines(path):",
    "class Stack:",
    "import os\nimport sys",
    "def main(argv=None):",
    "from __future__ import annotations\n\nimport json",
    "class Node:\n    def __init__(self, value):",
    "def test_empty_input():",
    "@dataclass\nclass Point:",
    "def normalize(values):",
    "async def fetch(session, url):",
)
TEMPERATURE = 0.7
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_CONTINUES = re.compile(r"[)\]}]|(?:else|elif|except|finally)\b")


def continuations(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[str],
    tokens: int,
    temperature: float = 0.0,
    batch: int = 16,
) -> list[list[int]]:
    """Return up to ``tokens`` new token ids after each prompt, sampled or (at temperature 0) with
    greedy decoding. Sampling uses the global generator of PyTorch; a sample depends on its index
    among ``prompts`` only (its seed).
    """
    import torch

    sampling = (
        {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        if temperature
        else {"do_sample": False}
    )
    outputs: list[list[int]] = []
    size = 1 if temperature else batch
    for start in range(0, len(prompts), size):
        torch.manual_seed(start)
        inputs = tokenizer(
            list(prompts[start : start + size]),
            return_tensors="pt",
            padding=True,
            padding_side="left",
        )
        sequences = model.generate(
            input_ids=inputs.input_ids,
            attention_mask=inputs.attention_mask,
            max_new_tokens=tokens,
            **sampling,
        )
        for ids in sequences[:, inputs.input_ids.shape[1] :].tolist():
            end = ids.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in ids else len(ids)
            outputs.append(ids[:end])
    return outputs


def copied_share(prompt: str, text: str, n: int = 4) -> float:
    """Return the share of the n-grams of ``text`` (words and punctuation) that occur in ``prompt``.
    N-grams that begin in the last ``n`` - 1 words of the prompt count as part of the text.
    """
    prompt_words = _WORDS.findall(prompt)
    text_words = _WORDS.findall(text)
    prompt_grams = set(_grams(prompt_words, n))
    grams = _grams(prompt_words[max(0, len(prompt_words) - n + 1) :] + text_words, n)
    return sum(gram in prompt_grams for gram in grams) / len(grams) if grams else 0.0


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    """Return the sequences of n adjacent words."""
    return [tuple(words[k : k + n]) for k in range(len(words) - n + 1)]


def parsed_lines(text: str) -> tuple[int, int]:
    """Return how many non-blank lines belong to a block that ``ast.parse`` accepts, and how many
    there are.

    A block begins at an unindented line; a segment of consecutive blocks is accepted as a whole (a
    string may contain unindented lines), and the segmentation with the most accepted lines counts.
    The last block was cut by the length limit: its lines up to the last position where it parses
    are accepted.
    """
    lines = text.split("\n")
    blank = [not line.strip() for line in lines]
    starts = []
    for k, line in enumerate(lines):
        is_decorated = k > 0 and lines[k - 1].startswith("@")
        if blank[k] or line[0].isspace() or _CONTINUES.match(line) or is_decorated:
            continue
        starts.append(k)
    edges = [*(starts or [0]), len(lines)]

    def count(a, b):
        return sum(not blank[k] for k in range(a, b))

    best = [0] * len(edges)
    for j in range(1, len(edges)):
        best[j] = best[j - 1]
        for i in range(j):
            begin = edges[i]
            end = edges[j]
            stops = range(end, begin, -1) if j == len(edges) - 1 and i == j - 1 else [end]
            stop = next((s for s in stops if _parses("\n".join(lines[begin:s]))), begin)
            best[j] = max(best[j], best[i] + count(begin, stop))
    return best[-1], count(0, len(lines))


def measure_writing(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Mapping[str, Sequence[str]],
    tokens: int = 128,
    sample_tokens: int = 160,
) -> dict:
    """Measure what the target writes.

    Args:
        prompts: ``heldout`` (for repetition) and ``edit`` (for copying); a missing entry is not
            measured.

    Returns:
        ``repetition`` (mean share of greedy tokens that end an 8-gram of the same output),
        ``copied`` (median share of copied 4-grams, greedy), ``parsed`` (share of lines, see
        ``parsed_lines``) and ``samples``.
    """
    measures: dict = {}
    if prompts.get("heldout"):
        outputs = continuations(model, tokenizer, prompts["heldout"], tokens)
        measures["repetition"] = mean(map(repetition_share, outputs))
    if prompts.get("edit"):
        outputs = continuations(model, tokenizer, prompts["edit"], tokens)
        shares = []
        for prompt, ids in zip(prompts["edit"], outputs, strict=True):
            shares.append(copied_share(prompt, tokenizer.decode(ids)))
        measures["copied"] = median(shares)
    accepted = 0
    lines = 0
    samples = []
    outputs = continuations(model, tokenizer, OPENINGS, sample_tokens, TEMPERATURE)
    for opening, ids in zip(OPENINGS, outputs, strict=True):
        text = opening + tokenizer.decode(ids)
        samples.append({"prompt": opening, "temperature": TEMPERATURE, "text": text})
        accepted_lines, all_lines = parsed_lines(text)
        accepted += accepted_lines
        lines += all_lines
    measures["parsed"] = accepted / lines
    measures["samples"] = samples
    return measures
