"""Commands that delegate to other packages: export, replay, databases (custom ones, too),
ladder, dashboard.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

import hsd_viz.cli.ladder
import hsd_viz.ladder
import hsd_viz.ladder.torch_modules
import hsd_viz.models.families
import training.train
from hsd_viz.cli import main
from hsd_viz.drafting.index.build import build_database
from hsd_viz.drafting.index.read import Index
from hsd_viz.engine.recordings import SIDE_BY_SIDE, load_bundled
from hsd_viz.engine.remote import RemoteEngine
from hsd_viz.measure.replay.api import replay_text
from tests.rows import column


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "statistics.hsdb"
    documents = [[np.array([1, 2, 3, 4] * 8, dtype=np.uint16)] for _ in range(4)]
    build_database(documents, path, kind="statistics", vocabulary_size=16, vocabulary_hash="0" * 64)
    return path


def test_inspecting_a_database_shows_what_it_holds(database, cli):
    out = cli("databases", "inspect", database)
    assert out.startswith(f"{database}: statistics database, ")
    assert "16 token ids" in out
    facts = json.loads(cli("databases", "inspect", database, "--json"))
    assert facts["kind"] == "statistics"
    assert facts["vocabulary_size"] == 16
    assert facts["keys"] > 0
    database.write_bytes(database.read_bytes()[:50])
    cli("databases", "inspect", database, code=2)


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """An empty folder in place of the shipped weights."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    monkeypatch.setattr(hsd_viz.ladder.torch_modules, "LADDER", folder)
    monkeypatch.setattr(hsd_viz.models.families, "LADDER", folder)
    return folder


def test_left_out_the_path_means_all_that_ship(weights, database, cli):
    assert "hsd-viz databases build" in cli("databases", "inspect", code=2)
    assert "ladder train" in cli("ladder", "info", code=2)
    (weights / "databases").mkdir()
    for name in ("model", "statistics"):
        (weights / "databases" / f"{name}.hsdb").write_bytes(database.read_bytes())
    reports = json.loads(cli("databases", "inspect", "--json"))
    assert [Path(facts["path"]).stem for facts in reports] == ["model", "statistics"]


def test_ladder_info_shows_the_shipped_models(cli):
    assert [line.split()[0] for line in cli("ladder", "info").splitlines()[:3]] == [
        "nano",
        "small",
        "target",
    ]
    assert set(json.loads(cli("ladder", "info", "--json"))["models"]) == {"nano", "small", "target"}


def test_ladder_train_runs_the_recipe_of_the_checkout(monkeypatch, tmp_path, cli):
    asked = {}

    def train_ladder(profile, out, **options):
        asked.update(options, profile=profile, out=out)
        return out / "weights"

    monkeypatch.setattr(training.train, "train_ladder", train_ladder)
    words = f"train --profile tiny --out {tmp_path} --stages target --seed 3 --threads 1"
    limits = "--minutes 2 --fresh --steps target=9"
    assert cli("ladder", *words.split(), *limits.split()) == f"{tmp_path / 'weights'}\n"
    assert asked.pop("profile") == "tiny"
    assert asked.pop("out") == tmp_path
    assert asked.pop("steps") == {"target": 9}
    expected = {
        "stages": ["target"],
        "seed": 3,
        "device": "cpu",
        "threads": 1,
        "resume": False,
        "minutes": 2.0,
    }
    assert asked == expected | {"tokenizer": None}


def test_the_dashboard_passes_its_options_on(monkeypatch, tmp_path):
    asked = {}

    def serve(*args, **options):
        asked.update(options, args=args)
        return 7

    monkeypatch.setattr("hsd_viz.views.app.server.serve", serve)
    (tmp_path / "token").write_text("abc\n")
    token = ["--token-file", str(tmp_path / "token")]
    assert main(["dashboard", "--port", "9000", *token, "--allow-models"]) == 7
    expected = {
        "args": ("127.0.0.1", 9000),
        "token": "abc",
        "allow_models": True,
        "engine": None,
        "pages": None,
    }
    assert asked == expected | {"open_browser": False, "family": "code"}


@pytest.fixture
def served_family(monkeypatch):
    """The families of served pages, whose engine is a server of smollm2."""
    families = []

    def connect(url, token):
        server = RemoteEngine(url, token)
        server.family = "smollm2"
        return server

    def serve(*args, family, **options):
        families.append(family)

    monkeypatch.setattr("hsd_viz.engine.remote.connect", connect)
    monkeypatch.setattr("hsd_viz.views.app.server.serve", serve)
    return families


@pytest.mark.parametrize("family", [(), ("--family", "smollm2")], ids=["left out", "named"])
def test_the_dashboard_of_a_server_has_its_family(served_family, family):
    assert main(["dashboard", "--engine", "http://127.0.0.1:1", *family]) == 0
    assert served_family == ["smollm2"]


