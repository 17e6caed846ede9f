"""Databases in one run: keys counted in its trace, and a replay of its tokens that says what each would have saved alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from make_trace import make_trace

from hsd_viz import load_bundled
from hsd_viz.bench import replay as module
from hsd_viz.bench.replay import DRAFTERS, Alone, alone, available_databases
from hsd_viz.drafting import SharedDatabases
from hsd_viz.engine.replay import bundled
from hsd_viz.figures.panels import acceptance_panels, keys_hit, saved_alone

RUNS = [r.name for r in bundled()]
#: Runs of one text: what would have been saved is a matter of the text alone.
SAME = ("plain", "databases")


@pytest.mark.parametrize("name", RUNS)
def test_a_replay_emits_the_run_s_own_tokens(name):
    trace = load_bundled(name)
    results = alone(trace, available_databases(trace), 16)
    assert [r.drafter for r in results] == list(DRAFTERS)
    for result in results:
        done = result.replayed
        assert done.tokens == len(trace) and 1 <= done.rounds <= done.tokens
        # Every round adds one token of the target's own, save where the limit cut it off.
        assert 0 <= done.rounds + done.accepted.total() - done.tokens <= 1
        assert done.drafted <= 16 * done.rounds
    by_name = {r.drafter: r for r in results}
    assert {s for s, _ in by_name["db[model]"].replayed.accepted} <= {"model"}


def test_the_text_alone_decides():
    texts = [load_bundled(name) for name in SAME]
    assert texts[0].token_ids == texts[1].token_ids
    lengths = [[r.length for r in alone(t, available_databases(t), 32)] for t in texts]
    assert lengths[0] == lengths[1]


def test_more_budget_never_hurts_and_little_budget_does():
    trace = load_bundled("plain")
    by_budget = [
        [r.length for r in alone(trace, available_databases(trace), n) if r.drafter.startswith("db")] for n in (1, 32)
    ]
    assert all(few < many for few, many in zip(*by_budget, strict=True))
    assert max(by_budget[0]) <= 2, "one draft token and the target's own"


def test_a_repeated_text_is_foretold_from_the_context():
    trace = make_trace()
    trace.meta |= {"prompt_ids": [1, 2, 3, 4, 5, 6, 7, 8] * 2, "max_new_tokens": 16}
    trace.token_rows = [trace.token_rows[0]._replace(index=k, token_id=k % 8 + 1) for k in range(16)]
    context = alone(trace, SharedDatabases(), 32)[0]
    # What can be copied is as long as what stood there: in one round or two.
    assert context.replayed.rounds <= 2


def test_databases_of_another_tokenizer_are_left_out_and_say_why(monkeypatch, tmp_path):
    trace = load_bundled("plain")
    some = next(iter(trace.pieces))
    trace.pieces[some] += "!"
    results = {r.drafter: r for r in alone(trace, available_databases(trace), 8)}
    assert results["db[model]"].replayed is None and "another tokenizer" in results["db[model]"].why
    assert results["db"].replayed.accepted == results["db[context]"].replayed.accepted
    panel = saved_alone(trace, list(results.values()), 8)
    (row,) = [r for r in panel.rows if r.label == "db[model]"]
    assert row.cells == ("–", "–") and "another tokenizer" in row.note
    monkeypatch.setattr(module, "weights_dir", lambda: tmp_path)
    assert available_databases(load_bundled("plain")).absent["model"] == "no shipped databases are installed here"


def test_a_long_run_is_replayed_in_its_beginning(monkeypatch):
    trace = load_bundled("plain")
    monkeypatch.setattr(module, "MOST_TOKENS", 40)
    results = alone(trace, available_databases(trace), 16)
    assert {r.replayed.tokens for r in results} == {40}
    assert "40 of 128 tokens" in saved_alone(trace, results, 16).foot


def test_the_panel_says_what_was_measured_and_what_replayed():
    trace = load_bundled("databases")
    results = alone(trace, available_databases(trace), 32)
    panel = saved_alone(trace, results, 32)
    measured = trace.metrics()["mean_acceptance_length"]
    assert panel.rows[0].label == "this run, measured" and panel.rows[0].cells[0] == f"{measured:.2f}"
    assert panel.rows[0].cells[1] == f"{1 - 1 / measured:.0%}"
    for row, result in zip(panel.rows[1:], results, strict=True):
        assert sum(length for _, length, _ in row.parts) == pytest.approx(result.length)
        assert row.cells[0] == f"{result.length:.2f}"
    assert "replay" in panel.definition and "32 draft tokens" in panel.definition and "cost stopping off" in panel.foot


def test_nothing_replayed_is_no_crash():
    trace = make_trace()
    panel = saved_alone(trace, [Alone("db[context]", None, "why not")], 8)
    assert panel.rows[-1].note == "why not"


def test_keys_are_counted_where_drafts_are_first_verified():
    trace = load_bundled("both")
    first = [d for d in trace.draft_rows if d.level == 1 and d.key_length is not None]
    panel = keys_hit(trace)
    assert sum(int(row.cells[0]) for row in panel.rows) == len({(d.round, d.source, d.key_length) for d in first})
    assert sum(int(row.cells[1]) for row in panel.rows) == sum(d.verdict == "accepted" for d in first)
    # What stands in the text is counted beside it, as the tab on acceptance counts it.
    by_match = next(p for p in acceptance_panels(trace) if p.title == "By match length")
    kept = {row.label: row.cells[0].split(" / ")[0] for row in by_match.rows}
    assert panel.heads[-2:] == ("accepted by nano", "by target")
    assert {row.label: row.cells[2] for row in panel.rows} == {
        row.label: kept.get(row.label, "0") for row in panel.rows
    }
    assert all(len(row.cells) == 2 for row in keys_hit(load_bundled("databases")).rows)
    assert [row.label for row in panel.rows] == [str(n) for n in sorted({d.key_length for d in first})]
    assert keys_hit(load_bundled("plain")).empty and keys_hit(load_bundled("one-draft")).empty


def test_a_replay_needs_no_model():
    code = (
        "import sys, hsd_viz; from hsd_viz.bench.replay import alone, available_databases; t = hsd_viz.load_bundled('plain'); "
        "assert len(alone(t, available_databases(t), 8)) == 6; assert not {'torch', 'transformers', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_budget_of_the_replay_is_chosen_on_the_page():
    from hsd_viz.views.app.dashboard import Dashboard

    page = Dashboard(engine=object())
    page.controls.recording.value = "plain"
    page.tabs.strip.selected = page.tabs.strip.titles.index("Databases")
    page.tabs.refresh()
    shown = page.tabs.shown.parts[0]
    shown_by = lambda chart: chart.drawn["layout"]["meta"]
    assert "32 draft tokens" in shown_by(shown.saved)["text"]
    shown.budget.value = 8
    meta = shown_by(shown.saved)
    assert "8 draft tokens" in meta["text"]
    trace = load_bundled("plain")
    assert [row[1] for row in meta["table"][2:]] == [
        f"{r.length:.2f}" for r in alone(trace, available_databases(trace), 8)
    ]
    assert page.tabs.notice.message == "" and shown_by(shown.keys)["note"].startswith("No database drafted")
