"""Comparing from the page: what it takes, that it can be cancelled, and that the page is free again."""

from __future__ import annotations

import pytest

from hsd_viz import machine
from hsd_viz.engine.replay import SIDE_BY_SIDE, bundled, load_bundled
from hsd_viz.trace import Finished, Stage
from hsd_viz.views import section_compare
from hsd_viz.views.controls import Request
from hsd_viz.views.section_compare import CompareRun, CompareSection, read_stacks

LADDER = ("nano", "small", "target")


class Host:
    model_names = LADDER

    def __init__(self, free=True):
        self.free, self.released = free, 0

    def request(self):
        return Request("def f(", "target", {"max_new_tokens": 8})

    def hold(self):
        return self.free

    def release(self):
        self.released += 1

    def lend_engine(self):
        return "engine"


@pytest.fixture
def recorded():
    folder = SIDE_BY_SIDE / "greedy"
    return [load_bundled(r.name, folder) for r in bundled(folder)[:2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target", "not 1"),
        ("target\ndb > target\nhd > target\nlookup > target", "not 4"),
        ("target\ndb > > target", "is empty"),
        ("target\nsome/model > target", "not allowed on this page"),
    ],
)
def test_bad_stacks_are_one_sentence_and_nothing_starts(text, words):
    with pytest.raises(ValueError, match=words):
        read_stacks(text, LADDER)
    form = CompareRun(Host(), lambda traces: None)
    form.stacks.value = text
    form.start.click()
    assert form.thread is None and words in form.notice.message and not form.start.disabled


def test_presets_go_into_the_text_and_out_of_it_and_the_text_into_the_presets():
    form = CompareRun(Host(), lambda traces: None)
    buttons = {b.description: b for b in form.presets}
    assert [name for name, b in buttons.items() if b.value] == ["Plain", "Databases", "Databases + HSD"]
    buttons["Databases"].value = False
    buttons["HD"].value = True
    assert form.stacks.value.splitlines() == ["target", "db > nano:4 > small:8 > target", "hd > target"]
    assert read_stacks(form.stacks.value, LADDER) == form.stacks.value.splitlines()
    form.stacks.value = "plain\n\n  nano:4 > small:8 > target "
    assert [name for name, b in buttons.items() if b.value] == ["Plain", "HSD"]
    assert read_stacks(form.stacks.value, LADDER) == ["target", "nano:4 > small:8 > target"]
    buttons["Plain"].value = False
    assert form.stacks.value.split("\n") == ["  nano:4 > small:8 > target "], (
        "what else stands there stays as it was written"
    )


def test_nothing_starts_while_a_run_goes_on():
    form = CompareRun(Host(free=False), lambda traces: None)
    form.start.click()
    assert form.notice.message == "a run is in progress: compare after it ends" and form.thread is None


def run(form):
    form.start.click()
    form.thread.join(10)
    assert not form.thread.is_alive() and not form.start.disabled and form.cancel.disabled and form._host.released == 1


@pytest.mark.parametrize(
    ("load", "doubt"), [(1.0, ""), (6.2, " The machine had more to do than its 2 cores (load average 6.2)")]
)
def test_all_runs_are_shown_when_they_are_there(monkeypatch, recorded, load, doubt):
    monkeypatch.setattr(machine, "load_average", lambda: load)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    asked, shown = [], []

    def decode_each(engine, prompt, stacks, **options):
        asked.append((engine, prompt, tuple(stacks), options))
        for k, trace in enumerate(recorded):
            yield k, Stage("warming up")
            yield k, Finished(trace)

    monkeypatch.setattr(section_compare, "decode_each", decode_each)
    form = CompareRun(Host(), shown.append)
    form.stacks.value = "target\ndb > target"
    run(form)
    assert asked == [("engine", "def f(", ("target", "db > target"), {"max_new_tokens": 8})]
    said = form.said.value
    assert (
        shown == [recorded]
        and said.startswith(f"Decoded now on this machine.{doubt}")
        and ("machine had" in said) == bool(doubt)
    )


def test_a_cancelled_comparison_leaves_what_was_shown(monkeypatch, recorded):
    shown, closed = [], []

    def decode_each(engine, prompt, stacks, **options):
        try:
            form.cancel.click()
            yield 0, Stage("warming up")
            yield 0, Finished(recorded[0])
        finally:
            closed.append(True)

    monkeypatch.setattr(section_compare, "decode_each", decode_each)
    form = CompareRun(Host(), shown.append)
    run(form)
    assert not shown and closed == [True] and form.said.value.startswith("Cancelled")


def test_what_goes_wrong_is_a_card(monkeypatch):
    def decode_each(engine, prompt, stacks, **options):
        yield 0, Stage("warming up")
        raise ValueError("the prompt is empty")

    monkeypatch.setattr(section_compare, "decode_each", decode_each)
    form = CompareRun(Host(), lambda traces: None)
    run(form)
    assert "the prompt is empty" in form.notice.message and form.said.value == ""


def test_what_is_shown_can_be_saved_and_nothing_else():
    class Alone:
        trace, dark, group = None, False, "g"

    section = CompareSection(Alone())
    section.open()
    assert not section.save.disabled
    file = section.save._make("page")
    assert file.name.startswith("hsd_viz_compare_target_") and file.content.startswith(b"<!doctype html>")
    section.versus.show([])
    assert section.save.disabled
    with pytest.raises(ValueError, match="no runs to save"):
        section.save._make("page")
    with pytest.raises(ValueError, match="unknown form 'csv'"):
        section.save._make("csv")
