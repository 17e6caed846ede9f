"""Files of SPEED-Bench in their published form, its placeholders."""

from __future__ import annotations

import json

import pytest

from hsd_viz.prompts.questions import PLACEHOLDER
from hsd_viz.prompts.suites import describe_suites, load_suite


def row(number, category, turns, **more):
    """Return a row with the published columns."""
    fixed = {
        "sub_category": "",
        "source": "x",
        "src_id": f"x_{number}",
        "difficulty": None,
        "multiturn": len(turns) > 1,
    }
    return {"question_id": f"{number:032x}", "category": category, **fixed, "turns": turns, **more}


ROWS = [
    row(1, "coding", ["Write a loop.", "Faster."]),
    row(2, "multilingual", ["Grüße übersetzen."], sub_category="de"),
    row(3, "math", [PLACEHOLDER]),
    row(4, "reasoning", ["Why?"]),
]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return str(path)


def test_questions_keep_their_categories_and_placeholders_are_left_out(tmp_path):
    suite = load_suite(write(tmp_path / "qualitative" / "test.jsonl", ROWS))
    assert suite.name == "speed-bench qualitative" and list(suite.categories) == ["coding", "multilingual", "reasoning"]
    assert suite.prompts[0].turns == ("Write a loop.", "Faster.") and suite.prompts[0].id == f"{1:032x}"
    assert suite.prompts[1].origin["sub_category"] == "de"
    assert "without 1 placeholders" in suite.categories["coding"]
    assert [p.category for p in suite.limited(2).prompts] == ["coding", "multilingual"]


def test_the_length_splits_have_their_names(tmp_path):
    rows = [row(k, category, ["word " * 200]) for k, category in enumerate(("low", "mixed", "high"))]
    suite = load_suite(write(tmp_path / "throughput_16k.jsonl", rows))
    assert suite.name == "speed-bench throughput_16k" and list(suite.categories) == ["low", "mixed", "high"]


def test_prepared_messages_are_read(tmp_path):
    messages = [{"role": "user", "content": "One?"}, {"role": "user", "content": "Two?"}]
    entry = {"question_id": "ab", "category": "qa", "messages": messages}
    assert load_suite(write(tmp_path / "q.jsonl", [entry])).prompts[0].turns == ("One?", "Two?")


def test_parquet_is_read_as_published(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "throughput_1k" / "test-00000-of-00001.parquet"
    path.parent.mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    suite = load_suite(str(path))
    assert suite.name == "speed-bench throughput_1k" and len(suite.prompts) == 3
    assert suite.prompts == load_suite(write(tmp_path / "throughput_1k" / "same.jsonl", ROWS)).prompts


def test_a_file_that_is_no_parquet_is_one_line(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(ValueError, match=r"needs pyarrow|is not a parquet file"):
        load_suite(str(path))


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([ROWS[2]], "contains only 1 placeholders: prepare the files"),
        ([ROWS[0], ROWS[0]], "line 2: question_id .* occurs twice"),
        ([ROWS[0], {"question_id": "x"}], "line 2: the question has no category"),
        ([ROWS[0], row(9, "qa", [""])], "non-empty strings"),
        ([ROWS[0], row(9, "qa", ["a\ud800"])], "lone surrogate"),
        ([ROWS[0], 3], "line 2: a question must be"),
    ],
)
def test_malformed_rows_are_named(tmp_path, rows, part):
    with pytest.raises(ValueError, match=part):
        load_suite(write(tmp_path / "q.jsonl", rows))


def test_it_is_not_downloaded():
    with pytest.raises(ValueError, match="licence has to be accepted"):
        load_suite("speed-bench")
    assert "SPEED-Bench" in describe_suites()
