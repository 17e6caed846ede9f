"""A bench report as one HTML page that needs nothing else: no script, no network. Every word of the report is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hsd_viz.bench.svg import Point, bars, scatter
from hsd_viz.bench.tables import Table, introduction, same_for_all, split, tables
from hsd_viz.bench.verdict import (
    COLOURS,
    MARKS,
    SPEED_TITLE,
    answer,
    kind,
    kinds_of,
    speed_bars,
    speed_words,
    warnings,
)

#: Widths at which figures are drawn, in CSS pixels: on wide, middling and narrow pages; panels stand in pairs where it is wide.
WIDTHS = {"wide": 1040.0, "middle": 700.0, "narrow": 380.0}
PANEL = 500.0
DEFINITIONS = {
    "tokens/s": "New tokens over the seconds from the end of prefill to the end of the decode, both summed over prompts. Of several "
    "repeats the median time counts.",
    "speed-up": "The stack's tokens/s over that of plain decoding (target) on the same prompts.",
    "acceptance length": "New tokens per forward of the target; 1 where nothing is drafted.",
    "accepted": "Draft tokens that the target accepted, as a share of those that it verified. A tree drafts rivals for one place, of "
    "which one at most is accepted.",
    "drafting µs/round": "Time spent on look-ups and on updating what they look in, per forward of the target. Forwards of draft models "
    "are not in it, so stacks of models alone have 0; transformers' loops do not tell theirs.",
    "repetition": "Share of new tokens that end a run of 8 tokens which the same output already held. Small models repeat themselves "
    "when decoded greedily, and that flatters drafting.",
    "at little repetition": "The speed-up on the prompts whose plain output has a repetition below the bound that is named; all stacks are "
    "compared on the same prompts.",
    "same as plain": "Outputs that are the same to the token as plain decoding's, of all. Only told when decoding is greedy.",
    "[low, high]": "95 % interval of a bootstrap over prompts: how much a figure would change with other prompts of the kind. For the "
    "speed-up the same prompts are drawn on both sides. It says nothing about other machines or models.",
    "cold, warm": "Some drafters learn from decode to decode. Cold, each decode begins with an empty memory; warm, the stack keeps one "
    "through the suite, in the order of its prompts, and each repeat begins with an empty one.",
    "runtime": "What ran the models' forwards.",
    "taking turns": "Stacks ran in turns, prompt by prompt, in one process: what disturbs one disturbs its neighbours, so ratios hold "
    "where absolute times do not.",
}
_LABELS = {
    "target": "target",
    "padding": "padding",
    "databases": "databases",
    "device": "device",
    "dtype": "dtype",
    "threads": "CPU threads",
    "max_new_tokens": "most new tokens",
    "temperature": "temperature",
    "top_k": "top-k",
    "top_p": "top-p",
    "seed": "seed",
    "repeats": "repeats",
    "state": "state of drafters that learn",
    "budget": "budget of draft tokens",
    "interleaved": "stacks take turns",
    "bootstrap_resamples": "bootstrap resamples",
    "low_repetition_below": "little repetition is below",
    "decodes_from_earlier_runs": "decodes from earlier runs",
    "cpu": "processor",
    "cores": "cores",
    "memory_bytes": "memory",
    "gpu": "GPU",
    "load_average": "load average at the end",
    "platform": "system",
    "python": "Python",
    "torch": "PyTorch",
    "transformers": "transformers",
    "hsd_viz": "hsd-viz",
}


def page(report: dict[str, Any]) -> str:
    """The page of a report as :func:`hsd_viz.bench.report.build_report` makes it."""
    here = Path(__file__).parent
    css = "\n".join([_colours(), *((here / name).read_text(encoding="utf-8") for name in ("figure.css", "page.css"))])
    title = f"Speculative decoding, measured: {report['suite']['name']}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{css}</style></head><body><main>",
        f"<h1>{escape(title)}</h1>",
        *_opening(report),
    ]
    found = {table.title: table for table in tables(report)}
    if found:
        parts += _speed(report)
        parts += [
            _table(found.pop(name)) for name in ("All outputs", "Outputs with little repetition") if name in found
        ]
        parts += _latency(report)
        parts += _categories(report)
        parts += [_table(table) for table in found.values()]
    parts += _conditions(report)
    return "\n".join([*parts, "</main></body></html>", ""])


def _colours() -> str:
    """The colours of kinds, light and dark, as the figures' styles name them."""
    light, dark = ("".join(f"--kind-{name}:{pair[k]};" for name, pair in COLOURS.items()) for k in (0, 1))
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _opening(report: dict[str, Any]) -> Iterator[str]:
    first, *others = introduction(report)
    if parts := answer(report):
        said = "".join(f"<strong>{escape(text)}</strong>" if strong else escape(text) for text, strong in parts)
        yield f'<p class="headline">{said}</p>'
    for line in warnings(report):
        yield f'<p class="note warning">{escape(line)}.</p>'
    yield f'<p class="muted">Suite {escape(first)}.</p>'
    for line in others:
        yield f'<p class="note{" warning" if "cut short" in line else ""}">{escape(line[0].upper() + line[1:])}.</p>'


def _speed(report: dict[str, Any]) -> Iterator[str]:
    rows = speed_bars(report["stacks"])
    yield "<h2>Speed-up over plain decoding</h2>"
    yield f'<p class="note">{speed_words(rows)}</p>'
    yield _legend(report["stacks"])
    yield _figure(lambda width: bars(rows, width, title=SPEED_TITLE))


