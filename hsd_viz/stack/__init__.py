"""The stack language: a parser with an exact inverse.

    stack    := part (">" part)*
    part     := source | model ["[" type "]"] [":" digits | ":auto"] ["?" number]
    source   := name ["[" item ("," item)* "]"]
    model    := ladder name (a bare word) | hub id (exactly one "/")
              | path starting with ./ ../ / ~ | any of these in double quotes

The last part is the target and has no lookahead. A lookahead is a number from 1 to 64 (by default
4) or ":auto", with which the selector chooses it. With "?0.4" a draft stops once its probability by
its own model is below 0.4. "target[int8]" is a copy of the model with weights in a type of
COPY_TYPES. A source can only be the first part. It is one of draft_sources(), with the items listed
there; the items of auto are db and models, and auto must be followed by the target.

>>> str(parse("db[ context ]>nano:4 > target"))
'db[context] > nano:4 > target'
"""

from hsd_viz.stack.checks import check_stack
from hsd_viz.stack.draft_sources import AUTO, DATABASE, draft_sources
from hsd_viz.stack.grammar import (
    COPY_TYPES,
    DATABASES,
    DEFAULT_LOOKAHEAD,
    HF_STACKS,
    MAX_LOOKAHEAD,
    PLAIN,
    TARGET,
    Lookahead,
    StackError,
    split_copy,
)
from hsd_viz.stack.parser import decoded_stack, parse, parse_bench, read_bottom, read_source
from hsd_viz.stack.parts import DraftSource, HFStack, ModelPart, Stack

__all__ = [
    "AUTO",
    "COPY_TYPES",
    "DATABASE",
    "DATABASES",
    "DEFAULT_LOOKAHEAD",
    "HF_STACKS",
    "MAX_LOOKAHEAD",
    "PLAIN",
    "TARGET",
    "DraftSource",
    "HFStack",
    "Lookahead",
    "ModelPart",
    "Stack",
    "StackError",
    "check_stack",
    "decoded_stack",
    "draft_sources",
    "parse",
    "parse_bench",
    "read_bottom",
    "read_source",
    "split_copy",
]
