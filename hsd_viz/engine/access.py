"""The gate between requests of strangers, and files and the model hub.

A request names models, tokenizers and databases. Every such name passes :meth:`Access.check`
before anything is read. The answer does not depend on what exists, so that it does not show which
files a server has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hsd_viz.errors import Unsupported
from hsd_viz.models.families import CODE
from hsd_viz.names.hints import did_you_mean
from hsd_viz.stack import parse

Kind = Literal["model", "tokenizer", "databases"]


def model_outside(stack: str, offered: Sequence[str]) -> str | None:
    """Return the first model of a stack that is not among those offered; ``None`` if all are.

    Raises:
        StackError: if the stack is not valid.
    """
    for model in parse(stack).models:
        if model.name not in offered:
            return model.name
    return None


@dataclass(frozen=True, slots=True)
class Access:
    """What a request may name.

    Attributes:
        models: the names of the models and tokenizers that are offered; ``None``: also hub ids and
            paths, and folders of databases.
    """

    models: tuple[str, ...] | None

    @classmethod
    def of(cls, allow_models: bool, names: tuple[str, ...] = CODE.names) -> Access:
        """Return the access of one who may name any model and file, or only the ``names``."""
        return cls(None if allow_models else names)

    def check(self, kind: Kind, name: str) -> str:
        """Return a name that is allowed.

        Raises:
            Unsupported: if it is not.
        """
        if self.models is None:
            return name
        if kind == "databases":
            raise Unsupported(
                "other databases than the shipped ones are not allowed: "
                "use `hsd-viz dashboard --allow-models`"
            )
        if name not in self.models:
            hint = did_you_mean(name, self.models)
            raise Unsupported(
                f"the {kind} {name[:80]!r} is not allowed here: use {', '.join(self.models)}{hint}"
            )
        return name
