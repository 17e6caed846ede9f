"""Find the layers that a self-draft leaves out: by the latency law, on calibration text, without training.

Layers are ranked by how much the draft agrees with the whole model when one of them is left out. The candidates leave
out the first, the first two, ... of this ranking, as long as a layer remains; the law selects the fastest one. Its
survival curve is that of the model's own text: S(k) is the mean of the products of k successive overlaps of the two
rows (agreements of their likeliest tokens with greedy decoding). Drafts begin after rejections, where the text is
harder, so this is too high by a little for all candidates. A draft's cost is its share of the weights that a forward
pass reads. Similar searches: SWIFT (Xia et al. 2024), CLaSp (Chen et al. 2025), CAS-Spec (2025).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hsd_viz.decoding.sampling import distribution
from hsd_viz.decoding.settings import Sampling
from hsd_viz.disk import cache_folder, cache_name, write_whole
from hsd_viz.latency.law import expected_latency

if TYPE_CHECKING:
    from hsd_viz.decoding.model import HFModel

#: Calibration text: prompts, and tokens that the model writes after each.
SUITE, PROMPTS, TOKENS = "heldout", 6, 64
#: The largest lookahead of the prediction.
LONGEST = 8


@dataclass(frozen=True, slots=True)
class SkipChoice:
    """Layers to leave out, with the law's figures: overlap with the whole model per token, relative cost of a draft's
    forward pass, best lookahead, and speed over plain decoding.
    """

    layers: tuple[int, ...]
    overlap: float
    cost: float
    lookahead: int
    speedup: float


def cost_ratio(whole: HFModel, draft: HFModel) -> float:
    """Return the share of the weights that a forward pass of ``draft`` reads, of those of ``whole``."""

    def read(model: HFModel) -> int:
        embedding, head = model.module.get_input_embeddings(), model.module.get_output_embeddings()
        tied = head is not None and head.weight is embedding.weight
        return model.parameters - (0 if tied else embedding.weight.numel())

    return read(draft) / read(whole)


def choices(
    whole: HFModel,
    make: Callable[[tuple[int, ...]], HFModel],
    texts: Sequence[tuple[list[int], int]],
    sampling: Sampling,
    costs: Sequence[float],
) -> Iterator[SkipChoice]:
    """Yield the candidates, each as it is known: first single layers, then those of the ranking. ``make`` makes the
    draft without some layers, ``texts`` are (token ids, where the model's own text begins), ``costs[n]`` the time of a
    round of ``whole`` that verifies n draft tokens.
    """
    own = [_rows(whole, ids, begin, sampling) for ids, begin in texts]

    def choice(layers: tuple[int, ...]) -> SkipChoice:
        draft = make(layers)
        pairs = zip(own, (_rows(draft, ids, begin, sampling) for ids, begin in texts), strict=True)
        overlaps = [np.minimum(p, q).sum(-1) for p, q in pairs]
        survival, ratio = _survival(overlaps), cost_ratio(whole, draft)
        ms, best = min(
            (expected_latency((ratio * costs[0], costs[n]), (n,), (survival,)).cost, n)
            for n in range(1, min(LONGEST, len(costs) - 1) + 1)
        )
        return SkipChoice(layers, float(np.concatenate(overlaps).mean()), ratio, best, costs[0] / ms)

    singles = []
    for k in range(whole.layers):
        singles.append(choice((k,)))
        yield singles[-1]
    ranking = [single.layers[0] for single in sorted(singles, key=lambda s: -s.overlap)]
    for n in range(2, whole.layers):
        yield choice(tuple(sorted(ranking[:n])))


def _rows(model: HFModel, ids: list[int], begin: int, sampling: Sampling) -> np.ndarray:
    """Return the rows of the tokens from ``begin`` on; with greedy decoding, 1 at the likeliest token."""
    logits = model.session().forward(ids[:-1], len(ids) - begin).double().cpu().numpy()
    return np.eye(logits.shape[1])[logits.argmax(-1)] if sampling.greedy else distribution(logits, sampling)


def _survival(overlaps: Sequence[np.ndarray]) -> list[float]:
    found = [1.0]
    for k in range(1, LONGEST + 1):
        windows = [np.lib.stride_tricks.sliding_window_view(a, k).prod(-1) for a in overlaps if len(a) >= k]
        found.append(float(np.concatenate(windows).mean()) if windows else 0.0)
    return found


def _file(identity: Any) -> Path:
    return cache_folder("skips") / cache_name(identity)


def load(identity: Any) -> SkipChoice | None:
    """Return the choice kept for a model, device and sampling, ``None`` if there is none that can be read."""
    try:
        data = json.loads(_file(identity).read_text(encoding="utf-8"))
        return SkipChoice(**{**data, "layers": tuple(map(int, data["layers"]))})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def save(identity: Any, choice: SkipChoice) -> None:
    """Keep a choice. Raises: OSError: if the file cannot be written."""
    write_whole(_file(identity), json.dumps(asdict(choice)) + "\n")
