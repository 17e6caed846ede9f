"""Test draft models with another tokenizer in the engine and on the command line."""

from __future__ import annotations

import json
import random

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from hsd_viz.cli import main
from hsd_viz.decoding.bridges.lexicon import Lexicon
from hsd_viz.decoding.bridges.translator import Translator
from hsd_viz.decoding.text import TokenText
from hsd_viz.engine import load_engine
from hsd_viz.models.families import CODE
from hsd_viz.trace.identities import check
from tests.engine.checkpoints import save_tokenizer
from tests.rows import column

PROMPT = "def mean(values):\n    total = 0\n    for value in values:\n"


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Return the model nano with another tokenizer: its ids are shuffled and a quarter of its
    merges are removed.
    """
    path = tmp_path_factory.mktemp("other") / "nano"
    path.mkdir()
    for file in CODE.path("nano").iterdir():
        (path / file.name).write_bytes(file.read_bytes())
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    special = set(column(tokenizer["added_tokens"], "id"))
    ids = [i for i in vocabulary.values() if i not in special]
    moved = dict(zip(ids, random.Random(0).sample(ids, len(ids)), strict=True))
    tokenizer["model"]["vocab"] = {token: moved.get(i, i) for token, i in vocabulary.items()}
    merges = tokenizer["model"]["merges"]
    tokenizer["model"]["merges"] = merges[: 3 * len(merges) // 4]
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    for file in path.glob("*.safetensors"):
        tensors = load_file(file)
        for name, weight in tensors.items():
            if "embed_tokens" in name or "lm_head" in name:
                rows = torch.arange(len(weight))
                for old, new in moved.items():
                    rows[new] = old
                tensors[name] = weight[rows].contiguous()
        save_file(tensors, file, metadata={"format": "pt"})
    return str(path)


@pytest.fixture(scope="module")
def plain():
    engine = load_engine(device="cpu", runtime="eager")
    traces = {}
    for t in (0.0, 1.0):
        traces[t] = engine.run(PROMPT, "target", max_new_tokens=32, temperature=t, seed=5)
    return traces


@pytest.mark.parametrize("stack", ['"{}":4 > target', '"{}":2 > small:4 > target'])
@pytest.mark.parametrize(("bridge", "temperature"), [("slem", 0.0), ("tli", 0.0), ("slem", 1.0)])
def test_the_text_is_that_of_plain_decoding(other, plain, stack, bridge, temperature):
    engine = load_engine(device="cpu", runtime="eager", bridge=bridge)
    if temperature and "small" in stack:
        return  # small draws for itself: equal in distribution only
    trace = engine.run(
        PROMPT, stack.format(other), max_new_tokens=32, temperature=temperature, seed=5
    )
    assert trace.token_ids == plain[temperature].token_ids
    check(trace)
    assert trace.metrics()["accepted"] > 0
    about = trace.meta["models"][0]["bridge"]
    assert about["bridge"] == bridge
    assert about["shared_tokens"] > 4_000


def test_the_choice_of_the_bridge(other):
    engine = load_engine(device="cpu", runtime="eager")
    for temperature, bridge in ((0.0, "slem"), (1.0, "tli")):
        trace = engine.run(
            PROMPT, f'"{other}":4 > target', max_new_tokens=8, temperature=temperature
        )
        assert trace.meta["models"][0]["bridge"]["bridge"] == bridge


def test_text_in_bytes_is_cut_into_the_targets_tokens(tmp_path):
    """The draft's tokens are bytes. Their conversion takes the end of the text into account and
    omits an incomplete character.
    """
    save_tokenizer(tmp_path)
    target = load_engine(device="cpu").models.text("target")
    draft = TokenText(AutoTokenizer.from_pretrained(tmp_path))
    translator = Translator(Lexicon(draft, draft.size), Lexicon(target, target.size))
    text = target.encode(PROMPT + "        total")
    for written, expected in (
        (" += value", " += value"),
        (" = \u00e9", " = \u00e9"),
        ("s\n", "s\n"),
    ):
        tokens = translator.to_target(text, written.encode())
        assert target.tokenizer.decode(tokens) == expected
    assert len(translator.to_target(text, b" += value")) < 9
    assert target.tokenizer.decode(translator.to_target(text, b" = \xc3")) == " = "
    read = translator.to_draft(text)
    pieces = b"".join(bytes(translator.draft.pieces[token]) for token in read)
    assert pieces == (PROMPT + "        total").encode()


def test_refusals_are_one_line(other, capsys):
    for stack in (f'db > "{other}":2 > target', f'small:2 > "{other}":2 > target'):
        assert main(["decode", "--stack", stack, "--prompt", "x", "--max-new-tokens", "4"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "lowest level" in err
    with pytest.raises(ValueError, match="unknown bridge 'tly': it is one of slem, tli"):
        load_engine(bridge="tly")
