"""The runtime of a browser tab: the module is the one of the sources, and under node it decodes as the native one does."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hsd_viz.decoding.text import TokenText
from hsd_viz.engine import tab
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.models.families import CODE
from hsd_viz.models.tokenizer import load_tokenizer as load_from_file
from hsd_viz.stack import parse
from tests.js.test_scripts import run
from tools import wasm

STACKS = (
    "target",
    "nano > target",
    "nano:2>small",
    'db[ model,context ] > "small":7 > target',
    "small",
    "target:3 > nano",
)
HOT = " \n\t'sretvmld0aé\u0085\ufeff\u180e\x1c"


def random_texts(count: int) -> list[str]:
    """Random bytes as two encodings, random characters, and special tokens, whole and cut."""
    source, found = random.Random(0), []
    for _ in range(count):
        data = source.randbytes(source.randint(1, 60))
        found += [data.decode("utf-8", "replace"), data.decode("latin-1")]
        codes = [source.randrange(source.choice((0x300, 0x3000, 0x110000))) for _ in range(30)]
        found.append(
            "".join(
                source.choice(HOT) if source.random() < 0.4 else chr(c)
                for c in codes
                if c >> 11 != 0x1B
            )
        )
        found.append(
            source.choice(("<|endoftext|>", "<|endof", " a")).join(source.choices(HOT, k=8))
        )
    return found


def test_the_tab_decodes_as_the_native_runtime(tmp_path):
    text = TokenText(load_from_file(CODE.path("target")))
    source = random.Random(1)
    ids = [source.choices(range(text.size), k=40) for _ in range(200)]
    texts = random_texts(400) + [
        path.read_text(encoding="utf-8") for path in Path(tab.__file__).parent.glob("*.py")
    ]
    given = {
        "manifest": tab.manifest(),
        "files": {name: str(path) for name, path in tab.files().items()},
        "texts": [[t, text.encode(t)] for t in texts],
        "tokens": [
            [
                s,
                b"".join(text._bytes(t) for t in s).decode("utf-8", "replace"),
                [text.piece(t) for t in s],
            ]
            for s in ids
        ],
        "stacks": [[stack, str(parse(stack).resolved())] for stack in STACKS],
        "runs": [
            {"name": r.name, "meta": t.meta, "columns": t.columns, "metrics": t.metrics()}
            for r in bundled()
            for t in [load_bundled(r.name)]
        ],
    }
    file = tmp_path / "tab.json"
    file.write_text(json.dumps(given), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", "tab/", HSD_TAB=str(file))


def test_the_module_is_small():
    assert tab.WASM.stat().st_size <= 400_000


@pytest.mark.skipif(
    not (wasm.compiler_version() or "").count(wasm.COMPILER),
    reason=f"not {wasm.COMPILER} for wasm32",
)
def test_the_module_is_the_one_of_the_sources(tmp_path):
    wasm.build(tmp_path / "made.wasm")
    assert (tmp_path / "made.wasm").read_bytes() == tab.WASM.read_bytes(), (
        "run `make wasm` and commit the file"
    )
