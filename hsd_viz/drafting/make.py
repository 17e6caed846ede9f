"""The registry of drafters, and the creation of drafters with their databases and memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from threading import RLock
from typing import Any

from hsd_viz.drafting.context_database import LOGITS, Database
from hsd_viz.drafting.costs import CPU_MARGINAL, CostCurve
from hsd_viz.drafting.semantic_database import SEMANTIC
from hsd_viz.drafting.shared import OF_THE_TEXT, SharedDatabases
from hsd_viz.drafting.tree import Drafter
from hsd_viz.errors import UserError
from hsd_viz.stack import DATABASES, DraftSource

#: The state of drafters that outlives a run, by drafter name. The registered ``remembers`` creates
#: it on first use. Drafters start warm with the memory of earlier runs, and cold with an empty one.
#: A memory belongs to one target model, and serves one run at a time.
Memory = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DrafterRun:
    """The inputs with which a drafter is created for a run.

    Attributes:
        source: the draft source, as in the stack.
        databases: the databases that outlive a run.
        memory: the state of drafters that outlives a run.
        eos: the tokens that end a text.
        costs: the cost of verification; with ``None`` only a budget ends a draft.
        temperature: the sampling temperature of the target.
    """

    source: DraftSource
    databases: SharedDatabases
    memory: Memory
    eos: frozenset[int]
    costs: CostCurve | Sequence[float] | float | None
    temperature: float

    @property
    def state(self) -> Any:
        """The drafter's entry in the memory, created on first use; ``None`` for a drafter without
        state.
        """
        name = self.source.name
        create = drafters()[name].remembers
        if create is not None and name not in self.memory:
            self.memory[name] = create()
        return self.memory.get(name)

    def sources(self, **files: str) -> tuple[str, ...]:
        """Return the names of the databases to use: those that the stack names, else all present.

        Args:
            files: the names of database files by database, where they differ.

        Raises:
            UserError: if a named database is missing.
        """
        named = tuple(item for item in self.source.items if item in (*DATABASES, SEMANTIC))
        for name in named:
            if name not in OF_THE_TEXT:
                self.database(files.get(name, name))
        present = self.databases.present
        return named or tuple(
            name for name in DATABASES if name == "context" or files.get(name, name) in present
        )

    def database(self, name: str) -> Database:
        """Return the shared database of a name.

        Raises:
            UserError: if the database is missing.
        """
        if name not in self.databases.present:
            why = self.databases.absent.get(name, f"no {name} database for these models")
            raise UserError(f"'{self.source}' cannot be used: {why}")
        return self.databases.present[name]


class Baseline(Drafter):
    """The base class of drafters that are created from a :class:`DrafterRun`.

    They may draft an end-of-text token, but no token after it.
    """

    def __init__(self, run: DrafterRun) -> None:
        self.run = run
        self.name = run.source.name
        self.eos = run.eos
        self.start(())


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered drafter.

    Attributes:
        name: the name of the draft source in stacks.
        module: the module that registered the drafter.
        items: the items that are allowed in brackets after the name.
        colour: the ink colour on a light and a dark page (``#rrggbb``).
        remembers: a function that creates the state that outlives a run; ``None`` for a drafter
            without such state.
        make: a function that creates a drafter for a run.
    """

    name: str
    module: str
    items: tuple[str, ...]
    colour: tuple[str, str] | None
    remembers: Callable[[], Any] | None
    make: Callable[[DrafterRun], Drafter]


class _Registry:
    """The registered drafters; those of other packages are loaded on first use."""

    def __init__(self) -> None:
        self._registrations: dict[str, Registration] = {}
        self._has_installed = False
        #: Reentrant, because a package that is being loaded may call :func:`drafters`.
        self._loading = RLock()

    def add(self, registration: Registration) -> None:
        """Add a drafter, or replace a drafter of the same module.

        Raises:
            UserError: if the name is invalid or already registered.
        """
        name = registration.name
        registered = self._registrations.get(name)
        is_taken = registered is not None and registered.module != registration.module
        if is_taken or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise UserError(
                f"invalid name of a drafter: '{name}', use a new word of a-z, 0-9 and -"
            )
        self._registrations[name] = registration

    def all(self) -> Mapping[str, Registration]:
        """Return the drafters by name, including those of installed packages."""
        with self._loading:
            if not self._has_installed:
                self._has_installed = True
                _load_installed()
        return self._registrations


