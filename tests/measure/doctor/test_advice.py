"""The doctor's advice: the drafter stays, its length changes, and engines get their settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hsd_viz.measure.doctor.diagnosis import options_table
from hsd_viz.measure.doctor.observation import Observation
from hsd_viz.measure.doctor.observe import from_figures, with_figures
from hsd_viz.measure.doctor.options import Known
from hsd_viz.measure.doctor.verdict import diagnose
from hsd_viz.measure.doctor.what_if import Option
from hsd_viz.records.engine_settings import METHODS, method_of, settings_to_paste
from tests.measure.doctor.observations import (
    HEALTHY,
)
from tests.rows import column, find


def test_settings_of_one_drafter_are_in_the_order_of_their_draft_lengths():
    """As in the table of lengths; of several drafters they are ranked."""

    def stacks(*options: Option) -> list[str]:
        table = options_table(options, None, None)
        assert table is not None
        return [str(row[0]) for row in table.rows[1:]]

    three = Option("3 draft tokens", "draft", 3, 1.5)
    seven = Option("7 draft tokens", "draft", 7, 1.2)
    four = Option("4 draft tokens", "draft", 4, 1.6)
    off = Option("off", "plain", 0, 1.0)
    assert stacks(seven, off, four, three) == [
        off.stack,
        three.stack,
        four.stack,
        seven.stack,
    ]
    other = Option("lookup", "lookup", 5, 1.3)
    assert stacks(seven, other, four) == [four.stack, other.stack, seven.stack]


def test_longer_drafts_use_the_pooled_acceptance_after_the_first_position():
    # Position 1 is accepted in half of the rounds; of these, everything after it.
    seen = Observation("case", {(2, 0): 500, (2, 2): 500}, 10.0, 10.1, 0.1, 0.0)
    four = find(diagnose(seen).options, tokens=4)
    assert four.speedup == pytest.approx(3.0 / 1.04, rel=1e-3)
    # The second position alone is no base for longer ones.
    assert longest_option(replace(seen, rounds={(1, 0): 500, (1, 1): 500})) == 1
    # An n-gram draft ends where its match ends, a mean has no positions.
    assert longest_option(replace(seen, method="suffix")) == 2
    figures = from_figures([0.6], 5)
    times = Known(step_ms=10.0, verify_ms=11.0, draft_ms=1.0, overhead_ms=0.0)
    assert longest_option(with_figures(figures, times)) == 5


def longest_option(seen):
    """Return the longest draft that is advised or compared."""
    return max(column(diagnose(seen).options, "tokens"))


@pytest.mark.parametrize("method", METHODS)
def test_the_drafter_is_kept(method):
    diagnosis = diagnose(replace(HEALTHY, method=method, draft=6.0))
    assert diagnosis.advised.method == method
    assert set(diagnosis.flags) == set(settings_to_paste(method, diagnosis.advised.tokens))
    n = diagnosis.advised.tokens
    for text in diagnosis.flags.values():
        assert str(n) in text or str(n + 1) in text


def test_a_rare_long_draft_does_not_set_the_length_of_an_n_gram_drafter():
    seen = replace(
        HEALTHY, rounds={(0, 0): 500, (5, 4): 480, (24, 24): 20}, method="lookup", draft=0.1
    )
    diagnosis = diagnose(seen)
    assert diagnosis.advised.tokens == 24
    assert '"num_speculative_tokens": 5' in diagnosis.flags["vllm 0.32.0"]


def test_flags_name_the_number_of_tokens_and_the_verified_token_of_sglang():
    for method in METHODS:
        for text in settings_to_paste(method, 5).values():
            assert "5" in text or "6" in text
    for method in ("draft", "eagle3", "lookup"):
        assert "--speculative-num-draft-tokens 6" in settings_to_paste(method, 5)["sglang 0.5.9"]
    assert (
        json.loads(settings_to_paste("suffix", 8)["vllm 0.32.0"].split("'")[1])["method"]
        == "suffix"
    )
    assert len(settings_to_paste("plain", 0)) == 5
    assert method_of("EAGLE-3") == "eagle3"


@pytest.mark.parametrize(
    ("batch", "advice"), [(1, "use a machine or kernel"), (32, "use fewer draft tokens while many")]
)
def test_expensive_verification_is_advised_about_by_batch(batch, advice):
    diagnosis = diagnose(replace(HEALTHY, verify=50.0, batch=batch))
    assert diagnosis.advice.startswith(advice)
