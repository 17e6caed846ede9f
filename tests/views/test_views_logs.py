"""The tab Your logs: what it takes, how it ends, and that a log stays text; and the card that explains a run."""

from __future__ import annotations

import json
import threading

import pytest

from hsd_viz import load_bundled
from hsd_viz.engine.replay import bundled
from hsd_viz.ladder.load import model_path
from hsd_viz.views import doctor_card, drop_file
from hsd_viz.views.app.dashboard import Dashboard
from hsd_viz.views.drop_file import DropFile
from hsd_viz.views.section_logs import IDS, LADDER, OWN, LogsSection, ReplayForm

MARKUP = "<img src=x onerror=alert(1)>"


class Host:
    trace, dark, group, model_names = None, False, "page", None

    def __init__(self) -> None:
        self.free, self.released = True, threading.Event()

    def hold(self) -> bool:
        return self.free

    def release(self) -> None:
        self.released.set()


@pytest.fixture
def log(tmp_path):
    trace = load_bundled("copied")
    row = {"prompt_ids": trace.meta["prompt_ids"], "output_ids": trace.token_ids, "category": MARKUP}
    text = {"prompt": MARKUP, "output": f"{MARKUP} and {MARKUP} again", "category": "text"}
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps(text)}\n{MARKUP}\n")
    return path


def send(field: DropFile, content: bytes, name: str, part: int = 1000) -> list[dict]:
    """Send a file as the script does; return the answers."""
    answers: list[dict] = []
    field.send = lambda content, buffers=None: answers.append(content)
    field._on_message(None, {"kind": "start", "name": name, "size": len(content)}, [])
    while answers[-1]["kind"] == "next" and answers[-1]["at"] < len(content):
        at = answers[-1]["at"]
        field._on_message(None, {"kind": "part", "at": at}, [memoryview(content)[at : at + part]])
    return answers


def field(most: int = 10_000):
    stored, refused = [], []
    return DropFile("Open", "", "", most, stored.append, refused.append), stored, refused


def test_a_file_is_stored_in_parts_and_deleted_with_the_field():
    made, stored, refused = field()
    content = bytes(range(256)) * 13
    send(made, content, "../../etc/a <b>.jsonl")
    assert not refused and len(stored) == 1 and stored[0].read_bytes() == content
    assert stored[0].name == made.name == "_.._etc_a _b_.jsonl"
    send(made, b"{}", "second")
    assert not stored[0].exists() and stored[1].read_bytes() == b"{}"
    made.close()
    assert not stored[1].exists() and not stored[1].parent.exists()


