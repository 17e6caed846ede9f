"""Files of questions, in the format of Spec-Bench."""

import json

import pytest

from hsd_viz.prompts.suites import load_suite
from tests.rows import column

QUESTIONS = [
    {"question_id": 81, "category": "writing", "turns": ["Write a line.", "Now another."]},
    {
        "question_id": 9,
        "category": "coding",
        "turns": ["Write a loop.", "Faster."],
        "reference": ["x", "y"],
    },
    {"question_id": 400, "category": "qa", "turns": ["who was it"]},
    {"question_id": 401, "category": "riddles", "turns": ["What has keys?"]},
]


def write(tmp_path, lines: list) -> str:
    path = tmp_path / "question.jsonl"
    path.write_bytes(
        b"\n".join(x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines) + b"\n"
    )
    return str(path)


def test_the_categories_of_mt_bench_are_one_task_and_keep_their_names(tmp_path):
    suite = load_suite(
        write(
            tmp_path, [b"\xef\xbb\xbf" + json.dumps(QUESTIONS[0]).encode(), *QUESTIONS[1:], b"  \r"]
        )
    )
    assert suite.name == "question.jsonl"
    assert list(suite.categories) == [
        "mt_bench",
        "qa",
        "riddles",
    ]
    assert [(p.id, p.category) for p in suite.prompts] == [
        ("81", "mt_bench"),
        ("9", "mt_bench"),
        ("400", "qa"),
        ("401", "riddles"),
    ]
    assert suite.prompts[0].turns == ("Write a line.", "Now another.")
    assert suite.prompts[0].text == "Write a line."
    assert suite.prompts[1].origin == {"question_id": 9, "category": "coding"}
    assert column(suite.limited(3).prompts, "category") == ["mt_bench", "qa", "riddles"]


GOOD = {"question_id": 1, "category": "qa", "turns": ["x"]}


@pytest.mark.parametrize(
    ("line", "part"),
    [
        (b'{"question_id": 2', "not JSON"),
        (b"[" * 100_000, "not JSON (maximum recursion"),
        (b'{"question_id": ' + b"1" * 5000 + b"}", "not JSON"),
        ([1], "a question must be a JSON object"),
        ({"question_id": 2, "turns": ["x"]}, "category must be a non-empty text, not None"),
        ({**GOOD, "question_id": ""}, "question_id must be an integer"),
        ({**GOOD, "question_id": True}, "question_id must be an integer"),
        ({**GOOD, "question_id": 2, "category": " "}, "category must be a non-empty text"),
        ({**GOOD, "question_id": 2, "turns": []}, "turns must be a list"),
        ({**GOOD, "question_id": 2, "turns": "x"}, "turns must be a list"),
        ({**GOOD, "question_id": 2, "turns": ["x", " "]}, "turns must be a list"),
        ({**GOOD, "question_id": 2, "turns": ["\ud800"]}, "of valid Unicode, not"),
        (GOOD, "question_id 1 occurs twice"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, part):
    path = write(tmp_path, [GOOD, b"", line])
    with pytest.raises(ValueError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_questions_is_refused(tmp_path):
    with pytest.raises(ValueError, match="contains no question"):
        load_suite(write(tmp_path, [b"", b" "]))
    with pytest.raises(
        ValueError, match=r"the question file \S+ is not UTF-8 text \(byte 10 is 0xff\)"
    ):
        load_suite(write(tmp_path, [b'{"turn": "\xff"}']))