def test_the_dashboard_of_a_server_refuses_another_family(served_family, monkeypatch, capsys):
    monkeypatch.setattr("hsd_viz.engine.remote.connect", RemoteEngine)
    assert main(["dashboard", "--engine", "http://127.0.0.1:1", "--family", "smollm2"]) == 2
    message = "http://127.0.0.1:1 decodes the family code, not smollm2"
    assert message in capsys.readouterr().err
    assert not served_family


def test_training_needs_a_checkout(tmp_path, monkeypatch, cli):
    monkeypatch.setattr(hsd_viz.cli.ladder, "ROOT", tmp_path)
    assert "this needs a checkout of the project" in cli("ladder", "train", "--out", "x", code=2)


@pytest.fixture
def saved(tmp_path):
    return load_bundled("sampled").save(tmp_path / "run.json.gz")


def test_all_formats_in_one_go(saved, tmp_path, cli):
    html = tmp_path / "run.html"
    timeline = tmp_path / "run.json"
    tables = tmp_path / "new" / "tables"
    written = cli(
        "export", saved, "--html", html, "--perfetto", timeline, "--csv", tables
    ).splitlines()
    assert written[:2] == [str(html), str(timeline)]
    assert len(written) == 6
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    calls = [e for e in json.loads(timeline.read_text())["traceEvents"] if e.get("cat") == "call"]
    assert sum(round(1000 * e["dur"]) for e in calls) == sum(
        column(load_bundled("sampled").call_rows, "duration_ns")
    )
    assert set(os.listdir(tables)) == {
        "tokens.csv",
        "drafts.csv",
        "rounds.csv",
        "calls.csv",
    }


@pytest.fixture
def runs(tmp_path):
    runs = {}
    for name in ("plain", "databases", "both"):
        runs[name] = load_bundled(name, SIDE_BY_SIDE / "greedy")
    return {name: run.save(tmp_path / f"{name}.json.gz") for name, run in runs.items()}


@pytest.mark.parametrize("names", [("plain", "databases"), ("both", "plain", "databases")])
def test_two_or_three_traces_become_one_page_in_their_order(runs, tmp_path, cli, names):
    html = tmp_path / "race.html"
    assert cli("export", *(runs[n] for n in names), "--html", html).splitlines() == [str(html)]
    text = html.read_text(encoding="utf-8")
    stacks = []
    for n in names:
        stacks.append(
            load_bundled(n, SIDE_BY_SIDE / "greedy").meta["stack_resolved"].replace(">", "&gt;")
        )
    assert f"<title>{' · '.join(stacks)} · hsd_viz</title>" in text
    assert len(text.encode()) < 1_000_000


def test_runs_of_different_prompts_are_not_compared(runs, tmp_path, cli):
    other = load_bundled("databases").save(tmp_path / "run.json.gz")
    said = cli("export", runs["plain"], other, "--html", tmp_path / "x.html", code=2)
    assert "have different prompts" in said
    assert not (tmp_path / "x.html").exists()


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entries = [{"prompt": f"{k} a <b>b</b> c", "output": "a <b>b</b> c d"} for k in range(6)]
    entries += [{"prompt": "y", "output": "z"}]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_a_replay_prints_tables_and_writes_files(log, tmp_path, cli):
    words = [
        "replay",
        "log.jsonl",
        "--tokenizer",
        "target",
        "--drafter",
        "lookup",
        "--drafter",
        "<i>x",
    ]
    out = cli(*words, "--json", "out.json", "--html", "out.html")
    assert "7 requests" in out
    assert "Not replayed: <i>x" in out
    assert "lookup" in out
    assert "Settings to paste" in out
    assert '"method": "ngram"' in out
    data = json.loads((tmp_path / "out.json").read_text())
    (row,) = data["drafters"]
    assert row["name"] == "lookup"
    assert row["mean_acceptance_length"] > 1
    assert row["mean_acceptance_length_ci"]
    assert len(row["accepted_by_position"]) == len(row["drafted_by_position"]) > 0
    html = (tmp_path / "out.html").read_text()
    assert "&lt;i&gt;x" in html
    assert "<i>x" not in html
    assert "<script" not in html
    assert sorted(os.listdir(tmp_path)) == ["log.jsonl", "out.html", "out.json"]


def test_an_interrupted_replay_writes_the_requests_so_far(log, tmp_path, capsys, monkeypatch):
    done = iter([0, 1, 2])

    def interrupted(*args):
        if next(done, None) is None:
            raise KeyboardInterrupt
        return replay_text(*args)

    monkeypatch.setattr("hsd_viz.measure.replay.api.replay_text", interrupted)
    assert (
        main("replay log.jsonl --tokenizer target --drafter lookup --json out.json".split()) == 130
    )
    assert "interrupted" in capsys.readouterr().err
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["log"]["requests"] == 3
    assert not data["complete"]


