"""Files that are opened in a notebook and in the page: traces, served requests, records of
counts.
"""

from __future__ import annotations

import json

import pytest

import hsd_viz as hsd
from hsd_viz.errors import UserError
from hsd_viz.measure.doctor.diagnosis import Diagnosis
from hsd_viz.views.opened import run_of_file


def response(name: str, *rounds: tuple[int, int]) -> dict:
    """Return a response of SGLang with the lengths of each verification."""
    return {
        "text": "...",
        "meta_info": {
            "id": name,
            "finish_reason": {"type": "stop"},
            "completion_tokens": sum(accepted + 1 for _, accepted in rounds),
            "speculative_decoding_stats": {
                "verify_lengths": [1 + drafted for drafted, _ in rounds],
                "accept_lengths": [1 + accepted for _, accepted in rounds],
            },
        },
    }


LOG = (
    "INFO SpecDecoding metrics: Mean acceptance length: 2.00, Accepted throughput: 10.00 tokens/s, "
    "Drafted throughput: 30.00 tokens/s, Accepted: 100 tokens, Drafted: 300 tokens, Per-position "
    "acceptance rate: 0.600, 0.300, 0.100, Avg Draft acceptance rate: 33.3%\n"
)


@pytest.fixture
def served(tmp_path):
    path = tmp_path / "responses.jsonl"
    answers = [response("a", (3, 2), (3, 0)), response("b", (4, 4), (0, 0), (4, 1))]
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return path


def test_a_served_request_is_shown_as_a_run(served):
    shown = hsd.show(served)
    assert len(shown.children) == 4


@pytest.mark.parametrize(("request_", "tokens"), [(1, 4), (2, 8)])
def test_each_request_of_a_record_can_be_shown(served, request_, tokens):
    stream = hsd.show(served, request=request_).children[0]
    stream = getattr(stream, "children", [stream])[0]
    assert f"request {request_} of 2: ({tokens} tokens" in str(stream.get_state())


def test_a_request_that_is_not_there_is_refused(served):
    with pytest.raises(UserError, match=r"the request of responses.jsonl .* from 1 to 2"):
        hsd.show(served, request=3)


def test_a_trace_is_shown_as_a_run():
    assert len(hsd.show(hsd.load_bundled("hierarchy")).children) == 4


def test_a_record_of_counts_is_shown_as_its_diagnosis(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(LOG)
    shown = hsd.show(path)
    assert isinstance(shown, Diagnosis)
    assert "undecided" in shown.headline()
    [trace] = hsd.import_records(path)
    assert isinstance(hsd.show(trace), Diagnosis)


def test_another_file_is_refused_in_one_line(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("nothing of this kind\n")
    with pytest.raises(UserError, match=r"is not a trace or a record of another engine") as refusal:
        hsd.show(path)
    assert "\n" not in str(refusal.value)


def test_the_page_opens_the_first_request_of_a_record(served):
    run = run_of_file(served.read_bytes(), "responses.jsonl")
    assert len(run) == 4
    assert run.prompt.startswith("request 1 of 2")


def test_the_page_sends_a_record_of_counts_to_its_tab():
    with pytest.raises(
        UserError, match=r"server\.log is a record without .* open it in 'Your traffic'"
    ):
        run_of_file(LOG.encode(), "server.log")


def test_the_page_calls_other_files_no_trace():
    with pytest.raises(UserError, match=r"notes.txt is not a valid trace"):
        run_of_file(b"nothing", "notes.txt")
