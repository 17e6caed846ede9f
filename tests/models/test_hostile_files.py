"""Test that damaged and hostile model files give one-line messages and allocate little memory."""

from __future__ import annotations

import json
import random
import shutil
import struct
import tracemalloc

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from transformers import GPT2Config, GPT2LMHeadModel

from hsd_viz.disk import MAX_JSON, MAX_TEXT
from hsd_viz.engine import load_engine
from hsd_viz.errors import BadFile, Unsupported, UserError
from hsd_viz.models.files import open_model
from hsd_viz.models.gguf import GGUFFile
from hsd_viz.models.safetensors import SafetensorsFile, SafetensorsTensors, weight_files
from tests.models.make_gguf import write_gguf
from tests.models.small_models import make_model, save_form

MUTATIONS = 30
#: A mutated file may ask for this much more memory than it has bytes, in bytes.
MAX_MEMORY = 30_000_000


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    return write_gguf(path, make_model("llama"), kind=Kind.Q4_1).read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("folder")
    save_form(path, "llama")
    return path


def mutated(content: bytes, header: int, seed: int) -> bytes:
    """Return a file with a few damaged bytes in its header, a piece cut out, or its end cut off."""
    draws = random.Random(seed)
    kind = seed % 5
    if kind == 0:
        return content[: draws.randrange(len(content))]
    if kind == 1:
        at = draws.randrange(header)
        return content[:at] + content[at + draws.randrange(1, 40) :]
    damaged = bytearray(content)
    for _ in range(draws.choice([1, 3, 12])):
        at = draws.randrange(header)
        if kind == 2:
            damaged[at] = draws.randrange(256)
        elif kind == 3:
            damaged[at : at + 8] = struct.pack("<Q", draws.choice([2**63, 2**40, 2**31, 0]))
        else:
            damaged[at] ^= 1 << draws.randrange(8)
    return bytes(damaged)


def open_and_read(path) -> None:
    """Open a model and read all of its tensors."""
    files = open_model(path)
    for name in files.tensors.names():
        files.tensors.read(name)


def check_one_line(path) -> bool:
    """Open a file; return whether it was refused, which must be in one line and without memory."""
    tracemalloc.start()
    try:
        open_and_read(path)
        return False
    except UserError as error:
        assert "\n" not in str(error), error
        return True
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < MAX_MEMORY


def test_mutated_gguf_files_are_one_line_each(gguf, tmp_path):
    header = gguf.index(b"output_norm.weight") + 60
    path = tmp_path / "m.gguf"
    refused = 0
    for seed in range(MUTATIONS):
        path.write_bytes(mutated(gguf, header, seed))
        refused += check_one_line(path)
    assert refused >= MUTATIONS // 2


def test_mutated_safetensors_files_are_one_line_each(folder, tmp_path):
    content = (folder / "model.safetensors").read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    refused = 0
    for seed in range(MUTATIONS):
        (tmp_path / "model.safetensors").write_bytes(mutated(content, header, seed))
        refused += check_one_line(tmp_path)
    assert refused >= MUTATIONS // 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "cannot be read"),
        (b"GGUF", "it ends too early"),
        (b"GGML" + bytes(100), "it does not begin with GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "its version is 9, expected 2 or 3"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "it ends too early"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**62) + b"a", "a text of .* bytes is longer"),
        (
            b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 4, 2**62),
            "an array of .* numbers is longer than the file",
        ),
        (
            b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 9, 2**40),
            "an array of .* values is longer than the file",
        ),
        (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"a", 99), "the unknown type 99"),
        (
            b"GGUF" + struct.pack("<IQQQ1sIQQIQ", 3, 1, 0, 1, b"t", 2, 32, 2**50, 8, 0),
            "ends at byte .*, the file has",
        ),
        (
            b"GGUF" + struct.pack("<IQQQ1sIQIQ", 3, 1, 0, 1, b"t", 1, 33, 8, 0),
            "have 33 numbers, not a multiple of the 32",
        ),
    ],
)
def test_a_gguf_header_that_cannot_be_is_one_line(tmp_path, content, words):
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=words):
        GGUFFile(path)


