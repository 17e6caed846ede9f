"""Runs side by side: which may, what is said of their texts, their figures, and running them live."""

from __future__ import annotations

import json
import math
import statistics

import pytest
from make_trace import make_trace

from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.stack import parse
from hsd_viz.trace import Trace
from hsd_viz.views import presets, run_data
from hsd_viz.views.versus import OPENING, SIDES, Versus, side, words
from hsd_viz.views.versus_data import agreement, first_difference, machine_note, must_agree, refusal, run_of
from hsd_viz.views.versus_draws import LONGEST, STRETCHES, draws, rounds_by_tokens
from hsd_viz.views.versus_table import doubt, table
from tests.changes import change_row

GROUPS = sorted(p.name for p in SIDE_BY_SIDE.iterdir())


def recorded(group: str, *names: str) -> list[Trace]:
    return [load_bundled(name, SIDE_BY_SIDE / group) for name in names]


def otherwise(trace: Trace, at: int | None = None, **meta) -> Trace:
    """A copy with another meta and, from ``at`` on, another token there."""
    copy = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    copy.meta |= meta
    if at is not None:
        change_row(copy, "tokens", at, token_id=0, text="\n else")
    return copy


# --- refusals


def test_runs_that_cannot_lie_side_by_side_are_refused_in_one_sentence():
    plain, databases, both = recorded("greedy", "plain", "databases", "both")
    assert refusal([plain, databases]) is None and refusal([plain, databases, both]) is None
    cases = {
        "No runs": [],
        "too few": [plain],
        "too many": [plain] * 4,
        "different prompts": [plain, *recorded("sampled", "plain")],
        "as a chat turn": [plain, otherwise(plain, chat=True)],
        "different targets": [
            plain,
            otherwise(plain, models=[{"name": "target", "model": "target", "weights": "other"}]),
        ],
        "different sampling": [plain, otherwise(plain, sampling={"temperature": 0.6, "seed": 1})],
        "has no rounds": [plain, Trace(dict(plain.meta))],
    }
    for why, traces in cases.items():
        said = refusal(traces)
        assert why in said and said.endswith(".") and said.count(". ") == 0
        widget = Versus(traces)
        assert widget.refusal == said and widget.data == {}
    seeded = [otherwise(t, sampling={"temperature": 0.6, "seed": s}) for s, t in enumerate((plain, databases))]
    assert "seed 0" in refusal(seeded) and "seed 1" in refusal(seeded)
    # What the seed cannot change is no reason.
    assert refusal([plain, otherwise(databases, sampling={**plain.meta["sampling"], "seed": 9})]) is None


# --- texts


def test_which_texts_must_agree():
    def of(stack: str, temperature: float) -> Trace:
        return Trace({"stack": stack, "sampling": {"temperature": temperature, "seed": 1}})

    assert must_agree(of("target", 0.0), of("nano:4 > target", 0.0))
    for other in ("db > target", "lookup > target", "hd > target", "auto[db] > target"):
        assert must_agree(of("target", 0.8), of(other, 0.8))
    for other in (
        "nano:4 > target",
        "db > nano:4 > target",
        "auto[db,nano] > target",
        "auto > target",
        "not a stack >",
    ):
        assert not must_agree(of("target", 0.8), of(other, 0.8))


def test_equal_texts_are_said_to_be_so_and_why():
    (one, two) = agreement(recorded("greedy", "plain", "databases", "both"))
    assert (one["state"], two["state"], one["at"]) == ("same", "same", None)
    assert "token for token" in one["words"] and "Required: greedy" in one["why"]
    (drawn,) = agreement(recorded("sampled", "plain", "databases"))
    assert drawn["state"] == "same" and "same random number" in drawn["why"]


def test_texts_that_may_differ_are_told_from_those_that_must_not():
    plain, hierarchy, databases = recorded("sampled", "plain", "hierarchy", "databases")
    one, two = agreement([plain, hierarchy, databases])
    at = first_difference(plain, hierarchy)
    assert plain.token_ids[:at] == hierarchy.token_ids[:at] and plain.token_ids[at] != hierarchy.token_ids[at]
    assert (one["state"], one["at"], one["against"]) == ("apart", at, 0)
    assert f"position {at + 1}: " in one["words"] and "distribution" in one["why"] and "Not allowed" not in one["words"]
    assert two["state"] == "same"
    # Behind a run that may differ, those that must agree are held against each other.
    first, second = agreement([hierarchy, plain, otherwise(databases, at=5)])
    assert (first["against"], first["state"]) == (0, "apart")
    assert (second["against"], second["state"], second["at"]) == (1, "broken", 5)
    assert "Not allowed: neither has a draft model" in second["words"]


