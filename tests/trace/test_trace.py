"""The trace file: what goes in comes out, and a broken or newer file is refused with one sentence."""

from __future__ import annotations

import gzip
import json
import time

import pytest
from samples import sample_trace

from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.trace import SCHEMA_VERSION, Trace, TraceError


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_round_trip(tmp_path, name):
    trace = sample_trace()
    path = trace.save(tmp_path / name)
    again = Trace.load(path)
    assert again.to_dict() == trace.to_dict()
    for table in ("tokens", "drafts", "rounds", "calls"):
        assert again.rows(table) == trace.rows(table)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", [recording.name for recording in bundled()])
def test_a_saved_recording_is_read_as_it_was(name):
    trace = load_bundled(name)
    again = Trace.from_bytes(trace.to_bytes())
    assert again.to_dict() == trace.to_dict() and again.to_bytes() == trace.to_bytes()


def test_a_file_of_schema_1_has_plain_columns_and_is_read():
    data = sample_trace().to_dict()
    assert Trace.from_bytes(json.dumps(data | {"schema": 1}).encode()).to_dict() == data


@pytest.mark.parametrize(
    ("table", "column", "packed"),
    [
        ("tokens", "token_id", {"i4": "AAA"}),
        ("tokens", "token_id", {"i4": "AAAAgAEAAAACAAAAAwAAAA=="}),  # a null
        ("tokens", "token_id", {"u9": "AAAA"}),
        ("tokens", "token_id", {"i4": 7}),
        ("tokens", "kind", {"of": ["accepted", "stolen"], "at": {"i4": "AAAAAAEAAAAAAAAAAAAAAA=="}}),
        ("tokens", "kind", {"of": ["accepted"], "at": {"i4": "AAAAAAkAAAAAAAAAAAAAAA=="}}),
        ("tokens", "kind", {"of": ["accepted"], "at": {"i4": "AAAAAP////8AAAAAAAAAAA=="}}),
        ("tokens", "top", {"n": {"i4": "AQAAAAEAAAABAAAAAQAAAA=="}, "ids": {"i4": ""}, "shares": {"f8": ""}}),
        ("drafts", "p", {"i4": "AAAA"}),
    ],
)
def test_a_damaged_packed_column_is_refused(table, column, packed):
    data = json.loads(sample_trace().to_bytes(packed=False))
    data[table][column] = packed
    with pytest.raises(TraceError, match=table):
        Trace.from_bytes(json.dumps(data).encode())


def test_a_hundred_thousand_tokens_load_in_a_second_of_processor_time():
    trace = load_bundled("databases")
    times = 100_000 // len(trace) + 1
    for columns in trace.columns.values():
        for name, values in columns.items():
            columns[name] = values * times
    # So regular a text packs into less than any trace: the bound on unpacked bytes would refuse it.
    content, spent = trace.to_bytes(packed=False), []
    while len(spent) < 3 and min(spent, default=2) > 1:  # other work on the machine slows an attempt down
        before = time.process_time()
        found = Trace.from_bytes(content)
        spent.append(time.process_time() - before)
    assert min(spent) <= 1 and len(found) == len(trace) >= 100_000


def test_a_trace_from_before_a_column_was_added_is_read_without_it():
    older = json.loads(json.dumps(sample_trace().to_dict()))
    del older["tokens"]["residual_sum"], older["drafts"]["h"], older["rounds"]["rule"]
    assert list(Trace.from_dict(older).token_rows) == [t._replace(residual_sum=None) for t in sample_trace().token_rows]
    del older["tokens"]["q_top"]
    with pytest.raises(TraceError, match="q_top"):
        Trace.from_dict(older)


def test_the_same_trace_gives_the_same_bytes(tmp_path):
    a, b = sample_trace().save(tmp_path / "a.json.gz"), sample_trace().save(tmp_path / "b.json.gz")
    assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize("name", ["run.parquet", "run", "run.gz", "run.json.bz2"])
def test_a_name_with_another_ending_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end in \.json or \.json\.gz"):
        sample_trace().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = sample_trace().save(tmp_path / "run.json")
    before = path.read_bytes()
    broken = sample_trace()
    broken.meta["prompt"] = object()
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_any_bytes_are_kept(tmp_path):
    trace = sample_trace()
    assert [t.raw for t in trace.token_rows] == [None, "e29c", "93", None]
    assert trace.text == "def\u2713 <b>"
    assert Trace.load(trace.save(tmp_path / "x.json")).text == trace.text


def test_tables_are_data_frames():
    trace = sample_trace()
    assert list(trace.tokens["kind"]) == ["accepted", "correction", "accepted", "bonus"]
    assert trace.drafts["count"].dtype == "Int64" and trace.rounds["parent"].dtype == "Int64"
    assert trace.rounds["duration_ns"].sum() == 2_000


def broken(change) -> dict:
    data = json.loads(json.dumps(sample_trace().to_dict()))
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("tokens"),
        lambda d: d.pop("meta"),
        lambda d: d["drafts"].pop("verdict"),
        lambda d: d["tokens"]["index"].pop(),
        lambda d: d.update(meta=3),
        lambda d: d.update(pieces=[1]),
        lambda d: d.update(tokens=7),
        lambda d: d.pop("format"),
        lambda d: d.update(schema="one"),
        lambda d: d.update(meta={}),
        lambda d: d["tokens"].update(path=[None] * 4),
        lambda d: d["tokens"].update(token_id=["a"] * 4),
        lambda d: d["drafts"].update(q=[True] * 4),
        lambda d: d["rounds"].update(level=1),
    ],
)
def test_half_a_trace_is_refused(change):
    with pytest.raises(TraceError) as error:
        Trace.from_dict(broken(change))
    assert "\n" not in str(error.value)


def test_a_newer_schema_is_refused_by_number(tmp_path):
    path = tmp_path / "new.json"
    path.write_text(json.dumps(broken(lambda d: d.update(schema=SCHEMA_VERSION + 1))))
    with pytest.raises(TraceError, match=f"schema version {SCHEMA_VERSION + 1}.*update hsd_viz"):
        Trace.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\x1f\x8bjunk", gzip.compress(b"{}", mtime=0), gzip.compress(b"[" * 9000, mtime=0)],
)
def test_a_broken_file_is_refused(tmp_path, content):
    path = tmp_path / "broken.json.gz"
    path.write_bytes(content)
    with pytest.raises(TraceError):
        Trace.load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = sample_trace().save(tmp_path / "run.json.gz")
    whole = path.read_bytes()
    for size in range(0, len(whole), 37):
        path.write_bytes(whole[:size])
        with pytest.raises(TraceError):
            Trace.load(path)


@pytest.mark.parametrize("data", [{"machine": {}, "stacks": []}, {"format": "hsd_viz ablation"}, [1]])
def test_a_file_of_another_kind_is_refused(data):
    with pytest.raises(TraceError, match=r"^mine\.json: this is not an hsd_viz trace: it was not written by hsd_viz"):
        Trace.from_bytes(json.dumps(data).encode(), "mine.json")


def test_a_trace_is_one_line_of_its_figures():
    trace = load_bundled("both")
    m, shown = trace.metrics(), repr(trace)
    assert "\n" not in shown and trace.meta["stack_resolved"] in shown
    assert f"{m['tokens']} tokens" in shown and f"{m['tokens_per_second']:.0f} tokens/s after prefill" in shown
    assert repr(Trace({})).startswith("Trace('?': 0 tokens")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceError, match=r"nowhere\.json"):
        Trace.load(tmp_path / "nowhere.json")
