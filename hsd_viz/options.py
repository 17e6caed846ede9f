"""The settings of a decode, declared once.

The fields of :class:`Sampling` and :class:`DecodingOptions` are the declaration: their types,
defaults and :class:`~hsd_viz.declare.Setting` marks. The options of the command line, the body of
a request to a server, the form of the page and its ranges (``js/lib/options.ts``), the settings of
reports and the reference are derived from it. A new setting is a field here, and code that acts on
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from numbers import Real
from typing import Annotated as A
from typing import Any, TypedDict

from hsd_viz.declare import (
    DeclaredField,
    Setting,
    check_settings,
    fields_of,
    from_data,
    settings_of,
)
from hsd_viz.errors import UserError
from hsd_viz.words import did_you_mean

#: The rule that verifies drafts unless another is chosen.
DEFAULT_RULE = "block"
#: The most tokens of one output.
MAX_NEW_TOKENS = 100_000


def _rule_help() -> str:
    """Return the help of the rule. Rules of other packages are named; nothing has checked them."""
    text = "verification of drafts that a model sampled: token, block or branch, which are lossless"
    others = sorted(point.name for point in entry_points(group="hsd_viz.rules"))
    if not others:
        return text
    return f"{text}; of other packages, unchecked: {', '.join(others)}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn, and how sampled drafts are verified.

    Attributes:
        temperature: 0 is greedy decoding.
        top_k: the likeliest tokens to sample among; 0: all.
        top_p: the total probability of the likeliest tokens to sample among; 1: all.
        min_p: the least probability, relative to the likeliest token; 0: all tokens.
        seed: the same seed gives the same text.
        rule: verifies drafts that were sampled from rows, by a draft model at a temperature above
            0.

    Raises:
        UserError: if a value is out of range.
    """

    temperature: A[
        float,
        Setting(
            metavar="T",
            help="0-100; 0 is greedy decoding, with which small models repeat themselves",
            words="the temperature",
            low=0.0,
            high=100,
            parse_range=False,
            label="Temperature",
        ),
    ] = 0.0
    top_k: A[
        int,
        Setting(
            metavar="K",
            help="sample among the K likeliest tokens; 0: all",
            words="top-k",
            low=0,
            off=0,
            label="Top-k",
            form_high=1_000_000,
        ),
    ] = 0
    top_p: A[
        float,
        Setting(
            metavar="P",
            help="sample among the likeliest tokens with total probability P, 0 < P <= 1",
            words="top-p",
            low=0.0,
            high=1.0,
            above_low=True,
            off=1,
            parse_range=False,
            label="Top-p",
            form_low=0.01,
        ),
    ] = 1.0
    min_p: A[
        float,
        Setting(
            metavar="P",
            help="sample among tokens at least P times as likely as the likeliest; 0: all",
            words="min-p",
            low=0.0,
            high=1.0,
            off=0,
            parse_range=False,
            label="Min-p",
        ),
    ] = 0.0
    seed: A[
        int,
        Setting(
            metavar="N",
            help="0 to 2^63-1; the same seed gives the same text",
            words="the seed",
            low=0,
            high=2**63 - 1,
            parse_range=False,
            label="Seed",
            form_high=2**31 - 1,
        ),
    ] = 0
    rule: A[
        str,
        Setting(
            metavar="RULE",
            help=_rule_help(),
            words="verification rule",
        ),
    ] = DEFAULT_RULE

    def __post_init__(self) -> None:
        check_settings(self)
        # The rules of other packages are registered in the schema of traces.
        from hsd_viz.trace.tables import RULES

        if self.rule not in RULES:
            raise UserError(f"unknown verification rule '{self.rule}' (use {', '.join(RULES)})")

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is always taken."""
        return self.temperature == 0


class SamplingOptions(TypedDict, total=False):
    """The fields of :class:`Sampling` as keyword arguments, for type checkers."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions:
    """Sampling.

    Attributes:
        max_new_tokens: the most tokens of an output.
        sampling: how they are drawn.
    """

    max_new_tokens: A[
        int,
        Setting(
            metavar="N",
            help="token limit",
            words="max new tokens",
            low=1,
            high=MAX_NEW_TOKENS,
            label="New tokens",
        ),
    ] = 128
    sampling: Sampling = field(default_factory=Sampling)


@cache
def settings() -> dict[str, Setting]:
    """Return all settings of a decode by name, in the order in which they are shown."""
    return {declared.name: declared.setting for declared in _fields()}


@cache
def defaults() -> dict[str, Any]:
    """Return the default of each setting by name, in the same order."""
    return {declared.name: declared.default for declared in _fields()}


@cache
def types() -> dict[str, type]:
    """Return the type of each setting by name, in the same order."""
    return {declared.name: declared.type for declared in _fields()}


def sampling_of(options: Mapping[str, Any]) -> Sampling:
    """Return the sampling of a decode's options; those that are missing are the defaults.

    Raises:
        UserError: if a value is out of range.
    """
    values: dict[str, Any] = {}
    for name in settings_of(Sampling).keys() & options.keys():
        value = options[name]
        values[name] = _as_float(name, value) if types()[name] is float else value
    return from_data(Sampling, values)


def sampling_from(given: Mapping[str, Any]) -> Sampling:
    """Return the sampling of keyword arguments.

    Raises:
        TypeError: if one of them is not a setting.
        UserError: if a value is out of range.
    """
    known = settings_of(Sampling)
    for name in given.keys() - known.keys():
        raise TypeError(f"unknown setting '{name}'{did_you_mean(name, known)}")
    return sampling_of(given)


def _as_float(name: str, value: Any) -> float:
    """Return a number as a float: a whole temperature is a temperature.

    Raises:
        UserError: if it is not a number, or is too large for a float.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UserError(f"{name} is {value!r:.40}: expected a number")
    try:
        return float(value)
    except OverflowError:
        raise UserError(f"{name} is out of range") from None


def _fields() -> tuple[DeclaredField, ...]:
    """Return the fields that are settings of a decode, in the order in which they are shown."""
    return fields_of(DecodingOptions) + fields_of(Sampling)
