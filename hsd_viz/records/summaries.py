"""Printed summaries of benchmarks of serving engines: a title, rows of names and values, an end."""

from __future__ import annotations

import re

from hsd_viz.records import sglang, sglang_bench, vllm, vllm_bench
from hsd_viz.records.forms import Form
from hsd_viz.records.sample import Sample

_HEAD = re.compile(r"={3,} *Serving Benchmark Result")
_ROW = re.compile(r"^\s*([A-Z][\w ()%/.-]*?):\s+(-?[\d.,]+|inf|nan)\s*$")


def begins(text: str) -> bool:
    """Return whether a line is the title of a summary."""
    return _HEAD.search(text) is not None


def ends(text: str) -> bool:
    """Return whether a line is the end of a summary."""
    return text.strip().startswith("=====")


def row_of(text: str) -> tuple[str, str] | None:
    """Return the name and the value of a row; ``None`` if the line is not a row."""
    row = _ROW.match(text)
    return None if row is None else (row[1].strip(), row[2])


def is_inside(text: str) -> bool:
    """Return whether a line without a value belongs to the summary around it."""
    return text.strip().startswith("---") or "Per-position" in text


def sample_of(rows: dict[str, str]) -> tuple[Sample, Form] | None:
    """Return the sample of the rows of a summary; ``None`` if it has no figures of drafts.

    Raises:
        BadFile: if the figures are impossible.
    """
    sample = vllm_bench.summary_rows(rows)
    if sample is not None:
        return sample, vllm.BENCH
    sample = sglang_bench.summary_rows(rows)
    if sample is not None:
        return sample, sglang.BENCH
    return None
