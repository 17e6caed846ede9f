"""The statistical audit: endpoints over HTTP, a test with the stated rate of false alarms,
divergences of greedy texts.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from functools import partial
from random import Random

import httpx
import pytest

from hsd_viz.cli import main
from hsd_viz.errors import UserError
from hsd_viz.measure.audit.bets import PairTest, tilts
from hsd_viz.measure.audit.endpoint import Completion, Endpoint, completion_of
from hsd_viz.measure.audit.statistical import audit_endpoints, compare

ROWS = {"a": [0.6, 0.3, 0.1], "b": [0.2, 0.5, 0.3], "c": [0.3, 0.3, 0.4]}
SHARPENED = {}
for _token, _row in ROWS.items():
    SHARPENED[_token] = [0.8 * p + 0.2 * (p == max(_row)) for p in _row]


def texts(rows, random, n):
    last = "a"
    out = []
    for _ in range(n):
        last = random.choices("abc", rows[last])[0]
        out.append(last)
    return tuple(out)


def drawn(random, rows=ROWS):
    """Return a completion of three tokens with the rows that it was drawn from, or from others."""
    tokens = texts(rows, random, 3)
    likely = [dict(zip("abc", map(math.log, ROWS[last]), strict=True)) for last in ("a", *tokens)]
    return Completion(tokens, likely[:3])


@pytest.fixture
def endpoints(monkeypatch):
    """Answer for the hosts ``plain``, ``sharpened`` (its samples are), ``tie`` and ``bug`` (in
    its greedy texts).
    """
    random = Random(0)

    def answer(asked):
        body = json.loads(asked.content)
        host = asked.url.host
        n = body["max_tokens"]
        if body["temperature"]:
            tokens = texts(SHARPENED if host == "sharpened" else ROWS, random, n)
        else:
            tokens = ["a"] * (n - 1) + [{"bug": "c", "tie": "b"}.get(host, "a")]
        reported = {"tokens": tokens, "top_logprobs": [{"a": -0.5, "b": -0.51, "c": -2.0}] * n}
        return httpx.Response(
            200, json={"choices": [{"text": "".join(tokens), "logprobs": reported}]}
        )

    answer_requests(monkeypatch, answer)


def answer_requests(monkeypatch, answer):
    """Let a function answer what is asked of any server."""
    client = partial(httpx.Client, transport=httpx.MockTransport(answer))
    monkeypatch.setattr(httpx, "Client", client)


def audit(host, samples):
    ends = Endpoint(f"http://{host}/v1", "m"), Endpoint("http://plain/v1", "m")
    return audit_endpoints(*ends, ["x", "y"], tokens=3, greedy_tokens=4, samples=samples)


def test_an_endpoint_does_not_show_its_key():
    assert "secret" not in repr(Endpoint("http://x/v1", "m", key="secret"))


def test_equal_endpoints(endpoints):
    result = audit("plain", samples=60)
    assert result.verdict == "no difference found"
    assert result.pairs == 60
    assert result.greedy == {"equal": 2}
    assert result.evidence < 1000
    assert "at most 0.001" in str(result)


def test_sharpened_samples_are_found(endpoints):
    result = audit("sharpened", samples=1500)
    assert result.verdict == "not lossless"
    assert result.differs
    assert result.pairs < 1500


def test_greedy_divergences(endpoints):
    tie = audit("tie", samples=0)
    bug = audit("bug", samples=0)
    assert tie.greedy == {"near-tie": 2}
    assert tie.verdict == "no difference found"
    assert bug.greedy == {"bug": 2}
    assert bug.verdict == "not lossless"
    assert "2 bug (first at token 3 of prompt 1)" in str(bug)


def test_divergence_without_log_probabilities_or_at_an_end():
    """Also where the endpoint reports the probability of an empty token, as some do at the end
    of a text.
    """
    one = Completion(("a",))
    longer = Completion(("a", "b"))
    likely = ({"a": 0.0}, {"b": -0.7, "": -0.7})
    assert compare(one, one) == ("equal", 1)
    assert compare(one, Completion(("b",))) == ("unknown", 0)
    assert compare(one, replace(longer, likely=likely)) == ("unknown", 1)


def test_false_alarms_are_as_rare_as_stated():
    """At alpha 0.1, at any number of pairs at which the test stops."""
    random = Random(1)
    alarms = 0
    for _ in range(150):
        test = PairTest()
        alarms += any(test.add(k % 2, drawn(random), drawn(random)) >= 10 for k in range(60))
    assert alarms / 150 < 0.16


def test_a_decoder_may_put_a_folder_of_its_own_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "own_path.py").write_text(
        "import sys\nsys.path.insert(0, 'own-folder')\ndef decode(task): return []\n"
    )
    monkeypatch.setattr("sys.path", [*sys.path])
    expected = ["own-folder", *sys.path]
    words = ["audit", "function", f"{tmp_path}/own_path.py:decode"]
    assert main(words) == 1
    assert sys.path == expected


def test_the_command_audits_several_functions(tmp_path, capsys):
    (tmp_path / "wrong_decoder.py").write_text(
        "def decode(task):\n"
        "    text = list(task.prompt)\n"
        "    while not task.ended(text):\n"
        "        text.append(task.random.choice(3, p=task.row(0, text)))\n"
        "    return text[len(task.prompt):]\n"
        "def right(task):\n"
        "    text = list(task.prompt)\n"
        "    while not task.ended(text):\n"
        "        text.append(task.random.choice(3, p=task.row(-1, text)))\n"
        "    return text[len(task.prompt):]\n"
    )
    out = tmp_path / "audit.html"
    right = f"{tmp_path}/wrong_decoder.py:right"
    wrong = f"{tmp_path}/wrong_decoder.py:decode"
    assert main(["audit", "function", right, wrong, "--html", str(out)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{right}: lossless")
    assert "not lossless: the law of the first token" in lines[1]
    assert right in out.read_text()
    assert "not lossless: the law of the first" in out.read_text()


def test_the_command_audits_several_stacks(tmp_path, capsys):
    stacks = ["nano:1 > target", "nano:1 > small:1 > target"]
    out = tmp_path / "audit.html"
    assert main(["audit", "stack", *stacks, "--html", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": lossless")[0] for line in lines] == stacks
    assert "nano:1 &gt; target" in out.read_text()


def test_the_command_compares_endpoints(tmp_path, capsys, endpoints):
    out = tmp_path / "audit.html"
    words = [
        "audit",
        "endpoint",
        "--speculative",
        "http://tie/v1",
        "--plain",
        "http://plain/v1",
        "--limit",
        "2",
        "--samples",
        "10",
    ]
    assert main([*words, "--html", str(out)]) == 0
    assert "2 near-tie" in capsys.readouterr().out
    assert "2 near-tie" in out.read_text()


def test_bets_are_made_before_the_pair_is_known():
    """The first pair, of which nothing is known, wins and loses nothing; a lasting difference
    then wins.
    """
    test = PairTest()
    pair = Completion(("a",)), Completion(("b",))
    assert test.add("x", *pair) == pytest.approx(1.0)
    wealth = [test.add("x", *pair) for _ in range(16)]
    assert wealth[-1] > 100
    assert wealth == sorted(wealth)


def test_endpoints_have_different_seeds():
    """With one seed two lossless endpoints could give the same texts, which is not evidence."""

    class Told:
        def __init__(self):
            self.seeds = []

        def complete(self, prompt, max_tokens, temperature, seed=None):
            self.seeds += [seed] if temperature else []
            return Completion(("a",) * max_tokens)

    one = Told()
    other = Told()
    audit_endpoints(one, other, ["x", "y"], tokens=2, greedy_tokens=2, samples=4)
    assert len(one.seeds) == len(other.seeds) > 1
    assert len({*one.seeds, *other.seeds}) == 2 * len(one.seeds)


def test_a_tilt_by_hand():
    """A row of 0.6, 0.3, 0.1 squared is 0.36, 0.09, 0.01 of 0.46: 0.36 / 0.46 / 0.6 for the
    first.
    """
    row = {"a": math.log(0.6), "b": math.log(0.3), "c": math.log(0.1)}
    text = Completion(("a",), [row])
    squared = tilts(text)[3 * 15]  # exponent 2, every place
    assert squared == pytest.approx(math.log(0.36 / 0.46 / 0.6), abs=1e-6)
    assert tilts(Completion(("a",))) == [0.0] * 60


def test_sharpening_at_every_third_token_is_found_by_returned_probabilities():
    """An exponent of 1.6 at tokens 3, 6, ...: found within 1 000 pairs, whatever the prefixes
    are.
    """
    random = Random(0)
    sharp = {}
    for token, row in ROWS.items():
        sharp[token] = [p**1.6 for p in row]

    def text(sharpened):
        last = "a"
        tokens = []
        likely = []
        for place in range(8):
            row = sharp if sharpened and place % 3 == 2 else ROWS
            likely.append(dict(zip("abc", map(math.log, ROWS[last]), strict=True)))
            last = random.choices("abc", row[last])[0]
            tokens.append(last)
        return Completion(tuple(tokens), likely)

    test = PairTest()
    pairs = next(k for k in range(1, 1001) if test.add(k, text(True), text(False)) >= 1000)
    assert pairs <= 1000


def test_the_forms_of_returned_probabilities():
    row = {"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]}
    expected = Completion(("a",), [{"a": -0.5}], [-0.5])
    openai = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"a": -0.5}]}
    for reported in (openai, {"content": [row]}):
        assert completion_of({"choices": [{"logprobs": reported}]}) == expected
    with pytest.raises(ValueError, match="has no logprobs"):
        completion_of({"choices": [{"logprobs": None}]})


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"choices": []},
        {"choices": [{"logprobs": {"tokens": "ab"}}]},
        {"choices": [{"logprobs": {"token_logprobs": [-0.5]}}]},
        {"choices": [{"logprobs": {"content": [{"logprob": -0.5}]}}]},
    ],
)
def test_an_answer_of_another_form_is_refused(answer):
    with pytest.raises(UserError, match="expected choices with logprobs and their tokens"):
        completion_of(answer)


def test_request_parameters_are_sent(monkeypatch, capsys):
    bodies = []

    def answer(asked):
        bodies.append(json.loads(asked.content))
        reported = {"tokens": ["a"], "top_logprobs": [{"a": -0.1}]}
        return httpx.Response(200, json={"choices": [{"logprobs": reported}]})

    answer_requests(monkeypatch, answer)
    urls = "--speculative http://a/v1 --plain http://b/v1"
    words = f"audit endpoint {urls} --limit 1 --samples 1 --body".split()
    assert main([*words, '{"repetition_penalty": 1.1}']) == 0
    assert len(bodies) == 4
    assert all(body["repetition_penalty"] == 1.1 for body in bodies)
    for body, why in (('{"seed": 1}', "sets seed itself"), ("[1]", "a JSON object"), ("{", "JSON")):
        assert main([*words, body]) == 2
        assert why in capsys.readouterr().err
