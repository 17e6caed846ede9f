"""Build the shipped ``heldout`` suite, the small one for every day, from source files that no model of the ladder has seen.

    python -m benchmarks.heldout [OUT.json]

Every candidate is a place where a file could be cut (:mod:`~benchmarks.cuts`). How strongly the continuation repeats what
stands before it (:func:`~benchmarks.locality.locality`) is computed, and the pick is made by that number, so that twelve
prompts a category suffice to show the extremes. What is typical of a kind of text, the suite ``python`` shows. The same files
give the same suite.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cuts import (
    Cut,
    Size,
    Source,
    as_prompt,
    code,
    docstrings,
    find,
    learnt_text,
    parsed,
    pick,
    prose,
    recorded_heldout,
    siblings,
    tables,
)
from hsd_viz.disk import write_whole

if TYPE_CHECKING:
    from hsd_viz.ladder.training.corpus import SourceFile

PER_CATEGORY = 12
PER_PACKAGE = 3
SIZE = Size(least=420, most=1000, ahead=360)  # prompts of 100 to 400 tokens of the ladder

#: Name -> sentence, from the most to the least repetitive.
CATEGORIES = {
    "rewrite": "A function of the file, then the head of a renamed copy of it: the text to come stands in the prompt.",
    "siblings": "Methods or functions beside one another, cut after the head of the next: of all such cuts the most repetitive.",
    "tables": "Lines of one shape, such as the entries of a dict or a list: of all such cuts the most repetitive.",
    "docstrings": "The documentation of a function, cut halfway: as repetitive as half of all such cuts are.",
    "code": "The inside of a function body, cut halfway: as repetitive as half of all such cuts are.",
    "prose": "Running text that explains, from docstrings: of all such cuts the least repetitive.",
}


def build_heldout(files: Sequence[SourceFile] | None = None) -> dict:
    """The suite as JSON data. ``files``: a corpus; when left out, this environment's, as far as the manifest names its files."""
    from hsd_viz.ladder.training import corpus

    everything = corpus.collect() if files is None else files
    heldout = recorded_heldout(everything)[0] if files is None else corpus.heldout_files(everything)
    learnt = learnt_text(corpus.train_files(everything))
    sources = parsed(heldout)
    prompts = []
    for category, (finder, rank) in _FINDERS.items():
        picked = pick(rank(find(finder, sources, SIZE)), learnt, PER_CATEGORY, PER_PACKAGE)
        prompts += [as_prompt(cut, category, k) for k, cut in enumerate(picked, start=1)]
    return {"name": "heldout", "categories": CATEGORIES, "prompts": prompts}


def _highest(found: list[Cut]) -> list[Cut]:
    return sorted(found, key=lambda c: (-c.locality, c.order))


def _lowest(found: list[Cut]) -> list[Cut]:
    return sorted(found, key=lambda c: (c.locality, c.order))


def _middle(found: list[Cut]) -> list[Cut]:
    middle = sorted(c.locality for c in found)[len(found) // 2] if found else 0.0
    return sorted(found, key=lambda c: (abs(c.locality - middle), c.order))


def _rewrites(source: Source, size: Size) -> Iterator[Cut]:
    """A function and the head of a copy of it under another name."""
    for node in source.tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        text, head_end = source.text(node), node.body[0].lineno - 1
        head = "".join(source.lines[node.lineno - 1 : head_end])
        body = "".join(source.lines[head_end : node.end_lineno])
        copy = head.replace(f"def {node.name}(", f"def {node.name}_copy(", 1)
        if copy == head or len(body) < size.ahead:
            continue
        prompt = f"{text.rstrip()}\n\n\n# The same function under another name.\n{copy}"
        yield Cut(source.file, node.lineno, prompt, text, body[: size.ahead])


_FINDERS = {
    "rewrite": (_rewrites, _highest),
    "siblings": (siblings, _highest),
    "tables": (tables, _highest),
    "docstrings": (docstrings, _middle),
    "code": (code, _middle),
    "prose": (prose, _lowest),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the suite and say what it holds."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    out = Path(arguments[0]) if arguments else Path("hsd_viz/prompts/data") / "heldout.json"
    suite = build_heldout()
    write_whole(out, json.dumps(suite, indent=1, ensure_ascii=True) + "\n")
    for category in CATEGORIES:
        shares = [p["locality"] for p in suite["prompts"] if p["category"] == category]
        print(f"{category:<11} {len(shares):>3} prompts, continuations repeat {min(shares):.2f} to {max(shares):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
