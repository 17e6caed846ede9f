"""Test chat templates without transformers: equal texts, and a sandbox."""

from __future__ import annotations

import pytest
from transformers import AutoTokenizer

from hsd_viz.decoding.conversation import check_conversation
from hsd_viz.errors import UserError
from hsd_viz.models.chat import render
from hsd_viz.models.tokenizer import load_tokenizer
from tests.models.small_models import save_form

CONVERSATION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who are <you>?\n"},
    {"role": "assistant", "content": "A model."},
    {"role": "user", "content": 'And "why"?'},
]
TEMPLATES = {
    "smollm": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\nBe helpful<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + "
        "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    ),
    "blocks": (
        "{{- bos_token }}\n{%- set turn = namespace(n=0) %}\n  {% for m in messages %}\n"
        "    {%- if m.role == 'system' %}\n{% continue %}\n{% endif %}\n"
        "{%- set turn.n = turn.n + 1 %}\n[{{ turn.n }}] {{ m.content | trim }}\n"
        "  {% endfor %}\n{{ eos_token }}"
    ),
    "json": "{{ messages | tojson }} {{ messages[0] | tojson(indent=2) }}",
}


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("generation", [True, False])
def test_a_template_writes_the_text_of_transformers(tmp_path, template, generation):
    save_form(tmp_path, "llama")
    ours = load_tokenizer(tmp_path)
    ours.chat_template = TEMPLATES[template]
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    expected = theirs.apply_chat_template(
        CONVERSATION,
        chat_template=TEMPLATES[template],
        tokenize=False,
        add_generation_prompt=generation,
    )
    text = ours.apply_chat_template(CONVERSATION, add_generation_prompt=generation)
    assert text == expected


def test_the_template_of_a_folder_is_used(tmp_path):
    save_form(tmp_path, "llama")
    text = load_tokenizer(tmp_path).apply_chat_template([{"role": "user", "content": "hi"}])
    assert text == "<|start|><|user|>hi<|end|><|model|>"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ 'x' * 10 ** 9 }}",
        "{{ [0] * 10 ** 9 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 10 ** 10 ** 10 }}",
        "{% for a in range(100000) %}{% for b in range(100000) %}xxxxxxxx{% endfor %}{% endfor %}",
        "{{ range(10 ** 9) | list }}",
        "{% include 'file' %}",
        "{{ raise_exception('no such role\nhere') }}",
        "{{ undefined.attribute }}",
        "{% for %}",
    ],
)
def test_a_hostile_template_is_one_line(template):
    with pytest.raises(UserError) as error:
        render(template, CONVERSATION)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("template", "operator"),
    [("{{ 'x' * 3 }}", "*"), ("{{ [0] * 3 }}", "*"), ("{{ '%3d' % 1 }}", "%")],
)
def test_no_number_makes_a_text_or_a_list_longer(template, operator):
    with pytest.raises(UserError) as error:
        render(template, CONVERSATION)
    assert str(error.value) == f"it uses {operator} on other values than numbers"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "a conversation is a list of messages"),
        ("hi", "a conversation is a list of messages"),
        ([{"role": "user"}], "a message has a role and a content"),
        ([{"role": "tool", "content": "x"}], "role of a message is 'tool': expected system, user"),
        ([{"role": "user", "content": 7}], "content of a message is text, not 7"),
        (CONVERSATION[:3], "the last message of a conversation is the user's"),
    ],
)
def test_what_is_no_conversation_is_one_line(messages, words):
    with pytest.raises(UserError, match=words):
        check_conversation(messages)
