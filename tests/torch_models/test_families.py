"""Test for every family that plain decoding equals greedy search in transformers, and that drafts
do not change texts.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd_viz.decoding.base_loop import LoopInputs
from hsd_viz.decoding.levels import Level
from hsd_viz.decoding.loop import Loop
from hsd_viz.decoding.options import Sampling
from hsd_viz.drafting.tree import Drafter, DraftTree
from hsd_viz.torch_models.eager import HFModel
from hsd_viz.torch_models.suitable import check_config, check_forward
from tests.torch_models.families import CONFIGS, VOCABULARY, module, text_of

PROMPT = text_of(12)
TOKENS = 40


class Grove(Drafter):
    """A drafter that hides the known continuation among other drafts, at any depth and after any
    sibling.
    """

    name = "db"
    nodes = 16

    def __init__(self, known: list[int]) -> None:
        self.known = known
        self.random = np.random.default_rng(0)

    def start(self, prompt):
        pass

    def extend(self, tokens):
        pass

    def draft(self, text, budget):
        tree = DraftTree()
        parent = -1
        for token in self.known[len(text) : len(text) + int(self.random.integers(0, 5))]:
            wrong = []
            for t in self.random.choice(
                VOCABULARY, size=int(self.random.integers(0, 3)), replace=False
            ).tolist():
                if t != token:
                    wrong.append(t)
            for other in wrong:
                below = tree.add(other, parent, "context")
                tree.add(int(self.random.integers(VOCABULARY)), below, "context")
            parent = tree.add(token, parent, "context")
        return tree


def decode(models, drafter=None):
    levels = []
    for k, m in enumerate(models):
        levels.append(Level("target" if k == len(models) - 1 else "draft", m.session(), 4))
    loop = Loop(LoopInputs(levels, drafter, Sampling(), PROMPT, max_new_tokens=TOKENS))
    for _ in loop.prefill():
        pass
    accepted = sum(len(verified.accepted) for verified in loop.rounds())
    return loop.text[len(PROMPT) :], accepted


@pytest.mark.parametrize("family", CONFIGS)
def test_greedy_identity(family):
    target = HFModel(family, module(family))
    check_config(family, target.module.config)
    check_forward(target)
    plain, _ = decode([target])
    with torch.inference_mode():
        own = target.module.generate(
            torch.tensor([PROMPT]), max_new_tokens=TOKENS, do_sample=False
        )[0, len(PROMPT) :]
    assert plain == own.tolist()
    assert len(set(plain)) > 5, "a text that repeats itself tests little"

    drafted, accepted = decode([HFModel("draft", module(family, noise=0.05)), target])
    assert drafted == plain
    assert 0 < accepted < TOKENS
    drafted, accepted = decode([target], Grove(PROMPT + plain))
    assert drafted == plain
    assert accepted > TOKENS // 3
