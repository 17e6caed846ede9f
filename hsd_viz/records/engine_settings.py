"""The settings of a drafter and its number of draft tokens in serving engines.

``engines.json`` has the names of the metrics and the settings of each engine, with the version in
whose documentation they were checked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean

#: Engine -> ``version``, ``metrics`` (name -> quantity), ``settings`` by drafter, and the
#: ``schedule`` of draft tokens by batch size: for which drafters, as ``ranges`` of batch sizes or
#: as ``steps`` by the first one, the number of draft tokens beside it (the ``usual`` or the
#: ``most``), and the end of the settings that its text replaces.
ENGINES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("engines.json").read_text(encoding="utf-8")
)
#: Drafters of serving engines.
METHODS = ("draft", "eagle", "eagle3", "mtp", "dflash", "medusa", "lookup", "suffix")
#: Drafters that copy text; their time does not grow with the length of the draft.
NGRAMS = ("lookup", "suffix")
PARALLEL = (*NGRAMS, "dflash", "medusa")
#: Largest batch of a schedule.
MAX_BATCH = 512
#: For a drafter that copies text, the draft length is that which one in this many rounds reaches.
_USUAL = 20
_SAME = {
    "ngram": "lookup",
    "draft_model": "draft",
    "draft-model": "draft",
    "nextn": "mtp",
    "prompt-lookup": "lookup",
}


def method_of(name: str) -> str:
    """Return a drafter by any of its names.

    Raises:
        UserError: if it is unknown.
    """
    plain = name.lower().replace("eagle-3", "eagle3").replace("n-gram", "ngram")
    method = _SAME.get(plain, plain)
    if method not in METHODS:
        hint = did_you_mean(plain, METHODS)
        raise UserError(f"the drafter '{name}' is unknown: use {', '.join(METHODS)}{hint}")
    return method


def usual_length(reached_by_position: Iterable[float], rounds: float = 1.0) -> int:
    """Return the longest draft that one round in 20 reaches, at least 1.

    Args:
        reached_by_position: the rounds whose draft has k tokens or more, k = 1, 2, ...; their share
            without ``rounds``.
        rounds: the number of all rounds.
    """
    return max(1, sum(_USUAL * reached >= rounds for reached in reached_by_position))


def settings_to_paste(
    method: str, tokens: int, model: str = "DRAFT", by_batch: Sequence[tuple[int, int]] = ()
) -> dict[str, str]:
    """Return the settings of each engine that supports a drafter, by engine and version.

    Args:
        method: the drafter; ``plain``: none.
        tokens: the number of draft tokens per draft.
        model: the name of the draft model.
        by_batch: (batch size, draft tokens from this size on), for engines with a schedule.
    """
    cells = _schedule(by_batch)
    by_engine = {}
    for name, engine in ENGINES.items():
        text = engine.get("settings", {}).get(method)
        if text is None:
            continue
        if len(cells) > 1:
            text = _with_schedule(engine, method, text, tokens, cells)
        # The last token of the text is also verified.
        text = text.replace("TOKENS", str(tokens)).replace("VERIFIED", str(tokens + 1))
        escaped = json.dumps(model, ensure_ascii=False)[1:-1] if '{"' in text else model
        by_engine[f"{name} {engine['settings_version']}"] = text.replace("MODEL", escaped)
    return by_engine


def _with_schedule(
    engine: dict[str, Any],
    method: str,
    text: str,
    tokens: int,
    cells: Sequence[Sequence[int]],
) -> str:
    """Return the settings with draft tokens by batch size, if the engine supports a schedule."""
    schedule = engine.get("schedule")
    if schedule is None or method not in schedule["methods"] or not tokens:
        return text
    if schedule["tokens"] == "most":
        most = max(k for _, _, k in cells)
        text = text.replace("TOKENS", str(most))
    written: Any = cells
    if schedule["form"] == "steps":
        written = {str(batch): {"candidate_steps": [k]} for batch, _, k in cells}
    text = text.removesuffix(schedule["in_place_of"])
    return text + schedule["text"].replace("SCHEDULE", json.dumps(written))


def _schedule(by_batch: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return ``[[from, to, draft tokens], ...]`` from (batch size, draft tokens). Each holds from
    its batch size on, the last one up to :data:`MAX_BATCH`.
    """
    parts: list[list[int]] = []
    for batch, tokens in sorted(by_batch):
        if not parts or parts[-1][2] != tokens:
            parts.append([batch if parts else 1, 0, tokens])
        parts[-1][1] = max(batch, MAX_BATCH)
    for part, following in pairwise(parts):
        part[1] = following[0] - 1
    return parts


def batch_costs(relative: Sequence[float]) -> str:
    """Convert the costs of verifying 1, 2, ... tokens to the format of llama.cpp.

    ``relative`` are c(1), c(2), ... in forward passes over one token. llama.cpp's profile-guided
    drafting reads ``GGML_BATCH_COSTS``: the cost of each token of a batch of n, n = 1, 2, ...
    """
    each = [cost / (n + 1) / relative[0] for n, cost in enumerate(relative)]
    return "GGML_BATCH_COSTS=" + ",".join(f"{cost:.4f}" for cost in each)
