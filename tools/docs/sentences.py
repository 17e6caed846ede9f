"""The figures inside the sentences of the pages, from the files in ``docs/bench``.

:mod:`tools.docs.tables` writes them. A sentence is the text around its figures, with a format in
the place of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from string import Formatter
from typing import Any

from hsd_viz.stack import PLAIN
from tools.docs import stated_figures as stated
from tools.docs.results.files import read

Values = Callable[[], Iterable[Any]]


def figures(sentence: str, page: str) -> re.Match:
    """Return the only match of a sentence in a page: odd groups are text, even ones figures.

    Raises:
        ValueError: if the page does not have it once.
    """
    pattern = ""
    for literal, form, _, _ in Formatter().parse(sentence):
        # A page may break its lines elsewhere.
        text = re.sub(r"(\\[ \n])+", r"\\s+", re.escape(literal))
        number = r"\S+?" if form is not None else ""
        pattern += f"({text})({number})"
    matches = list(re.finditer(pattern, page))
    if len(matches) != 1:
        raise ValueError(
            f"a page must have this sentence once, not {len(matches)} times: {sentence}"
        )
    return matches[0]


def state(page: str, sentence: str, values: Iterable[Any]) -> str:
    """Return ``page`` with the figures of a sentence that it has once; the last part of a
    sentence is text.
    """
    match = figures(sentence, page)
    forms = [spec for _, form, spec, _ in Formatter().parse(sentence) if form is not None]
    texts = [f"{value:{spec}}" for value, spec in zip(values, forms, strict=True)]
    groups = list(match.groups())
    groups[1 : 2 * len(texts) : 2] = texts
    return page[: match.start()] + "".join(groups) + page[match.end() :]


ALL = "held aside, without Gaudi at full load"
_LLAMA_SPEEDUPS = "speed-ups, Llama-3.3-70B-Instruct"
_QWEN_SPEEDUPS = "speed-ups, Qwen3-30B-A3B-Instruct-2507"
_LENGTH_RATIOS = "ratios of two draft lengths, held aside"
#: Line of the table of published step times -> what its sources contain, and the cards' names.
HELD_ASIDE: dict[str, tuple[str, ...]] = {
    "Llama 3.1 8B, 70B and 405B, 1–8 A100": ("gpt-fast (README)",),
    "Mixtral 8x7B (mixture of experts), 1–8 A100": ("gpt-fast (mixtral",),
    "context 1k and 4k (fit of arXiv 2601.11580)": ("arXiv 2601.11580",),
    "H100, L40S or A100, Llama 2 7B and 70B, batch 16–480": ("TensorRT-LLM v0.6.1",),
    "Llama 3.3 70B on an H200": ("nvidia.com/blog",),
    "on four H200, batch 8 (SpecBundle)": ("SpecBundle",),
    "cost of a cached token, Qwen3 1.7B on an H100": ("per cached token",),
    "llama.cpp on four RTX cards, 7B to 70B, 16 and 4 bits": ("GPU-Benchmarks-on-LLM", "RTX"),
    "llama.cpp on an M1 Max and an M3 Max, 7B and 8B": ("GPU-Benchmarks-on-LLM", "M"),
    "eight MI300X, batch 2–256, between those fitted on": ("oracle.com",),
    "Gaudi 3, 7B to 70B, batch 44–768": ("intel.com",),
}


def _held_aside_sentences() -> dict[str, Values]:
    """Return the lines of the table of published step times, with what gives their figures."""
    sentences: dict[str, Values] = {}
    for line, known in HELD_ASIDE.items():
        sentences[f"{line} | {{}} | {{:.1%}} | {{:.1%}} |"] = partial(stated.aside, *known)
    return sentences


_README: dict[str, Values] = {
    "on all {} questions of Spec-Bench (T = 0.7, intervals over questions): {:.2f} "
    "[{:.2f}, {:.2f}] times as fast as plain decoding, {:.2f} [{:.2f}, {:.2f}] times as fast as "
    "the copy alone": stated.copy_with_databases,
    "measured here, once, by {:.0%} ([why]": lambda: [stated.over("t1", "target+6")[0] - 1],
}
_README_IN_CHINESE: dict[str, Values] = {
    "在 Spec-Bench 的全部 {} 个问题上（T = 0.7，区间基于问题），速度是普通解码的 {:.2f} "
    "[{:.2f}, {:.2f}] 倍，是单独使用副本的 {:.2f} [{:.2f}, {:.2f}] 倍": stated.copy_with_databases,
}
_REPORT: dict[str, Values] = {
    "one CPU thread, {} prompts of suite": lambda: [read("heldout-t07-cpu")["suite"]["prompts"]],
    "once: its loss by {:.4f} nats": lambda: [stated.rounding()],
    "often but costs {:.0%} of a step": lambda: [stated.step("small") / stated.step(PLAIN)],
    "at temperature 0.7: {:.2f} [{:.2f}, {:.2f}]; on padded": lambda: stated.over("t07", PLAIN),
    "The figure's field gives {:.2f} for the ladder": lambda: stated.gains("field")[:1],
    "it brings {:.2f} [{:.2f}, {:.2f}] where the upper": lambda: stated.over("t1", "target+6"),
    "fitted on {} published figures": lambda: stated.prediction("fitted")[:1],
    "median error {:.1%} on {} others": lambda: stated.prediction(ALL)[1::-1],
    "loop in {:.0%} of their greedy text": lambda: [stated.loops()],
    "needs {:.1f} times what reading the weights": lambda: [stated.bound()],
}
_RESULTS: dict[str, Values] = {
    "all of our stacks are {:.1f} to {:.1f} times as fast, "
    "plain decoding {:.1f} to {:.1f} times": lambda: [*stated.faster(), *stated.faster(PLAIN)],
    "right after `small` costs {:.0%} to {:.0%} more than on average, "
    "after a database {:.0%} to {:.0%} less": lambda: [
        *stated.after("small", 1),
        *stated.after("db", -1),
    ],
    "T = 1 missed the first ({:.1%}), greedy the second ({:.1%})": stated.missed,
    "would reach {:.2f} there, at T = 0.7 with 0.3 more {:.2f} at most": stated.closer,
    "its field gives {:.2f}, {:.2f} and {:.2f} (T = 0.7, 1, greedy) for the unpadded target; "
    "measured are {:.2f}, {:.2f} and {:.2f}, and the law as calibrated there gives "
    "{:.2f}, {:.2f} and {:.2f}. The": lambda: [
        *stated.gains("field"),
        *stated.gains("gain"),
        *stated.gains("law"),
    ],
    "term takes the plan's gain from {:.2f} to {:.2f}. Draft": stated.cached,
    "below one draft model reaches {:.2f} at `target+6`": lambda: stated.over(
        "greedy", "target+6", "databases_over_single_draft", interval=False
    ),
    "fitted on {} figures (median error {:.1%})": lambda: stated.prediction("fitted")[:2],
    **_held_aside_sentences(),
    "| all of these | {} | {:.1%} | {:.1%} |": lambda: stated.prediction(ALL),
    "70B, {} figures, median error {:.0%}, worst {:.0%}; "
    "Qwen3 30B-A3B, {} figures, {:.0%}, {:.0%}.": lambda: stated.prediction(
        _LLAMA_SPEEDUPS, _QWEN_SPEEDUPS
    ),
    "{} ratios of two lengths, median {:.1%}, worst {:.0%}.": lambda: stated.prediction(
        _LENGTH_RATIOS
    ),
    "of the {} are beyond": lambda: stated.prediction(ALL)[:1],
    "405B with 8 bits on eight A100 ({:.0%} too fast), 70B on two A100 ({:.0%} too fast; "
    "the published speed is {:.0%} of that on four)": lambda: [
        stated.too_fast("llama-405b"),
        stated.too_fast("llama-70b"),
        stated.published_share(),
    ],
    "on an M3 Max ({:.0%} too slow)": lambda: [stated.too_slow("M3 Max")],
    "by up to {:.0%} on those held aside and by {:.0%} on one of those fitted on": lambda: [
        stated.worst_on("intel.com"),
        stated.worst_on("intel.com", "fitted"),
    ],
    "two A100 ({:.0%} too fast) and 405B on eight ({:.0%})": lambda: [
        stated.too_fast("llama-70b"),
        stated.too_fast("llama-405b"),
    ],
    "short, up to {:.0%} too high": lambda: stated.prediction("speed-ups, held aside")[2:],
    "plans ({} stacks, calibrated on other prompts: median {:.1%}, worst {:.0%})": stated.law,
    "(1B by 70B {:.2f}, 8B by 70B {:.2f}, 1B by 8B {:.2f})": lambda: stated.assumed(
        "llama-1b > llama-70b", "llama-8b > llama-70b", "llama-1b > llama-8b"
    ),
    "if the target accepted {:.2f} of the 1B model's tokens": lambda: [stated.needed()],
    "draft model is {:.1f} to {:.1f} times as fast": stated.llama_draft,
    "the compiled runtime is {:.1f} to {:.1f} times as fast as transformers' own forward pass, "
    "and still needs {:.1f} times the time in which the weights can be read: launches and Python "
    "take most of it. A draft of seven tokens costs {:.0%} of a step": stated.compiled,
}
_HIERARCHIES: dict[str, Values] = {
    "own ({:.2f} against {:.2f} for `small`": stated.taken,
    "accepts {:.0%} to {:.0%} more tokens per round": stated.block,
}
#: Page -> its sentences and what gives their figures.
SENTENCES: dict[str, dict[str, Values]] = {
    "README.md": _README,
    "README.zh-CN.md": _README_IN_CHINESE,
    "docs/report.md": _REPORT,
    "docs/results.md": _RESULTS,
    "docs/explanation/hierarchies.md": _HIERARCHIES,
}
