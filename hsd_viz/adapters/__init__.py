"""Other engines: their records and metrics, their settings, and what misconfiguration looks like. Imports no torch.

``engines.json`` has the words of each engine: the names of its metrics, its drafters and its settings, with the version
in which they were checked. ``read`` imports any record, ``vocabulary`` converts metrics, and ``signatures`` has the
misconfigurations; ``observation`` is what was observed of a drafter.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hsd_viz.words import did_you_mean

#: Engine -> ``version``, ``metrics`` (name -> quantity), ``settings`` by drafter, ``methods`` (its drafters -> ours).
ENGINES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("engines.json").read_text(encoding="utf-8"))
#: Drafters of serving engines, and further names of them.
METHODS = ("draft", "eagle", "eagle3", "mtp", "dflash", "medusa", "lookup", "suffix")
_SAME = {"ngram": "lookup", "draft_model": "draft", "draft-model": "draft", "nextn": "mtp", "prompt-lookup": "lookup"}
#: Largest batch of a schedule.
MOST_BATCH = 512


def method_of(name: str) -> str:
    """Return a drafter by any of its names. Raises: ValueError: if it is unknown."""
    plain = name.lower().replace("eagle-3", "eagle3").replace("n-gram", "ngram")
    found = _SAME.get(plain, plain)
    if found not in METHODS:
        raise ValueError(f"the drafter '{name}' is unknown: use {', '.join(METHODS)}{did_you_mean(plain, METHODS)}")
    return found


def settings(
    method: str, tokens: int, model: str = "DRAFT", by_batch: Sequence[tuple[int, int]] = ()
) -> dict[str, str]:
    """Return the settings of each engine that has the drafter ``method`` (``plain``: none) with ``tokens`` draft
    tokens, by engine and the version in whose documentation they were checked. ``by_batch``: (batch size, the draft
    tokens from it on) for engines that change them with the batch.
    """
    varied = len({k for _, k in by_batch}) > 1
    found = {}
    for name, engine in ENGINES.items():
        if (text := engine.get("settings", {}).get(method)) is None:
            continue
        schedule = ""
        if varied and "schedule" in engine:
            cells: Any = vllm_schedule(by_batch) if name == "vllm" else sglang_schedule(by_batch)
            schedule = engine["schedule"].replace("SCHEDULE", json.dumps(cells))
        values = {"SCHEDULE": schedule, "TOKENS": str(tokens), "VERIFIED": str(tokens + 1)}  # with the last token
        values["MOST"] = str(max(k for _, k in by_batch) if varied else tokens)
        values["MODEL"] = json.dumps(model, ensure_ascii=False)[1:-1] if '{"' in text else model
        for mark, value in values.items():
            text = text.replace(mark, value)
        found[f"{name} {engine['settings_version']}"] = text
    return found


def vllm_schedule(by_batch: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return ``[[from, to, draft tokens], ...]`` of (batch size, draft tokens): each holds from its batch size on."""
    cells = sorted(by_batch)
    ends = [b - 1 for b, _ in cells[1:]] + [max(cells[-1][0], MOST_BATCH)]
    parts: list[list[int]] = []
    for (batch, tokens), end in zip(cells, ends, strict=True):
        if parts and parts[-1][2] == tokens:
            parts[-1][1] = end
        else:
            parts.append([1 if not parts else batch, end, tokens])
    return parts


def sglang_schedule(by_batch: Sequence[tuple[int, int]]) -> dict[str, dict[str, list[int]]]:
    """Return the adaptive configuration for EAGLE and EAGLE-3: steps by batch size."""
    return {str(batch): {"candidate_steps": [tokens]} for batch, _, tokens in vllm_schedule(by_batch)}
