"""Write the tables and sentences of README and docs that rest on measurements: ``python -m tools.tables``.

A page marks the place of a table by ``<!-- begin NAME -->`` and ``<!-- end NAME -->``. All figures come from
``docs/bench`` and from the evaluation beside the weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.models.families import LADDER
from tools.results import PLAIN, RESULTS
from tools.results import read as _read
from tools.sentences import SENTENCES, state
from tools.verdicts import VERDICTS, answer
from training.evaluation import markdown, table

ROOT = Path(__file__).resolve().parents[1]
#: The columns of the README's table: heading and report.
REPORTS = (
    ("T = 0.7", "heldout-t07-cpu"),
    ("T = 1", "heldout-t1-cpu"),
    ("greedy", "heldout-greedy-cpu"),
)


def _figure(row: dict | None, key: str) -> str:
    value = (row or {}).get(key)
    return "–" if value is None else f"{value:.2f}"


def measurements() -> str:
    """Return speed-ups and acceptance lengths by stack and temperature, and what looping does to the greedy ones."""
    reports = [(title, _read(name)) for title, name in REPORTS]
    rows = [{row["stack"]: row for row in report["stacks"]} for _, report in reports]
    stacks = [
        s for s in dict.fromkeys(s for found in rows for s in found) if not s.endswith("(warm)")
    ]
    stacks.sort(key=lambda s: (s != PLAIN, s.startswith("hf-")))
    head = ["stack"]
    for title, _ in reports:
        head += [f"{title}: speed-up", "MAL"]
    lines, greedy = [], reports[-1][1]
    for stack in stacks:
        line = [f"`{stack}`"]
        for found in rows:
            line += [
                _figure(found.get(stack), key)
                for key in ("speedup_over_plain", "mean_acceptance_length")
            ]
        lines.append(
            [
                *line,
                _figure((rows[-1].get(stack) or {}).get("low_repetition"), "speedup_over_plain"),
            ]
        )
    plain = rows[-1][PLAIN]
    identical = all(row["token_identical_to_plain"] in (None, [plain["outputs"]] * 2) for row in greedy["stacks"]
                    if not row["stack"].startswith("hf-"))  # fmt: skip
    equal = "identical to" if identical else "NOT all identical to"
    settings = dict.fromkeys(
        f"suite `{r['suite']['name']}`, {r['suite']['prompts']} prompts × {r['settings']['max_new_tokens']} tokens, "
        f"median of {r['settings']['repeats']}"
        for _, r in reports
    )
    words = (
        f"{'; '.join(settings).capitalize()}. MAL: mean acceptance length, tokens per forward pass of the target.\n"
        f"Greedy outputs are {equal} plain decoding for all of our stacks. {plain['repetition_share']:.0%} of their\n"
        f"tokens repeat an 8-gram: the greedy speed-ups are mostly from texts that loop. The last column covers the "
        f"{plain['low_repetition']['outputs']}\n"
        f"outputs with less than {greedy['settings']['low_repetition_below']:.0%}."
    )
    shown = markdown([[*head, "low repetition: speed-up"], *lines], "---:")
    return f"{shown}\n\n{words}"


def _evaluation() -> dict:
    return json.loads((LADDER / "evaluation.json").read_text(encoding="utf-8"))


def quality() -> str:
    """Return the goals of the models beside what was measured, before and now."""
    return table(_evaluation(), _read("ladder-before"))


def reference() -> str:
    """Return the mean acceptance length of drafters on the authors' continuations, by category."""
    found = _read("reference")["mean_acceptance_length"]
    categories = list(next(iter(found.values())))
    rows = [
        [f"`{stack.split(' > ')[0]}`", *(f"{row[c]:.2f}" for c in categories)]
        for stack, row in found.items()
    ]
    return markdown([["drafter", *(f"`{c}`" for c in categories)], *rows], "---:")


def copying() -> str:
    """Return how much of an ``edit`` prompt the shipped target copies."""
    share = _evaluation().get("writing", {}).get("copied")
    known = "has not been measured" if share is None else f"is {share:.0%}"
    return (
        "The share of the 4-grams that the shipped target writes with greedy decoding after an `edit` and that occur\n"
        f"in the prompt {known} (median over prompts), compared with 85 % in the authors' text."
    )


_ELSEWHERE = {"pays": "report", "tab": "how-to/site"}
#: Marked place -> page and text.
TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "measurements": ("README.md", measurements),
    "quality": ("docs/how-to/ladder.md", quality),
    "reference": ("docs/reference/suites.md", reference),
    "copying": ("docs/reference/suites.md", copying),
    **{
        name: (f"docs/{_ELSEWHERE.get(name, 'results')}.md", text) for name, text in RESULTS.items()
    },
    **{name: ("docs/results.md", partial(answer, name)) for name in VERDICTS},
}


def fill(page: str, name: str, text: str) -> str:
    """Return ``page`` with the marked place ``name`` containing ``text``.

    Raises:
        ValueError: if the page does not mark this place exactly once.
    """
    pattern = rf"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)"
    found, count = re.subn(pattern, lambda m: m[1] + text + m[2], page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the place of the table {name} must be marked once, not {count} times")
    return found


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
