import json
from pathlib import Path
from statistics import median

import pytest

from benchmarks.cuts import locality
from benchmarks.python_suite import CATEGORIES, build_python, locality_table
from hsd_viz.bench import load_suite
from hsd_viz.bench.replay import Text, replay
from hsd_viz.drafting import DraftTree
from hsd_viz.ladder.load import model_path, weights_dir
from hsd_viz.prompts import suites
from training.corpus import SourceFile
from training.quality import copied_share

SHIPPED = Path(suites.__file__).parent / "data" / "python.json"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return json.loads(SHIPPED.read_text())["prompts"]


def test_six_categories_of_thirty_prompts_and_more_from_files_that_nothing_learnt_from(rows):
    suite = load_suite("python")
    assert suite.categories == CATEGORIES and len(CATEGORIES) == 6
    assert len({p.id for p in suite.prompts}) == len({p.text for p in suite.prompts}) == len(rows) >= 180
    manifest = json.loads((weights_dir() / "manifest.json").read_text())
    heldout = set(manifest["heldout"])
    for category in CATEGORIES:
        chosen = [r["origin"] for r in rows if r["category"] == category]
        assert len(chosen) >= 30 and len({(o["package"], o["file"]) for o in chosen}) == len(chosen)
        assert max(sum(o["package"] == name for o in chosen) for name in manifest["packages"]) <= 6
    for row in rows:
        origin = row["origin"]
        assert f"{origin['package']}/{origin['file']}" in heldout, row["id"]
        assert (
            origin["licence"] == manifest["packages"][origin["package"]]["licence"]
            and origin["version"]
            and origin["line"] > 0
        )
    assert SHIPPED.stat().st_size <= 1.5e6


def test_the_context_has_room_for_256_new_tokens(rows):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_path("target") / "tokenizer.json"))
    assert max(len(tokenizer.encode(r["text"])) for r in rows) <= 2048 - 256


def test_the_categories_span_temporal_locality(rows):
    """The figures in the file are those of its texts; medians fall from category to category, over most of the
    range.
    """
    medians = []
    for category in CATEGORIES:
        chosen = [r for r in rows if r["category"] == category]
        for r in chosen:
            assert r["in_prompt"] == pytest.approx(copied_share(r["text"], r["continuation"]), abs=6e-4)
            assert r["locality"] == pytest.approx(locality(r["text"], r["continuation"]), abs=6e-4)
        medians.append(median(r["in_prompt"] for r in chosen))
    assert medians == sorted(medians, reverse=True)
    assert medians[0] > 0.8 and 0.15 < medians[2] < 0.5 and medians[-1] < 0.05


class Scripted:
    """Proposes, round by round, the branches of a script."""

    nodes = 8

    def __init__(self, *script: list[list[int]]) -> None:
        self.script, self.seen, self.text = list(script), [], []

    def start(self, prompt) -> None:
        self.text = list(prompt)

    def extend(self, tokens) -> None:
        self.text += tokens

    def draft(self, text, budget) -> DraftTree:
        assert list(text) == self.text
        tree, at = DraftTree(), {(): -1}
        for branch in self.script.pop(0):
            for depth in range(len(branch)):
                path = tuple(branch[: depth + 1])
                if path not in at:
                    at[path] = tree.add(branch[depth], at[path[:-1]], "db")
        return tree


def test_rounds_are_those_of_a_target_that_writes_the_continuation():
    # Two drafts and a bonus; nothing; two of three and a correction, which is the last token.
    drafter = Scripted([[9, 1], [1, 2, 7], [1, 8]], [], [[5, 6, 8]])
    assert replay(drafter, Text("", (0,), (1, 2, 3, 4, 5, 6, 7)), 8).rounds == 3 and drafter.text == [
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    ]
    assert replay(Scripted([[1, 2]], []), Text("", (0,), (1, 2)), 8).rounds == 1
    assert replay(Scripted(), Text("", (0,), ()), 8).rounds == 0


def test_only_what_the_prompt_holds_counts_as_in_the_prompt():
    assert copied_share("a b c", " a b c") == pytest.approx(
        2 / 6
    )  # of "b c a b c" and its blanks, only "a b " and " b c" are known
    assert copied_share("one", "x y x y x y") == 0 < locality("one", "x y x y x y")
    assert copied_share("a b c d", "") == 0


FUNCTION = '''def visit_{k}_{name}(node, depth):
    """Walk over the {name} of the {k} kind."""
    found = [child for child in node if child > depth]
    for child in found:
        print("{name}", child, node, depth + {k})
        node.append(child * depth - {k})
    total = sum(node) + depth
    while total > {k}:
        total = total // 2 - depth
        node.append(total)
    return found, node, depth, total


'''


def synthetic() -> list[SourceFile]:
    """Six files, each with words of its own, so that no function's end is that of another file's."""
    files = []
    for name in ("leaf", "root", "bough", "twig", "bark", "stem"):
        text = "".join(FUNCTION.format(k=k, name=name) for k in range(8)).replace("depth", f"{name}_")
        files.append(SourceFile(name, "1.0", "MIT", f"{name}/a.py", text, True))
    return files


def test_building_is_deterministic_and_passes_by_what_was_learnt():
    files = synthetic()
    learnt = SourceFile("copy", "1.0", "MIT", "copy/b.py", files[0].text, False)
    suite, notes = build_python([*files, learnt])
    assert (suite, notes) == build_python([learnt, *files[::-1]])
    assert {p["category"] for p in suite["prompts"]} == {"edit", "index", "siblings", "openings"}
    assert {p["origin"]["package"] for p in suite["prompts"]} == {"root", "bough", "twig", "bark", "stem"}
    lone, _ = build_python(files)
    openings = {p["origin"]["package"]: p["text"] for p in lone["prompts"] if p["category"] == "openings"}
    assert "leaf" in openings
    # Only what follows root's opening was learnt.
    rest = SourceFile("copy", "1.0", "MIT", "copy/b.py", files[1].text.removeprefix(openings["root"]), False)
    kept = {p["origin"]["package"] for p in build_python([*files, rest])[0]["prompts"] if p["category"] == "openings"}
    assert kept == set(openings) - {"root"}
    assert "edit" in locality_table({**suite, "categories": ["edit", "index"]})


def test_what_follows_an_edit_and_an_index_is_made_by_a_rule():
    rows = build_python(synthetic())[0]["prompts"]
    edit = next(r for r in rows if r["category"] == "edit")
    shown, _, head = edit["text"].partition("\n\n# The same, with ")
    old, new = head.split(".")[0].split(" named ")
    assert new == f"{old}_" and head.endswith(shown.splitlines()[0].replace(old, new) + "\n")
    assert edit["continuation"].rstrip() == shown.split("\n", 1)[1].replace(old, new) and old in shown
    index = next(r for r in rows if r["category"] == "index")
    name = index["origin"]["package"]
    listed = (index["text"].split("# What is above:\n#\n")[1] + index["continuation"]).splitlines()
    functions = [line for line in index["text"].splitlines() if line.startswith("def ")]
    assert len(listed) == len(functions) >= 3
    for line, function in zip(listed, functions, strict=True):
        k = function.split("_")[1]
        assert line == f"# - visit_{k}_{name}(node, {name}_): Walk over the {name} of the {k} kind."
