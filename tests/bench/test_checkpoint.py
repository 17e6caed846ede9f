"""A bench that was stopped goes on where it stopped."""

import pytest
from test_bench_runner import SUITE, FakeEngine

from hsd_viz.bench import Prompt, Settings, Suite, run_bench
from hsd_viz.bench.output import Output, joined
from hsd_viz.bench.runner import Checkpoint, fingerprint

ABOUT = {"stacks": ["target"], "settings": {"repeats": 2}, "threads": (1, 2)}
STACKS = ["target", "suffix > target"]
SETTINGS = Settings(4, repeats=2, state="warm")


def turn(k: int) -> Output:
    return Output((k, 2), 0.1 + k, 2, 0.2, 1, 3, 1, (1e-6,), "native")


def test_what_was_kept_comes_back_as_it_was(tmp_path):
    path = tmp_path / "report.json.partial"
    store = Checkpoint(path, ABOUT)
    plain = Output((1, 2), 1.5, 2, 0.1, 2, 0, 0, None)
    question = joined([turn(1), turn(2)])
    store.add("target", "one", plain)
    store.add("target", "one", question)
    store.leave_out("two", "too long")
    again = Checkpoint(path, ABOUT)
    assert again.done == {("target", "one"): [plain, question]} and len(again) == 2
    assert again.left_out == {"two": "too long"}
    # What comes later joins what was there.
    again.add("target", "three", plain)
    assert len(Checkpoint(path, ABOUT)) == 3
    again.journal.remove()
    assert not path.exists() and len(Checkpoint(path, ABOUT)) == 0


def test_another_bench_and_damage_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "report.json.partial"
    store = Checkpoint(path, ABOUT)
    store.add("target", "one", turn(1))
    with pytest.raises(ValueError, match=r"unfinished work of other settings: .*--restart") as caught:
        Checkpoint(path, {**ABOUT, "settings": {"repeats": 3}})
    assert "\n" not in str(caught.value)
    whole = path.read_text()
    for text in (
        "x" + whole,
        whole[:20],
        "",
        "{}\n",
        whole.replace('"seconds"', '"minutes"'),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match="is damaged") as caught:
            Checkpoint(path, ABOUT)
        assert "\n" not in str(caught.value)


def test_a_crash_loses_at_most_the_last_line(tmp_path):
    path = tmp_path / "store"
    store = Checkpoint(path, ABOUT)
    for prompt in ("one", "two"):
        store.add("target", prompt, turn(1))
        assert len(Checkpoint(path, ABOUT)) == len(store)
    path.write_text(path.read_text()[:-20])
    again = Checkpoint(path, ABOUT)
    assert list(again.done) == [("target", "one")]
    again.add("target", "three", turn(3))
    assert list(Checkpoint(path, ABOUT).done) == [("target", "one"), ("target", "three")]
    assert [p.name for p in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("stop_at", range(3, 11))
def test_a_stopped_bench_goes_on_and_decodes_nothing_twice_but_what_warm_rows_need(tmp_path, stop_at):
    path = tmp_path / "store"
    first = FakeEngine(stop_at)
    assert not run_bench(first, STACKS, SUITE, SETTINGS, checkpoint=Checkpoint(path, ABOUT)).complete
    store = Checkpoint(path, ABOUT)
    before = {key: list(outputs) for key, outputs in store.done.items()}
    assert len(store) == stop_at - 3
    second = FakeEngine()
    measured = run_bench(second, STACKS, SUITE, SETTINGS, checkpoint=store)
    assert measured.complete and {len(outputs) for outputs in store.done.values()} == {2} and len(store.done) == 4
    # What was measured stays as it was.
    assert all(store.done[key][: len(outputs)] == outputs for key, outputs in before.items())
    decoded = list(zip(second.asked, second.options, strict=True))[2:]
    # Plain decoding remembers nothing: only what is missing is decoded.
    missing = 4 - sum(len(outputs) for (name, _), outputs in before.items() if name == "target")
    assert sum(stack == "target" for (_, stack), _ in decoded) == missing
    # In every repeat that the warm row had not finished it goes through all prompts, with one memory.
    passes = {}
    for (prompt, stack), options in decoded:
        if stack == "suffix > target":
            passes.setdefault(id(options["memory"]), []).append(prompt)
    finished = sum(len(outputs) for (name, _), outputs in before.items() if "warm" in name) // 2
    assert list(passes.values()) == [["first", "second"]] * (2 - finished)


def test_suites_are_told_apart_by_their_texts():
    other = Suite(SUITE.name, SUITE.categories, (SUITE.prompts[0], Prompt("2", "all", "seconds")))
    assert fingerprint(SUITE) == fingerprint(SUITE) != fingerprint(other)
