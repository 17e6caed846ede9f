"""The result of ``hsd-viz audit``: the audits of several decoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hsd_viz.errors import INTERRUPTED
from hsd_viz.measure.audit.exact import ExactAudit
from hsd_viz.measure.audit.statistical import StatisticalAudit
from hsd_viz.results.page import page
from hsd_viz.results.result import Result
from hsd_viz.results.table import Table

#: Exit code for a decoder that is not lossless.
NOT_LOSSLESS = 1


@dataclass(frozen=True)
class AuditResult(Result):
    """The audits of several decoders.

    Attributes:
        audits: the audits by the name of the decoder.
    """

    audits: Mapping[str, ExactAudit | StatisticalAudit]
    title = "Audit of losslessness"
    noun = "audit"

    @property
    def exit_code(self) -> int:
        """1 if a decoder is not lossless, 130 if an audit was interrupted."""
        verdicts = {audit.verdict for audit in self.audits.values()}
        if "not lossless" in verdicts:
            return NOT_LOSSLESS
        return INTERRUPTED if "unfinished" in verdicts else 0

    def lines(self) -> list[str]:
        """Return a line per decoder."""
        return [f"{name}: {audit}" for name, audit in self.audits.items()]

    def tables(self) -> list[Table]:
        """Return the table of decoders with their results."""
        rows = [["decoder", "result"]]
        for name, audit in self.audits.items():
            rows.append([name, str(audit)])
        return [Table("Decoders", rows)]

    def parts(self) -> list[str | Table]:
        """Return only the lines, which have all contents of the table."""
        return list(self.lines())

    def to_html(self) -> str:
        """Return the page of the table."""
        return page(self.title, [], self.tables())

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict and the result of each decoder."""
        data = {}
        for name, audit in self.audits.items():
            data[name] = {"verdict": audit.verdict, "result": str(audit)}
        return data
