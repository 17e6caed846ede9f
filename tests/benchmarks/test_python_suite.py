import json
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from benchmarks.cuts import locality
from benchmarks.python_suite import CATEGORIES
from hsd_viz.models.families import CODE, LADDER
from hsd_viz.prompts import suites
from hsd_viz.prompts.suites import load_suite
from tests.rows import column, select
from training.quality import copied_share

SHIPPED = Path(suites.__file__).parent / "data" / "python.json"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return json.loads(SHIPPED.read_text())["prompts"]


def test_six_categories_of_thirty_prompts_and_more_from_files_that_nothing_learned_from(rows):
    suite = load_suite("python")
    assert suite.categories == CATEGORIES
    assert len(CATEGORIES) == 6
    assert (
        len(set(column(suite.prompts, "id")))
        == len(set(column(suite.prompts, "text")))
        == len(rows)
        >= 180
    )
    manifest = json.loads((LADDER / "manifest.json").read_text())
    heldout = set(manifest["heldout"])
    for category in CATEGORIES:
        chosen = []
        for r in rows:
            if r["category"] == category:
                chosen.append(r["origin"])
        assert len(chosen) >= 30
        assert len({(o["package"], o["file"]) for o in chosen}) == len(chosen)
        packages = Counter(column(chosen, "package"))
        assert max(packages.values()) <= 6
    for row in rows:
        origin = row["origin"]
        assert f"{origin['package']}/{origin['file']}" in heldout, row["id"]
        assert origin["licence"] == manifest["packages"][origin["package"]]["licence"]
        assert origin["version"]
        assert origin["line"] > 0
    assert SHIPPED.stat().st_size <= 1.5e6


def test_the_context_has_room_for_256_new_tokens(rows):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(CODE.path("target") / "tokenizer.json"))
    assert max(len(tokenizer.encode(r["text"])) for r in rows) <= 2048 - 256


def test_the_categories_span_temporal_locality(rows):
    """The figures in the file are those of its texts; medians fall from category to category, over
    most of the range.
    """
    medians = []
    for category in CATEGORIES:
        chosen = select(rows, category=category)
        for r in chosen:
            assert r["in_prompt"] == pytest.approx(
                copied_share(r["text"], r["continuation"]), abs=6e-4
            )
            assert r["locality"] == pytest.approx(locality(r["text"], r["continuation"]), abs=6e-4)
        medians.append(median(column(chosen, "in_prompt")))
    assert medians == sorted(medians, reverse=True)
    assert medians[0] > 0.8
    assert 0.15 < medians[2] < 0.5
    assert medians[-1] < 0.05


def test_only_what_the_prompt_holds_counts_as_in_the_prompt():
    # Of "b c a b c" and its blanks, only "a b " and " b c" are known.
    assert copied_share("a b c", " a b c") == pytest.approx(2 / 6)
    assert copied_share("one", "x y x y x y") == 0 < locality("one", "x y x y x y")
    assert copied_share("a b c d", "") == 0
