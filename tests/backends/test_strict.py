"""Strict mode: the same bits for a token's row, whatever is fed with it and wherever its keys are."""

from __future__ import annotations

import pytest
import torch
from tape import TapeCapturer
from test_graphs import CONFIGS, close, eager

from hsd_viz.backends.cuda_graphs import GraphModel
from hsd_viz.backends.cuda_graphs.strict import STRICT_WIDTH
from hsd_viz.backends.device import TorchBackend
from hsd_viz.decoding.loop import Level, Loop
from hsd_viz.decoding.model import HFModel
from hsd_viz.decoding.settings import Sampling
from hsd_viz.drafting import make_drafter
from hsd_viz.stack import DraftSource

ROOM = 100


def strict(name: str, dtype: torch.dtype = torch.bfloat16, width: int = STRICT_WIDTH) -> GraphModel:
    model = eager(name)
    model = HFModel(name, model.module.to(dtype))
    made = GraphModel(model, strict=width, capturer=TapeCapturer())
    assert made.runtime == "cuda-graphs, strict" and made.path == f"lean, strict at width {width}", made.reason
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["llama", "qwen2, one windowed layer", "qwen3"])
def test_a_row_has_the_same_bits_alone_in_a_chain_and_in_a_tree(name, dtype):
    model = strict(name, dtype, 8)
    text = [(7 * k) % 50 for k in range(40)]
    alone, chain, tree = model.session(ROOM), model.session(ROOM), model.session(ROOM)
    rows = torch.cat([alone.forward([token], 1) for token in text])
    parts = [chain.forward(text[a:b], b - a) for a, b in ((0, 1), (1, 4), (4, 5), (5, 27), (27, 40))]
    assert torch.equal(torch.cat(parts), rows) and rows.dtype == torch.float32
    assert torch.equal(in_trees(tree, text), rows[10:])


def in_trees(session, text: list[int]) -> torch.Tensor:
    """The rows of the text from its tenth token on, fed among other drafts in trees of 20 tokens, moved into place."""
    session.forward(text[:10], 1)
    rows = []
    for base in range(10, len(text), 10):
        drafted, parents, mine = [], [], []
        for token in text[base : base + 10]:
            parent = mine[-1] if mine else -1
            drafted += [(token + 1) % 50, token]
            parents += [parent, parent]
            mine.append(len(drafted) - 1)
        rows.append(session.forward(drafted, 20, parents)[mine])
        session.keep(base, [base + place for place in mine])
    return torch.cat(rows)


def test_in_the_usual_mode_bits_differ():
    """The reason for the mode, and proof that the test above can fail."""
    graphs, text = GraphModel(HFModel("llama", eager("llama").module.float())), [(7 * k) % 50 for k in range(40)]
    alone = graphs.session()
    rows = torch.cat([alone.forward([token], 1) for token in text])
    assert not torch.equal(in_trees(graphs.session(), text), rows[10:])


@pytest.mark.parametrize("stack", ["database", "one draft", "two drafts"])
def test_greedy_text_in_bfloat16_is_that_of_plain_decoding(stack):
    model, draft = strict("llama"), strict("qwen2")
    lookaheads = {"database": [], "one draft": [3], "two drafts": [2, 5]}[stack]
    found = []
    for drafts in (lookaheads, None):
        levels = [Level(f"m{k}", draft.session(ROOM), n) for k, n in enumerate(drafts or [])]
        levels.append(Level("target", model.session(ROOM)))
        bottom = DraftSource("db", ("context",)) if drafts == [] else None
        drafter = make_drafter(bottom, costs=None) if bottom else None
        backend = TorchBackend(torch.device("cpu"))
        loop = Loop(levels, drafter, Sampling(), [1, 2, 3] * 4, max_new_tokens=60, backend=backend)
        for _ in loop.prefill():
            pass
        assert (sum(len(v.draft) for v in loop.rounds()) > 0) == (drafts is not None)
        found.append(loop.text)
    assert found[0] == found[1]


def test_rows_are_those_of_the_model():
    model = eager("qwen3")
    rows = GraphModel(model, strict=8).session(ROOM).forward([1, 2, 3] * 5, 15)
    assert close(rows, model.session().forward([1, 2, 3] * 5, 15))


def test_other_families_have_no_strict_mode():
    assert "gpt2" in CONFIGS
    made = GraphModel(eager("gpt2"), strict=8, capturer=TapeCapturer())
    assert made.runtime == "eager" and "strict mode needs the lean forward" in made.reason
