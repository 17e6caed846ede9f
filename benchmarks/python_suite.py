"""Build the shipped ``python`` suite from source files that no model or database of the project was
trained on.

    python -m benchmarks.python_suite [OUT.json]

Its six categories differ in *where* a continuation occurred before, which determines what databases
can draft: in the prompt (an edit, an index), in similar text (a family of methods), in parts
(code), almost nowhere (prose), or in other files (openings). Within a category, prompts are in hash
order, independent of their content, so that they are typical of the category; repetition is
measured afterwards. The same files give the same suite.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.cuts import (
    Cut,
    CutSize,
    ParsedFile,
    as_prompt,
    code,
    collect,
    cut_lines,
    find,
    is_text,
    pick,
    save,
    siblings,
)
from training.quality import copied_share

if TYPE_CHECKING:
    from training.corpus import SourceFile

PER_CATEGORY = 32
PER_PACKAGE = 6
#: Up to some 900 tokens of the ladder, whose context of 2048 then holds 256 new ones with room to
#: spare.
SIZE = CutSize(least=400, most=2400, ahead=720)
_SHORT = CutSize(least=120, most=700, ahead=480)

#: Category -> description, from the most to the least repetitive, as measured.
CATEGORIES = {
    "edit": (
        "A function, then the head of the same function with one name changed: nearly all of the "
        "continuation is in the prompt."
    ),
    "index": (
        "Several functions, then the beginning of a list of their names, parameters and purposes: "
        "what follows is copied from many places of the prompt, in short pieces."
    ),
    "siblings": (
        "Functions of one family, such as visit_this and visit_that, cut after the head of the "
        "next one, which is built like them."
    ),
    "code": (
        "The inside of a function body, cut halfway: names and idioms repeat, whole lines rarely."
    ),
    "prose": "Explanatory text from docstrings and comments, cut in the middle: varied wording.",
    "openings": (
        "The first lines of a file: almost nothing to copy from, but other files start similarly."
    ),
}


def build_python(files: Sequence[SourceFile] | None = None) -> tuple[dict, list[str]]:
    """Return the suite as JSON data, and a note for each package whose version differs from the
    recorded one.

    ``files`` is a corpus, by default the files of this environment that the manifest names.
    """
    sources, trained, notes = collect(files)
    prompts = []
    for category, (finder, size) in _FINDERS.items():
        ranked = sorted(find(finder, sources, size), key=lambda c: c.order)
        for k, cut in enumerate(
            pick(ranked, trained, PER_CATEGORY, PER_PACKAGE, whole=True), start=1
        ):
            share = {"in_prompt": round(copied_share(cut.prompt, cut.ahead), 3)}
            prompts.append(as_prompt(cut, category, k) | share | {"continuation": cut.ahead})
    return {"name": "python", "categories": CATEGORIES, "prompts": prompts}, notes


def _edits(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield a function and its head with a renamed parameter; the continuation is the rest,
    renamed too.
    """
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.FunctionDef) or node.decorator_list or is_text(node.body[-1]):
            continue
        text = source.text(node)
        head_end = node.body[0].lineno - 1
        head = "".join(source.lines[node.lineno - 1 : head_end])
        body = "".join(source.lines[head_end : node.end_lineno])
        counted = [(0, "")]
        for argument in node.args.args:
            name = argument.arg
            if name not in ("self", "cls"):
                counted.append((len(re.findall(rf"\b{name}\b", body)), name))
        often, old = max(counted)
        new = f"{old}_"
        if often < 3 or not head or re.search(rf"\b{new}\b", text) or len(body) < size.ahead / 2:
            continue
        new_head = re.sub(rf"\b{old}\b", new, head)
        new_body = re.sub(rf"\b{old}\b", new, body)
        indent = " " * node.col_offset
        prompt = f"{text.rstrip()}\n\n{indent}# The same, with {old} named {new}.\n{new_head}"
        yield Cut(source.file, node.lineno, prompt, text, new_body[: size.ahead])