def test_a_greedy_text_that_differs_is_called_a_defect_unless_something_explains_it():
    plain, databases = recorded("greedy", "plain", "databases")
    broken = otherwise(databases, at=3)

    def said(*traces):
        (row,) = agreement(traces)
        assert row["state"] == "broken" and row["at"] == 3
        return f"{row['words']} {row['why']}"

    assert "both use greedy decoding" in said(plain, broken) and "this is a bug" in said(plain, broken)
    assert "↵␣else" in said(plain, broken)
    assert "differ in dtype" in said(plain, otherwise(broken, dtype="bfloat16"))
    tied = otherwise(plain)
    change_row(tied, "tokens", 3, top=((7, 0.40000), (8, 0.39999)))
    assert "near-tie" in said(tied, broken) and "bug" not in said(tied, broken)


def test_a_text_cut_short_agrees_as_far_as_it_goes_and_one_that_ended_does_not():
    plain, databases = recorded("greedy", "plain", "databases")
    short = otherwise(databases, stop_reason="cancelled")
    short.token_rows = short.token_rows[:40]
    assert first_difference(plain, short) is None
    assert "over the common length (40 tokens)" in agreement([plain, short])[0]["words"]
    ended = otherwise(short, stop_reason="eos")
    (row,) = agreement([plain, ended])
    assert (row["state"], row["at"]) == ("broken", 40) and "B has ended" in row["words"]


def test_other_machines_are_said():
    plain, databases = recorded("greedy", "plain", "databases")
    assert machine_note([plain, databases]) == ""
    assert "runtime (A: native, B: eager)" in machine_note([plain, otherwise(databases, runtime="eager")])


# --- rows for the page


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", SIDES)
def test_a_run_on_the_page_has_the_counts_and_times_of_its_trace(group, name):
    (trace,) = recorded(group, name)
    run = run_of(trace, "A", "")
    assert json.loads(json.dumps(run)) == run
    assert run["tokens_per_second"] == pytest.approx(trace.metrics()["tokens_per_second"], rel=1e-5)
    shown = {name: value for name, value in run["run"].items() if name not in ("run", "seq")}
    assert shown == run_data.snapshot(trace), "the race counts in the browser (js/versus/versus.test.ts)"


# --- figures


def number(text: str) -> float:
    value, unit = text.replace("−", "-").split()
    return float(value) * {"ms": 1.0, "s": 1e3, "µs": 1e-3}[unit]


@pytest.mark.parametrize("group", GROUPS)
def test_figures_are_the_traces_own_and_the_parts_fill_the_time(group):
    traces = recorded(group, *OPENING)
    rows = {row["name"]: row for row in table(traces)}
    assert all(row["definition"].endswith(".") and len(row["cells"]) == 3 for row in rows.values())
    for k, trace in enumerate(traces):
        m = trace.metrics()
        assert rows["Speed"]["cells"][k]["value"] == f"{m['tokens_per_second']:.0f} tokens/s"
        assert rows["Target forward passes"]["cells"][k]["value"] == str(m["target_forwards"])
        rate = rows["Acceptance rate"]["cells"][k]["value"]
        assert rate == ("–" if not m["drafted"] else f"{m['accepted'] / m['drafted']:.0%}")
        assert rows["Repetition"]["cells"][k]["value"] == f"{m['repetition_share']:.0%}"
        forwards = sum(c.duration_ns for c in trace.call_rows if c.name == "target" and c.kind == "verify")
        assert number(rows["in target"]["cells"][k]["value"]) == pytest.approx(forwards / 1e6, abs=0.06)
        parts = [row["cells"][k]["value"] for row in rows.values() if row["part"]]
        assert sum(number(p) for p in parts if p != "–") == pytest.approx(m["seconds"] * 1e3, rel=0.01, abs=1)
    first, second = (t.metrics() for t in traces[:2])
    assert (
        rows["Speed"]["cells"][1]["difference"] == f"{second['tokens_per_second'] / first['tokens_per_second']:.2f} × A"
    )
    assert (
        rows["Target forward passes"]["cells"][1]["difference"]
        == f"−{first['target_forwards'] - second['target_forwards']}"
    )
    assert (
        rows["Acceptance rate"]["cells"][0]["value"] == "–" and rows["Acceptance rate"]["cells"][1]["difference"] == ""
    )
    assert all(row["cells"][0]["difference"] == "" for row in rows.values())
    assert [row["name"] for row in rows.values() if row["part"]] == [
        "in target",
        "in small",
        "in nano",
        "in db",
        "between calls",
    ]
    same = table([traces[1], traces[1]])
    assert {row["cells"][1]["difference"] for row in same if row["name"] != "Speed"} <= {"±0", "±0 points", ""}


