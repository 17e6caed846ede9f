import gc
import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from hsd_viz.decoding.options import DecodingOptions
from hsd_viz.drafting import Memory, make_drafter
from hsd_viz.drafting.make import remembers
from hsd_viz.drafting.tree import DraftTree
from hsd_viz.engine import Engine
from hsd_viz.errors import PromptError, UserError
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.output import DRAFTING, REST, Output, from_trace, median_of, round_parts
from hsd_viz.measure.bench.result import BenchResult
from hsd_viz.measure.bench.runner import read_stacks, rows_of, run_bench
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.prompts.suites import Prompt, Suite
from hsd_viz.stack import DraftSource, draft_sources
from hsd_viz.trace import CallRow, Event, Finished, RoundRow, Trace
from tests.changes import plain_trace
from tests.rows import column, select

SUITE = Suite("two", {"all": "All."}, (Prompt("1", "all", "first"), Prompt("2", "all", "second")))


class FakeEngine(Engine):
    """Decodes nothing: remembers who was asked, in which order, and takes a second longer each
    time.
    """

    def __init__(self, stop_at: int | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.options: list[DecodingOptions] = []
        self.stop_at = stop_at

    def events(self, prompt: str, stack: str, options: DecodingOptions) -> Iterator[Event]:
        self.asked.append((prompt, str(stack)))
        self.options.append(options)
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        yield Finished(plain_trace(options.max_new_tokens, float(len(self.asked))))


def test_a_bench_leaves_what_the_process_froze_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    assert frozen
    run_bench(FakeEngine(), ["target"], SUITE, BenchSettings(max_new_tokens=1, repeats=1))
    assert gc.get_freeze_count() > frozen / 2


def test_a_bench_freezes_what_is_present_and_releases_it(monkeypatch):
    calls = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    monkeypatch.setattr(gc, "unfreeze", lambda: calls.append("unfreeze"))
    stopped = FakeEngine(stop_at=3)
    run_bench(stopped, ["target"], SUITE, BenchSettings(max_new_tokens=1, repeats=3))
    assert calls == ["freeze", "unfreeze"]


def test_stacks_take_turns_after_a_short_warm_up():
    engine = FakeEngine()
    seen = []
    stacks = ["db > target", "target"]
    settings = BenchSettings(max_new_tokens=20, repeats=3)
    measured = run_bench(
        engine, stacks, SUITE, settings, progress=lambda *state: seen.append(state)
    )
    assert engine.asked[:2] == [("first", s) for s in stacks]
    assert column(engine.options, "max_new_tokens") == [8] * 2 + [20] * 12
    assert engine.asked[2:] == [
        (p, s) for _, p, s in itertools.product(range(3), ["first", "second"], stacks)
    ]
    for option in engine.options:
        assert not option.record
    assert measured.complete
    assert list(measured.outputs) == stacks
    assert [state[:2] for state in seen] == [(0, 12)] * 2 + [(k, 12) for k in range(12)]
    # Decodes 3, 7 and 11 were db's of the first prompt: the median is 7 seconds.
    assert measured.outputs["db > target"][0].seconds == 7


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(partial(BenchSettings, max_new_tokens=0), id="tokens"),
        pytest.param(partial(BenchSettings, repeats=0), id="repeats"),
        pytest.param(partial(BenchSettings, state="hot"), id="state"),
        pytest.param(partial(BenchSettings, budget=0), id="budget"),
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ValueError, match=r"out of range|unknown"):
        settings()


def test_sampling_and_budget_reach_the_engine():
    engine = FakeEngine()
    run_bench(
        engine,
        ["target"],
        SUITE,
        BenchSettings(
            max_new_tokens=4,
            temperature=0.7,
            top_k=5,
            top_p=0.9,
            min_p=0.1,
            seed=11,
            rule="token",
            repeats=1,
            budget=7,
        ),
    )
    wanted = DecodingOptions(
        temperature=0.7,
        top_k=5,
        top_p=0.9,
        min_p=0.1,
        seed=11,
        rule="token",
        budget=7,
        memory=None,
        max_new_tokens=4,
        record=False,
    )
    for option in engine.options:
        assert option == wanted


def test_plain_decoding_is_added_where_it_is_missing():
    assert list(read_stacks(["db>target", "hf-lookup"])) == ["target", "db > target", "hf-lookup"]
    assert list(read_stacks(["db > target", "target"])) == ["db > target", "target"]


