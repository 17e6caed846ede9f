"""The manifest of the runtime in a browser tab.

``js/tab/`` runs ``hsd-viz.wasm``, which is :mod:`hsd_viz.native` compiled by ``make wasm``, on the
shipped weights and databases. The manifest contains all declarations of Python that it needs.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz.decoding.base_loop import RECORDED_TOP
from hsd_viz.decoding.options import DEFAULT_RULE
from hsd_viz.drafting.db import DISCOUNTS, MIN_SCORE, DatabaseDrafter
from hsd_viz.drafting.semantic_database import DEPTH, SemanticDatabase
from hsd_viz.drafting.shared import OF_THE_TEXT, STORED
from hsd_viz.drafting.trust import GREEDY, SAMPLED
from hsd_viz.engine.forwards import Costs
from hsd_viz.models.families import CODE, LADDER, Family
from hsd_viz.models.files import folder_hash
from hsd_viz.models.tokenizer import load_tokenizer
from hsd_viz.native import structures
from hsd_viz.native.drafter import drafter_settings, semantic_settings
from hsd_viz.native.weights import SLOTS, Weights, load, rotation_step
from hsd_viz.stack import DATABASES, DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD, TARGET, draft_sources
from hsd_viz.trace.tables import OWN_RULES, TABLES
from hsd_viz.version import __version__

FORMAT = "hsd_viz tab 2"
WASM = Path(structures.__file__).parent / "hsd-viz.wasm"
_KINDS: Mapping[Any, str] = {
    ctypes.c_int32: "i32",
    ctypes.c_int64: "i64",
    ctypes.c_uint64: "u64",
    ctypes.c_double: "f64",
    ctypes.c_void_p: "pointer",
}


def files() -> dict[str, Path]:
    """Return the paths of the runtime's files, by their names on the site."""
    models = {f"{name}.safetensors": CODE.path(name) / "model.safetensors" for name in CODE.names}
    databases = {f"{name}.hsdb": LADDER / "databases" / f"{name}.hsdb" for name in STORED}
    return {
        "hsd-viz.wasm": WASM,
        "tokenizer.json": CODE.path(TARGET) / "tokenizer.json",
        **models,
        **databases,
    }


def manifest() -> dict[str, Any]:
    """Return the manifest of the shipped models: :func:`common` with models and databases."""
    models = {}
    for name in CODE.names:
        weights = load(CODE.path(name), name=name)
        facts = model_facts(weights, CODE)
        models[name] = facts | {
            "hash": folder_hash(CODE.path(name)),
            "parts": [f"{name}.safetensors"],
        }
    tokenizer = load_tokenizer(CODE.path(TARGET))
    return common() | {
        "family": CODE.name,
        "files": {name: checked(path) for name, path in files().items()},
        "models": models,
        "databases": {name: f"{name}.hsdb" for name in STORED},
        "text": {
            "ends": [tokenizer.eos_token_id],
            "start": tokenizer.eos_token_id,
            "chat": None,
        },
    }


def common() -> dict[str, Any]:
    """Return the part of the manifest that is equal for all families: structures, tables and the
    settings of the drafter.
    """
    drafting = drafter_settings(DatabaseDrafter(("context",), {}).longest)
    semantic = semantic_settings(SemanticDatabase)
    tables = {}
    for name, table in TABLES.items():
        tables[name] = [(c.name, c.kind, c.names) for c in table.columns.values()]
    return {
        "format": FORMAT,
        "version": __version__,
        "structures": {kind.__name__: _fields(kind) for kind in structures.STRUCTURES},
        "slots": SLOTS,
        "tables": tables,
        "top": RECORDED_TOP,
        "rules": OWN_RULES,
        "stacks": {
            "sources": dict(draft_sources()),
            "databases": DATABASES,
            "of_the_text": OF_THE_TEXT,
            "lookahead": DEFAULT_LOOKAHEAD,
            "most": MAX_LOOKAHEAD,
        },
        "defaults": {"rule": DEFAULT_RULE},
        "drafting": {
            "nodes": DatabaseDrafter.nodes,
            "floor": MIN_SCORE,
            "greedy": GREEDY,
            "sampled": SAMPLED,
            "discounts": DISCOUNTS,
            "settings": _values(drafting),
            "semantic": _values(semantic),
            "state_depth": DEPTH,
        },
    }


def checked(path: Path) -> dict[str, int]:
    """Return the size and the CRC-32 of a file."""
    content = path.read_bytes()
    return {"bytes": len(content), "crc32": zlib.crc32(content)}


def model_facts(weights: Weights, family: Family) -> dict[str, Any]:
    """Return the facts about a model: its shape, the rotation from a position to the next, and its
    costs for ``db``.
    """
    # The shipped costs are found by name and number type, which the weights have, too.
    model: Any = weights
    curve = Costs(shipped=family.costs).of(model)
    at, slopes = curve.tables(DatabaseDrafter.nodes)
    cos, sin = rotation_step(weights.form.rotary, weights.form.head_dim)
    return {
        "parameters": weights.parameters,
        "positions": weights.positions,
        "shape": _values(weights.shape),
        "rotation": {"cos": cos.tolist(), "sin": sin.tolist()},
        "costs": {"at": at, "slopes": slopes, "least_slope": curve.least_slope},
    }


def _values(structure: ctypes.Structure) -> dict[str, Any]:
    """Return the values of a structure's fields, by name."""
    return {name: getattr(structure, name) for name, *_ in structure._fields_}


def _fields(structure: type[ctypes.Structure]) -> list[tuple[str, str]]:
    """Return the names and types of a structure's fields, with nested structures expanded."""
    named: list[tuple[str, str]] = []
    for name, kind, *_ in structure._fields_:
        named += _fields(kind) if issubclass(kind, ctypes.Structure) else [(name, _KINDS[kind])]
    return named
