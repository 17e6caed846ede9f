"""From the bottom of a stack to the drafter that serves one run of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hsd_viz.stack import DATABASES, Bottom

from .costs import CPU_MARGINAL, CostCurve
from .hierarchy import DatabaseDrafter
from .lookup import PromptLookup
from .shared import SharedDatabases
from .tree import Drafter


def make_drafter(
    bottom: Bottom,
    *,
    databases: SharedDatabases | None = None,
    eos: int | Collection[int] | None = None,
    costs: CostCurve | Sequence[float] | float | None = CPU_MARGINAL,
) -> Drafter:
    """The drafter a stack's bottom names; make a new one for each run.

    ``databases`` are the model and statistics databases of the models' tokenizer; ``costs`` what the verifier's forwards cost
    (relative cost of one more draft token, or costs by number of draft tokens); ``costs=None`` drafts up to the budget.
    Without brackets, ``db`` uses the databases there are; one that is named but absent is refused with a ``ValueError``.
    """
    if bottom.name == "lookup":
        return PromptLookup(eos=eos)
    if bottom.name == "db":
        found = databases.found if databases is not None else {}
        sources = bottom.items or tuple(s for s in DATABASES if s == "context" or s in found)
        for source in sources:
            if source != "context" and source not in found:
                why = databases.why_absent(source) if databases is not None else f"no {source} database is at hand for these models"
                raise ValueError(f"'{bottom}' cannot be used: {why}")
        return DatabaseDrafter(sources, found, eos=eos, costs=costs)
    raise ValueError(f"no drafter is called '{bottom.name}': the bottom of a stack is db or lookup")
