"""Databases in one run: keys counted in its trace, and a replay of its tokens that says what each would have saved alone."""

from __future__ import annotations

from make_trace import make_trace

from hsd_viz import load_bundled
from hsd_viz.bench import replay as module
from hsd_viz.bench.replay import DRAFTERS, alone, available_databases
from hsd_viz.drafting import SharedDatabases


def test_a_replay_emits_the_run_s_own_tokens():
    trace = load_bundled("both")
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
    monkeypatch.setattr(module, "weights_dir", lambda: tmp_path)
    assert available_databases(load_bundled("plain")).absent["model"] == "no shipped databases are installed here"
