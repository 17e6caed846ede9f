"""``hsd-viz databases``: inspect and build draft databases."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments
from hsd_viz.cli.arguments import file_name, folder_name, number, option

_INSPECT = """\
examples:
  hsd-viz databases inspect
  hsd-viz databases inspect my.hsdb --json
  hsd-viz databases inspect databases/ --text novel.txt --tokenizer owner/model

Files above 64 MiB are memory-mapped; --verify reads every byte. Hit rates are measured before each token of a text: how
often a database has an answer, how often its first answer is right, and how often any answer is right.
"""
_BUILD = """\
examples:
  hsd-viz databases build --kind statistics --text ~/src notes.txt --out mine/
  hsd-viz databases build --kind statistics --text corpus/ --tokenizer owner/model --out mine/ --max-mb 500
  hsd-viz databases build --kind model --model small --prompts questions.jsonl more.txt --out mine/
  hsd-viz decode --stack "db > target" --databases mine/ --prompt "def main("

A model database counts the output of a model after each prompt, at temperature 0; a statistics database counts text,
in constant memory (about 300 MB). Outputs are stored at once (model.outputs.jsonl): after Ctrl-C (exit code 130) the
same command resumes, and with more prompts it decodes only the new ones. Prompt files: prompts separated by three or
more blank lines, or questions in .jsonl. The databases of the ladder are built by
`python -m training databases` in a checkout.
"""
Show = Callable[[str, float], None]
_KINDS = ("model", "statistics")
#: Kind -> the options it takes besides --out.
_TAKES = {
    "model": {"model", "prompts", "max_new_tokens", "stack", "max_key_length", "min_count", "max_mb"},
    "statistics": {"model", "tokenizer", "text", "max_key_length", "min_count", "max_mb"},
}


def add(commands: argparse._SubParsersAction) -> None:
    add = arguments.add_command
    parser = add(commands, "databases", "inspect and build draft databases", epilog=_BUILD)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_inspect(add(actions, "inspect", "show what a database file contains", run_inspect, epilog=_INSPECT))
    text = "build custom databases"
    about = "Build a model database from the output of a model, or a statistics database from text."
    _add_build(add(actions, "build", text, run_build, about=about, epilog=_BUILD))


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    option(parser, "path PATH", "a file, or a folder of them (default: all that are shipped)", Path, nargs="?")
    option(parser, "--text FILE", "a UTF-8 text to measure hit rates on", file_name)
    text = (
        "its tokenizer, for readable entries and --text: a model, a folder or a tokenizer.json (default: the ladder's)"
    )
    option(parser, "--tokenizer/--model T", text)
    option(parser, "--top N", "show the N most used entries, 0-1000 (default 10)", number(0, 1000), default=10)
    option(parser, "--verify", "read every byte of the file and check it", action="store_true")
    option(parser, "--json", "print JSON: one object for a file, else a list of them", action="store_true")


def _add_build(parser: argparse.ArgumentParser) -> None:
    option(parser, "--out DIR", "folder for the files", folder_name, required=True)
    option(parser, "--kind", "the database to build", choices=_KINDS, required=True)
    add = partial(option, parser.add_argument_group("custom databases"))
    add("--model M", "the model, or the model of the tokenizer: a ladder name, a hub id or a path (default target)")
    add("--prompts FILE", "prompts for the model: files or suite names", nargs="+")
    add("--max-new-tokens N", "token limit for each prompt, 1-100000 (default 128)", number(1, 100_000))
    add("--stack S", "decode with this stack: the same text, faster (default target)")
    add("--text PATH", "text to count: files, or folders with their subfolders", Path, nargs="+")
    add("--tokenizer T", "tokenizer instead of --model's: a model, a folder or a tokenizer.json")
    add("--max-key-length N", "longest keys in tokens, 1-32 (default 6)", number(1, 32))
    add("--min-count N", "keep keys that occur at least N times, 1 or more (default 2)", number(1, 10**9))
    text = "file size limit in megabytes: the most useful keys are kept (default 64)"
    add("--max-mb MB", text, number(0.001, 2000, float))


def shipped() -> list[Path]:
    """Return the shipped database files."""
    from hsd_viz.ladder.load import weights_dir

    return sorted((weights_dir() / "databases").glob("*.hsdb"))


def run_inspect(args: argparse.Namespace) -> int:
    """Print the content of the databases."""
    from hsd_viz.drafting.index.inspect import describe
    from hsd_viz.prompts import read_text

    folder = args.path is not None and args.path.is_dir()
    paths = sorted(args.path.glob("*.hsdb")) if folder else [args.path] if args.path is not None else shipped()
    if folder and not paths:
        raise ValueError(f"'{args.path}' contains no databases (.hsdb files)")
    if not paths:
        raise ValueError("this installation contains no databases: build them with `hsd-viz databases build`")
    text = read_text(args.text, "text") if args.text is not None else None
    found = [describe(path, args.top, verify=args.verify) for path in paths]
    required = text is not None or args.tokenizer is not None
    tokenizer, vocabulary = _tokenizer(args.tokenizer, required)
    for facts in found:
        if facts["vocabulary_hash"] == vocabulary:
            for entry in facts["most_used"]:
                entry["text"] = [tokenizer.decode(entry["key"]), tokenizer.decode(entry["tokens"])]
        elif required:
            other = f"'{args.tokenizer}'" if args.tokenizer else "the ladder's: use --tokenizer"
            raise ValueError(f"'{Path(facts['path']).name}' was built with another tokenizer than {other}")
        if text is not None and (facts["kind"] != "fivegrams" or (args.path is not None and not folder)):
            facts["hit_rates"] = _hit_rates(facts["path"], tokenizer, text)
    if args.json:
        print(json.dumps(found if folder or args.path is None else found[0], default=str))
    else:
        print("\n\n".join(map(_text, found)))
    return 0


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
    from hsd_viz.drafting.index.format import open_index
    from hsd_viz.drafting.index.inspect import hit_rates

    encoded = tokenizer.encode(text, add_special_tokens=False)
    return hit_rates(open_index(path), getattr(encoded, "ids", encoded))


def _text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['path']}: {facts['kind']} database, {facts['bytes'] / 1e6:.1f} MB"]
    lengths = ", ".join(f"{keys} of {n}" for n, keys in sorted(facts["keys_by_length"].items()))
    lines.append(f"  {facts['keys']} keys ({lengths} tokens), {facts['continuations']} continuations")
    lines[-1] += f", {facts['vocabulary_size']} token ids"
    lines.append("  checksum verified" if facts["verified"] else "  checksum not verified (use --verify)")
    lines += [f"  {name}: {json.dumps(value, default=str)}" for name, value in facts["meta"].items()]
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


def run_build(args: argparse.Namespace) -> int:
    """Build and print the paths of the files."""
    _check(args)
    args.out.mkdir(parents=True, exist_ok=True)

    def show(what: str, share: float) -> None:
        arguments.status(f"{what} {share:.0%}")

    try:
        paths = {"model": _build_model, "statistics": _build_statistics}[args.kind](args, show)
    finally:
        arguments.status()
    for path in paths:
        print(path)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise ValueError for options that do not go together."""
    takes = _TAKES[args.kind]
    for name in sorted(set().union(*_TAKES.values()) - takes):
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            kinds = " or ".join(f"--kind {kind}" for kind, options in _TAKES.items() if name in options)
            raise ValueError(f"{option} is allowed only with {kinds}")
    if args.kind == "model" and not args.prompts:
        raise ValueError("--kind model needs --prompts: files or suites that the model continues")
    if args.kind == "statistics" and not args.text:
        raise ValueError("--kind statistics needs --text: files or folders to count")
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"cannot write to {args.out}: it is a file; give a folder name")


