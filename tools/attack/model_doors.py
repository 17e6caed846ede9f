"""Doors of a model's files: configurations, weights, tokenizers and databases."""

from __future__ import annotations

import json
import os
import random
import zlib
from pathlib import Path

from hsd_viz.errors import UserError
from tools.attack.damage import NOTHING, WRONG, damaged_bytes, damaged_data, damaged_json
from tools.attack.door import Door, command


def database_files(folder: Path) -> Door:
    """Databases: the header is damaged and signed again, or any bytes are changed."""
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.drafting.index.read import Index
    from hsd_viz.models.families import LADDER

    content = (LADDER / "databases" / "model.hsdb").read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    tensors = content[begin:]

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        if chance.random() < 0.2:
            return damaged_bytes(content, chance)
        head = json.loads(json.dumps(header))
        body = tensors
        facts = json.loads(head["__metadata__"]["facts"])
        if chance.random() < 0.6:
            facts = damaged_data(facts, chance)
        elif chance.random() < 0.5:
            head = damaged_data(head, chance)
        else:
            changed = bytearray(body)
            for _ in range(200):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            body = bytes(changed)
        metadata = head.get("__metadata__") if isinstance(head, dict) else None
        if isinstance(metadata, dict):
            metadata |= {"checksum": "0" * 8, "tensors": f"{zlib.crc32(body):08x}"}
            metadata["facts"] = json.dumps(facts)
        text = json.dumps(head).encode()
        text = text.replace(b"0" * 8, f"{zlib.crc32(text):08x}".encode(), 1)
        return len(text).to_bytes(8, "little") + text + body

    def attempt(content: bytes) -> None:
        path = folder / "model.hsdb"
        path.write_bytes(content)
        index = Index(path)
        for number in range(0, 4096, 64):
            match = index.lookup(chr(number) + chr(number + 1))
            if match and any(not 0 <= token < index.limit for token, *_ in match[2]):
                raise RuntimeError("a token outside the vocabulary")
        describe(path, 3)

    return Door(make, attempt)


def tokenizer_files(folder: Path) -> Door:
    """Tokenizers of a replay; one in eight goes to a process."""
    from hsd_viz.models.families import CODE
    from hsd_viz.models.tokenizer_file import open_tokenizer
    from hsd_viz.models.tokenizer_process import TokenizerProcess

    data = json.loads((CODE.path("target") / "tokenizer.json").read_text())
    steps = [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10},
        {"type": "Replace", "pattern": {"Regex": "(a|a)*b"}, "content": "x"},
        {"type": "Prepend", "prepend": "x" * 10**6},
        {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        {"type": "FixedLength", "length": 0},
        {"type": "Sequence", "normalizers": [], "pretokenizers": [], "processors": []},
    ]
    texts = 0

    def make(chance: random.Random) -> bytes:
        changed_file = dict(data)
        for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "padding"):
            if chance.random() < 0.1:
                changed_file[part] = chance.choice([*steps, *WRONG])
            elif isinstance(changed_file.get(part), dict) and chance.random() < 0.2:
                changed_file[part] = damaged_data(changed_file[part], chance)
        kind = chance.random()
        if kind < 0.1:
            return chance.choice(NOTHING)
        if kind < 0.3:
            small = {key: value for key, value in changed_file.items() if key != "model"}
            model = dict(changed_file["model"]) | {
                chance.choice([*changed_file["model"]]): chance.choice(WRONG)
            }
            changed = damaged_data(small, chance)
            changed_file = {**changed, "model": model} if isinstance(changed, dict) else changed
        return json.dumps(changed_file).encode()

    def attempt(content: bytes) -> None:
        nonlocal texts
        path = folder / "tokenizer.json"
        path.write_bytes(content)
        texts += 1
        if texts % 8:
            open_tokenizer(path)
            return
        process = TokenizerProcess(path)
        try:
            process.encode("a" * 2000 + " b é def")
        finally:
            process.close()

    return Door(make, attempt)


def configs(folder: Path) -> Door:
    """The ``config.json`` of a model: of a prediction, and of a model that is loaded."""
    from hsd_viz.models.families import CODE

    config = json.loads((CODE.path("nano") / "config.json").read_text())
    llama = {
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "head_dim": 128,
        "num_key_value_heads": 8,
        "intermediate_size": 14336,
        "vocab_size": 128256,
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "sliding_window": 4096,
        "layer_types": ["a"],
        "speculators_config": {"proposal_methods": [{"speculative_tokens": 3}]},
    }
    words = ("predict", "--gpu", "H100", "--models", "FILE")
    predicting = command(folder, "model/config.json", *words)

    def loading(content: bytes) -> None:
        from hsd_viz.native.weights import load

        model = folder / "loaded"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_bytes(content)
        weights = model / "model.safetensors"
        if not weights.exists():
            weights.symlink_to(CODE.path("nano") / "model.safetensors")
        for _ in load(model, "int8").items():
            pass

    def make(chance: random.Random) -> bytes:
        which = chance.randrange(2)
        return bytes([which]) + damaged_json((llama, config)[which], chance)

    return Door(make, lambda content: (predicting, loading)[content[0]](content[1:]))


def safetensors_files(folder: Path) -> Door:
    """The weights of a model."""
    from hsd_viz.models.families import CODE
    from hsd_viz.native.weights import load

    source = CODE.path("nano")
    (file,) = source.glob("*.safetensors")
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        if chance.random() < 0.3:
            return damaged_bytes(content[:begin], chance) + content[begin:]
        new_header = header if chance.random() < 0.1 else damaged_data(header, chance)
        text = json.dumps(new_header).encode()
        return len(text).to_bytes(8, "little") + text + content[begin:]

    def attempt(content: bytes) -> None:
        (folder / "config.json").write_bytes((source / "config.json").read_bytes())
        (folder / "model.safetensors").write_bytes(content)
        for _ in load(folder, "int8").items():
            pass

    return Door(make, attempt)


def gguf_files(folder: Path) -> Door:
    """The metadata of a GGUF file: a model's form and tokenizer. The tensors are zeros."""
    from hsd_viz.models.families import find_family
    from hsd_viz.models.files import open_model
    from hsd_viz.models.gguf import GGUFFile

    try:
        source = Path(find_family("smollm2").path("target"))
    except UserError:
        return Door(lambda chance: b"", lambda content: None)  # the package is not installed
    begin = min(tensor.start for tensor in GGUFFile(source).tensors.values())
    size = source.stat().st_size
    with source.open("rb") as file:
        head = file.read(begin)
    path = folder / "model.gguf"

    def make(chance: random.Random) -> bytes:
        if chance.random() < 0.1:
            return chance.choice(NOTHING)
        changed = bytearray(head)
        # Most of the head is the vocabulary; the numbers are at both ends of it.
        for _ in range(chance.choice((1, 1, 2, 8))):
            range_end = chance.choice((200, 3000, len(head)))
            from_begin = chance.random() < 0.7
            distance = chance.randrange(range_end)
            place = distance if from_begin else -1 - distance
            changed[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        return bytes(changed)

    def attempt(content: bytes) -> None:
        path.write_bytes(content)
        if len(content) == begin:
            os.truncate(path, size)
        files = open_model(path)
        files.tokenizer()

    return Door(make, attempt)
