"""Results and how they are shown, and values that come back from a user's own code."""

from __future__ import annotations

import json

import numpy as np
import pytest

import hsd_viz as hsd
from hsd_viz.decoding import verify
from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.disk import STDOUT
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import Unsupported, UserError
from hsd_viz.measure.audit.stacks import ToySession
from hsd_viz.results import Estimate, Result, StackKind, Table, kind_of, print_result

ROWS = Table(
    "Stacks",
    [["stack", "speed-up"], ["target", 1.0], ["db > target", Estimate(1.5, 1.25, 1.75, 8)]],
    formats={"speed-up": ("{:.2f}", 1.0)},
)


class Measured(Result):
    title = "A measurement"

    def lines(self):
        return ["two stacks"]

    def tables(self):
        return [ROWS]

    @property
    def flags(self):
        return {"vllm": "--speculative-config '{}'"}

    def to_dict(self):
        return {"stacks": 2}


class Interrupted(Measured):
    complete = False


def test_a_result_is_printed_with_lines_tables_and_settings(capsys):
    code = print_result(Measured())
    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "two stacks",
        "",
        "Stacks",
        "stack                 speed-up",
        "target                    1.00",
        "db > target  1.50 [1.25, 1.75]",
        "",
        "Settings to paste:",
        "  vllm: --speculative-config '{}'",
    ]


def test_a_result_is_written_as_json_and_as_a_page(tmp_path, capsys):
    print_result(Measured(), json=tmp_path / "r.json", html=tmp_path / "r.html")
    assert json.loads((tmp_path / "r.json").read_text()) == {"stacks": 2}
    page = (tmp_path / "r.html").read_text()
    assert "<title>A measurement" in page
    assert "--speculative-config" in page


def test_json_for_standard_output_is_one_line_in_place_of_the_text(capsys):
    print_result(Interrupted(), json=STDOUT)
    printed = capsys.readouterr()
    assert printed.out == '{"stacks": 2}\n'
    assert printed.err == "hsd-viz: interrupted\n"


def test_an_interrupted_result_names_the_partial_file(tmp_path, capsys):
    code = print_result(Interrupted(), json=tmp_path / "r.json")
    assert code == 130
    assert capsys.readouterr().err == (
        f"hsd-viz: interrupted; the partial report is in {tmp_path / 'r.json'}\n"
    )


def test_a_frame_has_numbers_and_the_ends_of_intervals():
    frame = Measured().to_frame()
    assert list(frame.columns) == ["stack", "speed-up", "speed-up low", "speed-up high"]
    assert list(frame["speed-up"]) == [1.0, 1.5]
    assert frame["speed-up low"][1] == 1.25


def test_a_notebook_shows_tables_and_escapes_text():
    class Hostile(Measured):
        def lines(self):
            return ["<script>alert(1)</script>"]

    html = Hostile()._repr_html_()
    assert "<table>" in html
    assert "<script>" not in html


def test_a_result_is_drawn_by_its_first_column_of_numbers():
    (bars,) = Measured().figure().data
    assert list(bars.x) == [1.0, 1.5]
    assert bars.error_x.arrayminus[1] == 0.25


def test_a_result_without_a_table_has_no_figure():
    class Lines(Measured):
        def tables(self):
            return []

    with pytest.raises(Unsupported, match=r"no numbers in this report to plot: use .to_dict\(\)"):
        Lines().figure()


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        ("target", StackKind.PLAIN),
        ("db > target", StackKind.DATABASE),
        ("nano:4 > target", StackKind.MODELS),
        ("db > nano:4 > target (best)", StackKind.BOTH),
        ("auto > target", StackKind.AUTO),
        ("lookup > target", StackKind.BASELINE),
        ("of another package > target", StackKind.BASELINE),
        ("hf-generate", StackKind.HF),
    ],
)
def test_the_kind_of_a_stack(stack, kind):
    assert kind_of(stack) is kind


def test_the_kind_of_a_parsed_stack():
    assert kind_of(hsd.parse("nano > target")) is StackKind.MODELS


def test_audit_takes_a_stack():
    assert hsd.audit("nano:1 > target").verdict == "lossless"


def plain(task):
    """Sample the target."""
    text = list(task.prompt)
    for _ in range(task.new_tokens):
        row = task.row(-1, text)
        text.append(task.random.choices(range(task.vocabulary), row)[0])
        if text[-1] in task.eos:
            break
    return text[len(task.prompt) :]


def test_audit_takes_a_function():
    assert hsd.audit(plain).verdict == "lossless"


def test_an_audited_function_that_returns_nothing_is_named():
    with pytest.raises(UserError, match=r"returned None: it must return a list of token ids"):
        hsd.audit(lambda task: None)


#: The row of a verifier with two tokens.
HALF = np.full(2, 0.5)


class ListDrafter(Drafter):
    name = "mine"
    nodes = 4

    def start(self, text):
        pass

    def draft(self, text, budget):
        return [1, 2]

    def observe(self, *_):
        pass


def test_a_drafter_that_returns_a_list_is_named():
    session = ToySession(np.zeros((3, 3, 3)))
    loop = Loop(
        LoopInputs([Level("target", session)], ListDrafter(), Sampling(), [0, 1], max_new_tokens=4)
    )
    with pytest.raises(UserError, match=r"ListDrafter returned \[1, 2\]: draft\(\) must return a"):
        for _ in loop.prefill():
            pass
        for _ in loop.rounds():
            pass


@pytest.mark.parametrize(
    ("judgement", "words"),
    [
        (3, "the rule 'mine' returned 3: a rule returns a tuple of four"),
        ((1, None), "the rule 'mine' returned"),
        ((9, None, [], None), "the rule 'mine' accepted 9 tokens: a whole number from 0 to 1"),
        ((-1, None, [], None), "the rule 'mine' accepted -1 tokens"),
        ((0, None, range(1), None), "the rule 'mine' accepted 0 of 1 tokens without a residual"),
        ((1, HALF, range(1), None), "the rule 'mine' accepted all 1 tokens with a residual"),
        ((0, HALF[:1], range(1), None), "the rule 'mine' returned the residual"),
        ((0, -HALF, range(1), None), "the rule 'mine' returned the residual"),
        ((0, HALF * np.nan, range(1), None), "the rule 'mine' returned the residual"),
        ((0, [0.5, 0.5], range(1), None), "the rule 'mine' returned the residual [0.5, 0.5]: an"),
        ((0, HALF, [0], None), "the rule 'mine' compared [0]: a range within range(1)"),
        ((0, HALF, range(2), None), "the rule 'mine' compared range(0, 2): a range within"),
        ((0, HALF, range(1), [0.5, 0.5]), "the rule 'mine' returned [0.5, 0.5] as h: None or 1"),
    ],
)
def test_a_rule_of_another_package_is_checked(judgement, words, monkeypatch):
    monkeypatch.setattr(verify, "_other_rule", lambda name: lambda *_: judgement)
    with pytest.raises(UserError) as refused:
        verify.decide_chain("mine", [0], HALF[None], np.stack([HALF, HALF]), [0.5])
    assert str(refused.value).startswith(words)
