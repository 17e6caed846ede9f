"""Write MODEL_CARD.md from the records of training and evaluation. The module itself contains no
figures.
"""

from pathlib import Path

from hsd_viz.disk import write_whole
from hsd_viz.ladder.torch_modules import info
from hsd_viz.models.families import LADDER
from training.corpus import RESERVED, CorpusLimits
from training.evaluation import markdown
from training.recipe import HEAD_DIM, STAGES

#: Filled by :func:`render`.
_TEMPLATE = Path(__file__).with_name("model_card.md")


def _models(info: dict) -> str:
    rows = [
        [
            "model",
            "parameters",
            "layers × width",
            "training tokens",
            "steps",
            "time",
            "on disk",
            "hash",
        ]
    ]
    for name, model in info["models"].items():
        training = model.get("training", {})
        spent = (
            [
                f"{training['tokens'] / 1e6:.1f} M",
                f"{training['step']}",
                f"{training['seconds'] / 3600:.1f} h",
            ]
            if training
            else ["", "", ""]
        )
        shape = f"{model['layers']} × {model['width']}, {model['heads']} heads"
        size = f"{model['bytes'] / 1e6:.1f} MB"
        rows.append(
            [name, f"{model['parameters'] / 1e6:.2f} M", shape, *spent, size, f"`{model['hash']}`"]
        )
    return markdown(rows)


def _losses(models: dict) -> str:
    buckets = list(next(iter(models.values()))["loss_by_position"])
    rows = [["model", "held-out loss", *(f"at {b}" for b in buckets), "accuracy"]]
    for name, m in models.items():
        losses = (m["loss"], *m["loss_by_position"].values())
        rows.append([name, *map("{:.3f}".format, losses), f"{m['accuracy']:.1%}"])
    return markdown(rows)


def _pairs(pairs: dict) -> str:
    rows = [["draft → target", "Σ min(p, q)", "greedy agreement", "KL(p ‖ q)"]]
    for key, v in pairs.items():
        rows.append(
            [
                key.replace("/", " → "),
                f"{v['overlap']:.3f}",
                f"{v['greedy_agreement']:.3f}",
                f"{v['kl']:.3f}",
            ]
        )
    return markdown(rows)


def _licences(corpus: dict) -> str:
    groups: dict[str, list[tuple[str, dict]]] = {}
    for package, row in corpus["packages"].items():
        groups.setdefault(row["licence"], []).append((package, row))

    def size(group):
        return sum(row["bytes"] for _, row in group)

    rows = [["licence", "training text", "packages"]]
    for licence, group in sorted(groups.items(), key=lambda g: -size(g[1])):
        rows.append(
            [
                licence,
                f"{size(group) / 1e6:.1f} MB",
                ", ".join(f"{p} {row['version']}" for p, row in group),
            ]
        )
    return markdown(rows)


def _recipe(info: dict) -> str:
    lines = []
    for names in STAGES.values():
        t = info["models"].get(names[0], {}).get("training")
        if not t:
            continue
        run = t["run"]
        rates = ", ".join(f"{rate:g} ({name})" for name, rate in run["rates"].items())
        windows = ", ".join(f"{length} tokens from {share:.0%}" for share, length in run["windows"])
        parts = [
            f"- **{' and '.join(names)}** (profile `{t['profile']}`): "
            f"{t['step']} steps of {run['batch']} tokens",
            f"windows of {windows} of the run",
            f"Muon at {rates} on the matrices, AdamW at {run['vector_rate']:g} on the rest",
            f"warm-up {run['warmup']} steps, "
            f"decay to {run['floor']:.0%} over the last {run['decay']:.0%}",
        ]
        if weight := run["distillation"]:
            parts.append(f"loss {weight:g} · KL(target ‖ draft) + {1 - weight:.2g} · cross-entropy")
        lines.append("; ".join(parts) + ".")
    return "\n".join(lines)


def _writing(writing: dict) -> str:
    labels = {
        "repetition": "of the tokens of greedy text repeat an 8-gram (suite `heldout`)",
        "copied": "of the 4-grams after `edit` prompts are copied from the prompt (median)",
        "parsed": "of the lines below belong to a block that `ast.parse` accepts",
    }
    shares = []
    for key, label in labels.items():
        if key in writing:
            shares.append(f"{writing[key]:.0%} {label}")
    parts = [
        f"The target's first samples, with fixed seeds; none was selected. {'; '.join(shares)}."
    ]
    for sample in writing.get("samples", []):
        opening = sample["prompt"].splitlines()[0]
        parts.append(f"Temperature {sample['temperature']}, from `{opening}`:")
        parts.append(f"```python\n{sample['text']}\n```")
    return "\n\n".join(parts)


def stale_models(info: dict) -> list[str]:
    """Return the models of ``load.info()`` whose present weights were not evaluated, neither as
    they are nor before :mod:`tools.int8` rounded them.
    """
    measured = info.get("evaluation", {}).get("models", {})
    stale = []
    for name, row in info["models"].items():
        evaluated = measured.get(name, {})
        if row["hash"] not in (evaluated.get("hash"), evaluated.get("rounded_hash")):
            stale.append(name)
    return stale


def render(info: dict) -> str:
    """Return the model card as Markdown.

    Args:
        info: the facts of the models, as :func:`hsd_viz.ladder.torch_modules.info` returns them.

    Raises:
        ValueError: if there is no record of the corpus, the evaluation or any model.
    """
    missing = [key for key in ("corpus", "evaluation") if key not in info]
    if missing or not info["models"]:
        raise ValueError(
            f"no record of {', '.join(missing) or 'any model'}: train and evaluate the ladder first"
        )
    if names := stale_models(info):
        raise ValueError(
            f"the evaluation is of other weights of {', '.join(names)}: evaluate the ladder first"
        )
    corpus = info["corpus"]
    evaluation = info["evaluation"]
    total = corpus["total"]
    first_model = next(iter(info["models"].values()))
    return _TEMPLATE.read_text(encoding="utf-8").format(
        architecture=first_model["architecture"],
        models=_models(info),
        head=HEAD_DIM,
        vocabulary=first_model["vocabulary"],
        context=first_model["context"],
        files=total["files"],
        megabytes=total["bytes"] / 1e6,
        train_tokens=total["train_tokens"] / 1e6,
        package_megabytes=CorpusLimits().package_bytes / 1e6,
        reserved=", ".join(sorted(RESERVED)),
        heldout_files=total["heldout_files"],
        heldout_tokens=total["heldout_tokens"] / 1e6,
        licences=_licences(corpus),
        recipe=_recipe(info),
        windows=evaluation["windows"],
        window=evaluation["window"],
        losses=_losses(evaluation["models"]),
        pairs=_pairs(evaluation["pairs"]),
        writing=_writing(evaluation.get("writing", {})),
    )


def write_card(root: Path | None = None, out: Path | None = None) -> Path:
    """Write the card of the weights in ``root`` (default: the shipped ones) to ``out`` (default:
    MODEL_CARD.md beside them).
    """
    root = Path(root) if root is not None else LADDER
    out = Path(out) if out is not None else root.parent / "MODEL_CARD.md"
    write_whole(out, render(info(root)))
    return out


if __name__ == "__main__":
    print(write_card())
