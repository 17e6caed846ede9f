"""The code of pages is executed: the worked round, and the page for upgrades."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hsd_viz.decoding.draft import Draft
from hsd_viz.decoding.options import Sampling
from hsd_viz.decoding.rejection_sampling import judge
from hsd_viz.decoding.sampling import UniformNumbers, distribution, draw
from hsd_viz.decoding.session import Session
from hsd_viz.decoding.verdict import RecordOptions
from hsd_viz.drafting.tree import DraftTree

DOCS = Path(__file__).parent.parent / "docs"
ROUND = DOCS / "explanation" / "one-round.md"
UPGRADE = DOCS / "how-to" / "upgrade.md"


def code_of(page: Path) -> str:
    """The Python code of a page."""
    return "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    )


@pytest.fixture(scope="module")
def names():
    """What the worked round defines."""
    defined = {}
    exec(compile(code_of(ROUND), str(ROUND), "exec"), defined)
    yield defined
    defined["engine"].close()


def test_the_worked_round_drafts_and_accepts(names):
    emitted = sum(map(len, names["rounds"]))
    assert emitted == len(names["text"]) - len(names["prompt"]) >= 32
    for tokens in names["rounds"]:
        assert 1 <= len(tokens) <= names["LOOKAHEAD"] + 1
    assert len(names["rounds"]) < emitted


class TableSession(Session):
    """A model of one row of logits per length of the text."""

    def __init__(self, table):
        self.table = table
        self.length = 0

    def forward(self, tokens, rows, parents=None):
        self.length += len(tokens)
        return self.table[self.length - rows : self.length].copy()

    def keep(self, base, nodes):
        self.length = base + len(nodes)


class Counted:
    """Uniform numbers that are known beforehand."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


@pytest.mark.parametrize("seed", range(40))
def test_the_worked_round_decides_as_the_rule_of_the_package(names, seed):
    rng = np.random.default_rng(seed)
    drafting = rng.normal(size=(9, 5))
    verifying = rng.normal(size=(9, 5))
    sampled = rng.random(4)
    u = rng.random(4)
    r = rng.random()
    sampling = Sampling(temperature=0.8, rule="token")
    # A round asks for the numbers of the draft, then of the comparisons, then of its own token.
    q = distribution(drafting[2:6], sampling)
    tokens = [draw(row, number) for row, number in zip(q, sampled, strict=True)]
    draft = Draft(DraftTree.chain(tokens, "nano"), rows=q)
    verdict = judge(verifying[2:7], draft, sampling, UniformNumbers([r] * 5, u), RecordOptions())
    compared = min(len(verdict.accepted) + 1, 4)

    names["nano"] = TableSession(drafting)
    names["target"] = TableSession(verifying)
    names["uniform"] = Counted([*sampled, *u[:compared], r])
    text = [0, 1, 2]
    names["nano"].feed(text[:-1])
    names["target"].feed(text[:-1])
    emitted = names["one_round"](text)

    assert emitted == [*tokens[: len(verdict.accepted)], verdict.token]
    assert names["target"].length == 3 + len(verdict.accepted)


def test_the_code_for_upgrades_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code_of(UPGRADE), str(UPGRADE), "exec"), {})
    assert "tokens/s" in capsys.readouterr().out
    assert (tmp_path / "prediction.html").stat().st_size > 1000


def test_the_new_homes_of_modules_exist():
    from importlib import import_module

    table = UPGRADE.read_text(encoding="utf-8").partition("## Modules")[2].partition("##")[0]
    rows = re.findall(r"^\| (`hsd_viz.*?) \| (`hsd_viz.*?) \|$", table, re.M)
    assert len(rows) == 13
    for old, new in rows:
        homes = list(map(import_module, re.findall(r"`(hsd_viz[\w.]+)`", new)))
        renamed = re.findall(r"`([A-Za-z]\w+)`", new)
        moved = renamed or re.findall(r"`([A-Za-z]\w+)`", old)
        assert [name for name in moved if not hasattr(homes[0], name)] == []
