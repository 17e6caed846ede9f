"""The base install: everything but Hugging Face models works where importing torch and
transformers fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from hsd_viz.native.build import default_build

ROOT = Path(__file__).resolve().parent.parent
COURSE = ROOT / "notebooks" / "course" / "student"
BLOCK = """
import sys

absent = ("torch", "transformers", "safetensors", "huggingface_hub", "accelerate")
sys.modules.update(dict.fromkeys(absent))
"""
STACKS = (
    "target",
    "nano:4 > target",
    "small:4 > target",
    "nano:4 > small:8 > target",
    "db > target",
    "db[context,statistics] > target",
    "db[context,logits] > target",
    "db > nano:6 > small:8 > target",
    "hd > target",
    "hd > nano:4 > target",
    "lookup > target",
    "sam > target",
    "suffix > target",
    "recycling > target",
    "retrieval > target",
    "ngram-cache > target",
    "lookup > small:4 > target",
)


@pytest.fixture(scope="module")
def blocked(tmp_path_factory) -> dict[str, str]:
    """Return an environment whose Pythons cannot import torch."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(BLOCK)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "OMP_NUM_THREADS": "1",
    }


def run(code: str, folder: Path, env: dict[str, str]) -> str:
    """Run Python; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_importing_and_the_dashboard_load_no_heavy_module(tmp_path):
    code = """
        import sys
        import hsd_viz as hsd

        models = {"torch", "transformers", "tokenizers"}
        pages = {"plotly", "pandas", "ipywidgets", "anywidget"}
        assert not (loaded := (models | pages) & set(sys.modules)), loaded
        assert type(hsd.dashboard()).__name__ == "App"
        assert not (loaded := models & set(sys.modules)), loaded
        assert set(hsd.__all__) <= set(dir(hsd))
        assert all(hasattr(hsd, name) for name in hsd.__all__) and not hasattr(hsd, "nonsense")
    """
    run(code, tmp_path, {**os.environ})


def test_seventeen_stacks_give_the_texts_of_the_full_install(tmp_path, blocked):
    code = f"""
        import json, sys
        import hsd_viz as hsd
        engine = hsd.load_engine(threads=1)
        engine.wait_ready()
        runs = []
        for stack in {STACKS}:
            pair = []
            for t in (0, 0.7):
                pair.append(engine.run("def main(", stack, temperature=t, max_new_tokens=16))
            runs.append(pair)
        greedy = {{tuple(pair[0].token_ids) for pair in runs}}
        print(json.dumps([len(greedy), [[run.token_ids for run in pair] for pair in runs]]))
        assert runs[0][0].meta["versions"].keys() == {{"hsd_viz", "python"}}
        assert not {{"pandas", "plotly", "ipywidgets"}} & set(sys.modules)
    """
    without = json.loads(run(code, tmp_path, blocked))
    full = json.loads(run(code, tmp_path, {**os.environ}))
    assert len(STACKS) == 17
    assert without == full
    assert without[0] == 1
    assert len({tuple(sampled) for _, sampled in without[1]}) > 3


def test_commands(tmp_path, blocked):
    cache = tmp_path / "cache"
    if default_build().wait():  # compiled already
        shutil.copytree(default_build().path.parent, cache / "native")
    (tmp_path / "suite.txt").write_text("def one(a, b):\n    return a\n\n\n\n\nimport os\n")
    record = {
        "prompt": "def main(",
        "output": "self, args):\n    return args\n\ndef main(self, args):\n    return args\n",
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(record) + "\n")
    eight = "--max-new-tokens 8"
    small = f"--suite suite.txt --limit 1 --repeats 1 {eight}"
    warm = "--temperature 0.7"
    saved = "--save run.json.gz"
    code = f"""
        import shlex
        from hsd_viz.cli import main
        for line in '''
            decode --stack "db > nano:4 > target" --prompt "def main(" {eight} {saved} --json
            bench --stack "db > target" {small} {warm} --json bench.json --html bench.html
            plan --models nano,target --max-levels 2 --measure 1 {small} --json plan.json
            replay log.jsonl --tokenizer target --drafter db --json replay.json
            doctor run.json.gz
            export run.json.gz --html run.html
            export run.json.gz --perfetto run.perfetto.json
            export run.json.gz --csv csv
            databases build --kind model --model nano --prompts suite.txt {eight} --out databases
            databases build --kind statistics --text suite.txt --out databases
        '''.strip().splitlines():
            code = main(shlex.split(line))
            assert code == 0, (code, line)
    """
    run(code, tmp_path, {**blocked, "HSD_VIZ_CACHE": str(cache)})
    machine = json.loads((tmp_path / "bench.json").read_text())["machine"]
    assert machine["threads"] == 1
    assert machine["cores"]
    assert {"bench.html", "plan.json", "replay.json", "run.html", "csv"} <= set(
        os.listdir(tmp_path)
    )


def test_a_live_run_on_the_dashboard(tmp_path, blocked):
    code = """
        import threading
        import hsd_viz as hsd
        page, done, heard = hsd.dashboard(), threading.Event(), []

        def send(content, buffers=None):
            heard.append(content)
            if content["kind"] in ("done", "failed"):
                done.set()

        page.send = send
        request = {"prompt": "def main(", "stack": "db > target", "max_new_tokens": 32}
        request |= {"temperature": 0.7, "seed": 1}
        page._on_message(None, {"id": "1", "kind": "decode", "request": request}, [])
        assert done.wait(200) and heard[-1]["kind"] == "done", heard[-1]
        print(len(page.trace), page.trace.meta["runtime"])
    """
    assert int(run(code, tmp_path, blocked).split()[0]) > 8


@pytest.mark.parametrize("lesson", ["2-draft-verify-accept", "5-databases"])
def test_lessons(lesson, blocked, monkeypatch):
    for name, value in blocked.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(COURSE / f"{lesson}.ipynb", as_version=4)
    check = nbformat.v4.new_code_cell(
        "try:\n    import torch\nexcept ImportError:\n    print('missing')"
    )
    notebook.cells.append(check)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(COURSE)}}
    ).execute()
    assert notebook.cells[-1].outputs[0]["text"] == "missing\n"


def test_a_missing_torch_names_the_extra_to_install(tmp_path, blocked):
    code = """
        import hsd_viz as hsd
        try:
            hsd.load_engine(runtime="eager").run("def main(")
        except ValueError as error:
            print(error)
    """
    assert "pip install 'hsd-viz[models]'" in run(code, tmp_path, blocked)
