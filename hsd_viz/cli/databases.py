"""``hsd-viz databases``: what the databases hold, and building them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hsd_viz.cli import arguments

_INSPECT = """\
examples:
  hsd-viz databases inspect
  hsd-viz databases inspect my.hsdb --json
  hsd-viz databases inspect databases/ --text novel.txt --tokenizer owner/model

Files above 64 MiB are opened without being read whole; --verify reads every byte. Hit rates say how often a database has an answer before
each token of a text, how often its first answer is right, and how often any is.
"""
_BUILD = """\
examples:
  hsd-viz databases build --kind statistics --text ~/src notes.txt --out mine/
  hsd-viz databases build --kind statistics --text corpus/ --tokenizer owner/model --out mine/ --max-mb 500
  hsd-viz databases build --kind model --model small --prompts questions.jsonl more.txt --out mine/
  hsd-viz databases build --out databases/ --only statistics
  hsd-viz decode --stack "db > target" --databases mine/ --prompt "def main("

A model database is counted from what the model writes, greedily, after each prompt; a statistics database from text, in memory that
does not grow with it (some 300 MB). Outputs are kept as they come (model.outputs.jsonl): after Ctrl-C (exit code 130) the same command
goes on where it stopped, and with more prompts it decodes those only. Prompt files: prompts separated by three or more blank lines, or
questions in .jsonl.
Without --kind the ladder's own databases are built anew.
"""
_KINDS = ("model", "statistics")
#: Which options each way of building takes, besides --out; the ladder's is ''.
_TAKES = {
    "model": {"model", "prompts", "max_new_tokens", "stack", "longest", "least", "max_mb"},
    "statistics": {"model", "tokenizer", "text", "longest", "least", "max_mb"},
    "": {"weights", "data", "only"},
}


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "databases",
        help="inspect and build the draft databases",
        description="What the draft databases hold, and building them.",
        epilog=_BUILD,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    inspect = actions.add_parser(
        "inspect", help="what a database holds", description="Show what a database file holds.", epilog=_INSPECT
    )
    inspect.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a file, or a folder of them (default: all that are shipped)"
    )
    inspect.add_argument(
        "--text", type=arguments.file_name, metavar="FILE", help="a UTF-8 text on which to measure hit rates"
    )
    inspect.add_argument(
        "--tokenizer",
        "--model",
        metavar="T",
        help="the tokenizer it was made with, for readable entries and --text: a model, a folder, a tokenizer.json (default: the ladder's)",
    )
    inspect.add_argument(
        "--most", type=int, default=10, metavar="N", help="show the N most used entries, 0-1000 (default 10)"
    )
    inspect.add_argument(
        "--verify", action="store_true", help="read every byte of the file and say whether it is as it was written"
    )
    inspect.add_argument("--json", action="store_true", help="print JSON: one object for a file, else a list of them")
    inspect.set_defaults(run=run_inspect)
    build = actions.add_parser(
        "build",
        help="build databases of your own, or those of the ladder",
        description="Build a model database from what a model writes, a statistics database from any text, or the ladder's own.",
        epilog=_BUILD,
    )
    build.add_argument(
        "--out", type=arguments.folder_name, required=True, metavar="DIR", help="the folder for the files"
    )
    build.add_argument(
        "--kind", choices=_KINDS, help="what to build of your own (default: the ladder's databases, both kinds)"
    )
    own = build.add_argument_group("of your own")
    own.add_argument(
        "--model",
        metavar="M",
        help="whose outputs, or whose tokenizer: a ladder name, a hub id or a path (default target)",
    )
    own.add_argument("--prompts", nargs="+", metavar="FILE", help="prompts for the model: files, or suites by name")
    own.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="most tokens to write after each prompt, 1-100000 (default 128)"
    )
    own.add_argument("--stack", metavar="S", help="decode with this stack: the same text, sooner (default target)")
    own.add_argument(
        "--text", nargs="+", type=Path, metavar="PATH", help="text to count: files, or folders with all below them"
    )
    own.add_argument(
        "--tokenizer", metavar="T", help="the tokenizer, in place of --model's: a model, a folder or a tokenizer.json"
    )
    own.add_argument("--longest", type=int, metavar="N", help="longest keys in tokens, 1-32 (default 6)")
    own.add_argument("--least", type=int, metavar="N", help="keep keys seen N times or more, 1 or more (default 2)")
    own.add_argument(
        "--max-mb",
        type=float,
        metavar="MB",
        help="most megabytes of the file: the keys that gain most are kept (default 64)",
    )
    ladder = build.add_argument_group("of the ladder")
    ladder.add_argument(
        "--weights", type=Path, metavar="DIR", help="the folder of the ladder's models (default: the shipped ones)"
    )
    ladder.add_argument(
        "--data", type=Path, metavar="DIR", help="a folder with train.npy (default: tokenize this environment's corpus)"
    )
    ladder.add_argument("--only", choices=_KINDS, help="build one of the two")
    build.set_defaults(run=run_build)


def shipped() -> list[Path]:
    """The database files that come with the models."""
    from hsd_viz.ladder.load import weights_dir

    return sorted((weights_dir() / "databases").glob("*.hsdb"))


def run_inspect(args: argparse.Namespace) -> int:
    """Print what the databases hold."""
    from hsd_viz.drafting.index.inspect import describe
    from hsd_viz.prompts.suites import read_text

    if not 0 <= args.most <= 1000:
        raise ValueError(f"{args.most} entries is out of range: --most is a whole number from 0 to 1000")
    folder = args.path is not None and args.path.is_dir()
    paths = sorted(args.path.glob("*.hsdb")) if folder else [args.path] if args.path is not None else shipped()
    if not paths:
        if folder:
            raise ValueError(f"there are no databases in '{args.path}'")
        raise ValueError("no databases come with this installation: build them with `hsd-viz databases build`")
    text = read_text(args.text, "text") if args.text is not None else None
    found = [describe(path, args.most, verify=args.verify) for path in paths]
    tokenizers: dict[str, Any] = {}
    for facts in found:
        tokenizer = _tokenizer(facts, args.tokenizer, text is not None, tokenizers)
        if tokenizer is not None:
            for entry in facts["most_used"]:
                entry["text"] = [tokenizer.decode(entry["key"]), tokenizer.decode(entry["tokens"])]
        if text is not None and (facts["kind"] != "fivegrams" or (args.path is not None and not folder)):
            facts["hit_rates"] = _hit_rates(facts["path"], tokenizer, text)
    if args.json:
        print(json.dumps(found if folder or args.path is None else found[0], default=str))
    else:
        print("\n\n".join(map(_text, found)))
    return 0


def _tokenizer(facts: dict[str, Any], name: str | None, needed: bool, known: dict[str, Any]) -> Any:
    """The tokenizer that a file was made with; None where nobody named it, none is ``needed`` and it is not the ladder's."""
    from hsd_viz.drafting.shared import vocabulary_hash

    try:
        if name not in known:
            known[name] = _ladders() if name is None else _named(name)
    except ModuleNotFoundError:
        if needed or name is not None:
            raise
        return None
    tokenizer, vocabulary = known[name]
    if vocabulary_hash(vocabulary) == facts["vocabulary_hash"]:
        return tokenizer
    if name is None and not needed:
        return None
    whose = f"'{name}'" if name else "the ladder's: name its own with --tokenizer"
    raise ValueError(f"'{Path(facts['path']).name}' was made with another tokenizer than {whose}")


