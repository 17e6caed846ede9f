"""The lists of mutants are of faults that can be applied, and the tool tells a killed one from one
that survives.
"""

import re
import tomllib
from dataclasses import asdict, replace

import pytest

from tests.rows import column
from tools.mutants.apply import main
from tools.mutants.lists import (
    FAULTS,
    ROOT,
    Mutant,
    as_toml,
    read_figures,
    read_mutants,
    write_mutants,
)


def test_every_fault_is_in_the_list_of_its_package_once():
    mutants = read_mutants()
    assert len(set(mutants)) == len(mutants) >= 600
    for path in FAULTS.iterdir():
        faults = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
        assert {f"{Mutant(**fault).package}.toml" for fault in faults} == {path.name}


def test_the_lists_are_as_they_are_written(tmp_path):
    write_mutants(read_mutants(), tmp_path)
    for path in FAULTS.iterdir():
        assert (tmp_path / path.name).read_text("utf-8") == path.read_text("utf-8"), path.name


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a = 1", id="plain"),
        pytest.param('x["a"]', id="double quotes"),
        pytest.param("x['a']", id="single quotes"),
        pytest.param("""x["a"] + y['b']""", id="both quotes"),
        pytest.param(r"re.split(r'\n', \"a\")", id="backslashes"),
        pytest.param("⌈x⌉ · 2", id="signs"),
    ],
)
def test_a_text_is_read_as_it_was_written(text):
    fault = {"file": "x.py", "text": text}
    assert tomllib.loads(as_toml("fault", [fault, fault])) == {"fault": [fault, fault]}


def test_a_fault_that_moved_to_another_package_leaves_its_list(tmp_path):
    mutant = Mutant("hsd_viz/trace/file.py", "a", "b", "t")
    write_mutants([mutant], tmp_path)
    moved = replace(mutant, file="hsd_viz/disk.py")
    write_mutants([moved], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["disk.toml"]
    assert read_mutants(tmp_path) == [moved]


@pytest.mark.checked
def test_every_text_is_in_its_file_once():
    problems = []
    for mutant in read_mutants():
        source = (ROOT / mutant.file).read_text(encoding="utf-8")
        try:
            assert mutant.applied(source) != source
        except ValueError as error:
            problems.append(str(error))
    assert not problems, "\n".join(problems)


def test_every_fault_of_python_can_be_compiled():
    for mutant in read_mutants():
        if mutant.file.endswith(".py"):
            source = (ROOT / mutant.file).read_text(encoding="utf-8")
            compile(mutant.applied(source), mutant.file, "exec")


def test_every_mutant_names_a_test():
    missing = []
    for mutant in read_mutants():
        file, _, test = mutant.test.partition("::")
        definition = re.escape(test)
        if file.endswith(".py"):
            definition = rf"^def {re.escape(test.split('[')[0])}\b"
        if not re.search(definition, (ROOT / file).read_text(encoding="utf-8"), re.M):
            missing.append(mutant.test)
    assert not missing


@pytest.mark.parametrize("figure", read_figures(), ids=lambda figure: figure.test)
def test_a_figure_names_the_test_of_its_value(figure):
    assert all(asdict(figure).values())
    file, _, name = figure.test.partition("::")
    source = (ROOT / file).read_text(encoding="utf-8")
    assert not name or re.search(rf"^def {re.escape(name)}\(", source, re.M)


def test_every_figure_is_read():
    assert len(read_figures()) >= 50


def test_a_text_that_is_gone_is_one_line():
    with pytest.raises(ValueError, match=r"x\.py has 0 times 'a': update tests/mutants/x.toml"):
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


@pytest.mark.parametrize("package", ["verify", "hsd_viz", "js/rule_lab", ""])
def test_a_package_without_faults_is_refused_in_one_line(package, capsys):
    assert main(["--only", "decoding", "--only", package]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"there are no faults of {package!r}: use --only with")
    assert err.count("\n") == 1


def test_every_package_has_faults():
    with_faults = set(column(read_mutants(), "package"))
    packages = {path.parent.name for path in (ROOT / "hsd_viz").glob("*/__init__.py")}
    assert packages <= with_faults
    assert {"js", "stack"} <= with_faults


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("hsd_viz/native/src/a.hpp", "native"),
        ("hsd_viz/native/b.py", "native"),
        ("hsd_viz/disk.py", "disk"),
        ("js/lib/a.ts", "js"),
    ],
)
def test_the_package_of_a_fault_is_that_of_its_file(file, package):
    assert Mutant(file, "", "", "").package == package


@pytest.mark.slow
def test_every_mutant_is_killed():
    assert main([]) == 0
