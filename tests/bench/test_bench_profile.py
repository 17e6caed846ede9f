"""Where a round's time goes: every nanosecond in one part, on a real decode; and what surrounds a bench's measuring."""

from __future__ import annotations

import time
from statistics import median

import pytest
import torch

from hsd_viz.bench import Prompt, Settings, Suite, build_report, run_bench, text_table
from hsd_viz.bench.hf import GRIDS, spare_prompts, tune
from hsd_viz.bench.profile import DRAFTING, Stopwatch, profile_decode, summary
from hsd_viz.decoding.settings import Sampling
from hsd_viz.engine.local import load_engine
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import parse_bench

PROMPT = "def add(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return"


@pytest.fixture(scope="module")
def engine():
    threads = torch.get_num_threads()
    found = load_engine(device="cpu", threads=1)
    found.wait_ready()
    yield found
    torch.set_num_threads(threads)


def test_a_part_inside_another_stops_its_clock():
    watch = Stopwatch()

    def sleep(seconds):
        return lambda: time.sleep(seconds)

    inner = watch.timed("inner", sleep(0.02))
    outer = watch.timed("outer", lambda: (time.sleep(0.01), inner(), time.sleep(0.01)))
    began = time.perf_counter_ns()
    watch.start()
    outer()
    time.sleep(0.005)
    spent = watch.stop()
    wall = time.perf_counter_ns() - began
    assert sum(spent.values()) == pytest.approx(wall, rel=0.02)
    assert spent["inner"] >= 0.02e9 and spent["outer"] >= 0.02e9 and spent["rest"] >= 0.005e9
    assert spent["outer"] < wall - spent["inner"] - 0.004e9


@pytest.mark.parametrize(
    ("stack", "temperature", "parts"),
    [
        # The native runtime verifies drafts in its forward pass.
        ("target", 0.0, {"forward target", "recording", "rest"}),
        ("db > nano:3 > target", 1.0, {"forward target", "forward nano", "drafting", "recording", "rest"}),
    ],
)
def test_the_parts_of_a_round_sum_to_the_decode(engine, stack, temperature, parts):
    engine.run(PROMPT, stack, max_new_tokens=4)
    began = time.perf_counter_ns()
    rounds = profile_decode(engine, PROMPT, stack, 24, Sampling(temperature))
    wall = time.perf_counter_ns() - began
    assert engine.on_decode is None
    assert set().union(*rounds) == parts
    trace = engine.run(PROMPT, stack, max_new_tokens=24, temperature=temperature)
    assert len(rounds) == sum(r.parent is None for r in trace.round_rows)
    assert sum(sum(r.values()) for r in rounds) < wall
    found = summary(rounds)
    assert sum(part.share for part in found.parts.values()) == pytest.approx(1)
    assert sum(part.mean_us for part in found.parts.values()) == pytest.approx(
        sum(sum(r.values()) for r in rounds) / len(rounds) / 1e3
    )
    assert found.parts["forward target"].share > 0.2


def test_drafting_agrees_with_the_calls_of_the_trace(engine):
    rounds = profile_decode(engine, PROMPT, "db > target", 32, Sampling())
    calls = [
        c
        for c in engine.run(PROMPT, "db > target", max_new_tokens=32).call_rows
        if c.kind in ("lookup", "update") and c.round >= 0
    ]
    by_round: dict[int, int] = {}
    for call in calls:
        by_round[call.round] = by_round.get(call.round, 0) + call.duration_ns
    # Two decodes on a machine that others use: the middle rounds are the same within a factor.
    assert 0.2 < median(r.get(DRAFTING, 0) for r in rounds) / median(by_round.values()) < 5


def test_a_profile_stands_in_the_report(engine):
    suite = Suite("one", {"all": "All."}, (Prompt("1", "all", PROMPT),))
    measured = run_bench(engine, ["db > target", "hf-lookup"], suite, Settings(12, repeats=1, profile=True))
    report = build_report(
        measured, {"cpu": "x", "gpu": None}, {"device": "cpu", "dtype": "float32", "threads": 1, "target": "target"}
    )
    plain, db, hf = report.stacks
    assert plain.profile.rounds == 12 and db.profile.parts[DRAFTING].median_us > 0
    assert hf.profile is None and hf.runtime == "transformers" and plain.runtime == db.runtime != "transformers"
    assert "where a target round's time goes" in text_table(report)


