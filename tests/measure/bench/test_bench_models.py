"""The bench on the shipped models, few tokens: our loop and transformers' own on the same
weights.
"""

import pytest
import torch

from hsd_viz.decoding.options import Sampling
from hsd_viz.engine.local import load_engine
from hsd_viz.machine import describe
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.hf import HFDecoder
from hsd_viz.measure.bench.runner import run_bench
from hsd_viz.measure.bench.settings import BenchSettings
from hsd_viz.prompts.suites import Suite, load_suite
from hsd_viz.stack import parse_bench
from tests.rows import column, find

STACKS = ["db > target", "nano:3 > target", "hf-generate", "hf-lookup", "hf-assistant[nano]"]


@pytest.fixture(scope="module")
def engine():
    # In float64 the sums of differently shaped products differ too little to turn any arg-max. One
    # thread: cores may be busy.
    threads = torch.get_num_threads()
    yield load_engine(device="cpu", dtype="float64", threads=1)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def measured(engine):
    whole = load_suite("heldout")
    prompts = tuple(p for p in whole.prompts if p.id in ("tables-1", "prose-1"))
    suite = Suite(whole.name, whole.categories, prompts)
    return run_bench(engine, STACKS, suite, BenchSettings(max_new_tokens=16, repeats=1))


def test_every_loop_writes_the_plain_text(engine, measured):
    facts = {"device": engine.device, "dtype": engine.dtype, "threads": 1, "target": "target"}
    report = build_report(measured, describe(), facts)
    assert column(report.stacks, "stack") == ["target", *STACKS]
    for stack in report.stacks:
        assert stack.token_identical_to_plain == (2, 2), stack.stack
        assert stack.whole.tokens_per_second.value > 0
        assert stack.whole.speedup_over_plain.value > 0
    assert report.machine.torch == torch.__version__
    assert report.machine.cpu


@pytest.mark.parametrize("stack", ["target", *STACKS])
def test_what_a_decode_measures_fits_together(measured, stack):
    outputs = measured.outputs[stack]
    for output in outputs:
        assert output.accepted <= output.drafted
        assert output.target_forwards <= len(output.token_ids) == 16
        assert len(output.token_ids) - output.accepted <= output.target_forwards
        # Tokens appear between the start and the end.
        whole = output.prefill_seconds + output.seconds
        assert 0 < output.first_token_seconds <= whole
        for seconds, _ in output.waits:
            assert seconds > 0
        # Other work may delay what comes after the last token.
        assert (
            whole / 2
            < output.first_token_seconds + sum(seconds for seconds, _ in output.waits)
            < 1.001 * whole
        )
        assert len(output.token_ids) - sum(n for _, n in output.waits) > 0
    if stack in ("target", "hf-generate"):
        assert {(o.target_forwards, o.drafted) for o in outputs} == {(16, 0)}
    else:
        assert sum(column(outputs, "accepted")) > 0
    if stack == "hf-generate":
        # The first forward pass is prefill and step in one.
        for o in outputs:
            assert o.timed_tokens == 15
            assert min(o.prefill_seconds, o.seconds) > 0
            assert o.draft_seconds is None


def test_hf_sampling_follows_the_seed_leaves_torch_alone_and_needs_another_assistant(engine):
    decode = HFDecoder(engine, parse_bench("hf-generate"))
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one = decode("def main(", 12, Sampling(temperature=1.0, seed=1)).token_ids
    two = decode("def main(", 12, Sampling(temperature=1.0, seed=1)).token_ids
    other = decode("def main(", 12, Sampling(temperature=1.0, seed=2)).token_ids
    assert one == two != other
    assert torch.rand(1) == expected
    with pytest.raises(ValueError, match="cannot assist itself"):
        HFDecoder(engine, parse_bench("hf-assistant[target]"))


@pytest.mark.parametrize("stack", ["db > target", "suffix > target", "recycling > target"])
def test_a_budget_bounds_drafts_and_changes_no_text(engine, stack):
    prompt = find(load_suite("heldout").prompts, id="tables-1").text
    plain = engine.run(prompt, max_new_tokens=24).token_ids
    for budget in (2, 24):
        trace = engine.run(prompt, stack, max_new_tokens=24, budget=budget)
        assert trace.token_ids == plain
        assert 0 < max(column(trace.round_rows, "drafted")) <= budget
    # Costs would have stopped the databases earlier.
    if stack == "db > target":
        assert max(column(trace.round_rows, "drafted")) > 16
    with pytest.raises(ValueError, match="the budget 257 is out of range"):
        engine.run(prompt, stack, budget=257)
