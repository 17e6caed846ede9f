"""How good the ladder is: held-out loss, agreement of each pair, and what the target writes.

Σ min(p, q) over the vocabulary, averaged over held-out positions, is the probability that a token
sampled from the draft's row q is accepted by speculative sampling against the target's row p
(Leviathan et al. 2023, arXiv 2211.17192, corollary 3.6).
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from hsd_viz.disk import write_whole
from hsd_viz.ladder.torch_modules import load_model, load_tokenizer
from hsd_viz.models.families import CODE
from hsd_viz.models.files import folder_hash
from hsd_viz.prompts.suites import load_suite
from training.data import heldout_windows
from training.quality import measure_writing
from training.storage import LOG

BUCKETS = ((0, 128), (128, 256), (256, 512), (512, 1024))
# Rows of the table: label, path into the evaluation, goal, and whether more is better.
GOALS = (
    ("held-out loss, nano", ("models", "nano", "loss"), 3.2, False),
    ("held-out loss, small", ("models", "small", "loss"), 2.65, False),
    ("held-out loss, target", ("models", "target", "loss"), 2.35, False),
    ("Σ min(p, q), nano → small", ("pairs", "nano/small", "overlap"), 0.74, True),
    ("Σ min(p, q), nano → target", ("pairs", "nano/target", "overlap"), 0.64, True),
    ("Σ min(p, q), small → target", ("pairs", "small/target", "overlap"), 0.75, True),
    ("greedy repetition, suite `heldout`", ("writing", "repetition"), 0.30, False),
    ("4-grams copied after `edit` prompts", ("writing", "copied"), 0.25, True),
    ("lines in valid blocks, T = 0.7", ("writing", "parsed"), 0.60, True),
)


@torch.no_grad()
def _rows(model, ids: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities of the next token in float32, [length, vocabulary] for ids
    [length].
    """
    return F.log_softmax(model(ids[None]).logits[0].float(), dim=-1)


def _compare(log_q: torch.Tensor, log_p: torch.Tensor) -> dict[str, float]:
    """Compare a draft's rows with a target's: overlap, greedy agreement and KL(p ‖ q), averaged
    over positions.
    """
    q = log_q.exp()
    p = log_p.exp()
    return {
        "overlap": torch.minimum(p, q).sum(-1).mean().item(),
        "greedy_agreement": (log_q.argmax(-1) == log_p.argmax(-1)).float().mean().item(),
        "kl": (p * (log_p - log_q)).sum(-1).mean().item(),
    }


def measure(
    root: Path,
    heldout: np.ndarray,
    windows: int = 48,
    window: int = 1024,
    prompts: Mapping[str, Sequence[str]] | None = None,
) -> dict:
    """Evaluate the checkpoints in ``root`` on ``heldout`` (uint16 token ids), in float32.

    Args:
        prompts: prompts by kind for ``quality.measure_writing``; ``None`` leaves this part out.

    Returns:
        ``windows``, ``window``, ``models`` (per model ``loss`` in nats per token,
        ``loss_by_position``, ``accuracy``, ``hash``), ``pairs`` (per ``draft/target``: ``overlap``,
        ``greedy_agreement``, ``kl``) and, with prompts, ``writing``.

    Raises:
        ValueError: if ``root`` contains no model of the ladder.
    """
    models = {}
    for name in CODE.names:
        if (root / name / "config.json").exists():
            models[name] = load_model(str(root / name))
    if not models:
        raise ValueError(f"{root} contains none of the models {', '.join(CODE.names)}")
    rows = torch.from_numpy(heldout_windows(heldout, windows, window))
    losses: dict[str, list[torch.Tensor]] = {name: [] for name in models}
    hits = dict.fromkeys(models, 0.0)
    pairs: dict[str, dict[str, float]] = {}
    for row in rows:
        ids = row[:-1]
        targets = row[1:]
        logs = {}
        for name, model in models.items():
            log = _rows(model, ids)
            logs[name] = log
            losses[name].append(-log.gather(1, targets[:, None])[:, 0])
            hits[name] += (log.argmax(-1) == targets).float().mean().item() / len(rows)
        for draft, target in combinations(models, 2):
            total = pairs.setdefault(f"{draft}/{target}", {})
            for key, value in _compare(logs[draft], logs[target]).items():
                total[key] = total.get(key, 0.0) + value / len(rows)
    evaluation: dict = {"windows": len(rows), "window": window, "models": {}, "pairs": pairs}
    for name in models:
        by_position = torch.stack(losses[name])
        by_bucket = {}
        for begin, end in BUCKETS:
            if begin < window:
                mean = by_position[:, begin:end].mean()
                by_bucket[f"{begin}-{min(end, window)}"] = mean.item()
        evaluation["models"][name] = {
            "loss": by_position.mean().item(),
            "loss_by_position": by_bucket,
            "accuracy": hits[name],
            "hash": folder_hash(root / name),
        }
    if "target" in models and prompts is not None:
        evaluation["writing"] = measure_writing(
            models["target"], load_tokenizer(root / "target"), prompts
        )
    return evaluation


