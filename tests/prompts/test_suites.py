from pathlib import Path

import pytest

from benchmarks.cuts import locality
from benchmarks.heldout import CATEGORIES, build_heldout
from hsd_viz.prompts import suites
from hsd_viz.prompts.suites import load_suite
from tests.rows import column, find
from training.corpus import SourceFile, is_heldout


def write(tmp_path, content: str | bytes) -> str:
    path = tmp_path / "suite.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def texts(suite) -> list[str]:
    return column(suite.prompts, "text")


def test_three_blank_lines_separate_prompts_and_two_do_not(tmp_path):
    suite = load_suite(write(tmp_path, "def a():\n\n\n    pass\n\n\n\ndef b():\n"))
    assert texts(suite) == ["def a():\n\n\n    pass", "def b():"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("one\r\n\r\n\r\n\r\ntwo\r\n", ["one", "two"]),
        ("one\n   \n\t\n\n\n\n\ntwo", ["one", "two"]),
        ("\n\n\n\n\n  one\n\n\n\n\n", ["  one"]),
        ("one\n\n\n\n    two\n    three\n", ["one", "    two\n    three"]),
        (b"\xef\xbb\xbfone\r\r\r\rtwo\r", ["one", "two"]),
        ("one and only", ["one and only"]),
    ],
)
def test_line_ends_spaces_and_indentation(tmp_path, content, expected):
    assert texts(load_suite(write(tmp_path, content))) == expected


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("\n \n\n\n\n", "contains no prompt"),
        ("", "contains no prompt"),
        (b"abc\xff", "not UTF-8 text (byte 3 is 0xff)"),
    ],
)
def test_a_bad_suite_file_is_refused(tmp_path, content, part):
    with pytest.raises(ValueError, match="suite") as caught:
        load_suite(write(tmp_path, content))
    assert part in str(caught.value)


def test_a_huge_file_a_folder_and_a_missing_one_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"suite\.txt is too large: the limit is 64 MiB"):
        load_suite(write(tmp_path, b"x" * (2**26 + 1)))
    with pytest.raises(ValueError, match=r"did you mean 'python'\?"):
        load_suite("pythn")
    with pytest.raises(ValueError, match=r"cannot read the suite file .*directory"):
        load_suite(str(tmp_path))
    for name in ("nix", "", "spec-bench"):
        with pytest.raises(
            ValueError,
            match=rf"unknown suite '{name}': use heldout, python, questions or the path of a file",
        ):
            load_suite(name)


def test_every_suite_says_what_it_shows():
    shipped = Path(suites.__file__).parent / "data"
    assert set(suites.SHIPPED) == set(column(shipped.glob("*.json"), "stem"))
    for name, sentence in suites.SHIPPED.items():
        suite = load_suite(name)
        assert sentence.endswith(".")
        assert suite.name == name
        assert all(suite.categories.values())


def test_the_shipped_suite_is_held_out_and_says_where_it_is_from():
    suite = load_suite("heldout")
    assert list(suite.categories) == list(CATEGORIES)
    assert len(CATEGORIES) == 6
    for category, sentence in suite.categories.items():
        assert sentence.endswith(".")
        assert sum(p.category == category for p in suite.prompts) >= 10
    assert len(set(column(suite.prompts, "id"))) == len(suite.prompts) == len(set(texts(suite)))
    for prompt in suite.prompts:
        assert is_heldout(prompt.origin["package"], prompt.origin["file"]), prompt.id
        assert prompt.origin["version"]
        assert prompt.origin["licence"]
        assert prompt.origin["line"] > 0


def test_a_limit_takes_the_categories_in_turn():
    suite = load_suite("heldout")
    assert column(suite.limited(6).prompts, "category") == list(suite.categories)
    seven = suite.limited(7)
    assert column(seven.prompts, "category").count(next(iter(suite.categories))) == 2
    assert suite.limited(None) is suite
    assert suite.limited(10_000) is suite
    with pytest.raises(ValueError, match="limit 0 is out of range"):
        suite.limited(0)


def test_locality_is_what_lookup_could_have_drafted():
    prompt = "alpha beta gamma delta epsilon\n"
    assert locality(prompt, "entirely different words follow now") == 0
    # All but the first three words and marks of the copy end a 4-gram of the prompt.
    copied = locality(prompt, prompt)
    assert copied == pytest.approx(7 / 10)


FUNCTION = '''def shape_{k}(first, second):
    """Do a thing that number {k} does."""
    total = first + second * {k}
    for item in range(total):
        first = first + item * second - total
        second = second - item * first + total
        print("a line of shape {k}", first, second, total)
    while total > first and total > second:
        total = total - first * second - {k}
    return first, second, total


'''


def synthetic() -> list[SourceFile]:
    text = '"""Some module."""\n\n\n' + "".join(FUNCTION.format(k=k) for k in range(4))
    files = []
    for k in range(3):
        files.append(
            SourceFile(
                f"package{k}",
                "1.0",
                "MIT",
                f"package{k}/a.py",
                text.replace("first", f"first_{k}"),
                True,
            )
        )
    trained = SourceFile("package9", "1.0", "MIT", "package9/a.py", files[0].text, False)
    return [*files, trained]


def test_building_is_deterministic_and_omits_training_text():
    files = synthetic()
    suite = build_heldout(files)
    assert suite == build_heldout(files[::-1])
    assert set(column(suite["prompts"], "category")) == {"rewrite", "siblings"}
    # The text of package0 is also training text, of package9, which is not held out.
    assert {p["origin"]["package"] for p in suite["prompts"]} == {"package1", "package2"}
    rewrite = find(suite["prompts"], category="rewrite")
    assert "The same function under another name" in rewrite["text"]
    assert rewrite["locality"] > 0.8