# --- baselines ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["hf-lookup", "hf-assistant[nano]"])
def test_tuning_tries_the_whole_grid_and_picks_the_fastest(engine, stack):
    config = engine.model("nano").generation_config
    before = config.num_assistant_tokens
    prompts = [Prompt("1", "all", PROMPT)]
    found = tune(engine, parse_bench(stack), prompts, Sampling(), max_new_tokens=8)
    assert [settings for settings, _ in found.tried] == list(GRIDS[parse_bench(stack).name])
    assert found.settings == max(found.tried, key=lambda t: t[1])[0] and found.prompts == ("1",)
    assert config.num_assistant_tokens == before


def test_settings_change_what_a_baseline_does(engine):
    from hsd_viz.bench.hf import HFDecoder

    def drafted(stack, **settings):
        return HFDecoder(engine, parse_bench(stack), settings)(PROMPT, 24, Sampling()).drafted

    assert drafted("hf-lookup", prompt_lookup_num_tokens=2) < drafted("hf-lookup", prompt_lookup_num_tokens=16)
    few = {
        "num_assistant_tokens": 1,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    assert drafted("hf-assistant[nano]", **few) < drafted("hf-assistant[nano]", **{**few, "num_assistant_tokens": 8})


def test_best_and_default_settings_both_have_a_row(engine):
    suite = Suite("one", {"all": "All."}, (Prompt("1", "all", PROMPT),))
    settings = Settings(8, repeats=1, tune_baselines=True)
    spare = [Prompt("2", "all", "class Two:\n    def __init__(self, a):\n")]
    measured = run_bench(engine, ["hf-generate", "hf-lookup"], suite, settings, spare=spare)
    assert list(measured.outputs) == ["target", "hf-generate", "hf-lookup", "hf-lookup (best)"]
    report = build_report(
        measured, {"cpu": "x", "gpu": None}, {"device": "cpu", "dtype": "float32", "threads": 1, "target": "target"}
    )
    best = report.stacks[-1]
    assert best.baseline_settings["tuned_on"] == ["2"] and best.token_identical_to_plain == (1, 1)
    assert len(best.baseline_settings["tried"]) == len(GRIDS["hf-lookup"])
    assert "hf-lookup (best)  prompt_lookup_num_tokens" in text_table(report)


def test_no_prompt_is_both_tuned_on_and_measured():
    whole = load_suite("heldout")
    few = whole.limited(12)
    assert not {p.text for p in spare_prompts(few, whole)} & {p.text for p in few.prompts}
    own = Suite("own", {"all": "All."}, (Prompt("1", "all", "x"),))
    assert {p.text for p in spare_prompts(own, own)} <= {p.text for p in whole.prompts}
    with pytest.raises(ValueError, match="leave some out with --limit"):
        spare_prompts(whole, whole)


# --- readiness and memory ----------------------------------------------------------------------------------------------


def test_nothing_is_measured_while_the_engine_compiles():
    events = []

    class Compiling:
        def wait_ready(self, progress):
            progress("compiling something")
            events.append("ready")

        def run(self, prompt, stack, **options):
            events.append("decode")
            raise KeyboardInterrupt

    seen = []
    suite = Suite("one", {"all": "All."}, (Prompt("1", "all", "x"),))
    assert not run_bench(Compiling(), ["target"], suite, Settings(4), progress=seen.append).complete
    assert events == ["ready", "decode"] and seen[0].note == "compiling something"


def test_memory_of_a_stack_is_that_of_its_models():
    from hsd_viz.bench.memory import measure

    small, large = (
        measure("target", PROMPT, 8, Sampling(), {"target": t, "device": "cpu", "threads": 1})
        for t in ("nano", "target")
    )
    assert small["device_bytes"] is None
    # The target has some 12 million parameters of 4 bytes, the nano next to none.
    assert large["resident_bytes"] - small["resident_bytes"] > 30e6


def test_only_the_text_after_a_forward_pass_of_the_target_is_recorded():
    """Before transformers 5.18 proposed candidates pass the stopping criteria as well."""
    import torch

    from hsd_viz.bench.hf import _Watch

    watch, ids = _Watch(3, torch.device("cpu")), lambda n: torch.zeros(1, n, dtype=torch.long)
    for fed, proposed, accepted in ((3, 13, 4), (11, 14, 6)):
        watch(ids(proposed), None)
        watch.before(None, (ids(fed),), {})
        watch.after(None, (), None)
        watch(ids(accepted), None)
    found = watch.output([1, 2, 3], 0.0, 1.0)
    assert found.emitted == (1, 2) and found.target_forwards == 2