def _counting(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of counting that were given."""
    from dataclasses import replace

    from hsd_viz.engine.databases import PRUNING

    changes = {"least": args.min_count, "max_bytes": args.max_mb and round(1e6 * args.max_mb)}
    pruning = replace(PRUNING, **{name: value for name, value in changes.items() if value is not None})
    return {"pruning": pruning} | ({} if args.max_key_length is None else {"longest": args.max_key_length})


def _build_model(args: argparse.Namespace, show: Show) -> list[Path]:
    from hsd_viz.engine.databases import OUTPUTS, build_model, read_prompts
    from hsd_viz.engine.local import load_engine

    prompts = read_prompts(args.prompts)
    engine = load_engine(args.model or "target")
    options = {name: getattr(args, name) for name in ("max_new_tokens", "stack") if getattr(args, name) is not None}
    try:
        return build_model(engine, prompts, args.out, **options, **_counting(args), progress=show)
    except KeyboardInterrupt:
        if (args.out / OUTPUTS).exists():
            arguments.say(f"the outputs so far are in {args.out / OUTPUTS}: the same command resumes from them")
        raise


def _build_statistics(args: argparse.Namespace, show: Show) -> list[Path]:
    from hsd_viz.engine.databases import build_text, find_tokenizer

    tokenizer = find_tokenizer(args.tokenizer or args.model or "target")
    return build_text(args.text, tokenizer, args.out, **_counting(args), progress=show)
