"""A standalone page of sentences and tables: reports of ``replay`` and ``doctor``. The template escapes all text."""

from collections.abc import Iterable
from pathlib import Path

from hsd_viz.bench.tables import Table, split

#: A column with a cell of more characters holds text: it is left-aligned and wraps.
WORDS = 40
_TEMPLATE = Path(__file__).with_name("page.html")
_STYLES = Path(__file__).parent.parent / "bench"


def page(title: str, lines: Iterable[str], tables: Iterable[Table]) -> str:
    """Return a page without scripts or network requests."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.globals["split"] = split
    css = Markup("\n".join((_STYLES / name).read_text(encoding="utf-8") for name in ("figure.css", "page.css")))
    found = [table for table in tables if table.rows]
    environment.filters["sentence"] = lambda text: f"{text[0].upper()}{text[1:].rstrip(':')}." if text else ""
    environment.globals["words"] = lambda table, k: any(len(row[k]) > WORDS for row in table.rows)
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(title=title, css=css, lines=list(lines), tables=found)
