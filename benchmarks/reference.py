"""Compute the mean acceptance length of drafters on the authors' own continuations of the suite ``python``.

    python -m benchmarks.reference [STACK ...]

A small model loops and does not copy where a person would have copied. Here the prompts' own continuations replace the
output of the target. Only the drafter runs; every node of its draft tree that the continuation follows is accepted. The
result bounds no model and measures no speed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hsd_viz.bench.replay import Replayed, Text, replay
from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.prompts.suites import load_suite
from hsd_viz.stack import parse

STACKS = ("db > target", "db[context] > target", "db[model,statistics] > target", "hd > target", "lookup > target")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the mean acceptance length of drafters on the suite ``python``, by category, with the ladder's
    tokenizer.
    """
    from tokenizers import Tokenizer

    from hsd_viz.ladder.load import model_path, weights_dir

    stacks = (sys.argv[1:] if argv is None else list(argv)) or list(STACKS)
    suite = load_suite("python")
    tokenizer = Tokenizer.from_file(str(model_path("target") / "tokenizer.json"))
    shared = SharedDatabases.open(weights_dir() / "databases", tokenizer.get_vocab(with_added_tokens=True))
    width = max(map(len, stacks))
    print(f"{'':<{width}}  {'  '.join(f'{c:>8}' for c in suite.categories)}")
    for name in stacks:
        drafter = parse(name).bottom
        if drafter is None:
            raise ValueError(f"the stack '{name}' has no database or baseline at its bottom")
        cells = []
        for category in suite.categories:
            found = Replayed()
            for p in (p for p in suite.prompts if p.category == category):
                before, ahead = (
                    tuple(tokenizer.encode(t, add_special_tokens=False).ids) for t in (p.text, p.continuation)
                )
                made = make_drafter(drafter, databases=shared, eos=frozenset())
                found.add(replay(made, Text(category, before, ahead), made.nodes))
            cells.append(f"{found.tokens / found.rounds:>8.2f}")
        print(f"{name:<{width}}  {'  '.join(cells)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
