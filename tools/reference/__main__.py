"""Write the files that are generated from the source: ``python -m tools.reference`` writes all.

================================  ====================================================
file                              source
================================  ====================================================
``docs/reference/cli.md``         the argument parsers
``docs/reference/python.md``      docstrings
``docs/reference/trace.md``       the tables of a trace (:mod:`hsd_viz.trace.tables`)
``docs/reference/records.md``     the forms of records (:mod:`hsd_viz.records.forms`)
``docs/reference/views.md``       :mod:`tools.reference.views_page`
``js/lib/tables.ts``              the tables of a trace
``js/lib/options.ts``             the settings of a decode (:mod:`hsd_viz.decoding.options`)
``hsd_viz/trace/rows.py``         the tables of a trace
``hsd_viz/decoding/keywords.py``  the options of a decode
``js/traffic/spec.ts``            :mod:`hsd_viz.views.app.traffic_spec`
``js/elements/facts.json``        the elements for pages of other sites
``js/lib/drafter_names.json``     :mod:`hsd_viz.results.drafter_names`
headers of the native runtime     :mod:`tools.reference.native_headers`
================================  ====================================================

The output depends on the source alone, not on the terminal or the version of Python.
"""

from __future__ import annotations

from pathlib import Path

from hsd_viz.disk import write_whole
from tools.reference.commands import cli_reference
from tools.reference.interfaces import typescript_traffic
from tools.reference.markdown import prose
from tools.reference.native_headers import INTERFACE, ROWS, interface_header, rows_header
from tools.reference.options import python_keywords
from tools.reference.python import python_reference
from tools.reference.rows import python_rows
from tools.reference.tables import records_reference, trace_reference
from tools.reference.typescript import (
    drafter_names,
    element_facts,
    typescript,
    typescript_settings,
)
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
    ROOT / "js" / "lib" / "drafter_names.json": drafter_names,
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