@pytest.mark.parametrize(
    ("stacks", "part"),
    [
        (["db > target", "db>target"], "given twice"),
        (["nano:4 > small"], "does not end in 'target'"),
        (["hf-quick"], "unknown stack 'hf-quick'"),
        (["nano:0 > target"], "the lookahead 0"),
    ],
)
def test_bad_stacks_give_one_sentence(stacks, part):
    with pytest.raises(ValueError, match=part) as caught:
        read_stacks(stacks)
    assert "\n" not in str(caught.value)


def test_a_complaint_about_a_prompt_names_it():
    class Strict(FakeEngine):
        def events(self, prompt, stack, options):
            if prompt == "second":
                raise PromptError("the prompt has 9 tokens")
            return super().events(prompt, stack, options)

    with pytest.raises(UserError, match=r"\Aprompt 2: the prompt has 9 tokens\Z"):
        run_bench(Strict(), ["target"], SUITE, BenchSettings(max_new_tokens=4))


def test_a_fault_that_mentions_a_prompt_is_not_an_error_of_the_user():
    class Faulty(FakeEngine):
        def events(self, prompt, stack, options):
            raise ValueError("the prompt's rows have another shape")

    with pytest.raises(ValueError, match=r"\Athe prompt's rows") as caught:
        run_bench(Faulty(), ["target"], SUITE, BenchSettings(max_new_tokens=4))
    assert not isinstance(caught.value, UserError)


def test_an_interrupt_keeps_what_all_stacks_have_done():
    measured = run_bench(FakeEngine(stop_at=1), ["target"], SUITE, BenchSettings())
    assert not measured.complete
    assert measured.prompts == ()
    assert measured.outputs == {"target": ()}
    # 2 warm-up decodes, 2 for the first prompt, then the second prompt is interrupted at its second
    # stack.
    measured = run_bench(
        FakeEngine(stop_at=6), ["db > target", "target"], SUITE, BenchSettings(repeats=2)
    )
    assert not measured.complete
    assert column(measured.prompts, "id") == ["1"]
    for outputs in measured.outputs.values():
        assert len(outputs) == 1


def test_drafting_time_of_nested_rounds_counts_for_their_target_round():
    trace = Trace({"wall_ns": 0, "prefill_ns": 0})
    rounds = [(1, 0, 1, 2, 1, 1, "bonus", None), (0, None, 2, 2, 1, 1, "bonus", None)]
    rounds.append((2, None, 2, 0, 0, 0, "plain", "no match"))
    calls = [(-1, 0, "db", "prefill", 1, 3, 9_000), (1, 0, "db", "lookup", 1, 0, 5_000)]
    calls += [(1, 1, "nano", "verify", 1, 3, 70_000), (0, 0, "db", "update", 1, 2, 1_000)]
    calls.append((2, 0, "db", "lookup", 1, 0, 3_000))
    trace.add_rows(rounds=[RoundRow(*row, 0, 0) for row in rounds])
    trace.add_rows(calls=[CallRow(*row, 0, 0, ns) for *row, ns in calls])
    assert from_trace(trace).draft_seconds == pytest.approx((6e-6, 3e-6))


def test_a_trace_becomes_an_output():
    output = from_trace(plain_trace(5, 2.0))
    assert output.waits == tuple((pytest.approx(0.4), 1) for _ in range(4))
    assert output == Output(
        token_ids=(0, 1, 2, 3, 4),
        seconds=2.0,
        timed_tokens=5,
        prefill_seconds=1.0,
        target_forwards=5,
        drafted=0,
        accepted=0,
        draft_seconds=(0.0,) * 5,
        first_token_seconds=1.4,
        waits=output.waits,
        parts=output.parts,
        calls={"target": 5},
    )


def output_of(seconds: float) -> Output:
    """Two tokens of two forward passes without a draft."""
    return Output(
        token_ids=(1, 2),
        seconds=seconds,
        timed_tokens=2,
        prefill_seconds=seconds / 10,
        target_forwards=2,
        drafted=0,
        accepted=0,
        draft_seconds=(seconds,),
        first_token_seconds=seconds,
        waits=((seconds, 1),),
    )


def test_repeats_give_median_times_and_pooled_rounds():
    median = output_of(2.0)
    assert median_of([output_of(5.0), output_of(1.0), output_of(2.0)]) == replace(
        median,
        draft_seconds=(5.0, 1.0, 2.0),
        waits=((5.0, 1), (1.0, 1), (2.0, 1)),
    )


