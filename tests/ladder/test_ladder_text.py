"""The ladder's text without transformers is that of transformers."""

import random

import pytest

from hsd_viz.decoding.text import TokenText
from hsd_viz.ladder.load import LadderTokenizer, load_tokenizer, model_path, names
from hsd_viz.prompts.suites import load_suite


def texts() -> list[str]:
    rng = random.Random(1)
    found = [prompt.text for prompt in load_suite("heldout").prompts]
    found += [rng.randbytes(60).decode(errors="replace") for _ in range(100)]
    found += ["".join(chr(rng.randrange(1, 0xD800)) for _ in range(30)) for _ in range(100)]
    return [*found, "", " ", "<|endoftext|>", "a<|endoftext|> b", "don't  stop .", "\r\n\t x"]


@pytest.mark.parametrize("name", names())
def test_texts_and_tokens_are_those_of_transformers(name):
    ours, theirs = LadderTokenizer(model_path(name)), load_tokenizer(model_path(name))
    assert len(ours) == len(theirs) and ours.get_vocab() == theirs.get_vocab()
    assert (ours.eos_token_id, ours.bos_token_id) == (theirs.eos_token_id, theirs.bos_token_id)
    assert ours.all_special_ids == theirs.all_special_ids and ours.eos_token == theirs.eos_token
    for text in texts():
        ids = theirs.encode(text)
        assert ours.encode(text) == ids == ours(text)["input_ids"]
        assert ours.encode(text, add_special_tokens=False) == theirs.encode(text, add_special_tokens=False)
        for skip in (False, True):
            assert ours.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)
    rng = random.Random(2)
    for _ in range(100):
        ids = [rng.randrange(len(ours)) for _ in range(20)]
        assert ours.decode(ids) == theirs.decode(ids)
    a, b = TokenText(ours), TokenText(theirs)
    every = range(len(ours) + 2)
    assert [a.piece(t) for t in every] == [b.piece(t) for t in every]
    assert [a.content(t) for t in every] == [b.content(t) for t in every]
    assert a.size == b.size and a.read("") == b.read("")
    with pytest.raises(ValueError, match="no chat template"):
        a.read("hi", chat=True)
