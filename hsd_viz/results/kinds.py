"""The kinds of stacks, with their labels and colours in reports, figures and pages."""

from __future__ import annotations

import re
from enum import Enum

from hsd_viz.stack import AUTO, DATABASE, HFStack, Stack, StackError, parse_bench

#: Matches the remark that a report appends to the name of a stack.
_REMARK = re.compile(r" \((?:warm|best)\)\Z")


class StackKind(Enum):
    """The kind of a stack, by what drafts in it.

    Attributes:
        value: the name in data frames and pages.
        label: the label in legends.
        light: the colour on a light page, with a contrast of at least 3. Databases are blue and
            draft models orange, like their first sources, plain decoding is as dark as the target,
            and baselines are grey, as in the sources; none is the red of a rejection.
        dark: the colour on a dark page.
    """

    label: str
    light: str
    dark: str

    PLAIN = ("plain", "plain decoding", "#343a41", "#c8ccd2")
    DATABASE = ("database", "databases", "#3575e8", "#5795e6")
    MODELS = ("models", "draft models", "#c06a1c", "#cf6f26")
    BOTH = ("both", "databases below draft models", "#1297a1", "#24a8a8")
    AUTO = ("auto", "picked for this machine", "#2b3a55", "#c3d0ee")
    BASELINE = ("baseline", "baseline look-ups", "#848d9a", "#72777f")
    HF = ("hf", "transformers' own loops", "#8a7350", "#b09a5f")

    def __new__(cls, name: str, label: str, light: str, dark: str) -> StackKind:
        kind = object.__new__(cls)
        kind._value_ = name
        kind.label = label
        kind.light = light
        kind.dark = dark
        return kind


#: Sources that copy from the text, and the colours of both on a light and on a dark page: the
#: context database, and the baseline that has the text in a suffix tree.
COPYING = ("context", "suffix")
COPYING_COLOURS = ("#0d5ac4", "#7bbbfe")


class Structure(Enum):
    """The structure of the levels of a stack.

    Attributes:
        value: the label in legends.
        words: the description in a plan.
        sentence: what it means that the latency law selects such a stack.
    """

    words: str
    sentence: str

    PLAIN = (
        StackKind.PLAIN.label,
        "plain",
        "No draft pays off: plain decoding is fastest.",
    )
    DATABASE = (
        "database",
        "databases only",
        "Databases only: no draft model pays off.",
    )
    ONE_DRAFT = (
        "one draft model",
        "one draft",
        "One draft model: a second would cost more than it saves.",
    )
    DRAFTS = (
        "hierarchy",
        "hierarchy",
        "A hierarchy: each level verifies the one below.",
    )
    OVER_DATABASE = (
        "database below drafts",
        "hierarchy",
        "A hierarchy: each level verifies the one below.",
    )

    def __new__(cls, label: str, words: str, sentence: str) -> Structure:
        structure = object.__new__(cls)
        structure._value_ = label
        structure.words = words
        structure.sentence = sentence
        return structure

    @property
    def is_hierarchy(self) -> bool:
        """Whether more than one level drafts."""
        return self in (Structure.DRAFTS, Structure.OVER_DATABASE)


def structure_of(stack: Stack) -> Structure:
    """Return the structure of a stack."""
    if stack.bottom is not None:
        return Structure.OVER_DATABASE if stack.drafts else Structure.DATABASE
    if not stack.drafts:
        return Structure.PLAIN
    return Structure.ONE_DRAFT if len(stack.drafts) == 1 else Structure.DRAFTS


def stack_of_row(name: str) -> Stack | HFStack | None:
    """Return the stack of a report's row by its name; ``None`` if it has a drafter of another
    package that is not installed here.
    """
    try:
        return parse_bench(_REMARK.sub("", name))
    except StackError:
        return None


def kind_of(row: str | Stack | HFStack) -> StackKind:
    """Return the kind of a stack, or of a row of a report by its name."""
    stack = stack_of_row(row) if isinstance(row, str) else row
    if stack is None:
        return StackKind.BASELINE
    if isinstance(stack, HFStack):
        return StackKind.HF
    if stack.bottom is None:
        return StackKind.MODELS if stack.drafts else StackKind.PLAIN
    if stack.bottom.name == AUTO:
        return StackKind.AUTO
    if stack.bottom.name == DATABASE:
        return StackKind.BOTH if stack.drafts else StackKind.DATABASE
    return StackKind.BASELINE


def is_copying(row: str | Stack | HFStack) -> bool:
    """Return whether the only drafter of a stack, or of a row of a report, is one of
    :data:`COPYING`.
    """
    stack = stack_of_row(row) if isinstance(row, str) else row
    if not isinstance(stack, Stack) or stack.bottom is None or stack.drafts:
        return False
    if stack.bottom.name == DATABASE:
        return stack.bottom.items == COPYING[:1]
    return stack.bottom.name in COPYING
