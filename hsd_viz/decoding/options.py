"""The settings of a decode, declared once.

The fields of :class:`Sampling` and :class:`DecodingOptions` declare the settings by their types,
defaults and :class:`~hsd_viz.settings.declare.Setting` annotations. From them are derived: the
options of the command line, the body of a request to a server, the form of the page and its ranges
(``js/lib/options.ts``), the settings of reports, and the reference. To add a setting, add a field
here and the code that acts on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Real
from typing import Annotated as A
from typing import Any, ClassVar

from hsd_viz.errors import UserError
from hsd_viz.settings.declare import (
    CliOption,
    FormField,
    Setting,
    check_settings,
    fields_of,
    from_data,
    settings_of,
)
from hsd_viz.settings.ranges import Range

#: The default verification rule.
DEFAULT_RULE = "block"
#: The largest number of tokens in an output.
MAX_NEW_TOKENS = 100_000


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
        top_k: the number of most likely tokens to sample from; 0 samples from all.
        top_p: the total probability of the most likely tokens to sample from; 1 samples from all.
        min_p: the minimum probability of a token relative to that of the most likely one; 0 samples
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
        # The schema of traces also lists the rules of other packages.
        from hsd_viz.trace.tables import RULES

        if self.rule not in RULES:
            raise UserError(f"unknown verification rule '{self.rule}' (use {', '.join(RULES)})")

    @property
    def greedy(self) -> bool:
        """Whether decoding is greedy: each token is the most likely one."""
        return self.temperature == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions(Sampling):
    """How an output is decoded: its sampling and its length.

    Attributes:
        max_new_tokens: the largest number of tokens in an output.
    """

    OPTION_GROUP: ClassVar[str] = "sampling"

    max_new_tokens: A[
        int,
        Setting(
            "token limit",
            CliOption("N"),
            Range(1, MAX_NEW_TOKENS),
            FormField("New tokens"),
            noun="max new tokens",
        ),
    ] = 128

    @property
    def sampling(self) -> Sampling:
        """The sampling settings alone."""
        return sampling_of({name: getattr(self, name) for name in settings_of(Sampling)})


@cache
def decoding_settings() -> dict[str, Setting]:
    """Return the settings of a decode by name, in display order."""
    return {declared.name: declared.setting for declared in fields_of(DecodingOptions)}


@cache
def defaults() -> dict[str, Any]:
    """Return the default of each setting by name, in the same order."""
    return {declared.name: declared.default for declared in fields_of(DecodingOptions)}


@cache
def types() -> dict[str, type]:
    """Return the type of each setting by name, in the same order."""
    return {declared.name: declared.type for declared in fields_of(DecodingOptions)}


def sampling_of(options: Mapping[str, Any]) -> Sampling:
    """Return the sampling settings among the options of a decode, with defaults for missing ones.

    Raises:
        UserError: if a value is out of range.
    """
    values: dict[str, Any] = {}
    for name in settings_of(Sampling).keys() & options.keys():
        value = options[name]
        values[name] = as_float(name, value) if types()[name] is float else value
    return from_data(Sampling, values)


def as_float(name: str, value: Any) -> float:
    """Return the value of a setting as a float, which may be given as a whole number.

    Raises:
        UserError: if the value is not a number, or if it is too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UserError(f"{name} is {value!r:.40}: expected a number")
    try:
        return float(value)
    except OverflowError:
        raise UserError(f"{name} is out of range") from None
