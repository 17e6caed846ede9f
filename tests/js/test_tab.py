"""The runtime of a browser tab: the module is the one of the sources, and under node it decodes
as the native one does.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hsd_viz.decoding.text import TokenText
from hsd_viz.engine import load_engine, tab
from hsd_viz.engine.replay import bundled, load_bundled
from hsd_viz.engine.tab_family import write_family
from hsd_viz.models.families import CODE
from hsd_viz.models.tokenizer import load_tokenizer as load_from_file
from hsd_viz.stack import parse
from hsd_viz.trace import Trace
from tests.js.small_family import PROMPTS, WORDS, make_family
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
    decode_under_node(tmp_path / "tab.json", of_the_ladder())


#: Stacks and samplings of the small family.
FAMILY_RUNS = [
    (stack, temperature, rule, chat)
    for stack in (
        "target",
        "nano:4 > target",
        "nano?0.2 > target",
        "db > target",
        "db[context,model] > nano:3 > target",
        "db[context,semantic] > target",
    )
    for temperature, rule, chat in ((0.0, "token", True), (0.8, "block", False))
]


def test_the_tab_decodes_packed_families_as_the_native_runtime(tmp_path, monkeypatch):
    family = make_family(tmp_path, monkeypatch)
    folder = tmp_path / "site"
    write_family(family, folder, part_bytes=10_000)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["models"]["target"]["parts"]) > 2
    engine = load_engine(family=family, device="cpu", threads=1)
    text = engine.models.text("target")
    runs = []
    for k, (stack, temperature, rule, chat) in enumerate(FAMILY_RUNS):
        sampling = {"temperature": temperature, "rule": rule, "seed": k, "top_p": 0.95}
        prompt = PROMPTS[k % len(PROMPTS)]
        runs.append(engine.run(prompt, stack, chat=chat, max_new_tokens=60, **sampling))
    for trace in runs[2::2]:
        assert trace.metrics()["accepted"] > 0, trace.meta["stack"]
    texts = [*random_texts(400), *WORDS, "<|end|>1<|start|>23½ ٣four"]
    source = random.Random(2)
    ids = [source.choices(range(text.size), k=40) for _ in range(100)]
    given = {
        "manifest": manifest,
        "files": {name: str(folder / name) for name in manifest["files"]},
        "texts": [[t, text.encode(t)] for t in texts],
        "tokens": [spelled(text, s) for s in ids],
        "stacks": [],
        "runs": [described(f"{k} {trace.meta['stack']}", trace) for k, trace in enumerate(runs)],
    }
    decode_under_node(tmp_path / "tab.json", given)


def decode_under_node(file: Path, given: dict) -> None:
    """Compare what Python has with the runtime under node."""
    file.write_text(json.dumps(given), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", "tab/", HSD_TAB=str(file))


def spelled(text: TokenText, ids: list[int]) -> list:
    whole = b"".join(text._bytes(t) for t in ids).decode("utf-8", "replace")
    return [ids, whole, [text.piece(t) for t in ids]]


def described(name: str, trace: Trace) -> dict:
    return {
        "name": name,
        "meta": trace.meta,
        "columns": trace.columns,
        "metrics": trace.metrics(),
    }


def of_the_ladder() -> dict:
    """The shipped models: their files, texts with their tokens, and the recorded runs."""
    text = TokenText(load_from_file(CODE.path("target")))
    source = random.Random(1)
    ids = [source.choices(range(text.size), k=40) for _ in range(200)]
    texts = random_texts(400) + [
        path.read_text(encoding="utf-8") for path in Path(tab.__file__).parent.glob("*.py")
    ]
    return {
        "manifest": tab.manifest(),
        "files": {name: str(path) for name, path in tab.files().items()},
        "texts": [[t, text.encode(t)] for t in texts],
        "tokens": [spelled(text, s) for s in ids],
        "stacks": [[stack, str(parse(stack).resolved())] for stack in STACKS],
        "runs": [described(r.name, load_bundled(r.name)) for r in bundled()],
    }


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
