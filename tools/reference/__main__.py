"""Write the files that are generated from the source: ``python -m tools.reference`` writes all.

================================  =============================================
The output depends on the source alone, not on the terminal or the version of Python.
"""

from __future__ import annotations

from pathlib import Path

from hsd_viz.disk import write_whole
from tools.reference.commands import cli_reference
from tools.reference.interfaces import typescript_traffic
from tools.reference.markdown import prose
from tools.reference.options import python_keywords
from tools.reference.python import python_reference
from tools.reference.rows import python_rows
from tools.reference.tables import records_reference, trace_reference
from tools.reference.typescript import element_facts, typescript, typescript_settings
from tools.reference.views_page import views_reference

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"


PAGES = {
    FOLDER / "cli.md": cli_reference,
    FOLDER / "python.md": python_reference,
    FOLDER / "trace.md": trace_reference,
    FOLDER / "records.md": records_reference,
    FOLDER / "views.md": lambda: views_reference(prose),
    ROOT / "js" / "lib" / "tables.ts": typescript,
    ROOT / "hsd_viz" / "trace" / "rows.py": python_rows,
    ROOT / "hsd_viz" / "decoding" / "keywords.py": python_keywords,
    ROOT / "js" / "lib" / "options.ts": typescript_settings,
    ROOT / "js" / "traffic" / "spec.ts": typescript_traffic,
    ROOT / "js" / "elements" / "facts.json": element_facts,
    ROWS: rows_header,
    INTERFACE: interface_header,
}


def main() -> None:
    """Write all files."""
    for path, render in PAGES.items():
        write_whole(path, render())
        print(path)


if __name__ == "__main__":
    main()
