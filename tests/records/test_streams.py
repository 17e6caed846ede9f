"""Streams of records: chunks, whose counts are cumulative, and the response that ends them."""

from __future__ import annotations

import json

from hsd_viz.records.read import read
from tests.records.test_forms import write
from tests.rows import column


def counts(verified, accepted):
    return {
        "spec_verify_ct": verified,
        "spec_draft_token_num": 3 * verified,
        "spec_accept_token_num": accepted,
    }


def test_the_last_chunk_of_a_stream_counts(tmp_path):
    """Counts of chunks are cumulative: two requests of 30 and 20 tokens, not five."""
    rows = [(10, 8, 4), (20, 16, 9), (30, 24, 15), (10, 8, 6), (20, 16, 12)]
    chunks = []
    for k, (tokens, drafted, accepted) in enumerate(rows):
        chunks.append(
            {
                "object": "chat.completion.chunk",
                "timings": {
                    "prompt_n": 7 if k < 3 else 9,
                    "prompt_ms": 10.0 if k < 3 else 12.0,
                    "predicted_n": tokens,
                    "predicted_ms": 20.0 * tokens,
                    "draft_n": drafted,
                    "draft_n_accepted": accepted,
                },
            }
        )
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n"
    reading = read(write(tmp_path, text))
    (series,) = reading.series
    assert column(series.samples, "tokens") == [30, 20]
    assert reading.superseded == 3
    whole = series.pooled()
    assert whole.tokens == 50
    assert whole.drafted == 40
    assert whole.accepted == 27


def test_a_chunk_of_a_named_request_is_superseded_by_its_response(tmp_path):
    """SGLang streams cumulative meta_info under one id; the finished one has the counts."""
    rows = [
        {"meta_info": {"id": "a", "finish_reason": None, "completion_tokens": 5, **counts(2, 2)}},
        {"meta_info": {"id": "b", "finish_reason": None, "completion_tokens": 4, **counts(2, 1)}},
        {"meta_info": {"id": "a", "finish_reason": {"type": "stop"}, "completion_tokens": 9,
                       **counts(4, 4)}},
        {"meta_info": {"id": "b", "finish_reason": {"type": "stop"}, "completion_tokens": 7,
                       **counts(4, 2)}},
    ]  # fmt: skip
    reading = read(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)))
    (series,) = reading.series
    assert column(series.samples, "tokens") == [9, 7]
    assert reading.superseded == 2


def llama_stream(*rows):
    """Return lines of llama-server's native stream without ids: tokens, draft tokens, accepted."""
    lines = []
    for tokens, drafted, accepted, stop in rows:
        timings = {
            "prompt_ms": 10.0,
            "predicted_n": tokens,
            "predicted_ms": 20.0 * tokens,
            "draft_n": drafted,
            "draft_n_accepted": accepted,
        }
        lines.append(json.dumps({"content": "x", "stop": stop, "timings": timings}) + "\n")
    return "".join(lines)


def test_the_last_line_of_a_stream_without_ids_completes_its_chunks(tmp_path):
    """A stream of llama-server, saved as JSON lines without ``data:``: one request of 30 tokens."""
    text = llama_stream((10, 8, 4, False), (20, 16, 9, False), (30, 24, 15, True))
    reading = read(write(tmp_path, text))
    (series,) = reading.series
    assert column(series.samples, "tokens") == [30]
    assert reading.superseded == 2


def test_a_shorter_response_without_an_id_is_another_request(tmp_path):
    """The stream of 20 tokens was cut; a response of 6 tokens follows."""
    text = llama_stream((10, 8, 4, False), (20, 16, 9, False), (6, 4, 2, True))
    (series,) = read(write(tmp_path, text)).series
    assert sorted(column(series.samples, "tokens")) == [6, 20]
