"""Both databases of a ladder, built from a real tokenizer, a real (untrained) model and a small
corpus, then drafted from.
"""

import os
from itertools import chain

import numpy as np
import pytest

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.index.build import describe
from hsd_viz.stack import parse
from tests.rows import column
from training.corpus import SourceFile, tokenize
from training.data import EOS_ID, train_tokenizer
from training.data import save_tokenizer as save
from training.databases import choose_prompts, rebuild_databases

TEXTS = [
    f"def name_{i}(x):\n    for item in range({i}):\n        x = x + item\n    return x\n" * 4
    for i in range(40)
]
DOCUMENTS = [np.arange(100 * i, 100 * i + 60) for i in range(1, 9)] + [np.array([7, 7, 7])]


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    import torch

    from training.model import build, export
    from training.recipe import profile

    folder = tmp_path_factory.mktemp("ladder")
    tokenizer = train_tokenizer(TEXTS, 400)
    save(tokenizer, folder / "tokenizer", 256)
    (folder / "data").mkdir()
    files = [SourceFile("p", "1", "MIT", f"{i}.py", text, False) for i, text in enumerate(TEXTS)]
    np.save(folder / "data" / "train.npy", tokenize(files, tokenizer, EOS_ID))
    torch.manual_seed(0)
    export(build("target", profile("tiny")), folder / "tokenizer", folder / "weights" / "target")
    return folder, tokenizer


def test_rebuild(ladder):
    folder, tokenizer = ladder
    told = []
    paths = rebuild_databases(
        folder / "out",
        weights=folder / "weights",
        data=folder / "data",
        prompts=8,
        new_tokens=12,
        batch=4,
        progress=lambda done, total, what: told.append((what, done / total)),
    )
    assert column(paths, "name") == ["statistics.hsdb", "model.hsdb", "fivegrams.hsdb"]
    assert set(os.listdir(folder / "out")) == set(column(paths, "name")), (
        "nothing half-done is left behind"
    )
    assert ("writing", 1.0) in told
    assert ("counting", 1.0) in told
    facts = describe(paths[1])
    assert facts["meta"]["outputs"] == 8
    assert facts["meta"]["tokens"] <= 8 * 13
    assert len(facts["meta"]["weights"]) >= 12
    shared = SharedDatabases.open(folder / "out", tokenizer.get_vocab())
    assert set(shared.present) == {"model", "statistics", "fivegrams"}
    drafter = make_drafter(
        parse("db[statistics] > target").bottom, databases=shared, eos=EOS_ID, costs=0.05
    )
    prompt = tokenizer.encode("def other(y):\n    for item in").ids
    drafter.start(prompt)
    assert tokenizer.decode(drafter.draft(prompt, 8).tokens[:2]).startswith(" range(")


def test_tokens_of_another_tokenizer_are_refused(ladder):
    folder, _ = ladder
    other = folder / "other"
    save(train_tokenizer(["something else " * 9], 300), other / "tokenizer", 256)
    (other / "data").mkdir()
    with pytest.raises(ValueError, match="another tokenizer"):
        rebuild_databases(folder / "no", weights=folder / "weights", data=other / "data")
    with pytest.raises(ValueError, match="unknown database 'context'"):
        rebuild_databases(folder / "no", weights=folder / "weights", only="context")
    with pytest.raises(ValueError, match="no ladder"):
        rebuild_databases(folder / "no", weights=folder / "nowhere")


def test_prompts_are_cut_from_documents():
    batches = choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=3)
    assert list(map(len, batches)) == [8, 8, 8]
    assert [set(map(len, batch)) for batch in batches] == [{5}, {12}, {5}]
    prompts = list(chain(*batches))
    for prompt in prompts:
        assert prompt == list(range(prompt[0], prompt[0] + len(prompt)))
        assert prompt[0] // 100 == prompt[-1] // 100
    assert choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=3) == batches
    assert choose_prompts(DOCUMENTS, 20, batch=8, lengths=(5, 12), seed=4) != batches
    assert any(prompt[0] % 100 == 0 for prompt in prompts), "some prompts are beginnings"
    with pytest.raises(ValueError, match="no document is longer"):
        choose_prompts(DOCUMENTS, 1, batch=1, lengths=(60,))
