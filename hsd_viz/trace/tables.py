"""The record of a decode, declared once: four tables, each a named tuple whose annotations are its columns.

From these declarations come the columns of a trace and of its file, the check of what is read, the data frames, the
TypeScript types of the page (``js/lib/tables.ts``) and the reference (``docs/reference/trace.md``).

Times are integer nanoseconds from the start of the decode. A *level* is a stage of the stack, 0 at the bottom. A
*source* is what first proposed a token: a database (``context``, ``model``, ``statistics``), a baseline (``lookup``,
...), a draft model by its name, or ``target`` for the target model's own tokens. Columns hold JSON values; rows, made
on demand, have tuples in place of lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

KINDS = ("accepted", "correction", "bonus", "plain")
VERDICTS = ("accepted", "rejected", "unreached", "cut")
OUTCOMES = ("correction", "bonus", "plain", "stopped")
NO_DRAFT = ("no match", "not worth it", "no room", "off")
CALL_KINDS = ("prefill", "draft", "verify", "lookup", "update")
#: The rules that every runtime has, and with those that other packages name by entry points of ``hsd_viz.rules``.
OWN_RULES = ("token", "block", "branch")
RULES = (*OWN_RULES, *sorted({point.name for point in entry_points(group="hsd_viz.rules")} - {*OWN_RULES}))
#: The verification rule of chains that were sampled from rows, unless another one is requested: the faster one
#: (docs/bench/rules-cpu.json).
DEFAULT_RULE = "block"
STOP_REASONS = ("eos", "length", "context", "cancelled")

#: The most probable tokens of a distribution: ((token id, probability), ...), most probable first.
Top = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class About:
    """The meaning of a column, its unit, and the names it may have. ``later``: traces from before it lack it;
    ``observed``: null only in a trace imported from another engine that does not report it. No page shows such a trace.
    """

    meaning: str
    unit: str = ""
    names: tuple[str, ...] = ()
    later: bool = False
    observed: bool = False


class TokenRow(NamedTuple):
    """One emitted token."""

    index: Annotated[int, About("place in the emitted text, from 0")]  # type: ignore[assignment]
    token_id: Annotated[int, About("the token's id")]
    text: Annotated[str, About("for display; bytes that form no character are escaped")]
    raw: Annotated[str | None, About("the bytes in hexadecimal where they are not whole UTF-8 characters")]
    round: Annotated[int, About("id of the target round that emitted it")]
    kind: Annotated[str, About("how it came into the text", names=KINDS)]
    source: Annotated[str, About("what first proposed it; `target` for the target's own tokens")]
    path: Annotated[tuple[int, ...], About("levels it passed, from its source's to the target's")]
    depth: Annotated[int, About("place in the draft that the target verified, from 1; 0 for the target's own tokens")]
    p: Annotated[float | None, About("the target's probability at temperature 1")] = None
    entropy: Annotated[float | None, About("entropy of the target's distribution at temperature 1", "nats")] = None
    top: Annotated[Top | None, About("the five most probable tokens of that distribution")] = None
    residual_top: Annotated[
        Top | None, About("of a correction: the five most probable tokens of what it was drawn from")
    ] = None
    q_top: Annotated[Top | None, About("of a correction: the five most probable tokens of the draft's q")] = None
    residual_sum: Annotated[
        float | None,
        About(
            "of a correction: mass of its distribution before normalization: of max(0, p - q), under block "
            "verification of max(0, w p - q), in a tree of point masses of p without the draft tokens",
            later=True,
        ),
    ] = None

    @property
    def bytes(self) -> bytes:
        """The token as it is in the text."""
        return self.text.encode() if self.raw is None else bytes.fromhex(self.raw)


class DraftRow(NamedTuple):
    """One token submitted to a verifier; a token that passes several levels has a row in each of their rounds.

    Under the rule ``token`` a token is accepted if the one before it was and u * q < p; it is rejected otherwise, and
    the tokens after it are ``unreached``. Under the rule ``block`` places are tried from the last to the first: u < h
    at one accepts the draft up to there, regardless of u and h before it, which are ``None``; all tokens after that
    place are ``rejected``.
    """

    round: Annotated[int, About("id of the verifier's round")]
    level: Annotated[int, About("the verifier's level")]
    source: Annotated[str, About("what first proposed it")]
    node: Annotated[int, About("number of the token in its round, from 0")]
    parent: Annotated[int, About("the node before it on its branch; -1: it follows the text")]
    depth: Annotated[int, About("place on its branch, from 1")]
    token_id: Annotated[int, About("the token's id")]
    text: Annotated[str, About("for display")]
    p: Annotated[float | None, About("the verifier's probability, as sampled; null where the node was not examined")]
    q: Annotated[float | None, About("the drafter's probability, as sampled; 1 for a point mass")]
    u: Annotated[float | None, About("uniform number of the acceptance test; null for point masses")]
    verdict: Annotated[str, About("what the verifier decided", names=VERDICTS)]
    key_length: Annotated[int | None, About("of a database: tokens matched", "tokens")] = None
    count: Annotated[int | None, About("of a database: times seen")] = None  # type: ignore[assignment]
    score: Annotated[float | None, About("of a database: estimated acceptance")] = None
    position: Annotated[int | None, About("place in the text it was copied from; 0: the first prompt token")] = None
    h: Annotated[float | None, About("the threshold of block verification", later=True)] = None


class RoundRow(NamedTuple):
    """One verification by a level: its draft, what it accepted and what it added.

    Under all rules ``examined`` counts the accepted tokens and the first that was not accepted, so that accepted /
    examined estimates the acceptance of a token whose predecessors were accepted. In a trace imported from another
    engine times are null where it does not report them.
    """

    id: Annotated[int, About("number of the round")]
    parent: Annotated[int | None, About("round of the level above that requested the tokens; null at the target")]
    level: Annotated[int, About("the verifier's level")]
    drafted: Annotated[int, About("draft tokens (nodes)", "tokens")]
    examined: Annotated[int, About("places where draft tokens were compared", "tokens")]
    accepted: Annotated[int, About("accepted draft tokens", "tokens")]
    outcome: Annotated[str, About("the token added; `stopped`: none, at an end token or the limit", names=OUTCOMES)]
    why_no_draft: Annotated[str | None, About("why nothing was drafted", names=NO_DRAFT)]
    start_ns: Annotated[int | None, About("start of drafting", "ns", observed=True)]
    duration_ns: Annotated[int | None, About("drafting and verification", "ns", observed=True)]
    rule: Annotated[
        str, About("verification rule: that of a chain sampled from rows, else `token`", names=RULES, later=True)
    ] = "token"


class CallRow(NamedTuple):
    """One forward pass, launch or look-up. Calls never overlap."""

    round: Annotated[int, About("the round it served; -1 for prefill")]
    level: Annotated[int, About("level of the model or drafter")]
    name: Annotated[str, About("name of the model or drafter")]
    kind: Annotated[str, About("what it did", names=CALL_KINDS)]
    steps: Annotated[int, About("forward passes in one launch")]
    fed: Annotated[int, About("tokens fed", "tokens")]
    cached: Annotated[int, About("tokens already in the KV cache", "tokens")]
    start_ns: Annotated[int, About("start", "ns")]
    duration_ns: Annotated[int, About("the call's own time", "ns")]


#: A table as JSON: a list of values for each column, all of one length.
Columns = dict[str, list[Any]]

#: The kinds of columns, and what their values, or those of their lists, may be.
_KINDS: dict[Any, str] = {**{int: "int", float: "float", str: "str", tuple[int, ...]: "ints", Top: "top"}}
_TYPES: dict[str, set[type]] = {"int": {int}, "float": {int, float}, "str": {str}, "ints": {int}}


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. ``kind``: ``int``, ``float``, ``str``, ``ints`` or ``top``; ``null``: may be."""

    name: str
    kind: str
    null: bool
    about: About
    default: Any

    @property
    def nested(self) -> bool:
        """Whether its values are lists."""
        return self.kind in ("ints", "top")

    def checked(self, values: Any) -> list:
        """Return ``values``. Raises: ValueError: if they are not a column of this type."""
        _require(type(values) is list)
        parts = [value for value in values if value is not None] if self.null else values
        if self.nested:
            _require(set(map(type, parts)) <= {list})
            parts = [part for value in parts for part in value]
        if self.kind == "top":
            _require(set(map(type, parts)) <= {list} and set(map(len, parts)) <= {2})
            tokens, shares = zip(*parts, strict=True) if parts else ((), ())
            _require(set(map(type, tokens)) <= {int} and set(map(type, shares)) <= {int, float})
            return values
        found = set(map(type, parts))
        _require(found <= _TYPES[self.kind] and (not self.about.names or {*parts} <= {*self.about.names}))
        whole = parts if found == {int} else [value for value in parts if type(value) is int] if int in found else [0]
        _require(max(map(abs, whole)) < 2**63)
        return values


