"""Custom databases from the command line: build, interrupt, inspect, draft from, refuse."""

import json

import pytest

from hsd_viz.cli import main
from hsd_viz.drafting.index.format import Index
from hsd_viz.engine.local import LocalEngine

PROMPT = "def area(width, height):\n"
PROMPTS = ["def area(", "class Node:\n    def", "import os\n", "for item in"]


def build(out, kind, *words):
    return main(["databases", "build", "--kind", kind, "--out", str(out), *map(str, words)])


def test_a_model_database_is_built_whole_or_not_at_all(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.txt").write_text("\n\n\n\n".join(PROMPTS))
    words = ("model", "--model", "nano", "--max-new-tokens", "12", "--prompts", tmp_path / "a.txt", "heldout")
    run, decoded = LocalEngine.run, []

    def interrupted(self, prompt, stack, **options):
        if len(decoded) == 2:
            raise KeyboardInterrupt
        decoded.append(prompt)
        return run(self, prompt, stack, **options)

    monkeypatch.setattr(LocalEngine, "run", interrupted)
    assert build(tmp_path / "mine", *words) == 130
    assert capsys.readouterr().out == "" and not list((tmp_path / "mine").iterdir())
    monkeypatch.undo()
    assert build(tmp_path / "mine", *words[:-1]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "mine" / f"{n}.hsdb") for n in ("model", "fivegrams")]
    index = Index(tmp_path / "mine" / "model.hsdb")
    assert index.header["meta"]["outputs"] == 4 and index.header["meta"]["model"] == "nano"
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {"model.hsdb", "fivegrams.hsdb"}


def test_what_was_built_is_drafted_from(tmp_path, capsys):
    out = str(tmp_path / "mine")
    decode = ["decode", "--prompt", PROMPT, "--max-new-tokens", "24", "--json", "--stack"]
    assert main([*decode, "target"]) == 0
    plain = json.loads(capsys.readouterr().out)
    # A text that says what the target says.
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "all.py").write_text((PROMPT + plain["text"] + "\n") * 6)
    assert build(out, "statistics", "--text", tmp_path / "source") == 0
    decode += ["db[statistics] > target"]
    capsys.readouterr()
    assert main(decode) == 0
    shipped = json.loads(capsys.readouterr().out)
    decode += ["--databases"]
    assert main([*decode, out]) == 0
    mine = json.loads(capsys.readouterr().out)
    assert mine["token_ids"] == shipped["token_ids"] == plain["token_ids"]
    assert mine["metrics"]["accepted_by_source"]["statistics"] > 12
    # The model database is missing: the error names the folder.
    assert main(["decode", "--stack", "db[model] > target", "--prompt", "x", "--databases", out]) == 2
    assert "mine" in capsys.readouterr().err
    path = tmp_path / "mine" / "statistics.hsdb"
    path.write_bytes(path.read_bytes()[:-3])
    assert main([*decode, out]) == 2
    assert main([*decode, str(tmp_path / "source")]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and "is damaged" in errors[0] and "there are no databases in" in errors[1]


@pytest.fixture
def words(tmp_path):
    """A tokenizer of 70 000 words, as a tokenizer.json."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"?": 0, **{f"w{i}": i for i in range(1, 70_000)}}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path / "tokenizer.json")


def test_any_tokenizer_and_what_a_database_holds(tmp_path, words, capsys):
    text = tmp_path / "text.txt"
    text.write_text("w69999 w3 w66000 w5 \n" * 40)
    out = tmp_path / "mine"
    assert build(out, "statistics", "--text", text, "--tokenizer", words, "--max-key-length", "3") == 0
    path = str(out / "statistics.hsdb")
    capsys.readouterr()
    assert main(["databases", "inspect", path, "--tokenizer", words, "--json", "--top", "3"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["vocabulary_size"] == 70_000 and facts["meta"]["tokens"] == 160 and facts["meta"]["files"] == 1
    pairs = {("w69999", "w3"), ("w3", "w66000"), ("w66000", "w5")}
    assert {tuple(entry["text"]) for entry in facts["most_used"]} == pairs
    assert main(["databases", "inspect", str(out), "--tokenizer", words]) == 0
    shown = capsys.readouterr().out
    assert "'w3' then 'w66000': 40 of 40 times" in shown
    # Built with another tokenizer than the ladder's: shown as token ids, and not measured on a text.
    assert main(["databases", "inspect", path]) == 0
    assert "[3] then [66000]" in capsys.readouterr().out
    assert main(["databases", "inspect", path, "--tokenizer", "target"]) == 2
    assert main(["decode", "--stack", "db > target", "--prompt", "x", "--databases", str(out)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and all("another tokenizer" in line for line in errors)


def test_a_large_file_is_opened_unread_and_inspected_whole(tmp_path, words, capsys, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text(" ".join(f"w{i % 50 + 1}" for i in range(4000)))
    out = tmp_path / "mine"
    assert build(out, "statistics", "--text", text, "--tokenizer", words) == 0
    monkeypatch.setattr("hsd_viz.drafting.index.format.READ_WHOLE", 0)
    path = out / "statistics.hsdb"
    assert main(["databases", "inspect", str(path)]) == 0
    bad = bytearray(path.read_bytes())
    bad[-9] ^= 4
    path.write_bytes(bad)
    Index(path)
    assert main(["databases", "inspect", str(path)]) == 2
    assert "its contents do not match its checksum" in capsys.readouterr().err
