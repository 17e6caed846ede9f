"""Test the example package of docs/how-to/extend.md, whose drafter and rule are found by entry
points.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "extend.md").read_text()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Return the folder of the installed package."""
    folder = tmp_path_factory.mktemp("package")
    code, project = (
        re.search(rf"```{kind}\n# \S+\n(.*?)```", PAGE, re.S)[1] for kind in ("python", "toml")
    )
    (folder / "my_drafts.py").write_text(code)
    installed = folder / "my_drafts-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: my-drafts\nVersion: 1\n")
    points = re.sub(r'project\.entry-points\."(.*?)"', r"\1", project).replace('"', "")
    (installed / "entry_points.txt").write_text(points)
    return folder


def run(folder, code):
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_drafter_and_a_rule_of_another_package(package):
    printed = run(
        package,
        """
import json
from hsd_viz.engine.local import load_engine
from hsd_viz.figures.palette import HUES
from hsd_viz.views.page_data import page_palette
engine = load_engine()
stacks = {"plain": ("target", "block"), "repeat": ("repeat > target", "block"),
          "mine": ("nano:4 > target", "leviathan"), "token": ("nano:4 > target", "token")}
answer = {"ink": HUES["repeat"].light, "palette": page_palette()}
for name, (stack, rule) in stacks.items():
    trace = engine.run(
        "x = 1\\nx = 1\\nx =", stack, max_new_tokens=24, temperature=0.7, seed=3, rule=rule
    )
    answer[name] = [list(trace.token_ids), sorted({*trace.columns["rounds"]["rule"]}),
                    sorted({*trace.columns["drafts"]["source"]})]
print(json.dumps(answer))
""",
    )
    assert printed["repeat"][0] == printed["plain"][0]
    assert printed["repeat"][2] == ["repeat"]
    assert printed["mine"][0] == printed["token"][0]
    assert "leviathan" in printed["mine"][1]
    assert printed["ink"] == "#7a3b00"
    assert "repeat" in printed["palette"]["baselines"]
    assert "repeat" not in printed["palette"]["hues"]


def test_a_trace_has_the_description_of_a_rule_of_another_package(package):
    printed = run(
        package,
        """
import json
from hsd_viz.engine import tab
from hsd_viz.engine.local import load_engine
engine = load_engine()
words = lambda rule: engine.run("x", "target", max_new_tokens=1, rule=rule).meta.get("rule_words")
answer = {"mine": words("leviathan"), "block": words("block"), "tab": tab.manifest()["rules"]}
print(json.dumps(answer))
""",
    )
    assert printed["mine"] == "Accept a token while u q < p (Leviathan et al. 2023)."
    assert printed["block"] is None
    assert printed["tab"] == ["token", "block", "branch"], "the page's runtime has no others"


def test_the_help_certifies_no_rule_of_another_package(package):
    code = "import json\nfrom hsd_viz.decoding.options import Sampling\n"
    code += "from hsd_viz.settings.declare import settings_of\n"
    code += 'print(json.dumps(settings_of(Sampling)["rule"].help))'
    assert run(package, code) == (
        "verification of drafts that a model sampled: token, block or branch, which are lossless; "
        "of other packages, unchecked: leviathan"
    )


def test_a_file_among_the_baselines_is_a_drafter(tmp_path):
    """Add a file to a copy of the package ``drafting``, with links to the other packages."""
    home = tmp_path / "hsd_viz"
    shutil.copytree(ROOT / "hsd_viz" / "drafting", home / "drafting")
    for path in (ROOT / "hsd_viz").iterdir():
        if path.name != "drafting":
            (home / path.name).symlink_to(path)
    (home / "drafting" / "baselines" / "repeat.py").write_text(
        re.search(r"```python\n(.*?)```", PAGE, re.S)[1]
    )
    code = "import json, hsd_viz as hsd\nfrom hsd_viz.drafting import drafters, make_drafter\n"
    code += "draft = make_drafter(hsd.parse('repeat > target').bottom).draft([1, 2], 8).tokens\n"
    assert run(tmp_path, f"{code}print(json.dumps([draft, [*drafters()][:2]]))") == [
        [2] * 4,
        ["db", "hd"],
    ]


def test_registering_a_class_writes_nothing_onto_it(tmp_path):
    code = """
import json
from hsd_viz.drafting import drafter, make_drafter
from hsd_viz.stack import read_source

class Plain:
    nodes = 4
    def __init__(self, run):
        self.run = run

before = dict(vars(Plain))
drafter("plain", items=("short",), colour=("#000000", "#ffffff"), remembers=dict)(Plain)
made = make_drafter(read_source("plain[short]"), memory={"plain": 7})
unchanged = dict(vars(Plain)) == before
print(json.dumps([unchanged, made.name, made.state_depth, made.run.state]))
"""
    assert run(tmp_path, code) == [True, "plain", None, 7]


def test_a_package_that_cannot_be_loaded_is_named_and_left_out(package):
    (package / "my_drafts.py").write_text("raise RuntimeError('broken')")
    code = """
import json, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter('always')
    from hsd_viz import parse
    parse('db > target')
print(json.dumps([str(w.message) for w in seen]))
"""
    assert run(package, code) == ["the drafter 'repeat' of my_drafts cannot be loaded: broken"]