# --- distributions


def charts(traces: list[Trace]) -> dict[str, dict]:
    return {chart["name"]: chart for chart in draws(traces)["charts"]}


@pytest.mark.parametrize("group", GROUPS)
def test_shares_are_counted_from_the_traces_and_say_of_how_many(group):
    traces = recorded(group, *OPENING)
    found = charts(traces)
    assert json.loads(json.dumps(found)) == found
    for k, trace in enumerate(traces):
        m = trace.metrics()
        lengths = found["Tokens per target forward pass"]["runs"][k]
        shares = [value for value, _, _ in lengths["bars"]]
        assert lengths["n"] == m["rounds"] and sum(shares) == pytest.approx(1, abs=1e-4)
        counts = [round(share * m["rounds"]) for share in shares]
        exact = sum(
            int(c.rstrip("+")) * n
            for c, n in zip(found["Tokens per target forward pass"]["classes"], counts, strict=True)
        )
        longest = max(len([t for t in trace.token_rows if t.round == r.id]) for r in trace.round_rows)
        assert exact == m["tokens"] if longest <= LONGEST else exact < m["tokens"]
        places = found["Acceptance by draft position"]["runs"][k]["bars"]
        top = [r for r in trace.round_rows if r.parent is None]
        assert places[0][1] == sum(r.examined > 0 for r in top)
        assert places[0][0] == (
            pytest.approx(sum(r.accepted > 0 for r in top) / places[0][1], abs=1e-5) if places[0][1] else None
        )
        # Deep drafts apart, the places add up to what the metrics call examined and accepted.
        within = all(r.examined <= LONGEST for r in top)
        assert not within or sum(n for _, n, _ in places) == sum(r.examined for r in top)
        assert not within or sum(round(value * n) for value, n, _ in places if value) == m["accepted"]
        sources = found["Token sources"]
        told = {name: bar for name, bar in zip(sources["classes"], sources["runs"][k]["bars"], strict=True)}
        for name, n in m["emitted_by_source"].items():
            assert told[name][2] == f"{n} of {m['tokens']} tokens, {n / m['tokens']:.0%}"


def test_texts_are_compared_as_draws_only_where_they_rightly_differ():
    assert len(draws(recorded("greedy", "plain", "databases"))["charts"]) == 3
    same = draws(recorded("sampled", "plain", "databases"))
    assert "The texts agree" in same["words"] and same["rows"] == []
    plain, databases = recorded("greedy", "plain", "databases")
    broken = draws([plain, otherwise(databases, at=3)])
    assert "although they must agree" in broken["words"] and broken["rows"] == []
    traces = recorded("sampled", "plain", "hierarchy", "databases")
    found = draws(traces)
    assert (
        "allowed for draft models above temperature 0" in found["words"]
        and "not show that distributions" in found["words"]
    )
    p = charts(traces)["Token probability"]
    for run, trace in zip(p["runs"], traces, strict=True):
        assert run["bars"][9][0] == pytest.approx(sum(t.p >= 0.9 for t in trace.token_rows) / len(trace), abs=1e-5)
    surprise = charts(traces)["Surprisal along the text"]
    assert surprise["runs"][0]["bars"][1][0] == pytest.approx(
        sum(-math.log(t.p) for t in traces[0].token_rows[16:32]) / 16, rel=1e-4
    )
    assert len(surprise["classes"]) <= STRETCHES
    (likely, entropy) = found["rows"]
    logs = [[math.log(t.p) for t in trace.token_rows] for trace in traces]
    means = [statistics.mean(x) for x in logs]
    errors = [statistics.stdev(x) / len(x) ** 0.5 for x in logs]
    for cell, mean, error in zip(likely["cells"], means, errors, strict=True):
        assert cell["value"] == f"{mean:.2f} ± {error:.2f}".replace("-", "−")
    gap = f"{abs(means[1] - means[0]):.2f} ± {math.hypot(errors[0], errors[1]):.2f}"
    assert likely["cells"][1]["difference"] == ("−" if means[1] < means[0] else "+") + gap
    assert likely["cells"][2]["difference"] == entropy["cells"][2]["difference"] == "the same text"
    assert all(chart["definition"].endswith(".") for chart in found["charts"]) and all(
        row["definition"].endswith(".") for row in found["rows"]
    )
    for trace in traces:
        trace.token_rows = [t._replace(p=None, entropy=None) for t in trace.token_rows]
    assert len(draws(traces)["charts"]) == 3 and draws(traces)["rows"] == []


