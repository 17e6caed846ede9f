"""SmolLM2's own text: requests, conversations, shards, and the decoder that writes many at once."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from hsd_viz.models.config import form_of
from hsd_viz.native.build import default_build
from hsd_viz.native.model import NativeModel
from hsd_viz.native.weights import ArrayTensors, Weights
from training.smollm2 import write as write_module
from training.smollm2.prompts import KINDS, prose_in, request
from training.smollm2.rows import MAX_TOKENS, likeliest, load_rows, rows_of, save_rows
from training.smollm2.text import Conversation, is_kept_aside, load, save, shard_path, shards
from training.smollm2.write import MAX_REPLY, Dialogue, draw, write

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
    turns = list(chain(*(request(number, [PROSE]).turns for number in range(300))))

    assert [turn for turn in turns if "{" in turn or turn != turn.strip()] == []


def test_prose_is_plain_sentences():
    code = "`x = f(y)` is a line of code, and a paragraph about it has markup. " * 4

    assert list(prose_in(f"{PROSE}\n\n{code}")) == [PROSE]


def test_a_shard_is_read_as_it_was_written(tmp_path):
    conversations = []
    for number in (3, 4):
        conversations.append(
            Conversation(
                number=number,
                temperature=0.7,
                tokens=np.arange(number, number + 5, dtype=np.uint16),
                written=np.array([False, False, True, True, number % 2 == 0]),
            )
        )

    save(shard_path(tmp_path, 0), conversations)

    assert shards(tmp_path) == [shard_path(tmp_path, 0)]
    for read, kept in zip(load(shard_path(tmp_path, 0)), conversations, strict=True):
        assert read.number == kept.number
        assert read.temperature == kept.temperature
        assert read.tokens.tolist() == kept.tokens.tolist()
        assert read.written.tolist() == kept.written.tolist()


def test_half_of_every_kind_is_kept_aside():
    numbers = range(120)
    for kind in KINDS:
        of_kind = [number for number in numbers if request(number).kind == kind]
        assert sum(map(is_kept_aside, of_kind)) * 2 == len(of_kind)


class Letters:
    """A tokenizer of letters, with a template of turns between < and >; the number of > is the
    end.
    """

    end = ord(">")

    def apply_chat_template(self, messages):
        turns = "".join(f"<{each['role'][0]}{each['content']}>" for each in messages)
        return f"{turns}<a"

    def encode(self, text, add_special_tokens=False):
        return list(map(ord, text))

    def decode(self, ids, skip_special_tokens=True):
        return "".join(map(chr, ids)).removesuffix(">")


def asking(number, *turns):
    return type(request(0))(number, "qa", turns)


def dialogue(*turns):
    return Dialogue(asking(0, *turns), Letters(), frozenset([Letters.end]))


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
    assert talk.written[-1]
    assert not any(talk.written[-10:-1])


def test_a_reply_that_is_cut_ends_the_conversation():
    talk = dialogue("hi", "more")
    for _ in range(MAX_REPLY):
        talk.next(ord("x"))

    assert talk.done


def test_a_token_is_drawn_with_its_probability():
    """At 20 000 chances in even steps every token is drawn as often as the softmax says, to a
    step.
    """
    logits = np.random.default_rng(0).normal(0, 3, 700).astype(np.float32)
    steps = 20_000
    counts = np.zeros(700)
    for step in range(steps):
        counts[draw(logits, 0.7, (step + 0.5) / steps)] += 1

    weights = np.exp((logits.astype(np.float64) - logits.max()) / 0.7)
    assert np.abs(counts / steps - weights / weights.sum()).max() < 1.5 / steps


def test_the_last_chance_is_a_token_of_the_vocabulary():
    assert draw(np.zeros(300, np.float32), 1.0, np.nextafter(1, 0)) == 299


@pytest.fixture(scope="module")
def tiny():
    """A random Llama over the letters of :class:`Letters`."""
    if not default_build().wait():
        pytest.skip(f"no native runtime: {default_build().reason}")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=128,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
    )
    tensors = {}
    for name, tensor in LlamaForCausalLM(config).state_dict().items():
        tensors[name] = tensor.numpy()
    form = form_of("tiny", config.to_dict())
    return NativeModel(Weights("tiny", form, ArrayTensors(tensors), "float32"))


def writers(missing, tiny, texts):
    """Return the finished dialogues of the shards, by number."""
    ends = frozenset([Letters.end])
    return dict(write(missing, tiny, Letters(), ends, [PROSE], texts, keeps_rows=True))


def tokens_of(shard):
    return [each.dialogue.tokens for each in shard]


@pytest.fixture
def few(monkeypatch):
    """Five short conversations of two turns in a shard."""
    monkeypatch.setattr(write_module, "SHARD", 5)
    monkeypatch.setattr(write_module, "MAX_REPLY", 12)
    monkeypatch.setattr(
        write_module, "request", lambda number, _: asking(number, "ab" * number, "c")
    )


def test_a_conversation_does_not_depend_on_those_beside_it(tiny, few):
    """Neither on how many are written at a time, nor on the shards that are there."""
    together = writers([0, 1], tiny, texts=4)
    alone = writers([1], tiny, texts=1)

    assert sorted(together) == [0, 1]
    assert [each.dialogue.request.number for each in together[1]] == [5, 6, 7, 8, 9]
    assert tokens_of(together[1]) == tokens_of(alone[1])


def test_the_rows_kept_while_writing_are_those_of_the_text_fed_again(tiny, few):
    for writer in writers([0], tiny, texts=3)[0]:
        again = rows_of(writer.dialogue.conversation(1.0), tiny)
        assert len(writer.rows) == len(again) == sum(writer.dialogue.written)
        for kept, fed in zip(writer.rows, again, strict=True):
            assert kept.tokens.tolist() == fed.tokens.tolist()
            assert kept.logs.tolist() == fed.logs.tolist()


def test_a_row_has_the_likeliest_tokens_and_their_probabilities(tmp_path):
    logits = np.zeros(1000, np.float32)
    logits[[7, 400]] = 12.0, 11.0
    flat = np.linspace(0, 5, 1000, dtype=np.float32)

    save_rows(tmp_path / "rows.npz", [likeliest(logits), likeliest(flat)])
    tokens, logs = load_rows(tmp_path / "rows.npz")

    total = np.exp(12.0) + np.exp(11.0) + 998
    assert dict(zip(tokens[0, :2].tolist(), np.exp(logs[0, :2]).tolist(), strict=True)) == {
        7: pytest.approx(np.exp(12.0) / total, rel=1e-3),
        400: pytest.approx(np.exp(11.0) / total, rel=1e-3),
    }
    assert np.isneginf(logs[0, 2:]).all()
    assert sorted(tokens[1].tolist()) == list(range(1000 - MAX_TOKENS, 1000))
