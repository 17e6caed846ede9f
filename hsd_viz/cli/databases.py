"""``hsd-viz databases`` and ``ladder``: what is drafted from; training models needs a checkout of the project."""

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated as A
from typing import Any, Literal

from hsd_viz.cli import arguments

ROOT = Path(__file__).resolve().parents[2]


def inspect(
    path: A[Path | None, "PATH", "a file, or a folder of them (default: all that are shipped)"] = None,
    *,
    tokenizer: A[
        str | None, "T", "its tokenizer: a model, a folder or a tokenizer.json (default: the ladder's)"
    ] = None,
    top: A[int, (0, 1000), "N", "show the N most used entries"] = 10,
    json_: A[bool, "print JSON: one object for a file, else a list of them"] = False,
) -> None:
    """Show what a database file contains."""
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.drafting.make import vocabulary_hash
    from hsd_viz.engine.databases import find_tokenizer
    from hsd_viz.ladder.load import weights_dir
    from hsd_viz.tables import lines

    single = path is not None and not path.is_dir()
    paths = [path] if single else sorted((path or weights_dir() / "databases").glob("*.hsdb"))
    if not paths:
        none = "this installation contains no databases: build them with `hsd-viz databases build`"
        raise ValueError(none if path is None else f"'{path}' contains no databases (.hsdb files)")
    databases = [describe(one, top) for one in paths]
    encoder: Any = None
    try:
        encoder = find_tokenizer(tokenizer or "target")
    except (ValueError, OSError, ModuleNotFoundError):
        if tokenizer is not None:
            raise
    vocabulary = encoder and vocabulary_hash(encoder.get_vocab())
    for facts in databases:
        if facts["vocabulary_hash"] == vocabulary:
            for entry in facts["most_used"]:
                entry["text"] = [encoder.decode(entry["key"]), encoder.decode(entry["tokens"])]
        elif tokenizer is not None:
            raise ValueError(f"'{Path(facts['path']).name}' was built with another tokenizer than '{tokenizer}'")
    if json_:
        print(json.dumps(databases[0] if single else databases, default=str))
    else:
        print("\n\n".join("\n".join(lines("database.jinja", facts=facts)) for facts in databases))


def build(
    *,
    out: A[Path, "DIR", "folder for the files"],
    kind: A[Literal["model", "statistics"], "the database to build"],
    model: A[str, "M", "the model, or the model of the tokenizer"] = "target",
    prompts: A[tuple[str, ...] | None, ..., "FILE", "prompts for the model: files or suite names"] = None,
    max_new_tokens: A[int | None, (1, 100_000), "N", "token limit for each prompt (default 128)"] = None,
    stack: A[str | None, "S", "decode with this stack: the same text, faster (default target)"] = None,
    text: A[tuple[Path, ...] | None, ..., "PATH", "text to count: files, or folders with their subfolders"] = None,
    tokenizer: A[str | None, "T", "tokenizer instead of --model's: a model, a folder or a tokenizer.json"] = None,
    max_key_length: A[int, (1, 32), "N", "longest keys in tokens"] = 6,
    min_count: A[int, (1, 10**9), "N", "keep keys that occur at least N times"] = 2,
    max_mb: A[float, (0.001, 2000), "MB", "file size: the most useful keys are kept"] = 64.0,
) -> None:
    """Build a model database from the output of a model, or a statistics database from text."""
    decoding = {"prompts": prompts, "max-new-tokens": max_new_tokens, "stack": stack}
    other, given = ("statistics", {"text": text, "tokenizer": tokenizer}) if kind == "model" else ("model", decoding)
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"--{name} is allowed only with --kind {other}")
    if not (prompts or text):
        needed = "--prompts: files or suites that the model continues"
        raise ValueError(f"--kind {kind} needs {needed if kind == 'model' else '--text: files or folders to count'}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"cannot write to {out}: it is a file; give a folder name")
    out.mkdir(parents=True, exist_ok=True)
    from dataclasses import replace

    from hsd_viz.engine import databases
    from hsd_viz.engine.local import load_engine

    options: dict[str, Any] = {"progress": lambda task, share: arguments.status(f"{task} {share:.0%}")}
    options["pruning"] = replace(databases.PRUNING, least=min_count, max_bytes=round(1e6 * max_mb))
    options["longest"] = max_key_length
    try:
        if text:
            paths = databases.build_text(text, databases.find_tokenizer(tokenizer or model), out, **options)
        else:
            options |= {"max_new_tokens": max_new_tokens or 128, "stack": stack or "target"}
            paths = databases.build_model(load_engine(model), prompts or (), out, **options)
    finally:
        arguments.status()
    for path in paths:
        print(path)


def info(*, json_: A[bool, "print everything known as one JSON object"] = False) -> None:
    """Show sizes, training and quality of the shipped models."""
    from hsd_viz import ladder
    from hsd_viz.tables import lines

    facts = ladder.info()
    if json_:
        print(json.dumps(facts))
        return
    if not facts["models"]:
        raise ValueError("this installation contains no models: train them with `hsd-viz ladder train`")
    print("\n".join(lines("ladder.jinja", facts=facts, evaluation=facts.get("evaluation", {}))))


def train(rest: A[tuple[str, ...], "OPTION", "as of python -m training train"] = ()) -> int:
    """Train a ladder: the target, then both drafts."""
    if not (ROOT / "training").is_dir():
        raise ValueError(f"this needs a checkout of the project: {ROOT / 'training'} does not exist")
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("training.__main__").main(["train", *rest])