def test_a_long_text_has_few_stretches_and_one_token_has_no_error():
    traces = recorded("sampled", "plain", "hierarchy")
    for trace in traces:
        trace.token_rows = [t._replace(index=i) for i, t in enumerate(list(trace.token_rows) * 32)]
    assert len(charts(traces)["Surprisal along the text"]["classes"]) == 16
    for k, trace in enumerate(traces):
        trace.token_rows = trace.token_rows[:1]
        change_row(trace, "tokens", 0, token_id=k)
    (likely, _) = draws(traces)["rows"]
    assert all("±" not in cell["value"] + cell["difference"] for cell in likely["cells"])


# --- the widget


def test_it_opens_on_recordings_of_one_prompt_and_offers_the_others():
    widget = Versus()
    assert widget.refusal == "" and [r["title"] for r in widget.data["runs"]] == [
        words(SIDES[name]) for name in OPENING
    ]
    assert [g["group"] for g in widget.choices] == GROUPS and [r["name"] for r in widget.choices[0]["runs"]] == list(
        SIDES
    )
    state = {name: getattr(widget, name) for name in ("data", "choices", "palette")}
    assert json.loads(json.dumps(state)) == state
    widget.chosen = ["hierarchy", "plain"]
    assert [r["stack"] for r in widget.data["runs"]] == [SIDES["plain"], SIDES["hierarchy"]]
    before = widget.data
    widget.chosen = [*widget.chosen, "both", "databases"]
    assert widget.refusal == "Four runs are too many to compare: select two or three." and widget.data is before
    widget.chosen = ["../../both", "plain"]
    assert "too few" in widget.refusal
    widget.chosen = ["plain", "databases"]
    assert widget.group == "sampled", "the usual temperature is shown first"
    widget.group = "greedy"
    assert widget.refusal == "" and widget.data["runs"][0]["run"]["tokens"] != before["runs"][0]["run"]["tokens"]
    widget.group = ".."
    assert "No runs" in widget.refusal


def test_live_runs_take_the_place_of_recordings_until_two_are_chosen_again():
    widget = Versus()
    widget.show(recorded("greedy", "published", "both"))
    live = widget.data
    assert (
        widget.chosen == []
        and widget.refusal == ""
        and [r["stack"] for r in live["runs"]] == [SIDES["published"], SIDES["both"]]
    )
    assert widget.group == "", "no kind of recording is named above a live comparison"
    widget.group = "greedy"
    assert widget.chosen == list(OPENING) and widget.data is not live
    widget.show(recorded("greedy", "published", "both"))
    live = widget.data
    widget.group, widget.chosen = "sampled", ["plain"]
    assert "One run is too few" in widget.refusal
    widget.chosen = ["plain", "databases"]
    assert widget.refusal == "" and widget.data is not live


def test_without_recordings_it_says_so(tmp_path):
    assert "No recordings" in Versus(folder=tmp_path / "none").refusal
    assert Versus(folder=tmp_path).data == {}


def test_shown_again_nothing_is_pinned(tmp_path):
    widget = Versus(recorded("greedy", "plain", "databases"))
    assert widget.choices == []
    widget.pinned = 5
    widget.show([make_trace(), make_trace()])
    assert (
        widget.pinned == -1
        and widget.data["caution"] == ""
        and len(widget.data["runs"][0]["run"]["tokens"]["text"]) == 3
    )


def test_presets_are_stacks_that_the_presets_know():
    known = dict(presets.STACKS)
    for name, stack in SIDES.items():
        assert side(name) == stack and str(parse(stack)) == stack and words(stack) == known[stack]
    assert side("sam > target") == "sam > target"
    for group in GROUPS:
        assert {r.name: r.stack for r in bundled(SIDE_BY_SIDE / group)} == SIDES


def test_a_speed_up_that_cannot_be_is_doubted_at_the_figures():
    drafted, plain = recorded(GROUPS[0], "databases", "plain")
    assert doubt([drafted, plain]) == ""
    # As if something else had the processor while the target decoded alone.
    seconds = plain.meta["wall_ns"] - plain.meta["prefill_ns"]
    slow = otherwise(plain, wall_ns=plain.meta["prefill_ns"] + 10 * seconds)
    said = doubt([drafted, slow])
    assert said.startswith("A has ") and "the plain run was disturbed" in said
    assert doubt([drafted]) == doubt([drafted, drafted]) == "", "there is no plain run to be held against"
    assert Versus([drafted, slow]).data["doubt"] == said


def test_rounds_by_tokens_have_the_mean_acceptance_length():
    for trace in recorded("greedy", "plain", "databases"):
        counts, figures = rounds_by_tokens(trace), trace.metrics()
        assert sum(counts.values()) == figures["rounds"]
        if max(counts) < LONGEST:
            assert sum(k * n for k, n in counts.items()) == figures["tokens"]
