"""How good the ladder is: held-out loss by position, how far each pair agrees, and what the target writes.

Σ min(p, q) over the vocabulary, averaged over held-out positions, is the chance that a token sampled from the draft's row q
is accepted by speculative sampling against the target's row p (Leviathan et al. 2023, arXiv 2211.17192, corollary 3.6).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from .data import heldout_windows
from ..load import NAMES, load_model, load_tokenizer, weights_hash

BUCKETS = ((0, 128), (128, 256), (256, 512), (512, 1024))
# None ends in white space: the tokenizer joins a line break with the indentation after it, so a prompt cut there reads oddly.
PROMPTS = ("def read_lines(path):", "class Stack:", "import os\nimport sys", "    for i in range(")


@torch.no_grad()
def _rows(model, ids: torch.Tensor) -> torch.Tensor:
    """Log-probabilities of the next token, float32. Shape: [length, vocabulary] for ids [length]."""
    return F.log_softmax(model(ids[None]).logits[0].float(), dim=-1)


@torch.no_grad()
def sample(model, tokenizer, prompt: str, tokens: int, temperature: float, seed: int) -> str:
    """The prompt and ``tokens`` more, at ``temperature`` (0: greedy), stopping at the end of the text."""
    generator = torch.Generator().manual_seed(seed)
    ids = tokenizer(prompt, return_tensors="pt").input_ids
    cache, step = None, ids
    for _ in range(tokens):
        out = model(step, past_key_values=cache, use_cache=True)
        cache, logits = out.past_key_values, out.logits[0, -1].float()
        if temperature > 0:
            step = torch.multinomial(F.softmax(logits / temperature, -1), 1, generator=generator)[None]
        else:
            step = logits.argmax()[None, None]
        if step.item() == tokenizer.eos_token_id:
            break
        ids = torch.cat([ids, step], dim=1)
    return tokenizer.decode(ids[0].tolist())


def measure(root: Path, heldout: np.ndarray, windows: int = 48, window: int = 1024, sample_tokens: int = 160) -> dict:
    """Evaluate the checkpoints in ``root`` on ``heldout`` (uint16 token ids).

    Returns ``{"windows", "window", "models": {name: {"loss", "loss_by_position", "accuracy", "hash"}},
    "pairs": {"draft/target": {"overlap", "greedy_agreement", "kl"}}, "samples": [...]}``, losses in nats a token, all in float32.
    """
    present = [n for n in NAMES if (root / n / "config.json").exists()]
    if not present:
        raise ValueError(f"{root} holds none of the models {', '.join(NAMES)}")
    models = {n: load_model(str(root / n)) for n in present}
    rows = torch.from_numpy(heldout_windows(heldout, windows, window))
    buckets = [b for b in BUCKETS if b[0] < window]
    by_position = {n: [] for n in present}
    hits = dict.fromkeys(present, 0.0)
    pairs = {f"{a}/{b}": {"overlap": 0.0, "greedy_agreement": 0.0, "kl": 0.0} for a, b in combinations(present, 2)}
    for row in rows:
        ids, targets = row[:-1], row[1:]
        logs = {n: _rows(m, ids) for n, m in models.items()}
        for n, log in logs.items():
            by_position[n].append(-log.gather(1, targets[:, None])[:, 0])
            hits[n] += (log.argmax(-1) == targets).float().mean().item() / len(rows)
        for a, b in combinations(present, 2):
            q, p = logs[a].exp(), logs[b].exp()
            cell = pairs[f"{a}/{b}"]
            cell["overlap"] += torch.minimum(p, q).sum(-1).mean().item() / len(rows)
            cell["greedy_agreement"] += (logs[a].argmax(-1) == logs[b].argmax(-1)).float().mean().item() / len(rows)
            cell["kl"] += (p * (logs[b] - logs[a])).sum(-1).mean().item() / len(rows)
    found: dict = {"windows": len(rows), "window": window, "models": {}, "pairs": pairs, "samples": []}
    for n in present:
        losses = torch.stack(by_position[n])
        found["models"][n] = {
            "loss": losses.mean().item(),
            "loss_by_position": {f"{a}-{min(b, window)}": losses[:, a:b].mean().item() for a, b in buckets},
            "accuracy": hits[n],
            "hash": weights_hash(root / n),
        }
    if "target" in present and sample_tokens:
        tokenizer = load_tokenizer(root / "target")
        for seed, prompt in enumerate(PROMPTS):
            for temperature in (0.0, 0.8):
                text = sample(models["target"], tokenizer, prompt, sample_tokens, temperature, seed)
                found["samples"].append({"prompt": prompt, "temperature": temperature, "text": text})
    return found


def evaluate_ladder(trained: Path, root: Path | None = None, **settings: int) -> dict:
    """Measure the models under ``root`` (default ``trained/weights``) with the held-out tokens of ``trained/data``.

    Writes ``root/evaluation.json`` and a copy of the corpus manifest beside it, and returns what it measured.
    """
    root = Path(root) if root is not None else Path(trained) / "weights"
    heldout = np.load(Path(trained) / "data" / "heldout.npy", mmap_mode="r")
    found = measure(root, heldout, **settings)
    (root / "evaluation.json").write_text(json.dumps(found, indent=1) + "\n")
    shutil.copy(Path(trained) / "data" / "manifest.json", root / "manifest.json")
    return found


def main(argv: list[str] | None = None) -> int:
    """``python -m hsd_viz.ladder.evaluate --trained DIR [--weights DIR]``."""
    parser = argparse.ArgumentParser(description="measure a trained ladder on its held-out text")
    parser.add_argument("--trained", type=Path, required=True, help="the folder training wrote")
    parser.add_argument("--weights", type=Path, help="the folder of the checkpoints (default: the one training wrote)")
    parser.add_argument("--windows", type=int, default=48)
    parser.add_argument("--threads", type=int)
    a = parser.parse_args(argv)
    if a.threads:
        torch.set_num_threads(a.threads)
    try:
        found = evaluate_ladder(a.trained, a.weights, windows=a.windows)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({k: found[k] for k in ("models", "pairs")}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
