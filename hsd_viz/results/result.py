"""The base class of results of measurements and analyses, with all forms of their output.

A command ends with ``return print_result(result, json=..., html=...)``. In a notebook a result is a
table; in Python it has :meth:`Result.to_frame`, :meth:`Result.figure` and :meth:`Result.to_dict`.
"""

from __future__ import annotations

import json as json_format
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hsd_viz.disk import STDOUT, write_text
from hsd_viz.drawing import drawing
from hsd_viz.errors import INTERRUPTED, Unsupported, UserError
from hsd_viz.names.hints import no_attribute
from hsd_viz.results.page import page
from hsd_viz.results.plain_text import plain
from hsd_viz.results.table import Table
from hsd_viz.terminal import say
from hsd_viz.text import escape

if TYPE_CHECKING:
    import pandas as pd

_SETTINGS = "Settings to paste"


class Result:
    """The base of results: a subclass defines :meth:`lines` and :meth:`to_dict`.

    Attributes:
        noun: the name of the result in messages.
        complete: whether it was computed without interruption.
    """

    noun: str = "report"
    complete: bool = True

    @property
    def title(self) -> str:
        """The title of the page; a subclass may define it as an attribute."""
        return "Result"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            names = [attribute for attribute in dir(type(self)) if not attribute.startswith("_")]
            no_attribute(self, name, "result", names)

    def lines(self) -> list[str]:
        """Return the first lines: the findings and their conditions."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        raise NotImplementedError

    def tables(self) -> list[Table]:
        """Return the tables, the most important one first."""
        return []

    @property
    def flags(self) -> Mapping[str, str]:
        """Return the settings to paste, by engine."""
        return {}

    def parts(self) -> list[str | Table]:
        """Return the lines and tables in the order of the terminal."""
        return [*self.lines(), *self.tables(), *self._setting_lines()]

    def _setting_lines(self) -> list[str]:
        flags = [f"  {engine}: {text}" for engine, text in self.flags.items()]
        return ["", f"{_SETTINGS}:", *flags] if flags else []

    def to_text(self) -> str:
        """Return the result as text for a terminal."""
        return plain(self.parts())

    def to_html(self) -> str:
        """Return the result as a page that opens offline."""
        tables = [*self.tables(), *self._setting_tables()]
        return page(self.title, self.lines(), tables)

    def _setting_tables(self) -> list[Table]:
        rows = [[engine, text] for engine, text in self.flags.items()]
        return [Table(_SETTINGS, [["engine", "settings"], *rows])] if rows else []

    def to_frame(self) -> pd.DataFrame:
        """Return the first table as a data frame, with numbers as values and intervals as
        columns.
        """
        tables = [table for table in self.tables() if table.rows]
        if not tables:
            raise Unsupported(f"this {self.noun} has no table: use .to_dict()")
        return tables[0].to_frame()

    def figure(self) -> Any:
        """Return the result as a plotly figure.

        Raises:
            Unsupported: if it has no numbers.
        """
        return drawing().figure(self)

    def ending(self, json: Path | None) -> str:
        """Return the message for an interrupted result that is written to ``json``."""
        return f"interrupted; the partial {self.noun} is in {json}" if json else "interrupted"

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return 0 if self.complete else INTERRUPTED

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.lines())
        return f"<p>{lines}</p>" + "".join(table.to_html() for table in self.tables())


def print_result(
    result: Result,
    json: Path | None = None,
    html: Path | None = None,
    file: TextIO | None = None,
) -> int:
    """Print a result, write it to the given files, and return the exit code of its command.

    Args:
        result: the result.
        json: the file to write JSON data to; ``STDOUT`` prints it on one line instead of the text.
        html: the file to write the page to; ``STDOUT`` prints it instead of the text.
        file: the stream to print the text to (default: standard output).

    Raises:
        UserError: if a file cannot be written, or if both JSON and the page are to be printed.
    """
    is_json_printed = json == STDOUT
    is_page_printed = html == STDOUT
    if is_json_printed and is_page_printed:
        raise UserError("standard output takes one of the page and JSON: name a file for the other")
    if json is not None and not is_json_printed:
        write_text(json, json_format.dumps(result.to_dict(), indent=1) + "\n")
    if html is not None and not is_page_printed:
        write_text(html, result.to_html())
    if is_json_printed:
        print(json_format.dumps(result.to_dict()))
    elif is_page_printed:
        print(result.to_html())
    else:
        print(result.to_text(), file=file)
    if not result.complete:
        say(result.ending(None if is_json_printed else json))
    return result.exit_code
