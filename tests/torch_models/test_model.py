"""The cached model: whatever was fed, rolled back and gathered, its rows are those of a fresh pass over the text."""

from __future__ import annotations

import numpy as np
import torch
from families import module, text_of

from hsd_viz.torch_models.eager import HFModel


def fresh(model, tokens, rows):
    """The last ``rows`` rows of a pass of the Hugging Face model itself, without a cache."""
    with torch.inference_mode():
        return model.module(torch.tensor([tokens]), use_cache=False).logits[0, -rows:].numpy()


def close(a, b):
    return np.allclose(a, b, rtol=1e-4, atol=1e-5)


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
