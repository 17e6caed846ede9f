"""Compute the mean acceptance length of drafters on the authors' own continuations of the suite
``python``.

    python -m benchmarks.reference [STACK ...]

A small model loops and does not copy where a person would have copied. Here the prompts' own
continuations replace the output of the target. Only the drafter runs; every node of its draft tree
that the continuation follows is accepted. The result bounds no model and measures no speed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence

from tokenizers import Tokenizer

from benchmarks.harness import arguments, command, write
from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.errors import UserError
from hsd_viz.measure.replay.text_replay import Replayed, Text, replay_text
from hsd_viz.models.families import CODE, LADDER
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import parse

STACKS = (
    "db > target",
    "db[context] > target",
    "db[model,statistics] > target",
    "hd > target",
    "lookup > target",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the mean acceptance length of drafters on the suite ``python``, by category."""
    parser = arguments("reference", __doc__)
    parser.add_argument(
        "stacks",
        nargs="*",
        metavar="STACK",
        default=list(STACKS),
        help="stacks with a draft source",
    )

    def work(options) -> None:
        suite = load_suite("python")
        tokenizer = Tokenizer.from_file(str(CODE.path("target") / "tokenizer.json"))
        shared = SharedDatabases.open(
            LADDER / "databases", tokenizer.get_vocab(with_added_tokens=True)
        )

        def ids(text):
            return tuple(tokenizer.encode(text, add_special_tokens=False).ids)

        width = max(map(len, options.stacks))
        report = {}
        print(f"{'':<{width}}  {'  '.join(f'{c:>8}' for c in suite.categories)}")
        for name in options.stacks:
            drafter = parse(name).bottom
            if drafter is None:
                raise UserError(f"the stack '{name}' has no database or baseline at its bottom")
            replayed: dict[str, Replayed] = defaultdict(Replayed)
            for prompt in suite.prompts:
                source = make_drafter(drafter, databases=shared, eos=frozenset())
                text = Text(prompt.category, ids(prompt.text), ids(prompt.continuation))
                replayed[prompt.category].add(replay_text(source, text, source.nodes))
            report[name] = {}
            for category in suite.categories:
                counts = replayed[category]
                report[name][category] = counts.tokens / counts.rounds
            lengths = "  ".join(f"{length:>8.2f}" for length in report[name].values())
            print(f"{name:<{width}}  {lengths}")
        write(options.json, {"mean_acceptance_length": report})

    return command(parser, argv, work)


if __name__ == "__main__":
    sys.exit(main())
