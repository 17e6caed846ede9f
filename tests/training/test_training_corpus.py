"""Which files the corpus contains, and which are held out."""

from __future__ import annotations

from email.message import Message

import pytest

from tests.rows import column, find, keyed
from training import corpus
from training.corpus import distribution_licence, expression_is_permissive, header_is_permissive

BODY = ""
for number in range(12):
    BODY += (
        f"def function_{number}(alpha, beta_{number}):\n"
        f"    '''Add {number * 7919} to what {chr(97 + number)} holds.'''\n"
        f"    return alpha + {number * number * 31}\n\n"
    )


def meta(expression: str = "", licence: str = "", *classifiers: str) -> Message:
    message = Message()
    if expression:
        message["License-Expression"] = expression
    if licence:
        message["License"] = licence
    for c in classifiers:
        message["Classifier"] = c
    return message


OSI = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        (meta("MIT"), True),
        (meta("Apache-2.0 OR BSD-2-Clause"), True),
        (meta("Apache-2.0 AND (Apache-2.0 WITH LLVM-exception)"), True),
        (meta("MPL-2.0"), False),
        (meta("MPL-2.0 AND MIT"), False),
        (meta("GPL-3.0-or-later OR MIT"), False),
        (meta("", "MPL-2.0 AND MIT"), False),
        (meta("", "", OSI + "MIT License"), True),
        (meta("", "", OSI + "Mozilla Public License 2.0 (MPL 2.0)"), False),
        (meta("", "", OSI + "MIT License", OSI + "GNU General Public License v3 (GPLv3)"), False),
        (meta("", "LGPL", OSI + "BSD License"), False),
        (meta("", "BSD 3-Clause License\n\nCopyright ...", OSI + "BSD License"), True),
        (meta("", "Apache 2.0 License"), True),
        (meta("", "Some licence of ours"), False),
        (meta("", "UNKNOWN"), False),
        (meta(), False),
    ],
)
def test_the_licence_filter_denies_by_default(given: Message, accepted: bool) -> None:
    assert (distribution_licence(given) is not None) is accepted


def test_expressions_and_headers() -> None:
    assert not expression_is_permissive("")
    assert not header_is_permissive("# This file is under the GNU Lesser General Public License")
    assert not header_is_permissive(
        "# This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0"
    )
    assert header_is_permissive("# Licensed under the Apache License, Version 2.0")


def _install(root, name: str, licence: str, files: dict[str, str]) -> None:
    info = root / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\nLicense-Expression: {licence}\n"
    )
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in files))


@pytest.fixture
def environment(tmp_path):
    many = {}
    for i in range(200):
        many[f"free/m{i}.py"] = f"# number {i}\n" + BODY.replace("alpha", f"alpha_{i}")
    header = "# Copyright 2020 Somebody\n# Licensed under the MIT licence\n\n"
    extra = {
        "free/copy.py": many["free/m3.py"],
        "free/tests/test_x.py": BODY,
        "free/_vendor/other.py": BODY + "# vendored\n",
        "free/made.py": "# This file was automatically generated\n" + BODY,
        "free/bound.py": "# GNU General Public License\n" + BODY,
        "free/flat.py": "x = 0\n" * 4000,
        "free/noted.py": header + BODY,
    }
    _install(tmp_path, "free", "MIT", many | extra)
    _install(tmp_path, "flask", "MIT", {"flask/a.py": BODY + "# reserved\n"})
    _install(tmp_path, "bound", "MPL-2.0", {"bound/a.py": BODY + "# bound\n"})
    return tmp_path


def test_collect_takes_only_what_it_should(environment) -> None:
    files = corpus.collect([environment], stdlib=False)
    paths = set(column(files, "path"))
    assert set(column(files, "package")) == {"free"}
    assert not paths & {
        "free/tests/test_x.py",
        "free/_vendor/other.py",
        "free/made.py",
        "free/bound.py",
        "free/flat.py",
    }
    assert len({"free/copy.py", "free/m3.py"} & paths) == 1
    noted = find(files, path="free/noted.py")
    assert noted.text.startswith("def function_0")
    assert len(files) == 201


def test_the_split_is_disjoint_and_depends_on_names_alone(environment) -> None:
    files = corpus.collect([environment], stdlib=False)
    train = corpus.train_files(files)
    heldout = corpus.heldout_files(files)
    assert train
    assert heldout
    assert len(train) + len(heldout) == len(files)
    assert not set(column(train, "path")) & set(column(heldout, "path"))
    assert not set(column(train, "text")) & set(column(heldout, "text"))
    assert len(heldout) < 0.1 * len(files)
    for f in files:
        (environment / f.path).write_text(f.text + "# changed\n")
    again = keyed(corpus.collect([environment], stdlib=False), "path")
    for file in files:
        assert again[file.path].heldout is file.heldout


def test_limits_and_emptiness(environment, tmp_path_factory) -> None:
    size = len(BODY.encode())
    few = corpus.collect(
        [environment], stdlib=False, limits=corpus.CorpusLimits(package_bytes=5 * size)
    )
    assert 4 <= len(few) <= 6
    with pytest.raises(ValueError, match="no permissively licensed"):
        corpus.collect([tmp_path_factory.mktemp("empty")], stdlib=False)


def test_the_manifest_adds_up(environment) -> None:
    files = corpus.collect([environment], stdlib=False)
    m = corpus.manifest(files)
    assert m["total"]["files"] + m["total"]["heldout_files"] == len(files)
    assert m["packages"]["free"]["licence"] == "MIT"
    assert set(m["heldout"]) == {f"free/{f.path}" for f in files if f.heldout}


def test_a_spelled_out_special_token_is_text(environment) -> None:
    from training.data import EOS, EOS_ID, train_tokenizer

    tokenizer = train_tokenizer([BODY], 400)
    f = corpus.SourceFile("p", "1", "MIT", "a.py", f"end = '{EOS}'\n", False)
    ids = corpus.tokenize([f], tokenizer, EOS_ID)
    assert ids[0] == EOS_ID
    assert EOS_ID not in ids[1:]
    assert tokenizer.decode(ids[1:].tolist()) == f.text
