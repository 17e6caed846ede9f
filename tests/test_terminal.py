from hsd_viz import terminal
from hsd_viz.results.plain_text import plain
from hsd_viz.results.table import Table

ROWS = Table(
    "Speeds",
    [
        ["stack", "speed-up", "drafting µs/round"],
        ["db > target", "2.75 [2.37, 3.23]", "39"],
        ["target", "[bold]1", "0"],
    ],
    "of one run:",
)


def test_plain_text_is_aligned_and_never_wrapped():
    lines = plain([ROWS]).splitlines()
    assert lines == [
        "",
        "Speeds: of one run",
        "stack                 speed-up  drafting µs/round",
        "db > target  2.75 [2.37, 3.23]                 39",
        "target                 [bold]1                  0",
    ]
    wide = Table("", [["name", "x" * 400], ["a", "y"]])
    assert list(map(len, plain([wide]).splitlines())) == [0, 0, 406, 406]
    assert plain([Table("Empty", [], "no figures")]) == "\nEmpty: no figures"


def test_a_pipe_gets_plain_text_and_no_bar(capsys):
    print(plain(["first", "", ROWS]))
    with terminal.progress_bar() as bar:
        bar(1, 2, "db > target")
    out, err = capsys.readouterr()
    assert out == "\n".join(["first", "", *plain([ROWS]).splitlines(), ""])
    assert err == ""


def test_on_a_terminal_a_bar_is_drawn_and_removed(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with terminal.progress_bar() as update:
        update(2, 4, "[b]")
    err = capsys.readouterr().err
    assert "2/4" in err
    assert "[b]" in err
    assert err.endswith("\x1b[2K")