def test_warm_rows_keep_one_memory_through_a_repeat():
    engine = FakeEngine()
    run_bench(
        engine, ["suffix > target"], SUITE, BenchSettings(max_new_tokens=4, repeats=2, state="both")
    )
    # Nothing that warms up is remembered; plain and cold decodes bring no memory of their own.
    for option in engine.options[:3]:
        assert option.memory is None
    pairs = [*zip(engine.asked, engine.options, strict=True)]
    measured = []
    for (_, stack), options in pairs:
        if stack == "suffix > target":
            measured.append(options.memory)
    cold = measured[2::2]
    warm = measured[3::2]
    assert cold == [None] * 4
    # The two prompts of a repeat share a memory, and each repeat has its own: a prompt never meets
    # its own earlier output.
    assert warm[0] is warm[1]
    assert warm[2] is warm[3]
    assert warm[0] is not warm[2]
    assert warm[0] is not None


def test_only_what_remembers_has_a_row_for_each_state():
    stacks = read_stacks(["db > target", "suffix > target", "hf-lookup"])
    rows = {states: rows_of(stacks, states) for states in ("cold", "warm", "both")}
    listed = {}
    for states, of_states in rows.items():
        listed[states] = [(name, state) for name, (_, state) in of_states.items()]
    beside = ("target", None), ("db > target", None), ("hf-lookup", None)
    cold = ("suffix > target", "cold")
    warm = ("suffix > target (warm)", "warm")
    assert listed["cold"] == [*beside[:2], cold, beside[2]]
    assert listed["warm"] == [*beside[:2], warm, beside[2]]
    assert listed["both"] == [*beside[:2], cold, warm, beside[2]]


@pytest.mark.parametrize("name", sorted(set(draft_sources()) - {"auto", "retrieval"}))
def test_the_drafters_that_remember_are_those_that_a_memory_changes(name):
    source = DraftSource(name)
    prompt = [1, 2]

    def drafts(memory: Memory) -> list[int]:
        drafter = make_drafter(source, memory=memory)
        drafter.start(prompt)
        drafter.extend([9])
        return drafter.draft([*prompt, 9], 8).tokens

    memory = Memory()
    earlier = make_drafter(source, memory=memory)
    text = [5, 6, *[9, 3, 4] * 20]
    earlier.start(text[:2])
    for k in range(2, len(text)):
        earlier.extend(text[k : k + 1])
        if hasattr(earlier, "observe"):
            earlier.observe(text[:k], DraftTree(), [[text[k], 7]])
    assert (drafts(memory) != drafts(Memory())) == remembers(source)


PROMPT = "def add(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return"
ONE = Suite("one", {"all": "All."}, (Prompt("1", "all", PROMPT),))


def test_the_parts_of_a_round_sum_to_its_time(engine):
    trace = engine.run(PROMPT, "db > nano:3 > target", max_new_tokens=24, temperature=1.0)
    rounds = select(trace.round_rows, parent=None)
    parts = round_parts(trace)
    assert set().union(*parts) == {"forward target", "forward nano", DRAFTING, REST}
    assert [sum(p.values()) >= r.duration_ns for p, r in zip(parts, rounds, strict=True)] == [
        True
    ] * len(rounds)

    def own(r):
        return sum(column(select(trace.call_rows, round=r.id, kind="verify"), "duration_ns"))

    assert column(parts, "forward target") == list(map(own, rounds))


def test_a_profile_is_in_the_report(engine):
    measured = run_bench(
        engine,
        ["db > target", "hf-lookup"],
        ONE,
        BenchSettings(max_new_tokens=12, repeats=1, profile=True),
    )
    facts = {"device": "cpu", "dtype": "float32", "threads": 1, "target": "target"}
    report = build_report(measured, {"cpu": "x", "gpu": None}, facts)
    base, db, hf = report.stacks
    assert base.profile.rounds == 12
    assert db.profile.parts[DRAFTING].median_us > 0
    assert sum(part.share for part in db.profile.parts.values()) == pytest.approx(1)
    assert hf.profile is None
    assert hf.runtime == "transformers" != base.runtime == db.runtime
    assert "where the time goes: median µs" in BenchResult(report).to_text()


def test_nothing_is_measured_while_the_engine_compiles():
    events = []

    class Compiling(Engine):
        def wait_ready(self, progress):
            progress("compiling something")
            events.append("ready")

        def events(self, prompt, stack, options):
            events.append("decode")
            raise KeyboardInterrupt

    seen = []
    settings = BenchSettings(max_new_tokens=4)
    assert not run_bench(
        Compiling(), ["target"], ONE, settings, progress=lambda *state: seen.append(state)
    ).complete
    assert events == ["ready", "decode"]
    assert seen[0] == (0, 3, "compiling something")
