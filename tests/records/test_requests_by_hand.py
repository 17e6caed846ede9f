"""Counts of single requests of a record, by hand."""

from __future__ import annotations

from hsd_viz.records.responses import request_of
from hsd_viz.records.sample import RecordedVerification, Sample
from hsd_viz.records.traces import round_rows


def test_the_context_of_llama_cpp_is_what_it_computed_and_what_it_had_cached():
    entry = {"timings": {"prompt_n": 40, "cache_n": 960}}
    request = request_of(entry)
    assert request.context == 1000
    assert request.cached == 960


def test_examined_tokens_of_a_verification_end_with_the_rejected_one():
    rows = round_rows(
        Sample(verifications=(RecordedVerification(4, 1), RecordedVerification(4, 4)))
    )
    assert [row.examined for row in rows] == [2, 4]
