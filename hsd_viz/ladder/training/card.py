"""Writes MODEL_CARD.md from what training and evaluation recorded; it holds no figure of its own."""

from __future__ import annotations

from pathlib import Path

from .corpus import Limits
from ..load import NAMES, info, weights_dir
from .recipe import HEAD_DIM


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _models(found: dict) -> str:
    rows = []
    for name, m in found["models"].items():
        t = m.get("training", {})
        spent = [f"{t['tokens'] / 1e6:.1f} M", f"{t['steps']}", f"{t['seconds'] / 60:.0f} min"] if t else ["", "", ""]
        shape = f"{m['layers']} × {m['width']}, {m['heads']} heads"
        rows.append([name, f"{m['parameters'] / 1e6:.2f} M", shape, *spent, f"{m['bytes'] / 1e6:.1f} MB", f"`{m['hash']}`"])
    return _table(["model", "parameters", "layers × width", "tokens seen", "steps", "training time", "on disk", "hash"], rows)


def _losses(evaluation: dict) -> str:
    names = list(evaluation["models"])
    buckets = list(evaluation["models"][names[0]]["loss_by_position"])
    rows = []
    for name in names:
        m = evaluation["models"][name]
        rows.append([name, f"{m['loss']:.3f}", *(f"{m['loss_by_position'][b]:.3f}" for b in buckets), f"{m['accuracy']:.1%}"])
    return _table(["model", "held-out loss", *(f"at {b}" for b in buckets), "next token right"], rows)


def _pairs(evaluation: dict) -> str:
    rows = [
        [key.replace("/", " → "), f"{v['overlap']:.3f}", f"{v['greedy_agreement']:.3f}", f"{v['kl']:.3f}"]
        for key, v in evaluation["pairs"].items()
    ]
    return _table(["draft → target", "Σ min(p, q)", "greedy agreement", "KL(p ‖ q)"], rows)


def _licences(corpus: dict) -> str:
    groups: dict[str, list[tuple[str, dict]]] = {}
    for package, row in corpus["packages"].items():
        groups.setdefault(row["licence"], []).append((package, row))
    size = lambda group: sum(row["bytes"] for _, row in group)
    rows = [
        [licence, f"{size(group) / 1e6:.1f} MB", ", ".join(f"{p} {row['version']}" for p, row in group)]
        for licence, group in sorted(groups.items(), key=lambda g: -size(g[1]))
    ]
    return _table(["licence", "training text", "packages"], rows)


def _recipe(found: dict) -> str:
    lines = []
    for name in reversed(NAMES):
        t = found["models"].get(name, {}).get("training")
        if not t:
            continue
        run = t["run"]
        line = (
            f"- **{name}**: {t['steps']} steps of {run['windows'] * t['window']} tokens, Muon at {run['matrix_rate']:g} on the matrices "
            f"and AdamW at {run['vector_rate']:g} on the rest, warm-up {run['warmup']} steps, the rate falling to {run['floor']:.0%} over "
            f"the last {run['decay']:.0%}"
        )
        if run["distil_from"] < 1:
            line += (
                f"; after {run['distil_from']:.0%} of the run the loss is {run['distil_weight']:g} · KL(target ‖ {name}) + "
                f"{1 - run['distil_weight']:.2g} · cross-entropy, the target being that of its step {' and '.join(map(str, t['guides']))}"
            )
        if t["steps"] < run["steps"]:
            line += f"; a time limit ended it, the profile's full length being {run['steps']} steps"
        for end in t.get("ends", ()):
            line += f"; a first leg had ended at step {end}, after which the rate rose and fell once more"
        lines.append(line + ".")
    return "\n".join(lines)


def _sample(evaluation: dict) -> str:
    sample = next((s for s in evaluation["samples"] if s["temperature"] > 0), None)
    if sample is None:
        return ""
    opening = sample["prompt"].strip()
    return f"\nThe target at temperature {sample['temperature']}, from `{opening}`:\n\n```python\n{sample['text']}\n```\n"


def render(found: dict) -> str:
    """The model card as Markdown, from ``load.info()``. Raises ValueError when training or evaluation left no record."""
    missing = [key for key in ("corpus", "evaluation") if key not in found]
    if missing or not found["models"]:
        raise ValueError(f"no record of {', '.join(missing) or 'any model'}: train and evaluate the ladder first")
    corpus, evaluation = found["corpus"], found["evaluation"]
    total, first = corpus["total"], next(iter(found["models"].values()))
    text = (
        f"{total['files']} files, {total['bytes'] / 1e6:.0f} MB, {total['train_tokens'] / 1e6:.1f} M tokens of Python: the standard "
        "library and those packages installed beside it whose metadata names only permissive licences (an allow-list; everything "
        "else is left out, and so is a file whose header names a copyleft licence). Tests, vendored and generated "
        "code, exact copies and files of very low variety are left out, leading copyright comments are removed, and one package gives at "
        f"most {Limits().package_bytes / 1e6:.0f} MB."
    )
    heldout = (
        f"Held out, never seen by the tokenizer or a model: {total['heldout_files']} whole files, {total['heldout_tokens'] / 1e6:.2f} M "
        "tokens, chosen by a hash of package and path; `weights/manifest.json` names them. Packages copy code from one another, so a "
        "held-out file may resemble one that was learnt from."
    )
    return f"""# Model card: the ladder

Three `LlamaForCausalLM` models of one family with one tokenizer, trained from scratch on Python source. They are made to be
looked into: small enough for a laptop, different enough that the smaller ones are worth asking first. They are not assistants,
and the code they write is not to be trusted. This page is written by `hsd_viz.ladder.card` from the records beside the weights.

## Models

{_models(found)}

Head width {HEAD_DIM}, tied embeddings, SwiGLU, rotary positions, vocabulary {first["vocabulary"]}, context {first["context"]}.
Stored as float16 safetensors.

## Text

{text}

{heldout}

{_licences(corpus)}

## Recipe

{_recipe(found)}

The first part of each run reads 512-token windows, the last tenth 1024-token windows; bfloat16 autocast over float32 weights.
`hsd-viz ladder train --profile cpu --out DIR` trains such a ladder; the profiles are in `recipe.py`.

## Measured on held-out text

{evaluation["windows"]} windows of {evaluation["window"]} tokens, float32; losses in nats a token, by position in the window.

{_losses(evaluation)}

Σ min(p, q) is the chance that a token drawn from the draft is accepted at temperature 1; greedy agreement, that both would pick
the same token.

{_pairs(evaluation)}
{_sample(evaluation)}"""


def write_card(root: Path | None = None, out: Path | None = None) -> Path:
    """Write the card for the weights in ``root`` (default: the shipped ones) to ``out`` (default: MODEL_CARD.md beside them)."""
    root = Path(root) if root is not None else weights_dir()
    out = Path(out) if out is not None else root.parent / "MODEL_CARD.md"
    out.write_text(render(info(root)), encoding="utf-8")
    return out


if __name__ == "__main__":
    print(write_card())