def _indices(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield adjacent functions and a generated list of them, cut after its first entry."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Module | ast.ClassDef):
            continue
        documented = [
            s for s in node.body if isinstance(s, ast.FunctionDef) and ast.get_docstring(s)
        ]
        for start in range(0, len(documented) - 3, 4):
            few: list[ast.FunctionDef] = []
            for s in documented[start:]:
                if sum(map(len, map(source.text, [*few, s]))) > size.most * 3 // 4:
                    break
                few.append(s)
            if len(few) < 3:
                continue
            shown = "\n".join(map(source.text, few))
            first, *rest = map(_listed, few)
            ahead = "".join(rest)[: size.ahead]
            if len(ahead) >= 120:
                yield Cut(
                    source.file,
                    few[0].lineno,
                    f"{shown}\n\n# What is above:\n#\n{first}",
                    shown,
                    ahead,
                )


def _families(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    yield from siblings(source, size, _akin)


def _listed(function: ast.FunctionDef) -> str:
    """Return the line of a function in a list: its name, its parameters and its purpose."""
    purpose = ast.get_docstring(function).split("\n")[0]
    return f"# - {function.name}({ast.unparse(function.args)}): {purpose}\n"


def _akin(one: ast.FunctionDef, other: ast.FunctionDef) -> bool:
    """Return whether two function names have several words and share the first or the last one."""
    a, b = (f.name.strip("_").split("_") for f in (one, other))
    return len(a) > 1 < len(b) and (a[0] == b[0] or a[-1] == b[-1])


def _prose(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield paragraphs of at least five lines in docstrings and comments, cut in the middle."""
    lines = source.lines
    start = 0
    for end in range(len(lines) + 1):
        if end < len(lines) and _wordy(lines[end]):
            continue
        if end - start >= 5 and not re.search(
            r"copyright|licen[cs]e|warrant", "".join(lines[start:end]), re.IGNORECASE
        ):
            middle = (start + end) // 2
            first = middle
            while first > 0 and sum(map(len, lines[first:middle])) < size.least:
                first -= 1
            if cut := cut_lines(source, first, middle, end, size):
                yield cut
        start = end + 1


def _wordy(line: str) -> bool:
    """Return whether a line is prose; columns of a listing are two blanks apart."""
    text = line.strip().removeprefix("#").strip()
    return (
        len(text) >= 36
        and "  " not in text
        and len(re.findall(r"[A-Za-z,.;:'()\- ]", text)) >= 0.94 * len(text)
    )


def _openings(source: ParsedFile, size: CutSize) -> Iterator[Cut]:
    """Yield the beginning of a file, at most a third of the maximum length."""
    last = used = 0
    while last < len(source.lines) and used + len(source.lines[last]) <= size.most / 3:
        used += len(source.lines[last])
        last += 1
    if cut := cut_lines(source, 0, last, len(source.lines), size):
        yield cut


_FINDERS = {
    "edit": (_edits, SIZE),
    "index": (_indices, SIZE),
    "siblings": (_families, SIZE),
    "code": (code, SIZE),
    "prose": (_prose, CutSize(least=400, most=1200, ahead=360)),
    "openings": (_openings, _SHORT),
}


def locality_table(suite: dict) -> str:
    """Return a table of the prompts per category and the share of their continuations that is in
    the prompt.
    """
    lines = [
        f"{'category':<10} prompts  4-grams in the prompt: median [quarter, three quarters]  "
        "in the text so far: median"
    ]
    for category in suite["categories"]:
        chosen = [p for p in suite["prompts"] if p["category"] == category]
        shares = sorted(p["in_prompt"] for p in chosen)
        quarters = f"{shares[len(shares) // 4]:.2f}, {shares[len(shares) * 3 // 4]:.2f}"
        lines.append(
            f"{category:<10} {len(chosen):>7}  {median(shares):.2f} [{quarters}]  "
            f"{median(p['locality'] for p in chosen):.2f}"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the suite and print its locality by category."""
    suite, notes = build_python()
    save(suite, argv)
    print("\n".join([*notes, locality_table(suite)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