def test_bad_files_are_one_line_and_leave_nothing(monkeypatch):
    made, stored, refused = field()
    assert send(made, b"x" * 10_001, "log")[-1] == {"kind": "stop"}
    assert send(made, b"", "log")[-1] == {"kind": "stop"}
    for message in ({"kind": "part", "at": 7}, {"kind": "unreadable"}):
        send(made, b"", "log")
        made._on_message(None, {"kind": "start", "name": "log", "size": 9}, [])
        made._on_message(None, message, [b"123"])
    made._on_message(None, {"kind": "start", "name": "log", "size": 2}, [])
    made._on_message(None, {"kind": "part", "at": 0}, [b"more than was said"])
    made._on_message(None, "nonsense", [])
    found = [str(error) for error in refused if "is empty" not in str(error)]
    assert [words.split(":")[0] for words in found] == [
        "log is too large",
        "the file was not received completely",
        "the file cannot be read",
        "the file was not received completely",
    ]
    assert not stored and made.name == "" and made._folder is None
    monkeypatch.setattr(drop_file.Path, "open", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    send(made, b"123", "log")
    assert "cannot be stored: disk full" in str(refused[-1])


@pytest.fixture
def section():
    made = LogsSection(Host())
    made.open()
    return made


def replay(section, path, **values) -> ReplayForm:
    form = section.form
    form._on_log(path)
    for name, value in values.items():
        getattr(form, name).value = value
    form.start.click()
    if form.thread is not None:
        form.thread.join(120)
    return form


def test_a_log_is_replayed_and_stays_text(section, log):
    form = replay(section, log, stacks="lookup\nrecycling\nsam")
    assert form.said.value == "Replayed." and not form.notice.message and section.page.released.is_set()
    tables = section.result.children[0].spec
    assert tables["answer"][0][0] in ("lookup", "sam") and "log.jsonl: 2 requests" in tables["intro"][0]
    assert tables["warnings"][0].startswith("1 broken record skipped; the first is record 3")
    assert any(line.startswith("Not replayed: recycling: it reads the target's") for line in tables["warnings"])
    rows = tables["tables"][0]["rows"]
    assert {row[0][0] for row in rows} == {"lookup", "sam"} and tables["tables"][0]["folds"]
    page, report = (section._make(form).content.decode() for form in ("page", "report"))
    assert MARKUP not in page and "<script" not in page and " again" not in page + report
    assert json.loads(report)["log"]["requests"] == 2
    chart = section.chart.figure
    bars = dict(zip(chart.data[0].y, chart.data[0].x, strict=True))
    for row in section.shown.drafters:
        assert bars[row.name] == row.mean_acceptance_length.value > 1
    with pytest.raises(ValueError, match="no result"):
        section._make("other")


def test_a_cancelled_replay_keeps_what_was_replayed(section, tmp_path):
    trace = load_bundled("copied")
    row = json.dumps({"prompt_ids": trace.meta["prompt_ids"], "output_ids": trace.token_ids})
    path = tmp_path / "long.jsonl"
    path.write_text(f"{row}\n" * 5000)
    section.form._tell = lambda *_: section.form.cancel.click()
    form = replay(section, path, stacks="lookup", tokenizer=IDS)
    assert form.said.value.startswith("Cancelled. The result has")
    assert 0 < section.shown.log["requests"] < 5000 and not section.shown.complete


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stacks": " \n"}, "no drafters"),
        ({"tokenizer": OWN}, "no tokenizer"),
        ({"tokenizer": IDS, "stacks": "db"}, ""),
        ({"stacks": "nano:4"}, "'nano:4' cannot be replayed: a draft model's drafts are not in a log"),
    ],
)
def test_bad_forms_are_one_line(section, log, values, words):
    form = replay(section, log, **values)
    assert words in form.notice.message and "\n" not in form.notice.message and not form.notice.details
    assert bool(words) != bool(section.shown)


def test_without_a_log_nothing_starts_and_a_run_goes_first(section, log):
    section.form.start.click()
    assert "no log: drop a file" in section.form.notice.message and section.form.thread is None
    section.page.free = False
    assert "a run is in progress" in replay(section, log).notice.message


def test_the_tokenizer_of_another_model_can_be_opened(section, log):
    form = section.form
    assert form.own.layout.display == "none"
    form.tokenizer.value = OWN
    assert form.own.layout.display is None
    send(form.own, (model_path("nano") / "tokenizer.json").read_bytes(), "tokenizer.json", 10**6)
    assert replay(section, log, stacks="lookup").said.value == "Replayed."
    send(form.own, b"{}", "tokenizer.json")
    assert "cannot be loaded" in replay(section, log).notice.message
    form.tokenizer.value = LADDER


@pytest.mark.parametrize("name", [r.name for r in bundled()])
def test_the_card_explains_the_measured_speed_up(name):
    trace = load_bundled(name)
    spec = doctor_card.diagnosis_spec(trace)
    if not any(row.drafted for row in trace.round_rows):
        assert spec == {}
        return
    assert sum(cause["share"] for cause in spec["causes"]) == pytest.approx(1, abs=0.02)
    shares = [cause["share"] for cause in spec["causes"]]
    assert shares == sorted(shares, reverse=True) and spec["settings"]
    plain = trace.meta["plain"]["tokens_per_second"]
    measured = trace.metrics()["tokens_per_second"] / plain
    assert f"speed-up {measured:.2f} [" in spec["tables"][0]["note"]
    if measured < 0.7:
        # What was measured to be slower than plain decoding is not recommended.
        assert not any(line.startswith(f"Best by the law: {trace.stack},") for line in spec["lines"])


def test_the_card_follows_the_page_and_is_hidden_during_a_run(monkeypatch):
    monkeypatch.setattr(doctor_card.threading.Thread, "start", lambda self: self._target())
    page = Dashboard(engine=object())
    trace = load_bundled("both")
    page.show(trace)
    assert page.doctor.spec["causes"][0]["name"] == "drafting"
    page.readout.show(trace, "live", running=True)
    assert page.doctor.spec == {}
    page.readout.show(trace, "live")
    assert page.doctor.spec["causes"]
    page.show(load_bundled("plain"))
    assert page.doctor.spec == {}
