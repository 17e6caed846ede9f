"""Other engines: their records and metrics, their settings, and what misconfiguration looks like. Imports no torch.

``engines.json`` has the words of each engine: the names of its metrics, its drafters and its settings, with the version
in which they were checked. ``read`` imports any record, ``vocabulary`` converts metrics, and ``signatures`` has the
misconfigurations; ``observation`` is what was observed of a drafter.
"""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.words import did_you_mean

#: Engine -> ``version``, ``metrics`` (name -> quantity), ``settings`` by drafter, ``schedule`` by batch size,
#: ``methods`` (its drafters -> ours).
ENGINES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("engines.json").read_text(encoding="utf-8")
)
#: Drafters of serving engines, and further names of them.
METHODS = ("draft", "eagle", "eagle3", "mtp", "dflash", "medusa", "lookup", "suffix")
#: Largest batch of a schedule.
LARGEST = 512
_SAME = {
    "ngram": "lookup",
    "draft_model": "draft",
    "draft-model": "draft",
    "nextn": "mtp",
    "prompt-lookup": "lookup",
}


def method_of(name: str) -> str:
    """Return a drafter by any of its names. Raises: ValueError: if it is unknown."""
    plain = name.lower().replace("eagle-3", "eagle3").replace("n-gram", "ngram")
    found = _SAME.get(plain, plain)
    if found not in METHODS:
        raise UserError(
            f"the drafter '{name}' is unknown: use {', '.join(METHODS)}{did_you_mean(plain, METHODS)}"
        )
    return found


def settings(
    method: str, tokens: int, model: str = "DRAFT", by_batch: Sequence[tuple[int, int]] = ()
) -> dict[str, str]:
    """Return the settings of each engine that has the drafter ``method`` (``plain``: none) with ``tokens`` draft
    tokens, by engine and the version in whose documentation they were checked. ``by_batch``: (batch size, the draft
    tokens from it on), for engines that change them with the batch.
    """
    found, cells = {}, _schedule(by_batch)
    for name, engine in ENGINES.items():
        if (text := engine.get("settings", {}).get(method)) is None:
            continue
        if len(cells) > 1 and name == "vllm" and tokens:  # the number is then the most
            text = text.removesuffix("}'").replace("TOKENS", str(max(k for _, _, k in cells)))
            text += engine["schedule"].replace("SCHEDULE", json.dumps(cells))
        elif len(cells) > 1 and name == "sglang" and method in ("eagle", "eagle3"):
            steps = {str(batch): {"candidate_steps": [k]} for batch, _, k in cells}
            text += engine["schedule"].replace("SCHEDULE", json.dumps(steps))
        text = text.replace("TOKENS", str(tokens)).replace(
            "VERIFIED", str(tokens + 1)
        )  # with the last token
        escaped = json.dumps(model, ensure_ascii=False)[1:-1] if '{"' in text else model
        found[f"{name} {engine['settings_version']}"] = text.replace("MODEL", escaped)
    return found


def _schedule(by_batch: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return ``[[from, to, draft tokens], ...]`` from (batch size, draft tokens). Each holds from its batch size
    on, the last one up to :data:`LARGEST`.
    """
    parts: list[list[int]] = []
    for batch, tokens in sorted(by_batch):
        if not parts or parts[-1][2] != tokens:
            parts.append([batch if parts else 1, 0, tokens])
        parts[-1][1] = max(batch, LARGEST)
    for part, following in pairwise(parts):
        part[1] = following[0] - 1
    return parts