def _latency(report: dict[str, Any]) -> Iterator[str]:
    told = [
        s
        for s in report["stacks"]
        if s["draft_seconds_per_round"] is not None and s["mean_acceptance_length"] is not None
    ]
    points = [
        Point(
            s["stack"].replace(" > target", ""),
            kind(s["stack"]),
            s["draft_seconds_per_round"] * 1e6,
            s["mean_acceptance_length"],
        )
        for s in told
    ]
    if not points:
        return
    silent = [s["stack"] for s in report["stacks"] if s["draft_seconds_per_round"] is None]
    yield "<h2>Drafting time against acceptance length</h2>"
    yield (
        '<p class="note">What a look-up costs and what it brings: up is better, left is cheaper. Forwards of draft models are not in the '
        "drafting time; stacks without a look-up stand at 0."
        + (f" Not shown, as they do not tell their drafting time: {escape(', '.join(silent))}." if silent else "")
        + "</p>"
    )
    yield _legend(told)
    titles = {
        "title": "Mean acceptance length over drafting time per round, by stack",
        "x_title": "drafting µs per round (logarithmic)",
        "y_title": "tokens per forward of the target",
    }
    yield _figure(lambda width: scatter(points, width, min(width, 430.0), **titles))


def _categories(report: dict[str, Any]) -> Iterator[str]:
    categories = report["suite"]["categories"]
    if len(categories) < 2:
        return
    panels = {name: speed_bars(report["stacks"], name) for name in categories}
    most = max((row.most() for rows in panels.values() for row in rows), default=1.0)
    yield "<h2>Speed-up by category</h2>"
    yield '<p class="note">One scale for all; what drafting gains depends on how much of a text has been seen before.</p>'
    yield _legend(report["stacks"])
    yield '<div class="panels">'
    for name, rows in panels.items():
        title = f"Speed-up by stack: {name}"
        drawn = _figure(lambda width, rows=rows, title=title: bars(rows, width, title=title, most=most), wide=PANEL)
        yield f'<div><h3>{escape(name)}</h3><p class="note">{escape(categories[name])}</p>{drawn}</div>'
    yield "</div>"


def _conditions(report: dict[str, Any]) -> Iterator[str]:
    yield '<div class="pair"><div><h2>Settings</h2>'
    yield _list(
        {
            _LABELS.get(name, name): _plain(name, value)
            for name, value in report["settings"].items()
            if value is not None
        }
    )
    yield "</div><div><h2>Machine</h2>"
    machine = {
        _LABELS.get(name, name): _plain(name, v)
        for name, v in report["machine"].items()
        if v is not None and name != "gpus"
    }
    yield f"{_list(machine)}</div></div>"
    if report["command"]:
        yield f"<h2>Command</h2><pre>{escape(report['command'])}</pre>"
    yield f"<h2>What the figures mean</h2>{_list(DEFINITIONS, 'definitions')}"


def _plain(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "memory_bytes":
        return f"{value / 2**30:.1f} GiB"
    if name == "low_repetition_below":
        return f"{value:.0%}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _list(facts: dict[str, str], kind: str = "facts") -> str:
    return (
        f'<dl class="{kind}">'
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
        + "</dl>"
    )


def _legend(stacks: Sequence[dict[str, Any]]) -> str:
    key = '<svg class="bench-figure" width="12" height="12" aria-hidden="true"><rect class="{}" width="12" height="12" rx="3"/></svg>'
    items = [f"<li>{key.format(name)}{escape(words)}</li>" for name, words in kinds_of(stacks).items()]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _figure(draw: Callable[[float], str], wide: float = WIDTHS["wide"]) -> str:
    """A figure in each width, of which the page shows the one that fits."""
    drawn = (f'<div class="{name}">{draw(width)}</div>' for name, width in {**WIDTHS, "wide": wide}.items())
    return f"<figure>{''.join(drawn)}</figure>"


def _table(table: Table) -> str:
    note = f'<p class="note">{escape(table.note[0].upper() + table.note[1:].rstrip(":"))}.</p>' if table.note else ""
    if not table.rows:
        return f"<h2>{escape(table.title)}</h2>{note}"
    table, said = same_for_all(table)
    note += f'<p class="note">{escape(said)}</p>' if said else ""
    head, *rows = table.rows
    # Words read from the left, figures from the right.
    words = [
        bool(k) and not any(c[:1].isdigit() or c == "-" for c in column)
        for k, column in enumerate(zip(*rows, strict=True))
    ]
    cells = "".join(f'<th scope="col"{_words(w)}>{_unbroken(escape(c))}</th>' for c, w in zip(head, words, strict=True))
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}{_mark(table, k)}</th>'
        + "".join(f"<td{_words(w)}>{_cell(c)}</td>" for c, w in zip(row[1:], words[1:], strict=True))
        + "</tr>"
        for k, row in enumerate(rows)
    )
    return (
        f"<h2>{escape(table.title)}</h2>{note}"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title, quote=True)}">'
        f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _mark(table: Table, row: int) -> str:
    """What others built, and the measure of all, are marked."""
    mark = MARKS.get(table.kinds[row]) if table.kinds else None
    return f'<span class="mark">{mark}</span>' if mark else ""


def _words(words: bool) -> str:
    return ' class="words"' if words else ""


def _unbroken(text: str) -> str:
    """No line ends after a hyphen."""
    return text.replace("-", "&#8209;")


def _cell(text: str) -> str:
    """A cell; an interval or a share stands below its figure."""
    figure, below = split(text)
    return escape(figure) + (f'<span class="ci">{escape(below)}</span>' if below else "")
