"""The same loop on a CUDA device: greedy identity, sampling, roll-back and trees. Skipped where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chi2

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lossless"))
from ladders import random_model

from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import Bottom

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")]

STACKS = [([4], None), ([3, 6], None), ([], Bottom("db", ("context",))), ([4], Bottom("lookup"))]


@pytest.fixture(autouse=True)
def no_tf32():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def run(models, lookaheads, bottom, prompt, tokens, sampling):
    levels = [Level(f"m{k}", m.session(), look) for k, (m, look) in enumerate(zip(models, [*lookaheads, None], strict=True))]
    drafter = make_drafter(bottom, costs=None) if bottom else None
    loop = Loop(levels, drafter, sampling, prompt, max_new_tokens=tokens, positions=256)
    for _ in loop.prefill():
        pass
    for _ in loop.rounds():
        pass
    return loop.text[len(prompt) :]


def model(noise, dtype):
    return random_model(0, noise, "cuda", dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize(("lookaheads", "bottom"), STACKS, ids=str)
def test_greedy_identity(lookaheads, bottom, dtype):
    drafts = [model(0.15 * (k + 1), dtype) for k in range(len(lookaheads))][::-1]
    for seed in range(4):
        prompt = torch.randint(0, 64, (8,), generator=torch.Generator().manual_seed(seed)).tolist()
        plain = run([model(0.0, dtype)], [], None, prompt, 80, Sampling())
        assert run([*drafts, model(0.0, dtype)], lookaheads, bottom, prompt, 80, Sampling()) == plain


def test_database_stacks_equal_plain_sampling():
    for temperature in (0.7, 1.0):
        sampling = Sampling(temperature=temperature, seed=4)
        plain = run([model(0.0, torch.float64)], [], None, [1, 2, 3], 100, sampling)
        for bottom in (Bottom("db", ("context",)), Bottom("lookup")):
            assert run([model(0.0, torch.float64)], [], bottom, [1, 2, 3], 100, sampling) == plain


def test_sampled_first_tokens_are_the_targets():
    """Chi-square of the first sampled tokens of many short decodes with a draft model, against the target's own row."""
    target, draft = model(0.0, torch.float64), model(0.2, torch.float64)
    prompt, runs = [5, 6, 7], 3000
    row = distribution(target.session().forward(prompt, 1), Sampling(temperature=1.0))[0].cpu().numpy()
    counts = np.zeros(64)
    for seed in range(runs):
        counts[run([draft, target], [3], None, prompt, 2, Sampling(temperature=1.0, seed=seed))[0]] += 1
    enough = row * runs >= 5
    statistic = ((counts - runs * row)[enough] ** 2 / (runs * row)[enough]).sum()
    assert chi2.sf(statistic, enough.sum() - 1) > 1e-4


def test_roll_back_and_trees():
    m = model(0.0, torch.float64)
    text, drafted, parents = list(range(12)), [20, 21, 22, 23], [-1, 0, 0, 2]
    session = m.session()
    session.forward(text, 1)
    rows = session.forward(drafted, 4, parents)
    session.keep(12, [12, 14, 15])
    after = session.forward([30], 1)
    with torch.inference_mode():
        exact = m.module(torch.tensor([[*text, 20, 22, 23, 30]], device="cuda"), use_cache=False).logits[0]
    assert torch.allclose(rows[3], exact[14], atol=1e-5) and torch.allclose(after[0], exact[15], atol=1e-5)