def suite_prompts() -> dict[str, list[str]]:
    """Return the prompts of ``quality.measure_writing`` from the shipped suites."""
    edits = [p.text for p in load_suite("python").prompts if p.category == "edit"]
    return {"heldout": [p.text for p in load_suite("heldout").prompts], "edit": edits}


def evaluate_ladder(
    trained: Path,
    root: Path | None = None,
    *,
    out: Path | None = None,
    prompts: Mapping[str, Sequence[str]] | None = None,
    **settings: int,
) -> dict:
    """Evaluate the models in ``root`` (default ``trained/weights``) on the held-out tokens of
    ``trained/data``. Writes ``evaluation.json``, the corpus manifest and the training log beside
    the models, or with ``out`` only the evaluation into this file. Returns the evaluation.
    """
    trained = Path(trained)
    root = Path(root) if root is not None else trained / "weights"
    heldout = np.load(trained / "data" / "heldout.npy", mmap_mode="r")
    evaluation = measure(root, heldout, prompts=prompts, **settings)
    write_whole(out or root / "evaluation.json", json.dumps(evaluation, indent=1) + "\n")
    if out is not None:
        return evaluation
    shutil.copy(trained / "data" / "manifest.json", root / "manifest.json")
    if (trained / LOG).exists():
        shutil.copy(trained / LOG, root / "training.jsonl")
    return evaluation


def table(evaluation: dict, before: dict | None = None) -> str:
    """Return the goals and the measured values as a Markdown table; ``before`` is an evaluation
    to compare with.
    """
    columns = {"measured": evaluation}
    if before is not None:
        columns = {"before": before, "measured": evaluation}
    rows = [["", *columns, "goal", ""]]
    for label, path, goal, is_minimum in GOALS:
        values = [_value(column or {}, path) for column in columns.values()]
        verdict = ""
        if (value := values[-1]) is not None:
            missed = goal - value if is_minimum else value - goal
            verdict = f"missed by {missed:.3f}" if missed > 0 else "reached"
        cells = ["–" if v is None else f"{v:.3f}" for v in values]
        rows.append([label, *cells, f"{'≥' if is_minimum else '≤'} {goal}", verdict])
    return markdown(rows)


def markdown(rows: Sequence[Sequence[str]], align: str = "---") -> str:
    """Return rows of cells, the head first, as a Markdown table; ``align`` is for all columns
    but the first.
    """
    head, *lines = ("| " + " | ".join(row) + " |" for row in rows)
    aligned = f"|{align}" * (len(rows[0]) - 1)
    return "\n".join([head, f"|---{aligned}|", *lines])


def _value(evaluation: dict, path: tuple[str, ...]) -> float | None:
    for key in path:
        evaluation = evaluation.get(key, {})
    return evaluation if isinstance(evaluation, float) else None