def _load_installed() -> None:
    """Load the drafters that other packages provide as entry points."""
    for point in entry_points(group="hsd_viz.drafters"):
        try:
            point.load()
        except Exception as error:
            # A broken package must not disable the other drafters.
            warnings.warn(
                f"the drafter '{point.name}' of {point.value} cannot be loaded: {error}",
                stacklevel=2,
            )


_REGISTRY = _Registry()


def drafter(
    name: str,
    *,
    items: Sequence[str] = (),
    colour: tuple[str, str] | None = None,
    remembers: Callable[[], Any] | None = None,
    make: Callable[[DrafterRun], Drafter] | None = None,
) -> Callable[[type], type]:
    """Register the decorated :class:`~hsd_viz.drafting.tree.Drafter` as a draft source of stacks.

    Other packages register drafters by entry points of the group ``hsd_viz.drafters``.

    Args:
        name: the name of the draft source: a new word of a-z, 0-9 and -.
        items: the items that are allowed in brackets after the name.
        colour: the ink colour on a light and a dark page (``#rrggbb``).
        remembers: a function that creates the state that outlives a run.
        make: a function that creates the drafter from a :class:`DrafterRun`; by default the class
            itself.

    Raises:
        UserError: if the name is invalid or already registered.
    """

    def register(cls: Any) -> Any:
        registration = Registration(
            name=name,
            module=cls.__module__,
            items=tuple(items),
            colour=colour,
            remembers=remembers,
            make=make or cls,
        )
        _REGISTRY.add(registration)
        return cls

    return register


def drafters() -> Mapping[str, Registration]:
    """Return the registered drafters by name."""
    return _REGISTRY.all()


def items_by_name() -> dict[str, tuple[str, ...]]:
    """Return the items that each registered drafter allows in brackets, by name."""
    return {name: registration.items for name, registration in drafters().items()}


def remembers(source: DraftSource) -> bool:
    """Return whether a draft source keeps state between runs, as ``db`` does with ``logits``.

    The ``logits`` that :func:`make_drafter` adds to ``db`` is for one run.
    """
    registration = drafters().get(source.name)
    if registration is None or registration.remembers is None:
        return False
    return LOGITS in source.items or LOGITS not in registration.items


def make_drafter(
    source: DraftSource,
    *,
    databases: SharedDatabases | None = None,
    memory: Memory | None = None,
    eos: int | Collection[int] | None = None,
    costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
    temperature: float = 0.0,
) -> Drafter:
    """Create the drafter that ``source`` names, for one run.

    Without brackets, ``db`` and ``hd`` use all databases that exist. If ``db`` finds neither a
    model nor a statistics database, it adds ``logits`` to the context, for this run alone.

    Args:
        source: the draft source, as in the stack.
        databases: the databases for the models' tokenizer.
        memory: the state shared by runs of the same target; by default a new, empty one.
        eos: the tokens that end a text.
        costs: the cost of verification (:func:`.costs.cost_curve`); only ``db`` uses it.
        temperature: the sampling temperature; only ``db`` uses it.

    Raises:
        UserError: if a database is missing or the name is unknown.
    """
    registration = drafters().get(source.name)
    if registration is None:
        raise UserError(f"unknown drafter '{source.name}': expected {', '.join(drafters())}")
    if eos is None:
        end_tokens: frozenset[int] = frozenset()
    elif isinstance(eos, int):
        end_tokens = frozenset((eos,))
    else:
        end_tokens = frozenset(eos)
    run = DrafterRun(
        source=source,
        databases=databases or SharedDatabases(),
        memory={} if memory is None else memory,
        eos=end_tokens,
        costs=costs,
        temperature=temperature,
    )
    return _with_defaults(registration.make(run), registration)


def _with_defaults(new_drafter: Any, registration: Registration) -> Drafter:
    """Set the attributes that a drafter of another package may lack, and return the drafter.

    These are the name and, for a class that does not extend ``Drafter``, ``state_depth``.
    """
    if not getattr(new_drafter, "name", ""):
        new_drafter.name = registration.name
    if not hasattr(new_drafter, "state_depth"):
        new_drafter.state_depth = None
    return new_drafter
