"""Texts of any size become the documents of a corpus."""

import numpy as np
import pytest

from hsd_viz.drafting.index import count as corpus
from hsd_viz.drafting.index.count import CorpusWriter, find_texts, read_pieces, write_texts


def encode(pieces):
    return [[ord(c) + 1 for c in piece] for piece in pieces]


def corpus_of(paths, folder, eos=0):
    writer = CorpusWriter(folder, 0x110001)
    counted = write_texts(find_texts(paths), writer, encode, eos=eos)
    written = writer.finish()
    return [d.tolist() for d in np.split(written.tokens, written.ends[:-1])], counted


@pytest.mark.parametrize("piece", [1, 2, 5, 1000])
def test_pieces_make_up_the_text_whatever_their_size(tmp_path, piece):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\ntwo ü\r\n\r\n漢字 in a line without an end\rthree".encode())
    assert "".join(read_pieces(path, piece)) == "one\ntwo ü\n\n漢字 in a line without an end\nthree"
    assert all(p.endswith("\n") for p in list(read_pieces(path, 1000))[:-1])


def test_files_and_folders_are_found_in_order(tmp_path):
    for name in ("b.txt", "a/z.py", "a/y.md", ".git/config", "a/.hidden", "c.bin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a" / "again").symlink_to(tmp_path / "b.txt")
    found = find_texts([tmp_path / "c.bin", tmp_path])
    assert [file.relative_to(tmp_path).as_posix() for file in found] == ["c.bin", "b.txt", "a/y.md", "a/z.py"]
    assert list(found.values()) == [True, False, False, False]
    with pytest.raises(ValueError, match="there is no file or folder"):
        find_texts([tmp_path / "nothing"])
    with pytest.raises(ValueError, match="there is no file to read"):
        find_texts([tmp_path / "empty"])


def test_each_file_is_a_document_however_it_is_read(tmp_path, monkeypatch):
    folder = tmp_path / "texts"
    folder.mkdir()
    long = "a line\n" * 50
    for name, text in {"1": "one", "2": long, "3": "", "4": "four\n"}.items():
        (folder / name).write_text(text)
    whole, counted = corpus_of([folder], tmp_path)
    assert whole == [[0, *encode([t])[0], 0] for t in ("one", long, "four\n")] and counted == {
        "files": 4,
        "passed_over": 0,
    }
    monkeypatch.setattr(corpus, "PIECE", 20)
    assert corpus_of([folder], tmp_path) == (whole, counted)
    assert corpus_of([folder], tmp_path, eos=None)[0] == [d[1:-1] for d in whole]


@pytest.mark.parametrize("large", [False, True])
def test_what_is_no_text_is_passed_over_unless_named(tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(corpus, "PIECE", 8)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("good one\n")
    # The harm comes late: what was read before it must not stay in the corpus.
    (folder / "b.bin").write_bytes(b"fine so far\n" * 9 + b"\xff\xfe")
    (folder / "c.bin").write_bytes(b"fine so far\n" * 9 + b"\0")
    (folder / "d.txt").write_text("good too\n")
    found, counted = corpus_of([folder], tmp_path)
    assert found == [[0, *encode([t])[0], 0] for t in ("good one\n", "good too\n")]
    assert counted == {"files": 2, "passed_over": 2}
    for name in ("b.bin", "c.bin"):
        with pytest.raises(ValueError, match=f"cannot read '.*{name}' as UTF-8 text"):
            corpus_of([folder / name], tmp_path)
