"""The runtime of a browser tab: the module is the one of the sources, and under node it decodes
as the native one does.
"""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest

from hsd_viz.decoding.text import TokenText
from hsd_viz.engine import load_engine, tab
from hsd_viz.engine.recordings import bundled, load_bundled
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
    source = random.Random(0)
    texts = []
    for _ in range(count):
        data = source.randbytes(source.randint(1, 60))
        texts += [data.decode("utf-8", "replace"), data.decode("latin-1")]
        texts.append(random_characters(source))
        texts.append(
            source.choice(("<|endoftext|>", "<|endof", " a")).join(source.choices(HOT, k=8))
        )
    return texts


def random_characters(source: random.Random) -> str:
    """Return some 30 characters of all planes, hot ones more often than others; no surrogates."""
    text = ""
    for _ in range(30):
        code = source.randrange(source.choice((0x300, 0x3000, 0x110000)))
        if source.random() < 0.4:
            text += source.choice(HOT)
        elif not 0xD800 <= code < 0xE000:
            text += chr(code)
    return text


def test_the_tab_decodes_as_the_native_runtime(tmp_path):
    decode_under_node(tmp_path / "tab.json", of_the_ladder())


#: Stacks and samplings of the small family.
FAMILY_STACKS = (
    "target",
    "nano:4 > target",
    "nano?0.2 > target",
    "db > target",
    "db[context,model] > nano:3 > target",
    "db[context,semantic] > target",
)
FAMILY_SAMPLINGS = ((0.0, "token", True), (0.8, "block", False))
FAMILY_RUNS = tuple(product(FAMILY_STACKS, FAMILY_SAMPLINGS))


def test_the_tab_decodes_packed_families_as_the_native_runtime(tmp_path, monkeypatch):
    family = make_family(tmp_path, monkeypatch)
    folder = tmp_path / "site"
    write_family(family, folder, part_bytes=10_000)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["models"]["target"]["parts"]) > 2
    engine = load_engine(family=family, device="cpu", threads=1)
    text = engine.models.text("target")
    runs = []
    for k, (stack, (temperature, rule, chat)) in enumerate(FAMILY_RUNS):
        run = engine.run(
            PROMPTS[k % len(PROMPTS)],
            stack,
            chat=chat,
            max_new_tokens=60,
            temperature=temperature,
            rule=rule,
            seed=k,
            top_p=0.95,
        )
        runs.append(run)
    for trace in runs[2::2]:
        assert trace.metrics()["accepted"] > 0, trace.meta["stack"]
    texts = [*random_texts(400), *WORDS, "<|end|>1<|start|>23½ ٣four"]
    files = {}
    for name in manifest["files"]:
        files[name] = str(folder / name)
    shown = []
    for k, trace in enumerate(runs):
        shown.append(described(f"{k} {trace.meta['stack']}", trace))
    given = {
        "manifest": manifest,
        "files": files,
        "texts": encoded(text, texts),
        "tokens": random_tokens(text, 100),
        "stacks": [],
        "runs": shown,
    }
    decode_under_node(tmp_path / "tab.json", given)


def decode_under_node(file: Path, given: dict) -> None:
    """Compare what Python has with the runtime under node."""
    file.write_text(json.dumps(given), encoding="utf-8")
    run("node_modules/vitest/vitest.mjs", "run", "tab/", HSD_TAB=str(file))


def encoded(text: TokenText, texts: list[str]) -> list:
    """Return texts with their token ids."""
    return [[sample, text.encode(sample)] for sample in texts]


def random_tokens(text: TokenText, number: int) -> list:
    """Return lists of 40 token ids with their text, whole and in pieces."""
    source = random.Random(2)
    lists = []
    for _ in range(number):
        ids = source.choices(range(text.size), k=40)
        whole = b"".join(map(text._bytes, ids)).decode("utf-8", "replace")
        lists.append([ids, whole, list(map(text.piece, ids))])
    return lists


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
    texts = random_texts(400)
    for path in Path(tab.__file__).parent.glob("*.py"):
        texts.append(path.read_text(encoding="utf-8"))
    files = {}
    for name, path in tab.files().items():
        files[name] = str(path)
    stacks = []
    for stack in STACKS:
        stacks.append([stack, str(parse(stack).resolved())])
    runs = []
    for recording in bundled():
        runs.append(described(recording.name, load_bundled(recording.name)))
    return {
        "manifest": tab.manifest(),
        "files": files,
        "texts": encoded(text, texts),
        "tokens": random_tokens(text, 200),
        "stacks": stacks,
        "runs": runs,
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