def test_an_unknown_number_format_names_those_that_are_read(tmp_path):
    path = tmp_path / "m.gguf"
    tensor = struct.pack("<Q1sIQIQ", 1, b"t", 1, 256, 16, 0)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor + bytes(4096))
    with pytest.raises(Unsupported, match="the number format 16: these are read: F32, F16, BF16"):
        GGUFFile(path)


def in_header(header: object) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x01", "it has 1 bytes"),
        ((2**60).to_bytes(8, "little") + bytes(8), "its header has 1152921504606846976 bytes"),
        (in_header(b"{"), "its header is not JSON"),
        (in_header(b"[" * 100_000), "its header is not JSON"),
        (in_header([]), "its header is not a JSON object"),
        (in_header({"a": 1}), "the entry of the tensor 'a' is not a JSON object"),
        (in_header({"a": {"dtype": "F32"}}), "has no dtype, shape and data_offsets"),
        (
            in_header({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}),
            "ends at byte",
        ),
        (
            in_header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}),
            "has no dtype, shape and data_offsets",
        ),
        (
            in_header({"a": {"dtype": "F32", "shape": [6_000_000], "data_offsets": [0, 0]}}),
            "has 0 bytes, its shape 24000000",
        ),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value,
)
def test_a_safetensors_header_that_cannot_be_is_one_line(tmp_path, content, words):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=words):
        SafetensorsFile(path)


@pytest.mark.parametrize(
    "name", ["../elsewhere.safetensors", "/etc/passwd", "a/b.safetensors", "..\\x.safetensors", 7]
)
def test_an_index_that_points_outside_its_folder_is_refused(tmp_path, name):
    index = {"weight_map": {"model.norm.weight": name}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(BadFile, match="expected the name of a file in the same folder"):
        weight_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("config.json", MAX_JSON),
        ("generation_config.json", MAX_JSON),
        ("tokenizer_config.json", MAX_JSON),
        ("model.safetensors.index.json", MAX_TEXT),
    ],
)
def test_a_json_file_beyond_its_limit_is_refused(folder, tmp_path, name, limit):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    with (tmp_path / name).open("wb") as file:
        file.truncate(limit + 1)
    with pytest.raises(BadFile, match=rf"{name} is too large: the limit is {limit // 2**20} MiB"):
        files = open_model(tmp_path)
        files.ends(files.tokenizer())


@pytest.mark.parametrize("form", ["llama", "gpt2"])
def test_an_index_is_checked_for_models_of_every_form(folder, tmp_path, form):
    config = json.loads((folder / "config.json").read_text())
    if form == "gpt2":
        config = {"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 1, "vocab_size": 260}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((folder / name).read_text())
    index = {"weight_map": {"a": "../../secret.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(UserError, match="expected the name of a file in the same folder"):
        load_engine(str(tmp_path), device="cpu").run("ab", max_new_tokens=1)


@pytest.mark.parametrize("form", ["llama", "gpt2"])
def test_pickled_weights_are_refused_for_models_of_every_form(folder, tmp_path, form):
    config = json.loads((folder / "config.json").read_text())
    if form == "gpt2":
        config = {"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 1, "vocab_size": 260}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((folder / name).read_text())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04N.")
    with pytest.raises(UserError, match="pickled weights are never loaded"):
        load_engine(str(tmp_path), device="cpu").run("ab", max_new_tokens=1)


def test_a_wide_config_of_another_form_is_refused_before_it_is_built(folder, tmp_path):
    """The model would take 290 GB."""
    small = GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=260, n_positions=32)
    GPT2LMHeadModel(small).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((folder / name).read_text())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"n_embd": 60_000}))
    with pytest.raises(UserError, match="parameters by its config, its weights have"):
        load_engine(str(tmp_path), device="cpu").run("ab", max_new_tokens=1)


def test_integers_without_scales_are_refused(tmp_path):
    content = np.zeros((4, 4), np.int8).tobytes()
    header = {"a.weight": {"dtype": "I8", "shape": [4, 4], "data_offsets": [0, 16]}}
    path = tmp_path / "model.safetensors"
    path.write_bytes(in_header(header) + content)
    with pytest.raises(BadFile, match=r"8-bit integers a\.weight have no scale per row"):
        SafetensorsTensors([path]).read("a.weight")
