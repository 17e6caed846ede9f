"""Write the tables and sentences of README and docs that rest on measurements.

    python -m tools.docs.tables

A page marks the place of a table by ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. All figures
come from ``docs/bench`` and from the evaluation beside the weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.models.families import LADDER
from hsd_viz.stack import PLAIN
from tools.docs.results import RESULTS
from tools.docs.results.files import by_stack, headings, texts
from tools.docs.results.files import read as _read
from tools.docs.sentences import SENTENCES, state
from training.evaluation import markdown, table

ROOT = Path(__file__).resolve().parents[2]
#: The suites of the README's tables, with their titles; reports are in the order of the columns.
CODE = "heldout"
CHAT = "spec-bench"
TITLES = {CODE: "`heldout`", CHAT: "Spec-Bench"}
PARTS = ("t07", "t1", "greedy")
#: The share of repeated tokens from which on texts are said to loop.
_LOOPING = 0.25


def _figure(row: dict | None, key: str) -> str:
    value = (row or {}).get(key)
    return "–" if value is None else f"{value:.2f}"


@dataclass(frozen=True, slots=True)
class Language:
    """What a README says about its table of measurements.

    Attributes:
        stack: The heading of the stacks.
        speed: That of a speed-up; ``{}`` is the temperature.
        titles: The temperatures as they are written.
        low: The heading of the last column.
        settings: How it was measured.
        words: What the figures mean.
        loops: What is said of greedy texts that repeat themselves.
        few: What is said of those that rarely do.
        identical: Whether greedy outputs are those of plain decoding: yes, and no.
    """

    stack: str
    speed: str
    titles: tuple[str, ...]
    low: str
    settings: str
    words: str
    loops: str
    few: str
    identical: tuple[str, str]


ENGLISH = Language(
    stack="stack",
    speed="{}: speed-up",
    titles=("T = 0.7", "T = 1", "greedy"),
    low="low repetition: speed-up",
    settings="{suite}, {prompts} prompts × {tokens} tokens, median of {repeats}",
    words=(
        "{settings}. MAL: mean acceptance length, tokens per forward pass of the target.\n"
        "Greedy outputs are {identical} plain decoding for all of our stacks. {repetition} of "
        "their\ntokens repeat an 8-gram{loops} The last column covers the {outputs}\n"
        "outputs with less than {below}."
    ),
    loops=": the greedy speed-ups are mostly from texts that loop.",
    few=".",
    identical=("identical to", "NOT all identical to"),
)
CHINESE = Language(
    stack="堆栈",
    speed="{}：加速比",
    titles=("T = 0.7", "T = 1", "贪心"),
    low="低重复：加速比",
    settings="{suite}，{prompts} 个提示词 × {tokens} 个词元，{repeats} 次的中位数",
    words=(
        "{settings}。MAL：平均接受长度，即目标模型每次前向计算的词元数。\n"
        "我们所有堆栈的贪心输出{identical}。其中 {repetition} 的词元重复了一个 8-gram{loops}"
        "最后一列只含重复率低于 {below} 的 {outputs} 个输出。"
    ),
    loops="：\n贪心的加速大多来自循环的文本。",
    few="。\n",
    identical=("与普通解码完全相同", "并非都与普通解码相同"),
)


def measurements(language: Language = ENGLISH, suite: str = CHAT) -> str:
    """Return speed-ups and acceptance lengths by stack and temperature, and what looping does to
    the greedy ones.
    """
    reports = [_read(f"{suite}-{part}-cpu") for part in PARTS]
    rows = [by_stack(report) for report in reports]
    measured: dict[str, dict] = {}
    for rows_of_report in rows:
        measured |= rows_of_report
    stacks = [stack for stack in measured if not stack.endswith("(warm)")]
    # Plain decoding first, the loops of transformers last.
    stacks.sort(key=lambda stack: (stack != PLAIN, stack.startswith("hf-")))
    head = [language.stack]
    for title in language.titles:
        head += [language.speed.format(title), "MAL"]
    lines = []
    for stack in stacks:
        line = [f"`{stack}`"]
        for rows_of_report in rows:
            line.append(_figure(rows_of_report.get(stack), "speedup_over_plain"))
            line.append(_figure(rows_of_report.get(stack), "mean_acceptance_length"))
        low = (rows[-1].get(stack) or {}).get("low_repetition")
        lines.append([*line, _figure(low, "speedup_over_plain")])
    table_text = markdown([[*head, language.low], *lines], "---:")
    return f"{table_text}\n\n{_summary(reports, language, TITLES[suite])}"


def _summary(reports: Sequence[dict], language: Language, title: str) -> str:
    """Return how the table was measured, and what its greedy figures rest on."""
    greedy = reports[-1]
    plain = by_stack(greedy)[PLAIN]
    own = [row for row in greedy["stacks"] if not row["stack"].startswith("hf-")]
    all_outputs = [plain["outputs"]] * 2
    is_identical = all(row["token_identical_to_plain"] in (None, all_outputs) for row in own)
    settings = []
    for report in reports:
        words = language.settings.format(
            suite=title,
            prompts=report["suite"]["prompts"],
            tokens=report["settings"]["max_new_tokens"],
            repeats=report["settings"]["repeats"],
        )
        settings.append(words)
    return language.words.format(
        settings="; ".join(dict.fromkeys(settings)),
        identical=language.identical[0 if is_identical else 1],
        repetition=f"{plain['repetition_share']:.0%}",
        loops=language.loops if plain["repetition_share"] > _LOOPING else language.few,
        outputs=plain["low_repetition"]["outputs"],
        below=f"{greedy['settings']['low_repetition_below']:.0%}",
    )


def _evaluation() -> dict:
    return json.loads((LADDER / "evaluation.json").read_text(encoding="utf-8"))


def quality() -> str:
    """Return the goals of the models beside what was measured, before and now."""
    return table(_evaluation(), _read("ladder-before"))


def reference() -> str:
    """Return the mean acceptance length of drafters on the authors' continuations, by category."""
    lengths = _read("reference")["mean_acceptance_length"]
    categories = list(next(iter(lengths.values())))
    rows = [["drafter", *headings("`{}`", categories)]]
    for stack, row in lengths.items():
        drafter, _, _ = stack.partition(" > ")
        rows.append([f"`{drafter}`", *texts("{:.2f}", row, categories)])
    return markdown(rows, "---:")


