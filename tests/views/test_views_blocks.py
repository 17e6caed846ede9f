"""The stack as blocks, without a browser: text and blocks always agree, and Python's parser decides."""

from __future__ import annotations

import pytest

from hsd_viz.stack import DRAFT_SOURCES, parse
from hsd_viz.views.blocks import BOTTOM_WORDS, OPTION_WORDS, StackBlocks, spelled_out
from hsd_viz.views.presets import STACKS

NAMES = ("nano", "small", "target")


def edit(blocks: StackBlocks, parts) -> list:
    """What the browser sends; the answers it gets."""
    answers = []
    blocks.send = lambda content, buffers=None: answers.append(content)
    blocks._on_message(blocks, {"kind": "edit", "parts": parts}, [])
    return answers


def model(name, lookahead=None):
    return {"kind": "model", "name": name, "lookahead": lookahead}


@pytest.mark.parametrize(
    "text", [*(stack for stack, _ in STACKS), "db[statistics,context] > nano > target", "auto[db,nano] > target"]
)
def test_blocks_of_a_text_write_the_same_text(text):
    blocks = StackBlocks("target", NAMES)
    blocks.text = text
    assert blocks.error == "" and blocks.shown == text
    parts = list(blocks.parts)
    blocks.text = "target"
    assert edit(blocks, parts) == []
    assert blocks.text == text == str(parse(text)) and blocks.parts == parts


def test_bad_text_keeps_the_last_good_blocks_and_says_why():
    blocks = StackBlocks("db > target", NAMES)
    parts = list(blocks.parts)
    for text, words in [
        ("db > > target", "is empty"),
        ("x/y > target", "not allowed on this page"),
        ("auto[db,x/y] > target", "not allowed on this page"),
    ]:
        blocks.text = text
        assert words in blocks.error and blocks.parts == parts and blocks.shown == "db > target"
    blocks.text = "nano:2 > target"
    assert blocks.error == "" and blocks.parts == [model("nano", 2), model("target")]


def test_an_edit_over_bad_text_replaces_it():
    blocks = StackBlocks("nano:4 > target", NAMES)
    blocks.text = "nano:4 > "
    assert blocks.error
    edit(blocks, [model("nano", 5), model("target")])
    assert blocks.error == "" and blocks.text == "nano:5 > target"
    # Also where the edit writes the text that the blocks showed all along.
    blocks.text = "nano:5 > "
    edit(blocks, [model("nano", 5), model("target")])
    assert blocks.error == "" and blocks.text == "nano:5 > target"


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([model("nano"), model("nano"), model("target")], "appears twice"),
        ([model("nano", 99), model("target")], "out of range"),
        ([model("nano", True), model("target")], "invalid lookahead"),
        ([model("my/model"), model("target")], "not allowed on this page"),
        ([{"kind": "bottom", "name": "db", "items": []}], "has no target"),
        ([{"kind": "bottom", "name": "db", "items": ["nano"]}, model("target")], "unknown item"),
        ([{"kind": "bottom", "name": "sam", "items": ["x"]}, model("target")], "takes no brackets"),
        ([{"kind": "bottom", "name": "db", "items": "context"}, model("target")], "not a list"),
        ([model('a"b'), model("target")], "invalid block name"),
        ([model(""), model("target")], "invalid block name"),
        ([model("x" * 500), model("target")], "invalid block name"),
        ([], "invalid blocks"),
        ("db", "invalid blocks"),
        ([1], "invalid blocks"),
        ([model("target")] * 99, "invalid blocks"),
    ],
)
def test_a_bad_edit_is_taken_back_with_a_sentence(parts, words):
    blocks = StackBlocks("db > target", NAMES)
    before = list(blocks.parts)
    assert edit(blocks, parts) == [{"kind": "refused"}]
    assert words in blocks.error and "\n" not in blocks.error
    assert blocks.text == "db > target" and blocks.parts == before


def test_any_model_may_be_named_where_the_page_allows_it():
    blocks = StackBlocks("target", None, offered=NAMES)
    assert blocks.free and blocks.offered == list(NAMES)
    edit(blocks, [model("my/model:1", 3), model("target")])
    assert blocks.error == "" and blocks.text == '"my/model:1":3 > target'
    assert not StackBlocks("target", NAMES).free


def test_the_language_of_the_blocks_is_the_parsers():
    assert set(BOTTOM_WORDS) == set(DRAFT_SOURCES)
    told = StackBlocks("target", NAMES).bottoms
    for name, items in DRAFT_SOURCES.items():
        assert set(told[name]["databases"]) | set(told[name]["options"]) == set(items)
        # A new block of each kind is a stack.
        assert parse(f"{name} > target")
    assert told["db"]["usual"] == ["context", "model", "statistics"] and set(told["hd"]["options"]) <= set(OPTION_WORDS)


def test_methods_are_spelled_out_once():
    stacks = ("hd > target", "lookup > target", "lookup > nano:4 > small:8 > target", "target")
    assert spelled_out(map(parse, stacks)) == (
        "hd: Hierarchy Drafting (HD), as published; lookup: baseline: prompt lookup decoding; "
        "several draft models: Hierarchical Speculative Decoding (HSD)."
    )
    assert spelled_out([parse("nano:4 > target")]) == ""
    every = spelled_out(parse(f"{name} > target") for name in DRAFT_SOURCES)
    assert all(f"{name}: " in every for name in DRAFT_SOURCES)
