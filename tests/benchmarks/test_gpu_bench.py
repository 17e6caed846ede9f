"""The command that measures a GPU runs to its end here too, on tiny models; without a GPU it says so."""

from __future__ import annotations

import json

import pytest
import torch

from benchmarks.gpu import main
from benchmarks.gpu_tools import SMALL, random_llama, read_bytes
from hsd_viz.ladder.load import load_model


def test_every_part_runs(tmp_path, capsys):
    out = tmp_path / "gpu.json"
    assert main(["--device", "cpu", "--tiny", "--json", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["left_out"] == {} and list(tmp_path.iterdir()) == [out]
    for name in SMALL.shapes:
        for kind in ("eager", "graphs", "graphs, lean"):
            row = found["steps"][name][kind]
            assert all(ms > 0 for ms in row["width_ms"].values()) and len(row["width_ms"]) == 8
            assert row["ratio_to_bound"] == pytest.approx(row["width_ms"]["1"] / row["bound_ms"])
        assert "draft_ms" in found["steps"][name]["graphs, lean"] and "draft_ms" not in found["steps"][name]["eager"]
    for row in found["rounds"].values():
        assert row["greedy"]["overhead"] > 0 and row["drawn"]["draft_ms"] > 0
    rows = found["padded"]["rows"]
    assert {tuple(row["identical_to_plain"]) for row in rows.values()} == {(2, 2)}, (
        "float32: every loop gives the same text"
    )
    assert rows["nano:4 > target+1 (eager)"]["mean_acceptance_length"] > 1
    assert "tokens/s" in capsys.readouterr().out


def test_what_takes_too_long_is_left_out_and_named(tmp_path, capsys):
    assert main(["--device", "cpu", "--tiny", "--seconds", "0", "--json", str(tmp_path / "a.json")]) == 0
    left = json.loads((tmp_path / "a.json").read_text())["left_out"]
    assert left["bandwidth"] == "out of time" and "left out: padded (out of time)" in capsys.readouterr().out


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu(capsys):
    assert main([]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "no CUDA device" in err


def test_a_table_of_embeddings_is_read_by_the_row_unless_it_is_the_head():
    tied = load_model("nano")
    assert read_bytes(tied) == sum(p.nbytes for p in tied.parameters())
    free = random_llama((32, 1, 2, 2, 48), 100, torch.device("cpu"), torch.float32)
    assert read_bytes(free) == sum(p.nbytes for p in free.parameters()) - 100 * 32 * 4
