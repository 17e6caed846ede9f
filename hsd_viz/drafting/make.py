"""The registry of drafters, and what they are made with: databases, and the state that outlives a
run.
"""

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

#: The state that outlives a run, by drafter: created on first use by the registered ``remembers``.
#: Passed from run to run, drafters start warm; with a new one, cold. It belongs to one target
#: model, and serves one run at a time.
Memory = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DrafterRun:
    """What a drafter is created for.

    Attributes:
        source: the draft source, as in the stack.
        databases: those that outlive a run.
        memory: what drafters remember from run to run.
        eos: the tokens that end a text.
        costs: of verification; ``None``: only a budget ends a draft.
        temperature: of the target's sampling.
    """

    source: DraftSource
    databases: SharedDatabases
    memory: Memory
    eos: frozenset[int]
    costs: CostCurve | Sequence[float] | float | None
    temperature: float

    @property
    def state(self) -> Any:
        """What the drafter ``remembers``, made when first asked for (``None``: nothing)."""
        name = self.source.name
        create = drafters()[name].remembers
        if create is not None and name not in self.memory:
            self.memory[name] = create()
        return self.memory.get(name)

    def sources(self, **files: str) -> tuple[str, ...]:
        """Return the named databases, without names all that exist; ``files`` are the names of
        their files where they differ.

        Raises:
            UserError: if a named one is missing.
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
        """Return the shared database of that name.

        Raises:
            UserError: if it is missing.
        """
        if name not in self.databases.present:
            why = self.databases.absent.get(name, f"no {name} database for these models")
            raise UserError(f"'{self.source}' cannot be used: {why}")
        return self.databases.present[name]


class Baseline(Drafter):
    """A drafter that is made for a :class:`DrafterRun`. It may draft an end-of-text token, but
    nothing after it.
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
        name: the draft source of stacks.
        module: the module that registered it.
        items: what it takes in brackets.
        colour: its ink on a light and a dark page (``#rrggbb``).
        remembers: creates the state that outlives a run; ``None``: there is none.
        make: creates a drafter for a run.
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
        #: Reentrant: what is loaded may ask for the drafters itself.
        self._loading = RLock()

    def add(self, registration: Registration) -> None:
        """Add a drafter, or replace one of the same module.

        Raises:
            UserError: if the name is not a plain word, or is already registered.
        """
        name = registration.name
        known = self._registrations.get(name)
        is_taken = known is not None and known.module != registration.module
        if is_taken or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise UserError(
                f"invalid name of a drafter: '{name}', use a new word of a-z, 0-9 and -"
            )
        self._registrations[name] = registration

    def all(self) -> Mapping[str, Registration]:
        """Return the drafters by name, with those of installed packages."""
        with self._loading:
            if not self._has_installed:
                self._has_installed = True
                _load_installed()
        return self._registrations


def _load_installed() -> None:
    """Load the drafters that other packages have as entry points."""
    for point in entry_points(group="hsd_viz.drafters"):
        try:
            point.load()
        except Exception as error:
            # Of another package: its drafters are missing, the others work.
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
    """Register the decorated :class:`~hsd_viz.drafting.tree.Drafter` as the draft source ``name``
    of stacks.

    ``items`` are what it takes in brackets, ``colour`` its ink on a light and a dark page
    (``#rrggbb``), ``remembers()`` creates the state that outlives a run, and ``make(run)`` the
    drafter for a :class:`DrafterRun` (default: the class is called with it). Other packages
    register drafters by entry points of the group ``hsd_viz.drafters``.

    Raises:
        UserError: if the name is not a plain word, or is already registered.
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
    """Return every registered drafter by name."""
    return _REGISTRY.all()


def items_by_name() -> dict[str, tuple[str, ...]]:
    """Return what each registered drafter takes in brackets."""
    return {name: registration.items for name, registration in drafters().items()}


def remembers(source: DraftSource) -> bool:
    """Return whether a draft source learns from run to run; ``db`` does with its ``logits``."""
    known = drafters().get(source.name)
    if known is None or known.remembers is None:
        return False
    return LOGITS in source.items or LOGITS not in known.items


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

    ``databases`` are those of the models' tokenizer. Without brackets, ``db`` and ``hd`` use all
    that exist; if ``db`` finds neither a model nor a statistics database, it adds ``logits`` to the
    context. ``memory`` is shared by runs of the same target (default: a new one). Only ``db`` uses
    the ``temperature`` of the sampling and the ``costs`` of verification
    (:func:`.costs.cost_curve`).

    Raises:
        UserError: if a database is missing, or the name is unknown.
    """
    known = drafters().get(source.name)
    if known is None:
        raise UserError(f"unknown drafter '{source.name}': expected {', '.join(drafters())}")
    if eos is None:
        ends: frozenset[int] = frozenset()
    elif isinstance(eos, int):
        ends = frozenset((eos,))
    else:
        ends = frozenset(eos)
    run = DrafterRun(
        source=source,
        databases=databases or SharedDatabases(),
        memory={} if memory is None else memory,
        eos=ends,
        costs=costs,
        temperature=temperature,
    )
    return _with_defaults(known.make(run), known)


def _with_defaults(made: Any, registration: Registration) -> Drafter:
    """Return a new drafter with the members that its class may leave out: the name, and, if it does
    not extend Drafter, that it reads no states.
    """
    if not getattr(made, "name", ""):
        made.name = registration.name
    if not hasattr(made, "state_depth"):
        made.state_depth = None
    return made
