"""Test that the classes of rows have the columns of the tables, and that optional values are
checked.
"""

from __future__ import annotations

import pytest

from hsd_viz.errors import Unsupported
from hsd_viz.latency.traced import own_times
from hsd_viz.trace import RoundRow, Trace
from hsd_viz.trace.rows import ROWS
from hsd_viz.trace.tables import TABLES, observed


@pytest.mark.parametrize("name", TABLES)
def test_a_row_has_the_columns_of_its_table(name):
    table = TABLES[name]
    assert ROWS[name].__name__ == table.row_name
    assert list(ROWS[name]._fields) == list(table.columns)


def test_a_column_that_came_later_may_be_left_out():
    for name, table in TABLES.items():
        for column in table.columns.values():
            if column.later:
                assert ROWS[name]._field_defaults[column.name] == column.default


def test_an_observed_value_is_returned():
    assert observed(0) == 0


def test_times_that_an_engine_does_not_report_are_unsupported():
    trace = Trace({}).add_rows(rounds=[RoundRow(0, None, 1, 2, 2, 2, "bonus")])
    with pytest.raises(Unsupported, match="does not report all times"):
        own_times(trace)
