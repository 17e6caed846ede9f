"""What several levels of drafts bring over one, by hand."""

import json
from dataclasses import replace

import pytest

from hsd_viz.errors import UserError
from hsd_viz.measure.bench.figures import build_report
from hsd_viz.measure.bench.hierarchy_gain import hierarchy_gain
from hsd_viz.measure.bench.report import read_report
from hsd_viz.measure.bench.result import BenchResult
from tests.measure.bench.test_bench_report import ENGINE, MACHINE, measurement, output

CATEGORIES = ["tables", "prose"]
SLOW = [output(10, 5.0, 10), output(30, 15.0, 30)]
#: 4 tokens per second: 40 in 10 seconds.
SINGLE = [output(10, 4.0, 5), output(30, 6.0, 9)]
#: 5 tokens per second: 40 in 8 seconds, twice as fast on the first prompt.
HIERARCHY = [output(10, 2.0, 3), output(30, 6.0, 8)]
MEASURED = {
    "target": SLOW,
    "db > target": SINGLE,
    "small:2 > target": SLOW,
    "db > small:2 > target": HIERARCHY,
    "nano:1 > small:2 > target": SLOW,
    # Faster than all, and neither a hierarchy nor a single draft of this package's.
    "auto > target": [output(10, 1.0, 3), output(30, 1.0, 8)],
    "hf-generate": [output(10, 1.0, 3), output(30, 1.0, 8)],
}


def test_the_gain_is_the_ratio_of_the_fastest_of_each_kind():
    gain = hierarchy_gain(MEASURED, CATEGORIES, CATEGORIES)
    assert gain.hierarchy == "db > small:2 > target"
    assert gain.single_draft == "db > target"
    assert gain.outputs == 2
    assert gain.speedup.value == pytest.approx(5 / 4)
    low, high = gain.speedup.ends
    # The resamples of two prompts: one of them twice, or both.
    assert low == pytest.approx(1.0)
    assert high == pytest.approx(2.0)
    by_category = {name: part.speedup.value for name, part in gain.by_category.items()}
    assert by_category == {"tables": pytest.approx(2.0), "prose": pytest.approx(1.0)}
    assert gain.by_category["tables"].speedup.ends is None


def test_a_warm_baseline_is_a_single_draft():
    measured = {"suffix > target (warm)": SINGLE, "db > small:2 > target": HIERARCHY}
    gain = hierarchy_gain(measured, CATEGORIES, CATEGORIES)
    assert gain.single_draft == "suffix > target (warm)"


@pytest.mark.parametrize(
    "left_out", [("db > target", "small:2 > target"), ("db > small:2", "nano:1 > small:2")]
)
def test_there_is_no_gain_without_both_kinds(left_out):
    measured = {}
    for name, outputs in MEASURED.items():
        if not name.startswith(left_out):
            measured[name] = outputs
    assert hierarchy_gain(measured, CATEGORIES, CATEGORIES) is None
    assert hierarchy_gain(MEASURED, [], CATEGORIES) is None


def test_a_report_shows_the_gain_and_is_read_again():
    report = build_report(replace(measurement(), outputs=MEASURED), MACHINE, ENGINE)
    assert read_report(json.dumps(report.to_dict()), "x") == report
    text = BenchResult(report).to_text()
    row = next(line for line in text.splitlines() if "db > target" in line and "small:2" in line)
    assert [word for word in row.split() if word in {"1.25", "2.00", "1.00"}] == [
        "1.25",
        "2.00",
        "1.00",
    ]


def test_a_gain_of_other_categories_is_not_of_this_report():
    report = build_report(replace(measurement(), outputs=MEASURED), MACHINE, ENGINE)
    data = json.loads(json.dumps(report.to_dict()))
    del data["hierarchy_gain"]["by_category"]["prose"]
    with pytest.raises(UserError, match="not a report"):
        read_report(json.dumps(data), "x")
