"""Sampled tokens on a device are the target's, whatever drafted them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from decodes import model, run
from scipy.stats import chi2

from hsd_viz.backends.device import TorchBackend, distribution, draw, put
from hsd_viz.decoding.settings import Sampling
from hsd_viz.stack import DraftSource

LEVEL = 1e-4


def p_value(counts: np.ndarray, row: np.ndarray) -> float:
    n = counts.sum()
    enough = row * n >= 5
    statistic = ((counts - n * row)[enough] ** 2 / (n * row)[enough]).sum()
    return float(chi2.sf(statistic, enough.sum() - 1))


@pytest.mark.parametrize("runtime", ["eager", "lean"])
def test_database_stacks_equal_plain_sampling(runtime, device):
    target = model(0.0, device, torch.float64, runtime)
    for temperature in (0.7, 1.0):
        sampling = Sampling(temperature=temperature, seed=4)
        plain = run([target], [], None, [1, 2, 3], 60, sampling)
        for bottom in (DraftSource("db", ("context",)), DraftSource("lookup")):
            assert run([target], [], bottom, [1, 2, 3], 60, sampling) == plain


@pytest.mark.parametrize("runtime", ["eager", "lean"])
def test_first_tokens_of_a_stack_are_the_targets(runtime, device):
    """Chi-square of the first sampled tokens of many short decodes with a draft model, against the target's own row."""
    if device == "cpu" and runtime == "lean":
        pytest.skip("tapes are slow; the rule below and tests/lossless see the same code")
    target, draft = model(0.0, device, torch.float64, runtime), model(0.2, device, torch.float64, runtime)
    prompt, runs = [5, 6, 7], 3000 if device == "cuda" else 1000
    row = distribution(target.session().forward(prompt, 1), Sampling(temperature=1.0))[0].cpu().numpy()
    counts = np.zeros(64)
    for seed in range(runs):
        counts[run([draft, target], [3], None, prompt, 2, Sampling(temperature=1.0, seed=seed))[0]] += 1
    assert p_value(counts, row) > LEVEL


@pytest.mark.parametrize("mutant", [False, True])
def test_sample_and_verify(mutant, device):
    """Drafts drawn on the device from q and verified there by p: the first token kept is p's. The mutant hands up another q."""
    generator = torch.Generator().manual_seed(0)
    p = torch.softmax(torch.randn(3, 12, generator=generator, dtype=torch.float64) * 1.5, -1).to(device)
    q = torch.softmax(p[:2].log() + 0.8 * torch.randn(2, 12, generator=generator, dtype=torch.float64).to(device), -1)
    handed_up = torch.softmax(q.log() * 0.5, -1) if mutant else q
    numbers = torch.rand(6000 if device == "cpu" else 20_000, 7, generator=generator, dtype=torch.float64).tolist()
    counts = np.zeros(12)
    for row in numbers:
        ids = draw(q, put(row[:2], p.device, torch.float64))
        verdict = TorchBackend(p.device).verify_chain(ids, handed_up, p, row[2:4], row[4:])
        counts[verdict.tokens[0] if verdict.accepted else verdict.token] += 1
    assert (p_value(counts, p[0].cpu().numpy()) > LEVEL) is not mutant
