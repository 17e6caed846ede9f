"""The loop: it learns, it resumes to the same weights, and its network is the Llama that is exported."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from hsd_viz.ladder.data import heldout_windows, step_windows
from hsd_viz.ladder.export import to_llama
from hsd_viz.ladder.load import load_model
from hsd_viz.ladder.muon import orthogonalise
from hsd_viz.ladder.network import Network, cross_entropy, distillation_loss
from hsd_viz.ladder.recipe import SIZES, Run, profile
from hsd_viz.ladder.train import rate_at, train_ladder

QUIET = {"threads": 1, "progress": lambda _: None}


def test_it_learns(tiny) -> None:
    for name in ("nano", "small", "target"):
        history = torch.load(tiny / f"{name}.pt", weights_only=True)["history"]
        assert history[-1][2] < history[0][2] - 0.1, name
    assert torch.load(tiny / "nano.pt", weights_only=True)["guides"] == [12]


def test_resuming_gives_the_uninterrupted_result(tiny, tmp_path) -> None:
    for part in ("data", "tokenizer"):
        shutil.copytree(tiny / part, tmp_path / part)
    train_ladder("tiny", tmp_path, models=["target"], stop_at=5, **QUIET)
    assert torch.load(tmp_path / "target.pt", weights_only=True)["step"] == 5
    train_ladder("tiny", tmp_path, models=["target"], **QUIET)
    # The draft stops after its guided part has begun, so the guide has to come back too.
    train_ladder("tiny", tmp_path, models=["nano"], stop_at=8, **QUIET)
    train_ladder("tiny", tmp_path, models=["nano"], **QUIET)
    for name in ("target", "nano"):
        whole, resumed = (torch.load(root / f"{name}.pt", weights_only=True)["network"] for root in (tiny, tmp_path))
        assert all(torch.equal(whole[key], resumed[key]) for key in whole), name


def test_a_checkpoint_of_another_seed_is_refused(tiny, tmp_path) -> None:
    shutil.copytree(tiny, tmp_path / "run")
    with pytest.raises(ValueError, match="seed 0"):
        train_ladder("tiny", tmp_path / "run", models=["target"], seed=1, **QUIET)


def test_a_draft_needs_its_target(tiny, tmp_path) -> None:
    for part in ("data", "tokenizer"):
        shutil.copytree(tiny / part, tmp_path / part)
    with pytest.raises(ValueError, match="train the target"):
        train_ladder("tiny", tmp_path, models=["nano"], **QUIET)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("huge", {}), "unknown profile"),
        (("tiny", {"models": ["big"]}), "unknown model"),
        (("tiny", {"device": "abacus"}), "not available"),
    ],
)
def test_bad_input(tmp_path, arguments, said) -> None:
    name, options = arguments
    with pytest.raises(ValueError, match=said):
        train_ladder(name, tmp_path, **options)


def test_a_time_limit_shortens_the_run(tiny, tmp_path) -> None:
    for part in ("data", "tokenizer"):
        shutil.copytree(tiny / part, tmp_path / part)
    long = replace(profile("tiny"), runs={"target": Run(steps=100_000, windows=2, warmup=2)})
    train_ladder(long, tmp_path, models=["target"], minutes=0.02, **QUIET)
    state = torch.load(tmp_path / "target.pt", weights_only=True)
    ended = state["step"]
    assert ended == state["steps"] < 100_000
    # Without the limit the same run goes on, here to a full length set just beyond.
    longer = replace(long, runs={"target": Run(steps=ended + 10, windows=2, warmup=2)})
    train_ladder(longer, tmp_path, models=["target"], **QUIET)
    state = torch.load(tmp_path / "target.pt", weights_only=True)
    assert (state["step"], state["ends"]) == (ended + 10, [ended])


@pytest.mark.parametrize("name", ["nano", "small"])
def test_the_network_is_a_llama(name) -> None:
    network = Network(SIZES[name], 4096, torch.Generator().manual_seed(0))
    ids = torch.randint(0, 4096, (2, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(network(ids), to_llama(network, profile("cpu"))(ids).logits, atol=1e-4, rtol=0)


def test_exported_weights_are_those_trained(tiny) -> None:
    trained = torch.load(tiny / "small.pt", weights_only=True)["network"]
    loaded = load_model(str(tiny / "weights" / "small")).state_dict()
    for key, value in trained.items():
        assert torch.equal(loaded[key], value.half().float()), key


def test_the_rate_rises_stays_and_falls() -> None:
    run = Run(steps=100, warmup=10, decay=0.3, floor=0.05)
    rates = [rate_at(s, 100, run) for s in range(100)]
    assert rates[0] == pytest.approx(0.1) and rates[20] == rates[69] == 1.0
    assert rates[70:] == sorted(rates[70:], reverse=True) and rates[-1] < 0.1


def test_windows_are_all_read_once_before_any_twice() -> None:
    tokens = np.arange(1 + 40 * 8, dtype=np.uint16)
    rows = np.concatenate([step_windows(tokens, s, 4, 8, seed=3) for s in range(10)])
    assert sorted(rows[:, 0].tolist()) == list(range(0, 320, 8))
    assert (rows[:, -1] - rows[:, 0] == 8).all()
    assert np.array_equal(step_windows(tokens, 2, 4, 8, seed=3), rows[8:12])
    assert not np.array_equal(step_windows(tokens, 10, 4, 8, seed=3), rows[:4])
    assert len(heldout_windows(tokens, 5, 8)) == 5
    with pytest.raises(ValueError, match="fewer than"):
        step_windows(tokens, 0, 41, 8, seed=0)


def test_orthogonalise_levels_the_singular_values() -> None:
    stack = torch.randn(3, 48, 96, generator=torch.Generator().manual_seed(0))
    for given in (stack, stack.mT):
        values = torch.linalg.svdvals(orthogonalise(given).float())
        assert values.min() > 0.5 and values.max() < 1.4


def test_distillation_is_least_where_the_rows_agree() -> None:
    generator = torch.Generator().manual_seed(0)
    p, q = torch.randn(2, 5, 11, generator=generator), torch.randn(2, 5, 11, generator=generator)
    targets = torch.randint(0, 11, (2, 5), generator=generator)
    assert distillation_loss(p, p, targets, 1.0).abs() < 1e-6 < distillation_loss(q, p, targets, 1.0)
    torch.testing.assert_close(distillation_loss(q, p, targets, 0.0), cross_entropy(q, targets))
