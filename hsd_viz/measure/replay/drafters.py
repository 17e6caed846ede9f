"""The drafters of a replay, their databases, and the cost of verifying their drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd_viz.drafting import SharedDatabases, make_drafter
from hsd_viz.drafting.costs import CostCurve
from hsd_viz.drafting.shared import FIVEGRAMS, STORED
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import UserError
from hsd_viz.measure.replay.log_tokenizer import LogTokenizer
from hsd_viz.measure.replay.requests import LoggedRequest
from hsd_viz.measure.replay.text_replay import can_replay
from hsd_viz.models.families import FAMILIES
from hsd_viz.stack import DATABASE, DraftSource, read_bottom

#: The default drafters.
DRAFTERS = ("db", "db[context]", "hd", "lookup", "sam", "suffix", "ngram-cache")


def open_databases(tokenizer: LogTokenizer, folder: str | Path | None = None) -> SharedDatabases:
    """Return the databases of ``folder``, else those of the family with this tokenizer. If no
    family has it, none are available, with the reason.
    """
    if not tokenizer.vocabulary:
        if folder is not None:
            raise UserError("databases need a tokenizer: give that of their model")
        why = "without a tokenizer there are no databases"
        return SharedDatabases({}, dict.fromkeys((*STORED, FIVEGRAMS), why))
    if folder is not None:
        return SharedDatabases.open(folder, tokenizer.vocabulary, strict=True)
    opened = []
    for family in FAMILIES.values():
        opened.append(SharedDatabases.open(family.databases, tokenizer.vocabulary))
    # Families have different tokenizers. If none fits, show the reasons of the default family.
    return next((each for each in opened if each.present), opened[0])


def replayable(
    drafters: Sequence[str], databases: SharedDatabases
) -> tuple[dict[str, DraftSource], dict[str, str]]:
    """Return the drafters that can be replayed, and the reasons against the others.

    Raises:
        UserError: if no drafter can be replayed.
    """
    sources: dict[str, DraftSource] = {}
    refused: dict[str, str] = {}
    for name in drafters:
        try:
            sources[name] = _source(name, databases)
        except ValueError as error:
            refused[name] = str(error)
    if not sources:
        name, why = next(iter(refused.items()))
        raise UserError(f"'{name}' cannot be replayed: {why}")
    return sources, refused


def _source(name: str, databases: SharedDatabases) -> DraftSource:
    """Return a drafter.

    Raises:
        UserError: if it cannot be replayed.
    """
    source = read_bottom(name)
    if source is None:
        raise UserError(f"a draft model's drafts are not in a log: use {', '.join(DRAFTERS)}")
    if source.name == DATABASE and not source.items:
        source = _stored_databases(databases)
    if not can_replay(make_drafter(source, databases=databases)):
        raise UserError("it reads the target's probabilities or states, which a log does not have")
    return source


def _stored_databases(databases: SharedDatabases) -> DraftSource:
    """Return ``db`` with its databases listed, except that of logits, which logs lack."""
    stored = [name for name in STORED if name in databases.present]
    return DraftSource(DATABASE, ("context", *stored))


@dataclass(frozen=True, slots=True)
class DrafterMaker:
    """Factory of the drafters of a request.

    Attributes:
        sources: the draft sources by name.
        databases: the databases that all drafters share.
        eos: the tokens that end a text.
        costs: the costs of verification; ``None``: no cost stopping.
        temperature: the temperature of all requests; ``None``: that of each request.
    """

    sources: Mapping[str, DraftSource]
    databases: SharedDatabases
    eos: frozenset[int]
    costs: CostCurve | None
    temperature: float | None

    def temperature_of(self, request: LoggedRequest) -> float:
        """Return the temperature of a request; 0 if it is unknown."""
        if self.temperature is not None:
            return self.temperature
        return request.temperature or 0.0

    def database_for(self, request: LoggedRequest) -> Drafter:
        """Return a new drafter of all databases for the temperature of the request."""
        return self._made(_stored_databases(self.databases), request)

    def drafters_for(self, request: LoggedRequest) -> dict[str, Drafter]:
        """Return a new drafter of each source for the temperature of the request."""
        return {name: self._made(source, request) for name, source in self.sources.items()}

    def _made(self, source: DraftSource, request: LoggedRequest) -> Drafter:
        return make_drafter(
            source,
            databases=self.databases,
            eos=self.eos,
            costs=self.costs,
            temperature=self.temperature_of(request),
        )
