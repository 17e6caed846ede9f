import json

import numpy as np
import pytest

from hsd_viz.drafting.index.build import collect_outputs
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


class Model:
    """Counts on from the prompt; fails after so many batches."""

    def __init__(self, batches=10**9):
        self.left = batches

    def __call__(self, prompts):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return [[p[-1] + 1, p[-1] + 2, 0, 99] for p in prompts]


def test_collection_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "outputs.jsonl"
    batches = choose_prompts(DOCUMENTS, 24, batch=4, lengths=(5, 12))
    whole = collect_outputs(Model(), batches, tmp_path / "whole.jsonl", identity={"model": 1}, eos=0)
    assert whole == [[p[-1], p[-1] + 1, p[-1] + 2, 0] for b in batches for p in b], "cut after the end of text"
    with pytest.raises(KeyboardInterrupt):
        collect_outputs(Model(2), batches, path, identity={"model": 1}, eos=0)
    # The process died while it wrote the third batch.
    with open(path, "a") as f:
        f.write("[[1, 2")
    rest = Model(4)
    seen = []
    assert (
        collect_outputs(rest, batches, path, identity={"model": 1}, eos=0, progress=lambda _, share: seen.append(share))
        == whole
    )
    assert rest.left == 0 and len(seen) == 4 and seen[-1] == 1.0
    assert collect_outputs(Model(0), batches, path, identity={"model": 1}, eos=0) == whole, "nothing is left to do"
    assert path.read_text() == (tmp_path / "whole.jsonl").read_text()


def test_another_model_begins_anew(tmp_path):
    path = tmp_path / "outputs.jsonl"
    batches = choose_prompts(DOCUMENTS, 4, batch=4, lengths=(5,))
    collect_outputs(Model(), batches, path, identity={"model": 1}, eos=0)
    with pytest.raises(KeyboardInterrupt):
        collect_outputs(Model(0), batches, path, identity={"model": 2}, eos=0)
    assert not path.exists()
    collect_outputs(Model(), batches, path, identity={"model": 2}, eos=0)
    assert json.loads(path.read_text().splitlines()[0])["about"] == {"model": 2}
