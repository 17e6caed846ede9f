"""Spec-Bench's figures and answer files."""

import json
import os

from hsd_viz.bench import Prompt
from hsd_viz.bench.answers import answer_lines, answer_paths, build_section, figures, text_tables
from hsd_viz.bench.output import Answer, Output


def answer(tokens: int, seconds: float, emitted: tuple[int, ...], text: str = "x") -> Answer:
    """An answer whose prefill took a quarter of its time."""
    return Answer(
        text,
        Output(tuple(range(tokens)), seconds * 3 / 4, tokens, seconds / 4, len(emitted), 0, 0, (), emitted=emitted),
    )


PROMPTS = (
    Prompt("81", "mt_bench", "a", {"question_id": 81, "category": "writing"}, ("a", "b")),
    Prompt("9", "qa", "c", {"question_id": 9, "category": "qa"}, ("c",)),
)
PLAIN = [[answer(4, 2.0, (1,) * 4), answer(4, 2.0, (1,) * 4)], [answer(2, 1.0, (1, 1))]]
FAST = [[answer(4, 1.0, (3, 1), "one"), answer(4, 1.0, (4,), "two")], [answer(2, 0.125, (2,), "é")]]


def test_the_figures_are_spec_benchs_own():
    found = figures(FAST, PLAIN)
    # Questions at 8 / 2 and 2 / 0.125 tokens a second: their mean, not the ratio of sums (10 / 2.125).
    assert found == {"questions": 2, "tokens_per_second": 10.0, "speedup": 5.0, "mean_accepted_tokens": 10 / 4}
    assert figures([], []) == {"questions": 0, "tokens_per_second": None, "speedup": None, "mean_accepted_tokens": None}


def test_a_table_for_each_figure_by_task():
    section = json.loads(json.dumps(build_section(PROMPTS, {"target": PLAIN, "db > target": FAST}, "target")))
    assert section[1]["tasks"]["mt_bench"]["speedup"] == 2 and section[1]["overall"]["speedup"] == 5
    speedup, speed, length = text_tables(section)
    assert speedup == [
        ["speed-up", "mt_bench", "qa", "overall"],
        ["target", "1.00", "1.00", "1.00"],
        ["db > target", "2.00", "8.00", "5.00"],
    ]
    assert speed[2] == ["db > target", "4.0", "16.0", "10.0"] and length[2] == ["db > target", "2.67", "2.00", "2.50"]


def spec_bench_speed(lines: list[str], task: str | None) -> tuple[float, float]:
    """Tokens per second and mean accepted tokens as Spec-Bench reckons them from an answer file."""
    rows = [json.loads(line) for line in lines]
    choices = [r["choices"][0] for r in rows if task in (None, r["category"])]
    lengths = [n for c in choices for n in c["accept_lengths"]]
    speeds = [sum(c["new_tokens"]) / sum(c["wall_time"]) for c in choices]
    return sum(speeds) / len(speeds), sum(lengths) / len(lengths)


def test_an_answer_file_says_what_the_figures_say():
    lines = list(answer_lines(PROMPTS, FAST, "some model", now=lambda: 7.0))
    rows = [json.loads(line) for line in lines]
    assert [r["question_id"] for r in rows] == [9, 81] and [r["category"] for r in rows] == ["qa", "writing"]
    assert len({r.pop("answer_id") for r in rows}) == 2
    assert rows[1] == {
        "question_id": 81,
        "category": "writing",
        "model_id": "some model",
        "choices": [
            {
                "index": 0,
                "turns": ["one", "two"],
                "decoding_steps": [2, 1],
                "new_tokens": [4, 4],
                "wall_time": [1.0, 1.0],
                "accept_lengths": [3, 1, 4],
            }
        ],
        "tstamp": 7.0,
    }
    assert spec_bench_speed(lines, None) == (10.0, 2.5) and spec_bench_speed(lines, "writing")[0] == 4.0


def test_each_stack_has_an_answer_file_of_its_own(tmp_path):
    path = tmp_path / "answers.jsonl"
    found = answer_paths(path, ["db > target", "target", "nano:4 > target", "nano > 4 > target"])
    assert [os.path.basename(p) for p in found.values()] == [
        "answers.jsonl",
        "answers.target.jsonl",
        "answers.nano-4-target.jsonl",
        "answers.nano-4-target-2.jsonl",
    ]
