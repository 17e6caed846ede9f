"""``hsd-viz databases``: inspect and build draft databases."""

import json
from pathlib import Path
from typing import Annotated as A
from typing import Any, Literal

from hsd_viz.cli import arguments
from hsd_viz.cli.options import MANY, Also, Range

#: Kind -> the options that only it takes.
_ONLY = {"model": ("prompts", "max_new_tokens", "stack"), "statistics": ("text", "tokenizer")}


def inspect(
    path: A[Path | None, "PATH", "a file, or a folder of them (default: all that are shipped)"] = None,
    *,
    text: A[Path | None, "FILE", "a UTF-8 text to measure hit rates on"] = None,
    tokenizer: A[
        str | None, Also("--model"), "T", "its tokenizer: a model, a folder or a tokenizer.json (default: the ladder's)"
    ] = None,
    top: A[int, Range(0, 1000), "N", "show the N most used entries"] = 10,
    verify: A[bool, "read every byte of the file and check it"] = False,
    json_: A[bool, "print JSON: one object for a file, else a list of them"] = False,
) -> None:
    """Show what a database file contains."""
    from hsd_viz.drafting.index.build import describe
    from hsd_viz.ladder.load import weights_dir
    from hsd_viz.prompts import read_text

    is_folder = path is not None and path.is_dir()
    paths = sorted(path.glob("*.hsdb")) if path is not None and is_folder else [path] if path is not None else []
    if is_folder and not paths:
        raise ValueError(f"'{path}' contains no databases (.hsdb files)")
    paths = paths or sorted((weights_dir() / "databases").glob("*.hsdb"))
    if not paths:
        raise ValueError("this installation contains no databases: build them with `hsd-viz databases build`")
    sample = read_text(text, "text") if text is not None else None
    databases = [describe(one, top, verify=verify) for one in paths]
    required = sample is not None or tokenizer is not None
    encoder, vocabulary = _tokenizer(tokenizer, required)
    for facts in databases:
        if facts["vocabulary_hash"] == vocabulary:
            for entry in facts["most_used"]:
                entry["text"] = [encoder.decode(entry["key"]), encoder.decode(entry["tokens"])]
        elif required:
            other = f"'{tokenizer}'" if tokenizer else "the ladder's: use --tokenizer"
            raise ValueError(f"'{Path(facts['path']).name}' was built with another tokenizer than {other}")
        if sample is not None and (facts["kind"] != "fivegrams" or (path is not None and not is_folder)):
            facts["hit_rates"] = _hit_rates(facts["path"], encoder, sample)
    if json_:
        print(json.dumps(databases if is_folder or path is None else databases[0], default=str))
    else:
        print("\n\n".join(map(_description, databases)))


def _tokenizer(name: str | None, required: bool) -> tuple[Any, str | None]:
    """Return a tokenizer and the hash of its vocabulary; without a name the shipped one, (None, None) if missing."""
    from hsd_viz.drafting.make import vocabulary_hash
    from hsd_viz.ladder.load import weights_dir

    if name is not None:
        from hsd_viz.engine.databases import find_tokenizer

        tokenizer = find_tokenizer(name)
        return tokenizer, vocabulary_hash(tokenizer.get_vocab())
    try:
        from tokenizers import Tokenizer  # transformers would take seconds to import
    except ModuleNotFoundError:
        if required:
            raise
        return None, None
    path = weights_dir() / "target" / "tokenizer.json"
    if not path.exists():
        return None, None
    tokenizer = Tokenizer.from_file(str(path))
    return tokenizer, vocabulary_hash(tokenizer.get_vocab(with_added_tokens=True))


def _hit_rates(path: str, tokenizer: Any, text: str) -> dict[str, Any]:
    from hsd_viz.drafting.index.build import hit_rates
    from hsd_viz.drafting.index.format import open_index

    encoded = tokenizer.encode(text, add_special_tokens=False)
    return hit_rates(open_index(path), getattr(encoded, "ids", encoded))