def copying() -> str:
    """Return how much of an ``edit`` prompt the shipped target copies."""
    share = _evaluation().get("writing", {}).get("copied")
    known = "has not been measured" if share is None else f"is {share:.0%}"
    return (
        "The share of the 4-grams that the shipped target writes with greedy decoding after an "
        f"`edit` and that occur\nin the prompt {known} (median over prompts), compared with 85 % "
        "in the authors' text."
    )


_ELSEWHERE = {
    "pays": "report",
    "tab": "how-to/site",
    "tab-smollm2": "how-to/site",
    "designs": "how-to/ladder",
}
#: Marked place -> page and text.
TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "measurements": ("README.md", measurements),
    "measurements-code": ("README.md", partial(measurements, ENGLISH, CODE)),
    "measurements-zh": ("README.zh-CN.md", partial(measurements, CHINESE)),
    "measurements-code-zh": ("README.zh-CN.md", partial(measurements, CHINESE, CODE)),
    "quality": ("docs/how-to/ladder.md", quality),
    "reference": ("docs/reference/suites.md", reference),
    "copying": ("docs/reference/suites.md", copying),
}
for _name, _text in RESULTS.items():
    _page = _ELSEWHERE.get(_name, "results")
    TABLES[_name] = (f"docs/{_page}.md", _text)


def fill(page: str, name: str, text: str) -> str:
    """Return ``page`` with the marked place ``name`` containing ``text``.

    Raises:
        ValueError: if the page does not mark this place exactly once.
    """
    pattern = rf"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)"
    filled_page, count = re.subn(pattern, lambda m: m[1] + text + m[2], page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the place of the table {name} must be marked once, not {count} times")
    return filled_page


def filled(place: str) -> str:
    """Return a page with its tables and sentences as measured."""
    page = (ROOT / place).read_text(encoding="utf-8")
    for name, (of, text) in TABLES.items():
        page = fill(page, name, text()) if of == place else page
    for sentence, values in SENTENCES.get(place, {}).items():
        page = state(page, sentence, values())
    return page


#: The pages with figures that are written.
PAGES = tuple(dict.fromkeys([*(place for place, _ in TABLES.values()), *SENTENCES]))


def write_tables() -> list[Path]:
    """Write all tables and sentences and return the pages."""
    for place in PAGES:
        write_whole(ROOT / place, filled(place))
    return [ROOT / place for place in PAGES]


if __name__ == "__main__":
    print(*write_tables(), sep="\n")
