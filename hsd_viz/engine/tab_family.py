"""Write a family of packed models for a browser tab: its files and manifest, in a folder of a site.

The weights are the panels of :mod:`hsd_viz.native.packed`. They are split into parts, because an
interrupted download resumes at its last part, and static hosts refuse large files. A tab joins the
parts in the memory of ``hsd-viz.wasm``, where the runtime reads them in place.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from hsd_viz.disk import write_whole
from hsd_viz.drafting.shared import STORED
from hsd_viz.engine import tab
from hsd_viz.engine.models import EngineModels
from hsd_viz.engine.options import EngineOptions
from hsd_viz.errors import UserError
from hsd_viz.models.families import Family
from hsd_viz.models.files import weights_hash
from hsd_viz.native.packed import ALIGNMENT, Section, packed_weights
from hsd_viz.native.panels import PackedMatrix
from hsd_viz.native.weights import Weights, load

#: The largest size of a part in bytes.
PART_BYTES = 16 * 2**20
#: The name of a tensor of the embedding, which a draft model may borrow from its target.
_EMBEDDING = "model.embed_tokens.weight"
#: Two texts of a user turn. If a template does not change them, the rest of its output is equal.
_TURNS = ("Why?", "  <x>\n {{ 2 }} ")


def write_family(family: Family, folder: Path, part_bytes: int = PART_BYTES) -> int:
    """Write the files of a family to a new folder, and return their size in bytes.

    Raises:
        UserError: if the family is not installed, or if its models are not packed.
    """
    folder.mkdir(parents=True)
    models = EngineModels(EngineOptions(family=family))
    text = models.text(family.names[-1])
    shutil.copyfile(tab.WASM, folder / tab.WASM.name)
    backend: Any = text.tokenizer
    write_whole(folder / "tokenizer.json", backend.backend_tokenizer.to_str())
    for name in STORED:
        shutil.copyfile(family.databases / f"{name}.hsdb", folder / f"{name}.hsdb")
    # The target comes first, because draft models may read its embedding.
    model_facts: dict[str, Any] = {}
    parts: list[str] = []
    for name in reversed(family.names):
        weights = load(family.path(name), name=name, vocab_size=text.size)
        packed = _write_parts(weights, family, folder, part_bytes)
        model_facts[name] = tab.model_facts(weights, family) | packed
        model_facts[name]["hash"] = weights_hash(weights.source.files)
        parts += packed["parts"]
    databases = {name: f"{name}.hsdb" for name in STORED}
    names = [tab.WASM.name, "tokenizer.json", *parts, *databases.values()]
    files = {name: tab.checked(folder / name) for name in names}
    starts = (text.tokenizer.bos_token_id, text.tokenizer.eos_token_id)
    manifest = tab.common() | {
        "family": family.name,
        "files": files,
        "models": model_facts,
        "databases": databases,
        "text": {
            "ends": sorted(models.opened.eos(family.names[-1])),
            "start": next((start for start in starts if start is not None), None),
            "chat": _chat(backend),
        },
    }
    write_whole(folder / "manifest.json", json.dumps(manifest))
    return sum(facts["bytes"] for facts in files.values())


def _chat(tokenizer: Any) -> list[str] | None:
    """Return the text that a chat template writes before and after a single user turn.

    Return ``None`` if the tokenizer has no template, or if the template changes the text of the
    turn.
    """
    if not tokenizer.chat_template:
        return None
    around: set[tuple[str, ...]] = set()
    for turn in _TURNS:
        conversation = [{"role": "user", "content": turn}]
        around.add(tuple(tokenizer.apply_chat_template(conversation).split(turn)))
    if len(around) != 1:
        return None
    (parts,) = around
    return list(parts) if len(parts) == 2 else None


def _write_parts(weights: Weights, family: Family, folder: Path, part_bytes: int) -> dict[str, Any]:
    """Write the packed weights of a model in parts, and return their entry in the manifest."""
    if not weights.in_groups:
        raise UserError(f"{weights.name} of the family {family.name} has no packed weights")
    borrowed = _EMBEDDING in weights.source.borrowed
    sections: list[Section] = []
    content = bytearray()
    for layer, slot, bits, data in _contents(weights):
        if borrowed and slot == "embedding":
            continue
        sections.append(Section(layer, slot, bits, len(content), data.nbytes))
        content += data
        content += bytes(-len(content) % ALIGNMENT)
    parts = []
    for start in range(0, len(content), part_bytes):
        name = f"{weights.name}-{start // part_bytes:02}.weights"
        write_whole(folder / name, bytes(content[start : start + part_bytes]))
        parts.append(name)
    return {
        "parts": parts,
        "bytes": len(content),
        "sections": [astuple(section) for section in sections],
        "embedding_of": family.names[-1] if borrowed else None,
        "tied_head": weights.form.tied_head,
        "layers_without_rotary": list(weights.form.layers_without_rotary),
    }


def _contents(weights: Weights) -> Iterator[tuple[int, str, int, memoryview]]:
    """Yield the layer, slot, bits and bytes of each packed tensor of a model."""
    for layer, slot, packed in packed_weights(weights):
        if isinstance(packed, PackedMatrix):
            yield layer, slot, packed.bits, _bytes(packed.content)
        else:
            yield layer, slot, 0, _bytes(packed)
    if weights.head_tokens is not None:
        yield -1, "head_tokens", 0, _bytes(weights.head_tokens.astype(np.int32))


def _bytes(values: np.ndarray) -> memoryview:
    return np.ascontiguousarray(values).data.cast("B")
