"""Build the shipped ``heldout`` suite, the small default, from source files that no shipped model
was trained on.

    python -m benchmarks.heldout [OUT.json]

Candidates are the cuts of :mod:`benchmarks.cuts`. They are selected by how much the continuation
repeats the preceding text (:func:`~benchmarks.cuts.locality`), so that twelve prompts per category
show the extremes; the suite ``python`` shows typical text. The same files give the same suite.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from benchmarks.cuts import (
    Cut,
    CutSize,
    ParsedFile,
    as_prompt,
    code,
    collect,
    docstrings,
    find,
    pick,
    prose,
    save,
    siblings,
    tables,
)

if TYPE_CHECKING:
    from training.corpus import SourceFile

PER_CATEGORY = 12
PER_PACKAGE = 3
SIZE = CutSize(least=420, most=1000, ahead=360)  # prompts of 100 to 400 tokens of the ladder

#: Category -> description, from the most to the least repetitive.
CATEGORIES = {
    "rewrite": (
        "A function of the file, then the head of a renamed copy of it: the continuation is in "
        "the prompt."
    ),
    "siblings": (
        "Adjacent methods or functions, cut after the head of the next one: the most repetitive "
        "of all such cuts."
    ),
    "tables": (
        "Lines of one shape, such as the entries of a dict or a list: of all such cuts the most "
        "repetitive."
    ),
    "docstrings": (
        "The documentation of a function, cut halfway: as repetitive as half of all such cuts are."
    ),
    "code": (
        "The inside of a function body, cut halfway: as repetitive as half of all such cuts are."
    ),
    "prose": (
        "Running text that explains, from docstrings: of all such cuts the least repetitive."
    ),
}


def build_heldout(files: Sequence[SourceFile] | None = None) -> dict:
    """Return the suite as JSON data. ``files`` is a corpus, by default the files of this
    environment in the manifest.
    """
    sources, trained, _ = collect(files)
    prompts = []
    for category, (finder, rank) in _FINDERS.items():
        cuts = pick(rank(find(finder, sources, SIZE)), trained, PER_CATEGORY, PER_PACKAGE)
        prompts += [as_prompt(cut, category, k) for k, cut in enumerate(cuts, start=1)]
    return {"name": "heldout", "categories": CATEGORIES, "prompts": prompts}


def _highest(cuts: list[Cut]) -> list[Cut]:
    return sorted(cuts, key=lambda c: (-c.locality, c.order))


def _lowest(cuts: list[Cut]) -> list[Cut]:
    return sorted(cuts, key=lambda c: (c.locality, c.order))


def _middle(cuts: list[Cut]) -> list[Cut]:
    middle = sorted(c.locality for c in cuts)[len(cuts) // 2] if cuts else 0.0
    return sorted(cuts, key=lambda c: (abs(c.locality - middle), c.order))


def _rewrites(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield a function and the head of a renamed copy of it."""
    for node in source.tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        text = source.text(node)
        head_end = node.body[0].lineno - 1
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
    """Write the suite and print its repetition by category."""
    suite = build_heldout()
    save(suite, argv)
    for category in CATEGORIES:
        shares = [p["locality"] for p in suite["prompts"] if p["category"] == category]
        repeated = f"continuations repeat {min(shares):.2f} to {max(shares):.2f}"
        print(f"{category:<11} {len(shares):>3} prompts, {repeated}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
