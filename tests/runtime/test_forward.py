"""The native forward is transformers' function, and the same to the last bit however tokens are fed."""

from __future__ import annotations

import pytest
import torch
from models import CONFIGS, eager, ids, native, random_tree

from hsd_viz.runtime import default_build

pytestmark = pytest.mark.skipif(not default_build().wait(), reason=f"no native runtime: {default_build().reason}")

TYPES = [torch.float32, torch.float64, torch.bfloat16]
#: Relative to the largest logit. transformers rounds norms to float32 in float64 too, and everything to bfloat16 in bfloat16.
CLOSE = {torch.float32: 1e-4, torch.float64: 5e-6, torch.bfloat16: 0.1}


@pytest.fixture(params=[1, 2], ids=["1 thread", "2 threads"])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_the_function_of_the_module(name, dtype):
    """Over a chain, a tree behind it, the tree's kept path and a chain behind that."""
    mine, its = native(name, dtype).session(), eager(name, dtype).session()
    parents = random_tree(17, seed=3)
    path = [16]
    while parents[path[0]] >= 0:
        path.insert(0, parents[path[0]])
    for session in (mine, its):
        session.logits = []
    for session in (mine, its):
        rows = [session.forward(ids(33), 33), session.forward(ids(17, 1), 17, parents)]
        session.keep(33, [33 + node for node in path])
        assert session.length == 33 + len(path)
        rows.append(session.forward(ids(5, 2), 5))
        session.logits = torch.cat(rows).to(native(name, dtype).compute)
    off = (mine.logits - its.logits).abs().max() / its.logits.abs().max()
    assert off < CLOSE[dtype]
