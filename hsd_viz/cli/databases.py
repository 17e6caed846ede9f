"""``hsd-viz databases``: what draft databases contain, and how they are built."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated as A
from typing import Literal

from hsd_viz.cli.shared import Json, print_paths
from hsd_viz.decoding.options import DEFAULT_NEW_TOKENS, MAX_NEW_TOKENS
from hsd_viz.disk import followed
from hsd_viz.errors import UserError
from hsd_viz.settings.declare import CliOption, Setting
from hsd_viz.settings.ranges import MAX_KEY_LENGTH, Range
from hsd_viz.stack import TARGET
from hsd_viz.terminal import show_share, status


def inspect(
    path: A[
        Path | None,
        Setting("a file, or a folder of them (default: all that are shipped)", CliOption("PATH")),
    ] = None,
    *,
    tokenizer: A[
        str | None,
        Setting(
            "its tokenizer: a model, a folder or a file (default: the ladder's)", CliOption("T")
        ),
    ] = None,
    top: A[int, Setting("show the N most used entries", CliOption("N"), Range(0, 1000))] = 10,
    json_: Json = None,
) -> int:
    """Show what a database file contains; as JSON, one object for a file, else a list of them."""
    from hsd_viz.cli.facts import Facts
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.drafting.shared import vocabulary_hash
    from hsd_viz.engine.databases import find_tokenizer
    from hsd_viz.models.families import LADDER
    from hsd_viz.results.page import lines
    from hsd_viz.results.result import print_result

    if json_ is not None and json_.suffix == ".hsdb":
        raise UserError(f"--json would replace the database {json_}: give PATH before --json")
    is_one_file = path is not None and not path.is_dir()
    if path is not None and is_one_file:
        paths = [path]
    else:
        paths = sorted((path or LADDER / "databases").glob("*.hsdb"))
    if not paths:
        none = "this installation contains no databases: build them with `hsd-viz databases build`"
        raise UserError(none if path is None else f"'{path}' contains no databases (.hsdb files)")
    databases = [describe(file, top) for file in paths]
    vocabulary = None
    try:
        encoder = find_tokenizer(tokenizer or TARGET)
        vocabulary = vocabulary_hash(encoder.get_vocab())
    except (ValueError, OSError, ModuleNotFoundError):
        if tokenizer is not None:
            raise
    for facts in databases:
        if facts["vocabulary_hash"] == vocabulary:
            for entry in facts["most_used"]:
                entry["text"] = [encoder.decode(entry["key"]), encoder.decode(entry["tokens"])]
        elif tokenizer is not None:
            raise UserError(
                f"'{Path(facts['path']).name}' was built with another tokenizer than '{tokenizer}'"
            )
    text = []
    for facts in databases:
        # Separate databases by a blank line.
        text += ["", *lines("database.jinja", facts=facts)]
    data = databases[0] if is_one_file else databases
    return print_result(Facts(data, text[1:]), json=json_)


def build(
    *,
    out: A[Path, Setting("folder for the files", CliOption("DIR"))],
    kind: A[Literal["model", "statistics"], Setting("the database to build")],
    model: A[str, Setting("the model, or the model of the tokenizer", CliOption("M"))] = TARGET,
    prompts: A[
        tuple[str, ...] | None,
        Setting("prompts for the model: files or suite names", CliOption("FILE", nargs="+")),
    ] = None,
    family: A[
        str, Setting("the family of --model and --stack: code or smollm2", CliOption("NAME"))
    ] = "code",
    max_new_tokens: A[
        int | None,
        Setting(
            f"token limit for each prompt (default {DEFAULT_NEW_TOKENS})",
            CliOption("N"),
            Range(1, MAX_NEW_TOKENS),
        ),
    ] = None,
    stack: A[
        str | None,
        Setting("decode with this stack: the same text, faster (default target)", CliOption("S")),
    ] = None,
    text: A[
        tuple[Path, ...] | None,
        Setting(
            "text to count: files, or folders with their subfolders",
            CliOption("PATH", nargs="+"),
        ),
    ] = None,
    tokenizer: A[
        str | None,
        Setting(
            "tokenizer instead of --model's: a model, a folder or a tokenizer.json", CliOption("T")
        ),
    ] = None,
    max_key_length: A[
        int, Setting("longest keys in tokens", CliOption("N"), Range(1, MAX_KEY_LENGTH))
    ] = 6,
    min_count: A[
        int, Setting("keep keys that occur at least N times", CliOption("N"), Range(1, 10**9))
    ] = 2,
    max_mb: A[
        float,
        Setting("file size: the most useful keys are kept", CliOption("MB"), Range(0.001, 2000)),
    ] = 64.0,
) -> None:
    """Build a model database from the output of a model, or a statistics database from text."""
    decoding = {"prompts": prompts, "max-new-tokens": max_new_tokens, "stack": stack}
    other, options = (
        ("statistics", {"text": text, "tokenizer": tokenizer})
        if kind == "model"
        else ("model", decoding)
    )
    for name, value in options.items():
        if value is not None:
            raise UserError(f"--{name} is allowed only with --kind {other}")
    if not (prompts or text):
        needed = "--prompts: files or suites that the model continues"
        raise UserError(
            f"--kind {kind} needs "
            f"{needed if kind == 'model' else '--text: files or folders to count'}"
        )
    followed(out).mkdir(parents=True, exist_ok=True)
    from dataclasses import replace

    from hsd_viz.engine import databases
    from hsd_viz.engine.local import load_engine

    pruning = replace(databases.PRUNING, least=min_count, max_bytes=round(1e6 * max_mb))
    try:
        if text:
            paths = databases.build_text(
                text,
                databases.find_tokenizer(tokenizer or model, family),
                out,
                pruning=pruning,
                longest=max_key_length,
                progress=show_share,
            )
        else:
            paths = databases.build_model(
                load_engine(model, family=family),
                prompts or (),
                out,
                pruning=pruning,
                longest=max_key_length,
                progress=show_share,
                max_new_tokens=max_new_tokens or DEFAULT_NEW_TOKENS,
                stack=stack or TARGET,
            )
    finally:
        status()
    print_paths(*paths)