def _named(name: str) -> tuple[Any, dict[str, int]]:
    from hsd_viz.engine.databases import find_tokenizer

    tokenizer = find_tokenizer(name)
    return tokenizer, tokenizer.get_vocab()


def _ladders() -> tuple[Any, dict[str, int]]:
    """The shipped tokenizer, without what models need, which takes seconds to load."""
    from tokenizers import Tokenizer

    from hsd_viz.ladder.load import weights_dir

    path = weights_dir() / "target" / "tokenizer.json"
    if not path.exists():
        return None, {}
    tokenizer = Tokenizer.from_file(str(path))
    return tokenizer, tokenizer.get_vocab(with_added_tokens=True)


def _hit_rates(path: str, tokenizer: Any, text: str) -> dict[str, Any]:
    from hsd_viz.drafting.guarded import open_index
    from hsd_viz.drafting.index.inspect import hit_rates

    encoded = tokenizer.encode(text, add_special_tokens=False)
    return hit_rates(open_index(path), getattr(encoded, "ids", encoded))


def _text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['path']}: {facts['kind']} database, {facts['bytes'] / 1e6:.1f} MB"]
    lengths = ", ".join(f"{keys} of {n}" for n, keys in sorted(facts["keys_by_length"].items()))
    lines.append(
        f"  {facts['keys']} keys ({lengths} tokens), {facts['continuations']} continuations, {facts['vocabulary_size']} token ids"
    )
    lines.append(
        "  every byte is as it was written"
        if facts["verified"]
        else "  opened without being read whole (--verify reads it)"
    )
    lines += [f"  {name}: {json.dumps(value, default=str)}" for name, value in facts["meta"].items()]
    if rates := facts.get("hit_rates"):
        lines.append(f"  on {rates['places']} places of the text: {_rates(rates)}")
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
    """Build and say where the files are."""
    _check(args)
    args.out.mkdir(parents=True, exist_ok=True)

    def show(what: str, share: float) -> None:
        arguments.status(f"{what} {share:.0%}")

    try:
        paths = {"model": _build_model, "statistics": _build_statistics, None: _build_ladder}[args.kind](args, show)
    finally:
        arguments.status()
    for path in paths:
        print(path)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise ``ValueError`` for options that do not go together or are out of range."""
    takes = _TAKES[args.kind or ""]
    for name in sorted(set().union(*_TAKES.values()) - takes):
        if getattr(args, name) is not None:
            option = f"--{name.replace('_', '-')}"
            kinds = " or ".join(f"--kind {kind}" for kind, options in _TAKES.items() if kind and name in options)
            raise ValueError(
                f"{option} goes with {kinds}" if kinds else f"{option} is for the ladder's databases: leave --kind out"
            )
    if args.kind == "model" and not args.prompts:
        raise ValueError("--kind model needs --prompts: files with what the model is to continue")
    if args.kind == "statistics" and not args.text:
        raise ValueError("--kind statistics needs --text: files or folders to count")
    ranges = {"max_new_tokens": (1, 100_000), "longest": (1, 32), "least": (1, 10**9), "max_mb": (0.001, 2000)}
    for name, (low, high) in ranges.items():
        value = getattr(args, name)
        if value is not None and not low <= value <= high:
            raise ValueError(f"--{name.replace('_', '-')} {value} is out of range: it is from {low} to {high}")
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"cannot write to {args.out}: it is a file, give the name of a folder")


def _counting(args: argparse.Namespace) -> dict[str, Any]:
    """How to count, of the options that were given."""
    from dataclasses import replace

    from hsd_viz.engine.databases import PRUNING

    changes = {} if args.least is None else {"least": args.least}
    if args.max_mb is not None:
        changes["max_bytes"] = round(1e6 * args.max_mb)
    return {"pruning": replace(PRUNING, **changes)} | ({} if args.longest is None else {"longest": args.longest})


def _build_model(args: argparse.Namespace, show) -> list[Path]:
    from hsd_viz.engine.databases import OUTPUTS, build_model, read_prompts
    from hsd_viz.engine.local import load_engine

    prompts = read_prompts(args.prompts)
    engine = load_engine(args.model or "target")
    options = {name: getattr(args, name) for name in ("max_new_tokens", "stack") if getattr(args, name) is not None}
    try:
        return build_model(engine, prompts, args.out, **options, **_counting(args), progress=show)
    except KeyboardInterrupt:
        if (args.out / OUTPUTS).exists():
            arguments.status()
            print(
                f"hsd-viz: the outputs so far are kept in {args.out / OUTPUTS}: the same command goes on with them",
                file=sys.stderr,
            )
        raise


def _build_statistics(args: argparse.Namespace, show) -> list[Path]:
    from hsd_viz.engine.databases import build_text, find_tokenizer

    return build_text(
        args.text, find_tokenizer(args.tokenizer or args.model or "target"), args.out, **_counting(args), progress=show
    )


def _build_ladder(args: argparse.Namespace, show) -> list[Path]:
    from hsd_viz.ladder.training.databases import rebuild_databases

    return rebuild_databases(args.out, weights=args.weights, data=args.data, only=args.only, progress=show)