PROMPT = "def area(width, height):\n"
PROMPTS = ["def area(", "class Node:\n    def", "import os\n", "for item in"]


def build(out, kind, *words):
    return main(["databases", "build", "--kind", kind, "--out", str(out), *map(str, words)])


def test_a_model_database_is_built_whole_or_not_at_all(tmp_path, interrupt, capsys):
    (tmp_path / "a.txt").write_text("\n\n\n\n".join(PROMPTS))
    words = (
        "model",
        "--model",
        "nano",
        "--max-new-tokens",
        "12",
        "--prompts",
        tmp_path / "a.txt",
        "heldout",
    )
    interrupt(3)
    assert build(tmp_path / "mine", *words) == 130
    assert capsys.readouterr().out == ""
    assert not list((tmp_path / "mine").iterdir())
    assert build(tmp_path / "mine", *words[:-1]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "mine" / f"{n}.hsdb") for n in ("model", "fivegrams")
    ]
    index = Index(tmp_path / "mine" / "model.hsdb")
    assert index.header["meta"]["outputs"] == 4
    assert index.header["meta"]["model"] == "nano"
    assert set(os.listdir(tmp_path / "mine")) == {"model.hsdb", "fivegrams.hsdb"}


def test_what_was_built_is_drafted_from(tmp_path, cli):
    out = str(tmp_path / "mine")
    decode = ["decode", "--prompt", PROMPT, "--max-new-tokens", "24", "--json", "--stack"]
    plain = json.loads(cli(*decode, "target"))
    # A text that says what the target says.
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "all.py").write_text((PROMPT + plain["text"] + "\n") * 6)
    assert build(out, "statistics", "--text", tmp_path / "source") == 0
    decode += ["db[statistics] > target"]
    shipped = json.loads(cli(*decode))
    decode += ["--databases"]
    mine = json.loads(cli(*decode, out))
    assert mine["token_ids"] == shipped["token_ids"] == plain["token_ids"]
    assert mine["metrics"]["accepted_by_source"]["statistics"] > 12
    # The model database is missing: the error names the folder.
    said = cli(
        "decode", "--stack", "db[model] > target", "--prompt", "x", "--databases", out, code=2
    )
    assert "mine" in said
    path = tmp_path / "mine" / "statistics.hsdb"
    path.write_bytes(path.read_bytes()[:-3])
    assert "is damaged" in cli(*decode, out, code=2)
    assert "there are no databases in" in cli(*decode, tmp_path / "source", code=2)


@pytest.fixture
def words(tmp_path):
    """A tokenizer of 70 000 words, as a tokenizer.json."""
    tokenizer = Tokenizer(
        models.WordLevel({"?": 0, **{f"w{i}": i for i in range(1, 70_000)}}, unk_token="?")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path / "tokenizer.json")


def test_any_tokenizer_and_what_a_database_holds(tmp_path, words, cli):
    text = tmp_path / "text.txt"
    text.write_text("w69999 w3 w66000 w5 \n" * 40)
    out = tmp_path / "mine"
    assert (
        build(out, "statistics", "--text", text, "--tokenizer", words, "--max-key-length", "3") == 0
    )
    path = str(out / "statistics.hsdb")
    facts = json.loads(
        cli("databases", "inspect", path, "--tokenizer", words, "--json", "--top", "3")
    )
    assert facts["vocabulary_size"] == 70_000
    assert facts["meta"]["tokens"] == 160
    assert facts["meta"]["files"] == 1
    pairs = {("w69999", "w3"), ("w3", "w66000"), ("w66000", "w5")}
    assert {tuple(entry["text"]) for entry in facts["most_used"]} == pairs
    assert "'w3' then 'w66000': 40 of 40 times" in cli(
        "databases", "inspect", out, "--tokenizer", words
    )
    # Built with another tokenizer than the ladder's: shown as token ids, and not measured on a
    # text.
    assert "[3] then [66000]" in cli("databases", "inspect", path)
    assert "another tokenizer" in cli("databases", "inspect", path, "--tokenizer", "target", code=2)
    decode = ["decode", "--stack", "db > target", "--prompt", "x", "--databases", out]
    assert "another tokenizer" in cli(*decode, code=2)


def test_a_large_file_is_opened_unread_and_inspected_whole(tmp_path, words, cli, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text(" ".join(f"w{i % 50 + 1}" for i in range(4000)))
    out = tmp_path / "mine"
    assert build(out, "statistics", "--text", text, "--tokenizer", words) == 0
    monkeypatch.setattr("hsd_viz.drafting.index.read.READ_WHOLE", 0)
    path = out / "statistics.hsdb"
    cli("databases", "inspect", path)
    bad = bytearray(path.read_bytes())
    bad[-9] ^= 4
    path.write_bytes(bad)
    Index(path)
    assert "its contents do not match its checksum" in cli("databases", "inspect", path, code=2)
