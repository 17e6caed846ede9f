"""Rules that end or shorten drafts, in fractions: which are safe, and how large the bias of the
others is.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from hsd_viz.cli import main
from hsd_viz.measure.audit import schedules
from hsd_viz.measure.audit.rule_decoders import LENGTH
from hsd_viz.measure.audit.schedules import SCHEDULE_RULES, audit_own, audit_rule, audit_schedules
from hsd_viz.measure.audit.small_models import true_law
from tests.rows import keyed

BY_NAME = keyed(SCHEDULE_RULES, "name")


@pytest.mark.parametrize("rule", SCHEDULE_RULES, ids=lambda rule: rule.name)
def test_a_rule_has_the_verdict_that_it_is_known_to_have(rule):
    row = audit_rule(rule)
    assert row.safe is rule.safe
    assert (Fraction(row.distance) == 0) is rule.safe


def test_the_law_of_the_target_sums_to_one():
    law = true_law((LENGTH,))
    assert sum(law.values()) == 1
    # 0.4, then 0.4 after token 1's own row: 0.3.
    assert law[0, 1, 0] == Fraction(4, 10) * Fraction(4, 10) * Fraction(3, 10)


def test_a_token_dropped_after_it_was_drawn_by_hand():
    """q = .6, .3, .1 below .4: tokens 1 and 2 are dropped, and the target draws its own, p = .4,
    .4, .2. Token 0 is accepted with 2/3 or replaced by 1 or 2: 0.6 * 2/3 + 0.4 * 0.4 = 0.56 in
    place of 0.4.
    """
    row = audit_rule(BY_NAME["dropped"])
    assert row.prefix == ()
    assert row.token == 0
    assert Fraction(row.found) == Fraction(14, 25)
    assert Fraction(row.wanted) == Fraction(2, 5)
    assert row.bias == "first token: 0 has 14/25, not 2/5 (+4/25)"


@pytest.mark.parametrize("stack", schedules.OWN, ids=str)
def test_the_projects_own_stops_are_safe(stack):
    row = audit_own(stack)
    assert row.safe
    assert float(row.distance) < 1e-12


def test_a_rule_with_another_verdict_than_expected_fails_the_audit(monkeypatch):
    biased = schedules.ScheduleRule(
        "said to be safe", "itself", True, "", BY_NAME["dropped"].decode
    )
    monkeypatch.setattr(schedules, "SCHEDULE_RULES", (biased,))
    result = audit_schedules(own=())
    assert result.exit_code == 1
    assert "Unexpected: 'said to be safe' is not safe." in result.to_text()


def test_the_command_names_token_and_size_as_fractions(capsys, tmp_path):
    assert main(["audit", "schedule", "--json", str(tmp_path / "audit.json")]) == 0
    printed = capsys.readouterr().out
    assert "first token: 0 has 14/25, not 2/5 (+4/25)" in printed
    assert "nano:3?0.4 > target" in printed
    assert '"as_expected": true' in (tmp_path / "audit.json").read_text()