def _require(true: bool) -> None:
    if not true:
        raise ValueError


@dataclass(frozen=True, slots=True)
class Table:
    """A declared table: its name, the class of its rows, its columns by name."""

    name: str
    row: Any
    columns: dict[str, Column]

    def columns_of(self, rows: Iterable[tuple]) -> Columns:
        """Return rows as columns."""
        rows = list(rows)
        values = map(list, zip(*rows, strict=True)) if rows else ([] for _ in self.columns)
        columns = dict(zip(self.columns, values, strict=True))
        for name, column in self.columns.items():
            if column.nested:
                columns[name] = _each(columns[name], list)
        return columns

    def cells(self, columns: Mapping[str, list], name: str) -> list:
        """Return a column with tuples in place of lists."""
        return _each(columns[name], tuple) if self.columns[name].nested else columns[name]

    def rows_of(self, columns: Mapping[str, list]) -> tuple:
        """Return columns as rows."""
        return tuple(map(self.row, *(self.cells(columns, name) for name in self.columns)))

    def checked(self, data: Any, read: Callable[[Column, Any], list]) -> Columns:
        """Return ``data`` as columns, each by ``read`` (:meth:`Column.checked` where it travels); one that an older
        trace lacks has its default in every row. Raises: ValueError: if a column is missing or is not as declared.
        """
        if not isinstance(data, dict):
            raise ValueError(f"its table '{self.name}' is not an object of columns")
        columns: Columns = {}
        for name, column in self.columns.items():
            if name not in data and not column.about.later:
                raise ValueError(f"column '{name}' of its table '{self.name}' is missing")
            rows = len(next(iter(columns.values()), ()))
            try:
                columns[name] = read(column, data[name]) if name in data else [column.default] * rows
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
                raise ValueError(f"column '{name}' of its table '{self.name}' has values of a wrong type") from None
        if len({len(values) for values in columns.values()}) > 1:
            raise ValueError(f"the columns of its table '{self.name}' are not lists of one length")
        return columns


def _each(values: list, kind: type) -> list:
    """Return nested values with lists or tuples as ``kind``."""
    change = lambda part: kind(part) if isinstance(part, list | tuple) else part
    return [value if value is None else kind(map(change, value)) for value in values]


def _declared(name: str, row: Any) -> Table:
    columns = {}
    for field, hint in get_type_hints(row, include_extras=True).items():
        kind, about = get_args(hint)
        null = NoneType in get_args(kind)
        kind = next(part for part in get_args(kind) if part is not NoneType) if null else kind
        columns[field] = Column(field, _KINDS[kind], null, about, row._field_defaults.get(field))
    return Table(name, row, columns)


TABLES: dict[str, Table] = {
    name: _declared(name, row)
    for name, row in {"tokens": TokenRow, "drafts": DraftRow, "rounds": RoundRow, "calls": CallRow}.items()
}
