"""The page's address: what it may ask for, and what is said of the rest."""

from __future__ import annotations

import pytest

from hsd_viz.views.address import Address, Asked, ignored_words, query_at_start, read

NAMES = ("both", "one-draft")


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("", Asked()),
        ("?trace=one-draft&step=7&theme=dark", Asked("one-draft", 7)),
        ("trace=both", Asked("both")),
        ("step=1&token=secret&other=x", Asked(None, 1)),
        ("trace=nothing&trace=both", Asked("both")),
        ("trace=&step=", Asked()),
    ],
)
def test_an_address_that_can_be_followed(query, asked):
    assert read(query, NAMES) == asked


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("trace=../../etc/passwd", "no recording is named '../../etc/passwd'"),
        ("trace=both.json.gz", "no recording is named"),
        ("trace=%00%ff", "no recording is named"),
        ("trace=<b>x</b>", "no recording is named '<b>x</b>'"),
        ("trace=both&step=0", "the step '0' is not a whole number from 1"),
        ("step=-1", "the step '-1'"),
        ("step=1e9", "the step '1e9'"),
        ("step=٣", "the step"),
        ("step=99999999999999999999", "the step"),
        ("theme=blue", "the theme 'blue' is not 'light' or 'dark'"),
    ],
)
def test_what_cannot_be_followed_is_said_in_one_sentence(query, words):
    asked = read(query, NAMES)
    assert len(asked.ignored) == 1 and words in asked.ignored[0] and asked.step is None
    said = ignored_words(asked.ignored)
    assert "\n" not in said and len(said) < 200


def test_a_step_of_an_unknown_recording_is_no_step_of_another():
    asked = read("trace=gone&step=5&theme=dark", NAMES)
    assert asked.trace is None and asked.step is None and len(asked.ignored) == 1


def test_long_values_are_cut_and_many_fields_do_not_matter():
    (words,) = read(f"trace={'x' * 5000}", NAMES).ignored
    assert len(words) < 100
    assert read("&".join(f"f{i}={i}" for i in range(5000)), NAMES).ignored == ()


def test_the_query_is_voilas_alone(monkeypatch):
    for name in ("SERVER_SOFTWARE", "VOILA_PREHEAT", "QUERY_STRING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QUERY_STRING", "trace=both")
    assert query_at_start() is None and not Address().served
    monkeypatch.setenv("SERVER_SOFTWARE", "voila/0.5")
    assert query_at_start() == "trace=both" and Address().served and not Address().waits
    monkeypatch.setenv("VOILA_PREHEAT", "False")
    assert query_at_start() == "trace=both"


def test_a_heated_kernel_hears_the_query_from_the_browser_once(monkeypatch):
    monkeypatch.setenv("VOILA_PREHEAT", "True")
    heard = []
    address = Address(asked=heard.append)
    assert query_at_start() is None and address.waits
    for message in (
        "x",
        {"kind": "other"},
        {"kind": "query", "query": "?trace=both"},
        {"kind": "query", "query": "?trace=one-draft"},
    ):
        address._on_message(address, message, [])
    assert heard == ["?trace=both"] and not address.waits
