"""The cached model: whatever was fed, rolled back and gathered, its rows are those of a fresh pass over the text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from families import CONFIGS, module, text_of

from hsd_viz.torch_models.eager import HFModel


@pytest.fixture(params=CONFIGS)
def model(request):
    return HFModel(request.param, module(request.param))


def fresh(model, tokens, rows):
    """The last ``rows`` rows of a pass of the Hugging Face model itself, without a cache."""
    with torch.inference_mode():
        return model.module(torch.tensor([tokens]), use_cache=False).logits[0, -rows:].numpy()


def close(a, b):
    return np.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_chunks_and_single_tokens(model):
    text = text_of(30)
    session = model.session()
    session.forward(text[:11], 1)
    session.forward(text[11:12], 1)
    assert close(session.forward(text[12:], 18), fresh(model, text, 18))
    assert session.length == 30


def test_every_branch_of_a_tree_sees_its_own_past(model):
    text, drafted = text_of(16), text_of(6, seed=2)
    parents = [-1, 0, 0, 1, -1, 4]
    session = model.session()
    session.forward(text[:-2], 1)
    fed = text[-2:] + drafted
    rows = session.forward(fed, 7, parents=[-1, 0, *(1 if p < 0 else p + 2 for p in parents)])
    for node in range(len(drafted)):
        path, place = [], node
        while place >= 0:
            path.insert(0, drafted[place])
            place = parents[place]
        assert close(rows[node + 1 :][:1], fresh(model, text + path, 1)), node


def test_a_cache_grows_past_its_first_capacity():
    model = HFModel("llama", module("llama"))
    text = text_of(700)
    session = model.session()
    for start in range(0, 700, 100):
        rows = session.forward(text[start : start + 100], 2)
    assert close(rows, fresh(model, text, 2))


def test_rows_end_where_the_tokenizer_does():
    """Checkpoints pad their embeddings; a padded id is no token and must not be drawn."""
    padded = module("llama")
    narrow, wide = HFModel("llama", padded, tokens=44), HFModel("llama", padded, tokens=999)
    assert (narrow.vocab_size, wide.vocab_size) == (44, 50)
    rows = narrow.session().forward(text_of(9), 3)
    assert rows.shape == (3, 44) and np.array_equal(rows, wide.session().forward(text_of(9), 3)[:, :44])
