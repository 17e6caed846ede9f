"""The list of mutants is of faults that can be applied, and the tool tells a killed one from one
that survives.
"""

import re

import pytest

from tests.rows import column
from tools.mutants import LIST, ROOT, Mutant, listed, main


def test_every_line_of_the_list_is_a_mutant():
    rows = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith(("| hsd_viz", "| js", "| benchmarks", "| training")):
            rows.append(line)
    assert len(listed()) == len(rows) >= 60


def test_every_text_is_in_its_file_once():
    problems = []
    for mutant in listed():
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        try:
            assert mutant.applied(source) != source
        except ValueError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


def test_every_fault_of_python_can_be_compiled():
    for mutant in listed():
        if mutant.file.endswith(".py"):
            source = (ROOT / mutant.file).read_text(encoding="utf-8")
            compile(mutant.applied(source), mutant.file, "exec")


def test_every_mutant_names_a_test():
    missing = []
    for mutant in listed():
        file, _, test = mutant.test.partition("::")
        definition = re.escape(test)
        if file.endswith(".py"):
            definition = rf"^def {re.escape(test.split('[')[0])}\b"
        if not re.search(definition, (ROOT / file).read_text(encoding="utf-8"), re.M):
            missing.append(mutant.test)
    assert not missing


def figures() -> list[tuple[str, str]]:
    """The figures of the list that have a value by hand, with their tests."""
    section = LIST.read_text(encoding="utf-8").partition("## Figures")[2].partition("## Faults")[0]
    return re.findall(r"^\| (?!figure \||---)([^|]+) \| [^|]+ \| (\S+) \|$", section, re.M)


@pytest.mark.parametrize(("figure", "test"), figures(), ids=lambda text: text.split("::")[-1])
def test_a_figure_names_the_test_of_its_value(figure, test):
    file, _, name = test.partition("::")
    source = (ROOT / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {re.escape(name)}\(", source, re.M) if name else figure


def test_every_figure_of_the_table_is_read():
    section = LIST.read_text(encoding="utf-8").partition("## Figures")[2].partition("## Faults")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert len(figures()) == len(rows) - 1 >= 50


def test_a_text_that_is_gone_is_one_line():
    with pytest.raises(ValueError, match=r"x\.py has 0 times 'a': update tests/mutants.md"):
        Mutant("x.py", "a", "b", "t").applied("c")


def test_a_text_that_changed_is_named_as_it_is_now():
    mutant = Mutant("x.py", "if depth < most:", "if True:", "t")

    with pytest.raises(
        ValueError, match=r"has 0 times 'if depth < most:', but 'if depth < limit:'"
    ):
        mutant.applied("x = 1\nif depth < limit:\n    pass\n")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("if f(a, b) and c > 1: pass", id="one line"),
        pytest.param("if f(\n    a,\n    b,\n) and (\n  c > 1\n): pass", id="wrapped"),
    ],
)
def test_a_text_is_found_however_it_is_wrapped(source):
    assert Mutant("x.py", "f(a, b)", "f(b, a)", "t").applied(source).count("f(b, a)") == 1


@pytest.mark.parametrize(
    ("text", "source"),
    [
        pytest.param("return one", "returnone", id="two words are not one"),
        pytest.param("f(a, b)", "f(a b)", id="a comma between arguments"),
        pytest.param("a - b", "a + b", id="a sign"),
    ],
)
def test_another_text_is_not_found(text, source):
    with pytest.raises(ValueError, match="has 0 times"):
        Mutant("x.py", text, "b", "t").applied(source)


def test_a_fault_leaves_the_lines_around_it():
    assert Mutant("x.py", "f(a)", "g(a)", "t").applied("x = f(\n    a,\n)\ny\n") == "x = g(a)\ny\n"


def test_a_text_that_is_there_twice_is_refused_though_its_wrapping_differs():
    with pytest.raises(ValueError, match="has 2 times"):
        Mutant("x.py", "f(a)", "g(a)", "t").applied("f(a)\nf(\n    a,\n)")


@pytest.mark.parametrize("room", ["verify", "hsd_viz", "js/rule_lab", ""])
def test_a_room_without_faults_is_refused_in_one_line(room, capsys):
    assert main(["--only", "decoding", "--only", room]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"there are no faults of {room!r}: use --only with")
    assert err.count("\n") == 1


def test_every_room_has_faults_and_only_its_own():
    rooms = set(column(listed(), "room"))
    packages = {path.parent.name for path in (ROOT / "hsd_viz").glob("*/__init__.py")}
    assert packages <= rooms
    assert {"js", "stack"} <= rooms
    assert {
        Mutant(f"hsd_viz/{file}", "", "", "").room for file in ("native/src/a.hpp", "native/b.py")
    } == {"native"}


@pytest.mark.slow
def test_every_mutant_is_killed():
    assert main([]) == 0
