"""The records of the lab sheet are the ones that their tool writes, and the doctor reads them as
the sheet says.
"""

from __future__ import annotations

import pytest

import hsd_viz as hsd
from tools.record import lab_logs


def test_the_committed_records_are_those_of_the_tool():
    """Written with ``python -m tools.record.lab_logs``."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in lab_logs.FOLDER.iterdir()}
    assert committed == lab_logs.logs()


@pytest.mark.parametrize(
    ("log", "plain_speed", "verdict"),
    [("chat.log", 40, "speculation pays"), ("busy.log", 30, "speculation loses")],
)
def test_the_verdict_on_a_server_is_the_one_that_the_sheet_relies_on(log, plain_speed, verdict):
    known = hsd.Known(plain_speed=plain_speed)
    assert verdict in hsd.doctor(lab_logs.FOLDER / log, known=known).verdict


def test_a_copy_pays_for_the_edits():
    frame = hsd.replay(lab_logs.FOLDER / "edits.jsonl", tokenizer="target").frame

    assert frame.loc["lookup", "speedup"] > 2
