"""The plain names of draft sources and of stacks: in the game, the explorer, reports and lessons.

Each source has one name. The code of a stack, as in ``db > nano:2 > target``, is only shown beside
it. ``python -m tools.reference`` writes the names for the page (``js/lib/drafter_names.json``).
"""

from __future__ import annotations

from hsd_viz.results.kinds import StackKind, kind_of, stack_of_row
from hsd_viz.stack import (
    AUTO,
    DATABASE,
    TARGET,
    DraftSource,
    HFStack,
    ModelPart,
    split_copy,
)

#: The name of each draft source: the databases of ``db``, and the drafters of the first part of a
#: stack. Models have their own names, as ``nano``.
DRAFTER_NAMES = {
    "context": "copying",
    "model": "model database",
    "statistics": "statistics database",
    "logits": "logits database",
    "semantic": "semantic database",
    DATABASE: "databases",
    "hd": "Hierarchy Drafting",
    AUTO: "best for this machine",
    "lookup": "prompt lookup",
    "sam": "suffix automaton",
    "suffix": "copying (suffix tree)",
    "ngram-cache": "n-gram cache",
    "retrieval": "retrieval",
    "recycling": "token recycling",
}
#: The name of a stack without a drafter.
PLAIN_NAME = StackKind.PLAIN.label
#: The name of what drafts in a loop of transformers; ``hf-assistant[MODEL]`` has its model's name.
_HF_DRAFTERS = {"hf-generate": PLAIN_NAME, "hf-lookup": DRAFTER_NAMES["lookup"]}


def drafter_name(source: DraftSource) -> str:
    """Return the name of the first part of a stack; of ``db`` with one database, that of the
    database.
    """
    name = source.name
    if name == DATABASE and len(source.items) == 1:
        name = source.items[0]
    return DRAFTER_NAMES.get(name, name)


def _model_name(model: ModelPart) -> str:
    """Return the name of a draft model; a copy is named after its original."""
    original, copied = split_copy(model.name)
    if copied is None:
        return original
    return "a copy of the target" if original == TARGET else f"a copy of {original}"


def stack_name(row: str) -> str:
    """Return the name of a stack, or of a report's row: its drafters in the order of drafting.

    >>> stack_name("db > nano:2 > target"), stack_name("db[context] > target")
    ('databases, then nano', 'copying')
    >>> stack_name("target"), stack_name("hf-lookup")
    ('plain decoding', 'transformers: prompt lookup')
    """
    stack = stack_of_row(row)
    if isinstance(stack, HFStack):
        return f"transformers: {_HF_DRAFTERS.get(stack.name, stack.assistant)}"
    if stack is None:
        return kind_of(row).label
    drafters = [_model_name(model) for model in stack.drafts]
    if stack.bottom is not None:
        drafters.insert(0, drafter_name(stack.bottom))
    return ", then ".join(drafters) or PLAIN_NAME
