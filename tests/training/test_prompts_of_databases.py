import numpy as np
import pytest

from training.databases import choose_prompts

DOCUMENTS = [np.arange(100 * i, 100 * i + 60) for i in range(1, 9)] + [np.array([7, 7, 7])]


def test_prompts_are_cut_from_documents():
    batches = choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=3)
    assert [len(b) for b in batches] == [8, 8, 8]
    assert [{len(p) for p in b} for b in batches] == [{5}, {12}, {5}]
    for prompt in (p for b in batches for p in b):
        assert prompt == list(range(prompt[0], prompt[0] + len(prompt)))
        assert prompt[0] // 100 == prompt[-1] // 100
    assert choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=3) == batches
    assert choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=4) != batches
    assert any(p[0] % 100 == 0 for b in batches for p in b), "some prompts are beginnings"
    with pytest.raises(ValueError, match="no document is longer"):
        choose_prompts(DOCUMENTS, 1, batch=1, lengths=(60,))
