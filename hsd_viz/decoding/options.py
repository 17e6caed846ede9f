"""The options of a decode, declared once.

:class:`DecodingOptions` are the keyword arguments of a decode. The fields with a
:class:`~hsd_viz.settings.declare.Setting`, among them all of :class:`Sampling`, are its settings.
From their types, defaults and annotations are derived: the options of the command line, the body of
a request to a server, the form of the page and its ranges (``js/lib/options.ts``), the settings of
reports, and the reference. To add a setting, add a field here and the code that acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated as A
from typing import Any, ClassVar

from hsd_viz.errors import UserError
from hsd_viz.names.hints import did_you_mean
from hsd_viz.settings.declare import (
    CliOption,
    FormField,
    Setting,
    check_settings,
    fields_of,
    from_data,
    part_of,
)
from hsd_viz.settings.ranges import Range, check_budget, plain_numbers

#: The default verification rule.
DEFAULT_RULE = "block"
#: The largest number of tokens in an output.
MAX_NEW_TOKENS = 100_000
#: The default of that number.
DEFAULT_NEW_TOKENS = 128


def _rule_help() -> str:
    """Return the help text of ``rule``, which names the unchecked rules of other packages."""
    from importlib.metadata import entry_points

    text = "verification of drafts that a model sampled: token, block or branch, which are lossless"
    others = sorted(point.name for point in entry_points(group="hsd_viz.rules"))
    if not others:
        return text
    return f"{text}; of other packages, unchecked: {', '.join(others)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The settings of how tokens are drawn and how sampled drafts are verified.

    Attributes:
        temperature: the sampling temperature; 0 is greedy decoding.
        top_k: the number of likeliest tokens to sample from; 0 samples from all.
        top_p: the total probability of the likeliest tokens to sample from; 1 samples from all.
        min_p: the minimum probability of a token relative to that of the likeliest one; 0 samples
            from all.
        seed: the seed of the random numbers; the same seed gives the same text.
        rule: the verification rule for drafts that a draft model sampled at a temperature above 0.

    Raises:
        UserError: if a value is out of range.
    """

    OPTION_GROUP: ClassVar[str] = "sampling"

    temperature: A[
        float,
        Setting(
            "0-100; 0 is greedy decoding, with which small models repeat themselves",
            CliOption("T", shows_range=False),
            Range(0.0, 100),
            FormField("Temperature"),
            noun="the temperature",
        ),
    ] = 0.0
    top_k: A[
        int,
        Setting(
            "sample among the K likeliest tokens; 0: all",
            CliOption("K"),
            Range(0, off=0),
            FormField("Top-k", high=1_000_000),
            noun="top-k",
        ),
    ] = 0
    top_p: A[
        float,
        Setting(
            "sample among the likeliest tokens with total probability P, 0 < P <= 1",
            CliOption("P", shows_range=False),
            Range(0.0, 1.0, above_low=True, off=1),
            FormField("Top-p", low=0.01),
            noun="top-p",
        ),
    ] = 1.0
    min_p: A[
        float,
        Setting(
            "sample among tokens at least P times as likely as the likeliest; 0: all",
            CliOption("P", shows_range=False),
            Range(0.0, 1.0, off=0),
            FormField("Min-p"),
            noun="min-p",
        ),
    ] = 0.0
    seed: A[
        int,
        Setting(
            "0 to 2^63-1; the same seed gives the same text",
            CliOption("N", shows_range=False),
            Range(0, 2**63 - 1),
            FormField("Seed", high=2**31 - 1),
            noun="the seed",
        ),
    ] = 0
    rule: A[str, Setting(_rule_help(), CliOption("RULE"))] = DEFAULT_RULE

    def __post_init__(self) -> None:
        check_settings(self)
        for declared in fields_of(Sampling):
            if declared.type is float:
                # A whole number is given for a float; the dataclass is frozen.
                object.__setattr__(self, declared.name, float(getattr(self, declared.name)))
        # The schema of traces also lists the rules of other packages.
        from hsd_viz.trace.tables import RULES

        if self.rule not in RULES:
            raise UserError(f"unknown verification rule '{self.rule}' (use {', '.join(RULES)})")

    @property
    def greedy(self) -> bool:
        """Whether decoding is greedy: each token is the likeliest one."""
        return self.temperature == 0

    @property
    def sampling(self) -> Sampling:
        """The sampling settings alone."""
        return part_of(self, Sampling)


#: The setting of the length of an output.
MaxNewTokens = A[
    int,
    Setting(
        "token limit",
        CliOption("N"),
        Range(1, MAX_NEW_TOKENS),
        FormField("New tokens"),
        noun="max new tokens",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions(Sampling):
    """The options of a decode: the keyword arguments of
    :meth:`hsd_viz.decoding.engine.Engine.decode`, as one value.

    Attributes:
        max_new_tokens: the largest number of tokens in an output.
        record: whether to record probabilities, entropies and top-5 lists, which are expensive.
        chat: whether to pass the prompt as a user turn through the target's chat template.
        budget: the largest number of draft tokens, 1-256, that a database or baseline may propose
            at a time, regardless of their cost; by default each uses its own limit.
        memory: the memory that drafters keep between runs. Pass the same memory to each run of a
            stack for warm runs; by default a run is cold.

    Raises:
        UserError: if a value is out of range.
    """

    max_new_tokens: MaxNewTokens = DEFAULT_NEW_TOKENS
    record: bool = True
    chat: bool = False
    budget: int | None = None
    memory: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        Sampling.__post_init__(self)
        check_budget(self.budget)

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> DecodingOptions:
        """Return the options that a caller gives as keyword arguments; the others are defaults.

        Numbers of numpy become numbers of Python.

        Raises:
            TypeError: if an option is unknown.
            UserError: if a value is out of range.
        """
        names = [field.name for field in fields(cls)]
        for name in keywords:
            if name not in names:
                hint = did_you_mean(name, names)
                raise TypeError(f"unknown option '{name}' (use {', '.join(names)}){hint}")
        return from_data(cls, {name: plain_numbers(value) for name, value in keywords.items()})
