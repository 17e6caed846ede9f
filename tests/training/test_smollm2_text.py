"""SmolLM2's own text: requests, conversations, shards, and the decoder that writes many at once."""

from __future__ import annotations

import numpy as np
import torch

from hsd_viz.models.files import open_model
from training.smollm2.batch import BatchDecoder
from training.smollm2.prompts import KINDS, prose_in, request
from training.smollm2.text import Conversation, is_kept_aside, load, save, shard_path, shards
from training.smollm2.write import MOST_REPLY, Dialogue

PROSE = (
    "A paragraph of plain prose has several sentences and no markup. It is long enough to be "
    "summed up, and it says nothing that a reader would have to look up. Its letters are those of "
    "ordinary words, so that it counts as prose."
)


def test_a_request_is_a_function_of_its_number():
    assert request(17, [PROSE]) == request(17, [PROSE])
    assert request(17, [PROSE]) != request(23, [PROSE])


def test_kinds_take_turns():
    assert [request(number).kind for number in range(6)] == list(KINDS)


def test_no_place_of_a_pattern_is_left_open():
    turns = [turn for number in range(300) for turn in request(number, [PROSE]).turns]

    assert [turn for turn in turns if "{" in turn or turn != turn.strip()] == []


def test_prose_is_plain_sentences():
    code = "`x = f(y)` is a line of code, and a paragraph about it has markup. " * 4

    assert list(prose_in(f"{PROSE}\n\n{code}")) == [PROSE]


def test_a_shard_is_read_as_it_was_written(tmp_path):
    conversations = [
        Conversation(
            number=number,
            temperature=0.7,
            tokens=np.arange(number, number + 5, dtype=np.uint16),
            written=np.array([False, False, True, True, number % 2 == 0]),
        )
        for number in (3, 4)
    ]

    save(shard_path(tmp_path, 0), conversations)

    assert shards(tmp_path) == [shard_path(tmp_path, 0)]
    for read, kept in zip(load(shard_path(tmp_path, 0)), conversations, strict=True):
        assert (read.number, read.temperature) == (kept.number, kept.temperature)
        assert read.tokens.tolist() == kept.tokens.tolist()
        assert read.written.tolist() == kept.written.tolist()


def test_half_of_every_kind_is_kept_aside():
    numbers = range(120)
    for kind in KINDS:
        of_kind = [number for number in numbers if request(number).kind == kind]
        assert sum(map(is_kept_aside, of_kind)) * 2 == len(of_kind)


class Letters:
    """A tokenizer of letters, with a template of turns between < and >; the number of > is the end."""

    end = ord(">")

    def apply_chat_template(self, messages):
        turns = "".join(f"<{each['role'][0]}{each['content']}>" for each in messages)
        return f"{turns}<a"

    def encode(self, text, add_special_tokens=False):
        return [ord(letter) for letter in text]

    def decode(self, ids, skip_special_tokens=True):
        return "".join(map(chr, ids)).removesuffix(">")


def dialogue(*turns):
    asked = request(0)
    asked = type(asked)(0, "qa", turns)
    return Dialogue(asked, Letters(), frozenset([Letters.end]))


def test_a_reply_ends_a_conversation_of_one_turn():
    talk = dialogue("hi")
    for letter in "yes>":
        talk.next(ord(letter))

    assert talk.done
    kept = talk.conversation(1.0)
    assert "".join(map(chr, kept.tokens)) == "<uhi><ayes>"
    assert "".join(chr(t) for t, w in zip(kept.tokens, kept.written, strict=True) if w) == "yes>"


def test_the_next_turn_is_fed_after_a_reply():
    talk = dialogue("hi", "more")
    for letter in "yes>":
        talk.next(ord(letter))
    assert not talk.done

    fed = [talk.next(ord("!")) for _ in "<umore><a"]
    talk.next(ord("k"))

    assert "".join(map(chr, fed)) == "<umore><a"
    assert "".join(map(chr, talk.tokens)) == "<uhi><ayes><umore><ak"
    assert talk.written[-1] and not any(talk.written[-10:-1])


def test_a_reply_that_is_cut_ends_the_conversation():
    talk = dialogue("hi", "more")
    for _ in range(MOST_REPLY):
        talk.next(ord("x"))

    assert talk.done


def test_texts_of_a_batch_have_the_logits_of_transformers(tmp_path):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=40,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        tie_word_embeddings=True,
    )
    module = LlamaForCausalLM(config).eval()
    module.save_pretrained(tmp_path)
    model = open_model(tmp_path)
    decoder = BatchDecoder(model.form, model.tensors, torch.float32)
    texts = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10]]

    decoder.start(3, 64)
    rows = decoder.prefill(texts)
    decoder.select([0, 2])
    texts = [[*texts[0], 11], [*texts[2], 12]]
    later = decoder.step(torch.tensor([11, 12]))

    with torch.no_grad():
        expected = [module(torch.tensor([text])).logits[0, -1] for text in texts]
        first = module(torch.tensor([[6, 7]])).logits[0, -1]
    torch.testing.assert_close(rows[1], first, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(later, torch.stack(expected), atol=1e-5, rtol=1e-4)
