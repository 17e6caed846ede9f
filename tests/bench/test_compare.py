"""Two reports side by side: which stacks became slower, paired by prompt where the reports hold their times."""

from dataclasses import replace
from pathlib import Path

import pytest

from hsd_viz.bench.compare import compare, text_parts
from hsd_viz.bench.report import Report, read_report
from hsd_viz.cli import main
from hsd_viz.intervals import Estimate
from hsd_viz.terminal import plain

SAVED = Path(__file__).resolve().parents[2] / "docs" / "bench" / "heldout-greedy-cpu.json"


@pytest.fixture
def report() -> Report:
    """A saved report, with times of three prompts that differ by a factor of ten."""
    found = read_report(SAVED.read_text(encoding="utf-8"), SAVED.name)
    times = {"a": (100, 1.0), "b": (100, 0.1), "c": (100, 0.5)}
    return replace(found, stacks=tuple(replace(s, by_prompt=times) for s in found.stacks))


def slowed(report: Report, by: dict[str, float], paired: bool = True) -> Report:
    """Return the report with all times of some stacks multiplied."""

    def change(stack):
        factor = by.get(stack.stack, 1.0)
        speed = stack.tokens_per_second
        speed = Estimate(speed.value / factor, speed.low / factor, speed.high / factor)
        times = {name: (tokens, seconds * factor) for name, (tokens, seconds) in stack.by_prompt.items()}
        return replace(stack, tokens_per_second=speed, by_prompt=times if paired else None)

    return replace(report, stacks=tuple(map(change, report.stacks)))


def verdicts(found) -> dict[str, str]:
    return {c.stack: c.verdict for c in found.changes if c.verdict != "same"}


@pytest.mark.parametrize("paired", [True, False])
def test_slower_and_faster_stacks_are_found(report, paired):
    new = slowed(report, {"db > target": 1.2, "lookup > target": 0.8, "nano:4 > target": 1.03}, paired)
    found = compare(report, new)
    assert verdicts(found) == {"db > target": "slower", "lookup > target": "faster"}
    assert found.slower == ("db > target",) and not found.differences
    change = next(c for c in found.changes if c.stack == "db > target")
    assert change.change.value == pytest.approx(1 / 1.2) and change.paired == paired
    # Paired by prompt, a uniform change has no spread; of the prompts' own spread nothing remains.
    low, high = change.change.ends
    assert high - low == pytest.approx(0, abs=1e-9) if paired else high - low > 0.05
    assert verdicts(compare(report, new, 0.25)) == {}


def test_a_change_within_its_interval_is_no_regression(report):
    times = {"a": (100, 1.6), "b": (100, 0.05), "c": (100, 0.3)}
    new = replace(report, stacks=tuple(replace(s, by_prompt=times) for s in report.stacks))
    change = compare(report, new).changes[0]
    assert change.change.value < 0.95 and change.change.low < 1 < change.change.high and change.verdict == "same"


def test_stacks_and_settings_that_differ_are_named(report):
    parts = {"settings": replace(report.settings, temperature=0.7), "suite": replace(report.suite, name="python")}
    other = replace(report, stacks=report.stacks[1:], **parts)
    text = plain(text_parts(compare(report, other)))
    assert f"only in the old report: {report.stacks[0].stack}" in text and "only in the new" not in text
    assert "differ in suite: heldout before, python now" in text
    assert "differ in temperature: 0.0 before, 0.7 now" in text
    assert "slower by more than 5%: no stack" in text


def test_reports_without_a_common_stack_or_times(report):
    with pytest.raises(ValueError, match="no stack in common"):
        compare(replace(report, stacks=report.stacks[:1]), replace(report, stacks=report.stacks[1:2]))
    empty = replace(report, stacks=(replace(report.stacks[0], by_prompt=None, tokens_per_second=Estimate()),))
    assert compare(report, empty).changes[0].verdict == "same"


def run(tmp_path, report, new, *options, capsys) -> tuple[int, str]:
    from hsd_viz.cli.arguments import write_json

    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, data in zip(paths, (report, new), strict=True):
        write_json(path, data.to_dict())
    code = main(["bench", "--compare", *map(str, paths), *options])
    return code, "".join(capsys.readouterr())


def test_the_command_fails_on_a_regression(tmp_path, report, capsys):
    new = slowed(report, {"db > target": 1.2})
    code, text = run(tmp_path, report, new, "--json", str(tmp_path / "out.json"), capsys=capsys)
    assert code == 1 and "slower by more than 5%: db > target" in text
    assert '"verdict": "slower"' in (tmp_path / "out.json").read_text()
    assert run(tmp_path, report, new, "--tolerance", "0.2", capsys=capsys)[0] == 0
    assert run(tmp_path, new, report, capsys=capsys)[0] == 0