def _description(facts: dict[str, Any]) -> str:
    lengths = ", ".join(f"{keys} of {n}" for n, keys in sorted(facts["keys_by_length"].items()))
    lines = [
        f"{facts['path']}: {facts['kind']} database, {facts['bytes'] / 1e6:.1f} MB",
        f"  {facts['keys']} keys ({lengths} tokens), {facts['continuations']} continuations, "
        f"{facts['vocabulary_size']} token ids",
        "  checksum verified" if facts["verified"] else "  checksum not verified (use --verify)",
        *(f"  {name}: {json.dumps(value, default=str)}" for name, value in facts["meta"].items()),
    ]
    if rates := facts.get("hit_rates"):
        lines.append(f"  at {rates['places']} positions of the text: {_rates(rates)}")
        lines += [f"    keys of {n}: {_rates(row)}" for n, row in rates["by_key_length"].items()]
    if facts["most_used"]:
        lines.append("  most used:")
    for entry in facts["most_used"]:
        key, tokens = map(repr, entry["text"]) if "text" in entry else (entry["key"], entry["tokens"])
        lines.append(f"    {key} then {tokens}: {entry['count']} of {entry['total']} times")
    return "\n".join(lines)


def _rates(row: dict[str, float]) -> str:
    return f"an answer at {row['found']:.1%}, the first right at {row['first']:.1%}, any right at {row['any']:.1%}"


def build(
    *,
    out: A[Path, "DIR", "folder for the files"],
    kind: A[Literal["model", "statistics"], "the database to build"],
    model: A[str | None, "M", "the model, or the model of the tokenizer (default target)"] = None,
    prompts: A[tuple[str, ...] | None, MANY, "FILE", "prompts for the model: files or suite names"] = None,
    max_new_tokens: A[int | None, Range(1, 100_000), "N", "token limit for each prompt (default 128)"] = None,
    stack: A[str | None, "S", "decode with this stack: the same text, faster (default target)"] = None,
    text: A[tuple[Path, ...] | None, MANY, "PATH", "text to count: files, or folders with their subfolders"] = None,
    tokenizer: A[str | None, "T", "tokenizer instead of --model's: a model, a folder or a tokenizer.json"] = None,
    max_key_length: A[int | None, Range(1, 32), "N", "longest keys in tokens (default 6)"] = None,
    min_count: A[int | None, Range(1, 10**9), "N", "keep keys that occur at least N times (default 2)"] = None,
    max_mb: A[float | None, Range(0.001, 2000), "MB", "file size: the most useful keys are kept (default 64)"] = None,
) -> None:
    """Build a model database from the output of a model, or a statistics database from text."""
    given = {"prompts": prompts, "max_new_tokens": max_new_tokens, "stack": stack, "text": text, "tokenizer": tokenizer}
    for other, options in _ONLY.items():
        for name in options:
            if kind != other and given[name] is not None:
                raise ValueError(f"--{name.replace('_', '-')} is allowed only with --kind {other}")
    if kind == "model" and not prompts:
        raise ValueError("--kind model needs --prompts: files or suites that the model continues")
    if kind == "statistics" and not text:
        raise ValueError("--kind statistics needs --text: files or folders to count")
    if out.exists() and not out.is_dir():
        raise ValueError(f"cannot write to {out}: it is a file; give a folder name")
    out.mkdir(parents=True, exist_ok=True)
    from dataclasses import replace

    from hsd_viz.engine import databases

    def show(task: str, share: float) -> None:
        arguments.status(f"{task} {share:.0%}")

    limits = {"least": min_count, "max_bytes": max_mb and round(1e6 * max_mb)}
    pruning = replace(databases.PRUNING, **{name: limit for name, limit in limits.items() if limit is not None})  # type: ignore[arg-type]
    counting: dict[str, Any] = {"pruning": pruning, "progress": show, "longest": max_key_length}
    counting = {name: value for name, value in counting.items() if value is not None}
    try:
        if text:
            encoder = databases.find_tokenizer(tokenizer or model or "target")
            paths = databases.build_text(text, encoder, out, **counting)
        else:
            decoding = {"max_new_tokens": max_new_tokens, "stack": stack}
            decoding = {name: value for name, value in decoding.items() if value is not None}
            paths = _decoded(prompts or (), model or "target", out, **decoding, **counting)
    finally:
        arguments.status()
    for path in paths:
        print(path)


def _decoded(prompts: tuple[str, ...], model: str, out: Path, **options: Any) -> list[Path]:
    from hsd_viz.engine.databases import OUTPUTS, build_model, read_prompts
    from hsd_viz.engine.local import load_engine

    texts = read_prompts(prompts)
    try:
        return build_model(load_engine(model), texts, out, **options)
    except KeyboardInterrupt:
        if (out / OUTPUTS).exists():
            arguments.say(f"the outputs so far are in {out / OUTPUTS}: the same command resumes from them")
        raise
