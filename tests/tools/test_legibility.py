"""What the legibility tool counts, and when it complains."""

from __future__ import annotations

import pytest

from tools import legibility
from tools.legibility import Counts, counts_of, excesses


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        ("a, b = 1, 2", 1),
        ("a, b = b, a", 0),
        ("a, b = pair()", 0),
        ("a = b = 1", 0),
        ("(low, high) = x.low, x.high", 1),
    ],
)
def test_assignments_of_tuples(source, counted):
    counts = counts_of(source)
    assert len(counts.tuples) == counted
    assert counts.assignments == 1


@pytest.mark.parametrize(
    ("source", "counted"),
    [("f(**options)", 1), ("f(*values)", 0), ("f(a=1, **x, **y)", 2), ("{**a}", 0)],
)
def test_splats(source, counted):
    assert len(counts_of(source).splats) == counted


@pytest.mark.parametrize(
    ("source", "counted"),
    [
        ("[x for x in y]", 0),
        ("[x for row in y for x in row]", 1),
        ("[sum(x for x in row) for row in y]", 1),
        ("a if b else c", 0),
        ("a if b else c if d else e", 1),
    ],
)
def test_nested_expressions(source, counted):
    assert len(counts_of(source).nested) == counted


def test_lines_statements_and_comprehensions_are_counted():
    counts = counts_of("a = [x for x in b]\n\nif a:\n    c = 1\n")
    assert counts.lines == 3
    assert counts.mean_line == (18 + 5 + 9) / 3
    assert counts.statements == 3
    assert counts.comprehensions == 1


def test_a_count_has_its_line():
    assert counts_of("a = 1\n\nf(**x)").splats == [3]


@pytest.mark.parametrize(
    ("counts", "problems"),
    [
        (Counts(assignments=100, tuples=[1], splats=[1] * 20), []),
        (
            Counts(assignments=100, tuples=[1, 2]),
            ["part: 2.00% of the assignments are of tuples (1%)"],
        ),
        (Counts(lines=2, characters=92), []),
        (Counts(lines=2, characters=93), ["part: a line has 46.5 characters on average (46)"]),
        (Counts(statements=50, comprehensions=2), []),
        (
            Counts(statements=50, comprehensions=3),
            ["part: 6.00 comprehensions per 100 statements (4)"],
        ),
        (Counts(splats=[1] * 21), ["part: 21 calls with **values (20)"]),
        (Counts(nested=[7]), ["part: 1 nested expressions (0)"]),
    ],
    ids=[
        "within the limits",
        "tuples",
        "a line within the limit",
        "line",
        "comprehensions within the limit",
        "comprehensions",
        "splats",
        "nested",
    ],
)
def test_a_part_is_limited_as_a_whole(counts, problems):
    assert excesses("part", counts) == problems


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a part in Python and one in TypeScript."""
    monkeypatch.setattr(legibility, "ROOT", tmp_path)
    monkeypatch.setattr(legibility, "PARTS", ("tools",))
    monkeypatch.setattr(legibility, "OTHER_PARTS", {"js": "*.ts"})
    for folder in ("tools", "js", "js/node_modules"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools" / "a.py").write_text("a = 1\n")
    (tmp_path / "js" / "view.ts").write_text("const a = 1;\n")
    (tmp_path / "js" / "node_modules" / "b.ts").write_text("x" * 101)
    return tmp_path


def test_a_project_within_its_limits(project, capsys):
    assert legibility.main([]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["tools", "1", "5.0", "0.00%", "0", "0.00", "0"], ["js", "1", "12.0"]]


def test_what_exceeds_a_limit_is_printed(project, capsys):
    (project / "tools" / "b.py").write_text("c = 1 if a else 2 if b else 3\n")
    (project / "js" / "view.ts").write_text("a;\n" * 9 + "// " + "a" * 98)

    assert legibility.main([]) == 1
    assert capsys.readouterr().out.splitlines()[3:] == [
        "tools: 1 nested expressions (0)",
        "js/view.ts:10: over 100 columns",
    ]


def test_the_lines_of_a_path_are_printed(project, capsys):
    file = project / "tools" / "b.py"
    file.write_text("\na, b = 1, 2\nf(**a)\n")

    assert legibility.main([str(project / "tools")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: tuples: line 2",
        f"{file}: **values: line 3",
    ]
