"""What the legibility tool counts, and that the rewritten parts stay within its limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.legibility import parts as legibility
from tools.legibility.line_measures import Measures, PartLimits, PathLimits, measure_text
from tools.legibility.parts import PARTS


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
def test_tuple_assignments(source, counted):
    assert len(measure_text(source).tuple_assignments) == counted


@pytest.mark.parametrize(
    ("source", "counted"),
    [("f(**options)", 1), ("f(*values)", 0), ("f(a=1, **x, **y)", 2), ("{**a}", 0)],
)
def test_splats(source, counted):
    assert len(measure_text(source).splats) == counted


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
    assert len(measure_text(source).nested) == counted


def test_lines():
    text = "x = 1\n\n" + "y = " + "1" * 100 + "\n"
    measures = measure_text(text)
    assert measures.lengths == [5, 104]
    assert measures.long_lines == [3]


def test_only_lines_of_other_languages_are_measured():
    measures = measure_text("const a = (b) => [b];", is_python=False)
    assert measures.lengths == [21]
    assert measures.statements == 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (("x" * 60 + "\n") * 61, "mean line 60.0"),
        ("a\n" * 100 + "x" * 101, "lines longer than 100 columns: line 101"),
        ("a, b = 1, 2\nc, d = 1, 2", "assignments of tuples: line 1, 2"),
        ("[a for a in b]\n" * 6, "comprehensions, 100.0 per 100 statements: line 1, 2, 3, 4, 5, 6"),
        ("f = lambda: 1", "functions assigned as lambda: line 1"),
        ("a if b else c if d else e", "nested conditional expressions or comprehensions: line 1"),
    ],
)
def test_each_limit_is_enforced(source, words):
    (excess,) = measure_text(source).excesses()
    assert excess.startswith(words)


def test_the_mean_line_of_a_short_file_is_free():
    assert measure_text(("x" * 60 + "\n") * 60).excesses() == []


def test_short_plain_code_exceeds_nothing():
    assert measure_text("a = 1\nb = 2\n").excesses() == []


def test_two_files_are_added():
    total = Measures()
    total.add(measure_text("a = 1"))
    total.add(measure_text("f(**x)\ny = lambda: 1"))
    assert total.statements == 3
    assert total.assignments == 2
    assert total.lengths == [5, 6, 13]


def test_the_command_reports_a_part_that_exceeds_a_limit(monkeypatch, capsys):
    monkeypatch.setattr(legibility, "PARTS", {"tools": ".py"})
    monkeypatch.setattr(legibility, "check_parts", lambda: ["tools: mean line 99 (limit 46)"])
    monkeypatch.setattr(legibility, "check_wrapped", list)
    assert legibility.main([]) == 1
    assert "tools: mean line 99 (limit 46)" in capsys.readouterr().out


@pytest.mark.checked
def test_the_parts_stay_within_their_limits():
    assert legibility.check_parts() == []


GENEROUS = PartLimits(mean_line=99, splats=9, comprehensions=999, lambdas=9, nested=9)


@pytest.mark.parametrize(
    ("limits", "problems"),
    [
        (GENEROUS, []),
        (replace(GENEROUS, mean_line=20), ["part: mean line 21.5 (limit 20)"]),
        (replace(GENEROUS, splats=1), ["part: splats 2 (limit 1)"]),
        (replace(GENEROUS, comprehensions=50), ["part: comprehensions per 100 75 (limit 50)"]),
        (replace(GENEROUS, lambdas=0), ["part: lambdas 1 (limit 0)"]),
        (replace(GENEROUS, nested=0), ["part: nested 1 (limit 0)"]),
    ],
    ids=["generous", "mean line", "splats", "comprehensions", "lambdas", "nested"],
)
def test_a_part_is_limited_as_a_whole(limits, problems, tmp_path, monkeypatch):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "one.py").write_text("f(**[x for row in y for x in z])\n")
    (tmp_path / "part" / "two.py").write_text("g(**{a: [b for b in c]})\nh = lambda: {*d}\n")
    (tmp_path / "part" / "three.py").write_text("[e for e in i]\n")
    monkeypatch.setattr(legibility, "ROOT", tmp_path)
    monkeypatch.setitem(PARTS, "part", ".py")
    assert legibility.check_parts({"part": limits}) == problems


@pytest.mark.checked
def test_the_package_has_no_long_line():
    assert legibility.check_wrapped() == []


def test_a_long_line_of_a_wrapped_part_is_reported(tmp_path, monkeypatch):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "module.py").write_text("x = 1\n# " + "y" * 99 + "\n", encoding="utf-8")
    monkeypatch.setattr(legibility, "ROOT", tmp_path)
    problems = legibility.check_wrapped(("part",))
    assert problems == ["part/module.py: longer than 100 columns: line 2"]


def test_limits_are_the_goals():
    assert PathLimits() == PathLimits(46, 0, 0.01, 4, 0, 0)


def test_a_long_line_of_a_part_in_another_language_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(legibility, "ROOT", tmp_path)
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "view.ts").write_text(f"// {'a' * 98}\n")
    (problem,) = legibility.check_wrapped(["js"])
    assert problem.startswith("js/view.ts: longer than 100 columns: ")
