"""Commands that delegate to other packages: databases, ladder, dashboard."""

import json
from pathlib import Path

import numpy as np
import pytest

import hsd_viz.cli.files
import hsd_viz.ladder
import hsd_viz.ladder.load
import training.train
from hsd_viz.cli import main


@pytest.fixture
def database(tmp_path):
    from hsd_viz.drafting.index.build import build_database

    path = tmp_path / "statistics.hsdb"
    documents = [[np.array([1, 2, 3, 4] * 8, dtype=np.uint16)] for _ in range(4)]
    build_database(documents, path, kind="statistics", vocabulary_size=16, vocabulary_hash="0" * 64)
    return path


def test_inspecting_a_database_shows_what_it_holds(database, capsys):
    assert main(["databases", "inspect", str(database)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{database}: statistics database, ") and "16 token ids" in out
    assert main(["databases", "inspect", str(database), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "statistics" and facts["vocabulary_size"] == 16 and facts["keys"] > 0
    database.write_bytes(database.read_bytes()[:50])
    assert main(["databases", "inspect", str(database)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """An empty folder in place of the shipped weights."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(hsd_viz.ladder.load, "weights_dir", lambda: folder)
    return folder


def test_left_out_the_path_means_all_that_ship(weights, database, capsys):
    for words, part in ((["databases", "inspect"], "hsd-viz databases build"), (["ladder", "info"], "ladder train")):
        assert main(words) == 2 and part in capsys.readouterr().err
    (weights / "databases").mkdir()
    for name in ("model", "statistics"):
        (weights / "databases" / f"{name}.hsdb").write_bytes(database.read_bytes())
    assert main(["databases", "inspect", "--json"]) == 0
    assert [Path(facts["path"]).stem for facts in json.loads(capsys.readouterr().out)] == ["model", "statistics"]


def test_ladder_info_shows_the_shipped_models(capsys):
    assert main(["ladder", "info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["nano", "small", "target"]
    assert main(["ladder", "info", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["models"]) == {"nano", "small", "target"}


def test_ladder_train_runs_the_recipe_of_the_checkout(monkeypatch, tmp_path, capsys):
    asked = {}

    def train_ladder(profile, out, **options):
        asked.update(options, profile=profile, out=out)
        return out / "weights"

    monkeypatch.setattr(training.train, "train_ladder", train_ladder)
    words = f"train --profile tiny --out {tmp_path} --stages target --seed 3 --threads 1 --minutes 2 --fresh"
    assert main(["ladder", *words.split(), "--steps", "target=9"]) == 0
    assert (asked.pop("profile"), asked.pop("out"), asked.pop("steps")) == ("tiny", tmp_path, {"target": 9})
    expected = {"stages": ["target"], "seed": 3, "device": "cpu", "threads": 1, "resume": False, "minutes": 2.0}
    assert asked == expected | {"tokenizer": None}
    assert capsys.readouterr().out == f"{tmp_path / 'weights'}\n"


def test_the_dashboard_passes_its_options_on(monkeypatch):
    import hsd_viz.views.app.server

    asked = {}
    serve = lambda *args, **options: asked.update(options, args=args) or 7
    monkeypatch.setattr(hsd_viz.views.app.server, "serve", serve)
    assert main(["dashboard", "--port", "9000", "--token", "abc", "--allow-models"]) == 7
    expected = {"args": ("127.0.0.1", 9000), "token": "abc", "allow_models": True, "engine": None, "pages": None}
    assert asked == expected | {"open_browser": False}


def test_training_needs_a_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hsd_viz.cli.files, "ROOT", tmp_path)
    assert main(["ladder", "train", "--out", "x"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "this needs a checkout of the project" in err
