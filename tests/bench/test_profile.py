"""Where a round's time goes, and what surrounds a bench's measuring."""

import pytest

from hsd_viz.bench import Prompt, Settings, Suite, build_report, run_bench
from hsd_viz.bench.page import text_parts
from hsd_viz.bench.runner import DRAFTING, REST, round_parts
from hsd_viz.engine import Engine
from hsd_viz.engine.local import load_engine
from hsd_viz.terminal import plain

PROMPT = "def add(a, b):\n    return a + b\n\n\ndef add(a, b):\n    return"
SUITE = Suite("one", {"all": "All."}, (Prompt("1", "all", PROMPT),))


@pytest.fixture(scope="module")
def engine():
    return load_engine(device="cpu", threads=1)


def test_the_parts_of_a_round_sum_to_its_time(engine):
    trace = engine.run(PROMPT, "db > nano:3 > target", max_new_tokens=24, temperature=1.0)
    rounds = [r for r in trace.round_rows if r.parent is None]
    parts = round_parts(trace)
    assert set().union(*parts) == {"forward target", "forward nano", DRAFTING, REST}
    assert [sum(p.values()) >= r.duration_ns for p, r in zip(parts, rounds, strict=True)] == [True] * len(rounds)
    own = lambda r: sum(c.duration_ns for c in trace.call_rows if c.round == r.id and c.kind == "verify")
    assert [p["forward target"] for p in parts] == [own(r) for r in rounds]


def test_a_profile_is_in_the_report(engine):
    measured = run_bench(engine, ["db > target", "hf-lookup"], SUITE, Settings(12, repeats=1, profile=True))
    facts = {"device": "cpu", "dtype": "float32", "threads": 1, "target": "target"}
    report = build_report(measured, {"cpu": "x", "gpu": None}, facts)
    base, db, hf = report.stacks
    assert base["profile"]["rounds"] == 12 and db["profile"]["parts"][DRAFTING]["median_us"] > 0
    assert sum(part["share"] for part in db["profile"]["parts"].values()) == pytest.approx(1)
    assert hf["profile"] is None and hf["runtime"] == "transformers" != base["runtime"] == db["runtime"]
    assert "where the time goes: median µs" in plain(text_parts(report))


def test_nothing_is_measured_while_the_engine_compiles():
    events = []

    class Compiling(Engine):
        def wait_ready(self, progress):
            progress("compiling something")
            events.append("ready")

        def run(self, prompt, stack, **options):
            events.append("decode")
            raise KeyboardInterrupt

    seen = []
    progress = lambda *state: seen.append(state)
    assert not run_bench(Compiling(), ["target"], SUITE, Settings(4), progress=progress).complete
    assert events == ["ready", "decode"] and seen[0] == (0, 3, "compiling something")
