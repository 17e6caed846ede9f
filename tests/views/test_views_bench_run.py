"""A bench from the page: what it takes, how it goes on and ends, and that its report is one that opens again."""

from __future__ import annotations

import threading

import pytest
from traitlets import TraitError

from hsd_viz.bench import Progress
from hsd_viz.prompts.suites import SHIPPED, load_suite
from hsd_viz.views import bench_run
from hsd_viz.views.bench_run import MOST_STACKS, BenchRun, read_request
from hsd_viz.views.reports import report_of
from hsd_viz.views.save_forms import REPORT_FORMS, saved_report
from hsd_viz.views.suite_field import OWN

LADDER = ("nano", "small", "target")


class Host:
    model_names = LADDER

    def __init__(self, free: bool = True, engine: object = None) -> None:
        self.free, self.engine, self.released = free, engine, 0

    def hold(self) -> bool:
        return self.free

    def release(self) -> None:
        self.released += 1

    def lend_engine(self) -> object:
        return self.engine


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no stacks: write"),
        ("db > > target", "is empty"),
        ("\n".join(f"nano:{n} > target" for n in range(1, MOST_STACKS + 2)), "the maximum is"),
        ("db > target\nhf-generate", "'hf-generate' is a transformers loop"),
        ("some/model > target", "not allowed on this page"),
        ("~/model > target", "not allowed on this page"),
    ],
)
def test_bad_stacks_are_one_sentence_and_nothing_starts(text, words):
    with pytest.raises(ValueError, match=words) as caught:
        read_request(text, LADDER)
    assert "\n" not in str(caught.value)
    bench = BenchRun(Host(), lambda report: None)
    bench.stacks.value = text
    bench.start.click()
    assert bench.thread is None and words in bench.notice.message and not bench.start.disabled


def test_stacks_stand_one_a_line():
    assert read_request("\n db>target \n\nnano:4 > target\n", LADDER) == ["db > target", "nano:4 > target"]
    assert read_request("my/model > target", None) == ["my/model > target"]


def test_nothing_starts_while_a_run_goes_on():
    bench = BenchRun(Host(free=False), lambda report: None)
    bench.start.click()
    assert bench.notice.message == "a run is in progress: measure after it ends" and bench.thread is None


@pytest.mark.parametrize(("partial", "said"), [(None, "no results"), ({"a": 1}, "the prompts decoded by every stack")])
def test_it_can_be_cancelled_and_the_page_is_free_again(monkeypatch, partial, said):
    begun, host, reports = threading.Event(), Host(), []

    def measure(engine, stacks, suite, sizes, tell, cancelled):
        tell(Progress(1, 8, "db > target", "code-1"))
        begun.set()
        for _ in range(2000):
            if cancelled():
                return partial
            threading.Event().wait(0.005)
        raise AssertionError("it was not cancelled")

    monkeypatch.setattr(bench_run, "measure", measure)
    bench = BenchRun(host, reports.append)
    bench.start.click()
    assert begun.wait(10)
    assert bench.start.disabled and not bench.cancel.disabled and bench.bar.layout.display is None
    assert bench.said.value == "1 of 8 decodes: db > target on code-1" and (bench.bar.value, bench.bar.max) == (1, 8)
    bench.cancel.click()
    bench.thread.join(10)
    assert said in bench.said.value and reports == ([partial] if partial else [])
    assert (
        host.released == 1 and not bench.start.disabled and bench.cancel.disabled and bench.bar.layout.display == "none"
    )


def test_every_shipped_suite_is_offered_and_says_what_it_is(monkeypatch):
    asked = []
    monkeypatch.setattr(bench_run, "measure", lambda engine, stacks, suite, sizes, *_rest: asked.append((suite, sizes)))
    bench = BenchRun(Host(), lambda report: None)
    assert [name for _, name in bench.suite.menu.options] == [*SHIPPED, OWN] and {"heldout", "python"} <= set(SHIPPED)
    told = []
    for name in SHIPPED:
        bench.suite.menu.value = name
        told.append(bench.suite.about.value)
        bench.start.click()
        bench.thread.join(10)
    assert [suite for suite, _ in asked] == list(SHIPPED) and asked[0][1] == (4, 48, 1)
    assert all(SHIPPED[name] in words for name, words in zip(SHIPPED, told, strict=True))
    # A browser may send anything: what is no name of the list is refused.
    with pytest.raises(TraitError):
        bench.suite.menu.value = "/etc/passwd"


def test_a_suite_of_the_readers_own_is_measured(monkeypatch):
    asked = []
    monkeypatch.setattr(bench_run, "measure", lambda engine, stacks, suite, *_rest: asked.append(load_suite(suite)))
    bench = BenchRun(Host(), lambda report: None)
    bench.suite.menu.value = OWN
    assert bench.suite.file.layout.display is None
    bench.start.click()
    assert "no suite: drop a file" in bench.notice.message and bench.thread is None
    text = b"first prompt\n\n\n\nsecond prompt\n"
    receive = lambda content, buffers=(): bench.suite.file._on_message(None, content, buffers)
    receive({"kind": "start", "name": "mine.txt", "size": len(text)})
    receive({"kind": "part", "at": 0}, [text])
    bench.start.click()
    bench.thread.join(10)
    assert [p.text for p in asked[0].prompts] == ["first prompt", "second prompt"] and asked[0].name == "mine.txt"


def test_an_error_is_a_card_and_the_page_is_free_again(monkeypatch):
    def measure(*_args):
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(bench_run, "measure", measure)
    host = Host()
    bench = BenchRun(host, lambda report: None)
    bench.start.click()
    bench.thread.join(10)
    assert "a wheel came off" in bench.notice.message and host.released == 1 and not bench.start.disabled


def test_a_real_bench_makes_a_report_that_opens_again():
    from hsd_viz.engine.local import load_engine

    reports = []
    bench = BenchRun(Host(engine=load_engine(device="cpu", threads=1)), reports.append)
    bench.stacks.value, bench.prompts.value, bench.tokens.value = "db > target", 1, 8
    bench.suite.menu.value = "python"
    bench.start.click()
    bench.thread.join(120)
    assert bench.notice.message == "" and bench.said.value == "Measured."
    (report,) = reports
    assert [s.stack for s in report.stacks] == ["target", "db > target"]
    assert all(s.mean_acceptance_length.value >= 1 and s.tokens_per_second.value > 0 for s in report.stacks)
    assert report.settings.max_new_tokens == 8 and report.suite.name == "python"
    file = saved_report(report, "report")
    assert file.name == "hsd_viz_bench_python.json" and report_of(file.content, file.name) == report
    assert b"<html" in saved_report(report, "page").content
    with pytest.raises(ValueError, match="use report, page"):
        saved_report(report, "trace")
    assert set(REPORT_FORMS) == {"report", "page"}
